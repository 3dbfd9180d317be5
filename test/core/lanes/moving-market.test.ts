import { describe, expect, test } from 'vitest';
import { observeRead } from '../../../src/core/lanes/lane-observe.ts';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from './driver.ts';
import { action, all, half, MARKET, protect, readAt, readPositionOf } from './fixtures.ts';

test('an order that was put off for a while is sent only after a new read', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.refuse({ name: 'rateLimited', retryAfterMs: 3_000 });
  driver.later(3_100);
  driver.answerRead(at({ mark: '970' }));
  expect(Number(driver.place().request.activationPrice)).toBeLessThan(970);
});

test('two round trips are allowed if the exchange is slower than the read-age bound', () => {
  const driver = new Driver({ maxOrderReadAgeMs: 100 }).read(at({})).ask(action(half));
  driver.start('place');
  driver.later(2_000);
  const error = { name: 'rateLimited', endpoint: 'stopLimit', message: 'slowly', effect: 'none' } as const;
  driver.end({ kind: 'place', outcome: { kind: 'rejected', error } });
  driver.later(1_000);
  expect(driver.next().kind).toBe('place');
  driver.later(1_200);
  expect(driver.next().kind).toBe('readPositions');
});

test('a full close ahead of the fence needs a fresh read, too', () => {
  const driver = new Driver().read(at({})).ask(action(all)).lose('place').later(10).read(at({}));
  expect(driver.next().kind).toBe('place');
  driver.later(2_500);
  expect(driver.next().kind).toBe('readPositions');
});

test('in a falling market the activation lies lower by the fall expected until the order arrives', () => {
  const driver = new Driver().read(at({}));
  driver.later(990).read(at({ mark: '998' }));
  driver.ask(action(half));
  // 0.2 % a second, and a read of 10 ms: one step, the allowance of 0.1 %, and almost no fall.
  expect(Number(driver.place().request.activationPrice)).toBeCloseTo(996.8, 0);
  const slow = new Driver().read(at({}));
  slow.state = { ...slow.state, roundTripMs: 1_000 };
  slow.later(990).read(at({ mark: '998' }));
  slow.ask(action(half));
  expect(Number(slow.place().request.activationPrice)).toBeCloseTo(994.8, 0);
});

test('an order that no other could follow before liquidation had the first slippage, and mark and last price differed by more', () => {
  const slippageAt = (roundTripMs: number): number => {
    const driver = new Driver().read(at({}));
    driver.state = { ...driver.state, roundTripMs };
    driver
      .later(990)
      .read(at({ mark: '998' }))
      .ask(action(half));
    return driver.start('place').order.slippage;
  };
  // 4.8 % are left, which takes 24 s.
  expect(slippageAt(1_000)).toBe(0.005);
  expect(slippageAt(4_100)).toBe(0.012);
});

test('after a time without reads a first order took no account of how far the market may run', () => {
  const activationAfter = (gapMs: number): number => {
    const driver = new Driver().read(at({}));
    driver.state = { ...driver.state, roundTripMs: 1_000 };
    driver.later(gapMs).read(at({ mark: '980' }));
    driver.ask(action(half));
    return Number(driver.place().request.activationPrice);
  };
  // The 2 % may have been lost within 20 s: 0.1 % a second, as if seen before 20 s.
  expect(activationAfter(60_000)).toBe(activationAfter(20_000));
  // What was seen long ago says nothing about the present.
  expect(activationAfter(150_000) - activationAfter(60_000)).toBeCloseTo(1, 0);
});

test('after a refusal as passed the next price waited for a slow read, and the market ran on', () => {
  const refusedWith = (roundTripMs: number) => {
    const driver = new Driver().read(at({}));
    driver.state = { ...driver.state, roundTripMs };
    const first = driver.ask(action(half)).next();
    const asked = first.kind === 'place' ? Number(first.request.activationPrice) : Number.NaN;
    driver.refuse({ name: 'validationFailed', fields: { activation_price: ['has been passed already'] } });
    return { asked, next: driver.next() };
  };
  expect(refusedWith(100).next.kind).toBe('readPositions');
  const { asked, next } = refusedWith(2_000);
  expect(next).toMatchObject({ kind: 'place' });
  expect(next.kind === 'place' && Number(next.request.activationPrice)).toBeLessThan(asked - 5);
});

test('the age of a read includes its possible lag', () => {
  const activationWith = (readLagMs: number): number => {
    const driver = new Driver({ readLagMs }).read(at({}));
    driver.later(990).read(at({ mark: '998' }));
    driver.ask(action(half));
    return Number(driver.place().request.activationPrice);
  };
  // 0.2 % a second.
  expect(activationWith(0) - activationWith(500)).toBeCloseTo(1, 1);
});

test('a stop that the market runs towards is not cancelled, as the position would be gone before it stood again', () => {
  const calm = covered();
  calm
    .later(1_000)
    .read(at({ mark: '998' }))
    .ask(action(half));
  calm.refuse({ name: 'reduceOnlyRefused', code: 116 });
  calm.answerRead(at({ mark: '998' }));
  expect(calm.next().kind).toBe('cancelAll');
  const racing = covered();
  racing
    .later(1_000)
    .read(at({ mark: '990' }))
    .ask(action(half));
  racing.refuse({ name: 'reduceOnlyRefused', code: 116 });
  racing.answerRead(at({ mark: '990' }));
  racing.state = { ...racing.state, roundTripMs: 1_000 };
  expect(racing.next().kind).not.toBe('cancelAll');
  racing.later(2_000).read(at({ mark: '980' }));
  expect(racing.next().kind).not.toBe('cancelAll');
});

test('a stop just ahead of the market is not cancelled to be loosened', () => {
  const nextAt = (mark: string): string => {
    const driver = new Driver().read(at({})).ask(action(protect));
    expect(driver.place().request.activationPrice).toBe('970');
    driver.later(20_000).read(at({ mark: '1000' }));
    // Somebody paid in collateral.
    driver.later(1_000).read(at({ mark, liquidation: '900' }));
    driver.ordersAreTaken();
    return driver.next().kind;
  };
  expect(nextAt('995')).toBe('cancelAll');
  expect(nextAt('980')).not.toBe('cancelAll');
});

test('a stop that closes the whole position is not cancelled to make room for closing it a little earlier', () => {
  const driver = covered();
  driver
    .later(1_000)
    .read(at({ mark: '998' }))
    .ask(action(all));
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  driver.answerRead(at({ mark: '998' }));
  driver.later(5_000).read(at({ mark: '998' }));
  expect(driver.next().kind).not.toBe('cancelAll');
  expect(driver.state.orders.map(({ role }) => role)).toEqual(['cover']);
});

test('a stop that closes a part, as a hedge keeps the rest, is not cancelled just before it triggers', () => {
  const short = readPositionOf({
    positionId: '2',
    positionSide: 'SHORT',
    direction: 'short',
    sizeBase: '0.4' as DecimalString,
    liquidationPrice: 'none',
    distance: 'none',
  });
  const long = (mark: string): ReadPosition => ({ ...at({ mark }), positionSide: 'LONG' });
  const nextAfter = (mark: string): string => {
    const driver = new Driver().read(long('1000'), short).ask(action(protect));
    expect(driver.place().request.amount).toBe('0.6');
    driver.later(1_000).read(long(mark), short).ask(action(half));
    driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
    driver.answerRead(long(mark), short);
    driver.state = { ...driver.state, roundTripMs: 1_000 };
    return driver.next().kind;
  };
  expect(nextAfter('999')).toBe('cancelAll');
  expect(nextAfter('990')).not.toBe('cancelAll');
});

test('a full close that came too late is not cancelled first: others are placed beside it', () => {
  const driver = new Driver().read(at({})).ask(action(all));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  expect(driver.place().request.amount).toBe('1');
  expect(driver.state.orders).toHaveLength(2);
  expect(driver.next().kind).toBe('idle');
});

test('if standing orders leave no room they are cancelled after all', () => {
  const driver = new Driver().read(at({})).ask(action(all));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  driver.answerRead(at({ mark: '997' }));
  expect(driver.cancel().why).toBe('noRoom');
});

test('if no cancel reaches a stop that takes up the room, the rest is closed beside it', () => {
  const lower: ActionSpec = {
    kind: 'protect',
    at: 0.75,
    slippage: 0.05,
    ladder: [{ at: 0.75, leave: 0.6 }],
  };
  const driver = new Driver({ cancelCoversStops: false })
    .read(at({}))
    .ask(action(lower, { ruleId: 'lower' }));
  expect(driver.place().request.amount).toBe('0.4');
  driver.later(1_000).read(at({})).ask(action(all));
  expect(driver.refuse({ name: 'reduceOnlyRefused', code: 116 }).request.amount).toBe('1');
  driver.later(3_000).read(at({ mark: '998' }));
  expect(driver.place().request.amount).toBe('0.6');
});

test('a reduction is not cancelled for the room that an earlier one lacked', () => {
  const until: ActionSpec = {
    kind: 'reduce',
    target: { kind: 'untilDistance', distance: 0.1 },
    slippageSteps: [0.005],
  };
  const driver = covered();
  driver.later(1_000).read(at({})).ask(action(until));
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  driver.later(1_000).read(at({})).lose('cancelAll').later(10).read(at({}));
  expect(driver.place().request.amount).toBe('0.381');
  driver.later(5_100).read(at({ mark: '999.9', liquidation: '951' }));
  while (driver.next().kind === 'place') driver.refuse({ name: 'duplicateClientOrderId' });
  // The cancel may or may not have reached them, which is a reason other than the refusal of seconds ago.
  expect(driver.next()).toMatchObject({ kind: 'cancelAll', why: 'ambiguousMove' });
});

test('a stop that the mark has passed is not taken down for a smaller reduction, which lies farther away', () => {
  const until: ActionSpec = {
    kind: 'reduce',
    target: { kind: 'untilDistance', distance: 0.1 },
    slippageSteps: [0.005],
  };
  const driver = covered();
  const stopPrice = Number(driver.state.orders[0]?.request.activationPrice);
  const mark = String(stopPrice - 0.4);
  driver.later(1_000).read(at({ mark })).ask(action(until));
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  driver.later(1_000).read(at({ mark }));
  expect(driver.next().kind).not.toBe('cancelAll');
});

test('full closes stand beside each other only while their fills can be told apart', () => {
  const driver = new Driver().read(at({})).ask(action(all));
  driver.place();
  for (let mark = 998; mark > 805; mark -= 5) {
    driver.later(500).read(at({ mark: String(mark), liquidation: '800' }));
    while (driver.next().kind === 'place') driver.place();
    expect(driver.state.orders.length).toBeLessThanOrEqual(6);
    expect(driver.next().kind).not.toBe('cancelAll');
  }
});

test('an order is not cancelled for a larger one: what is missing is placed beside it', () => {
  const until: ActionSpec = {
    kind: 'reduce',
    target: { kind: 'untilDistance', distance: 0.1 },
    slippageSteps: [0.005],
  };
  // Under cross margin the liquidation price comes nearer, too, and more has to be closed.
  const nextAt = (mark: string): string => {
    const driver = new Driver().read(at({})).ask(action(until));
    const { amount, activationPrice } = driver.place().request;
    expect([amount, activationPrice]).toEqual(['0.381', '998.9']);
    driver.state = { ...driver.state, roundTripMs: 1_000 };
    driver.later(1_000).read(at({ mark, liquidation: '960' }));
    const step = driver.next();
    return step.kind === 'place' ? `${step.kind} ${step.request.amount}` : step.kind;
  };
  expect(nextAt('1000.1')).toBe('place 0.076');
  expect(nextAt('999.0')).toBe('place 0.084');
});

test('a stop that the last price has still to reach is no triggered one, however long the mark is past it', () => {
  const driver = covered();
  for (let reads = 0; reads < 5; reads++) {
    driver.later(3_000).read(at({ mark: '966' }));
    expect(driver.next().kind).toBe('idle');
  }
  expect(driver.reasons('coverTriggered')).toEqual([]);
  // Past its limit it has been jumped over.
  driver.later(3_000).read(at({ mark: '959' }));
  expect(driver.reasons('coverTriggered')).toEqual(['triggered']);
  driver.later(6_000).read(at({ mark: '959' }));
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  driver.later(1_000).read(at({ mark: '959' }));
  expect(driver.next().kind).toBe('cancelAll');
});

/** A driver with a stop standing 60 % of the way to liquidation. */
function covered(): Driver {
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.place();
  return driver;
}

test('the gap takes at most four fifths of the distance to liquidation', () => {
  const driver = new Driver().read(at({}));
  driver.state = { ...driver.state, roundTripMs: 10_000 };
  driver.later(990).read(at({ mark: '980' }));
  driver.ask(action(half));
  expect(driver.place().request.activationPrice).toBe('956');
});

test('beside an order that the market had passed on arrival goes one beyond what mark and last price may differ by', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  // The first waits, as the last price may lag behind the mark.
  const { request } = driver.place();
  expect(997 - Number(request.activationPrice)).toBeCloseTo(12, 0);
  expect(request.amount).toBe('0.5');
  expect(driver.next().kind).toBe('idle');
});

test('two orders do not split a hedged side: a rest could be too small to be closed', () => {
  const long = { positionSide: 'LONG', margin: 'own' } as const;
  const short = readPositionOf({
    ...long,
    positionId: '2',
    positionSide: 'SHORT',
    direction: 'short',
    sizeBase: '0.4' as DecimalString,
  });
  const driver = new Driver().read({ ...at({}), ...long }, short).ask(action(all));
  driver.place();
  driver.later(500).read({ ...at({ mark: '997' }), ...long }, short);
  expect(driver.place().request.amount).toBe('1');
  expect(driver.next().kind).toBe('idle');
});

test('an order far from the market waits for it; once passed, another one follows beside it', () => {
  const driver = inverted();
  driver.later(1_000).read(at({ mark: '990' }));
  expect(driver.next().kind).toBe('idle');
  driver.later(7_000).read(at({ mark: '986' }));
  expect(driver.next().kind).toBe('idle');
  driver.later(1_000).read(at({ mark: '977' }));
  // Four times the gap would be beyond liquidation at 950: it takes nine tenths of the way there.
  expect(driver.place().request.activationPrice).toBe('952.7');
});

/** A driver at a mark of 997: past an order at 998.9, with another one at 984.9. */
function inverted(): Driver {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  driver.place();
  return driver;
}

test('a gap that was never reached shrinks to the configured one', () => {
  const driver = inverted();
  driver.later(4_000).read(at({ mark: '1022' }));
  expect(driver.cancel().why).toBe('exceedsTarget');
  driver.answerRead(at({ mark: '1022' }));
  driver.place();
  driver.later(4_000).read(at({ mark: '1080' }));
  expect(driver.cancel().why).toBe('marketMovedAway');
  driver.answerRead(at({ mark: '1080' }));
  const { request } = driver.place();
  expect(request.amount).toBe('0.5');
  expect(1080 - Number(request.activationPrice)).toBeCloseTo(1.2, 1);
});

test('after a fast fall an order is not taken down for one that would lie where it is', () => {
  const seen = (mark: number) => at({ mark: String(mark), liquidation: '920' });
  // What is read is five seconds old: the order lies ahead of the fall, four fifths of the way to liquidation.
  const driver = new Driver({ readLagMs: 5_000 }).read(seen(1_000));
  for (let mark = 996; mark >= 940; mark -= 4) driver.later(1_000).read(seen(mark));
  driver.ask(action(half));
  expect(driver.place().request.activationPrice).toBe('924');
  for (let seconds = 0; seconds < 5; seconds++) {
    driver.later(1_000).ordersAreTaken().read(seen(940));
    expect(driver.next().kind).not.toBe('cancelAll');
  }
  for (let seconds = 0; seconds < 20; seconds++) driver.later(1_000).ordersAreTaken().read(seen(940));
  expect(driver.cancel().why).toBe('marketMovedAway');
});

test('an activation placed too far away by a learned basis is not placed there again', () => {
  const driver = new Driver().read(at({}));
  driver.state = { ...driver.state, learned: { basis: 0.012 } };
  driver.ask(action(half));
  expect(1_000 - Number(driver.place().request.activationPrice)).toBeGreaterThan(10);
  driver.later(4_000).read(at({ mark: '1040' }));
  expect(driver.cancel().why).toBe('marketMovedAway');
  driver.answerRead(at({ mark: '1040' }));
  expect(1_040 - Number(driver.place().request.activationPrice)).toBeLessThan(2);
});

test('an order placed beside a passed order in doubt is not taken back for it', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  const arrivesMs = driver.nowMs + 10_000;
  const orders = driver.state.orders.map((order) => ({
    ...order,
    amount: '0.9' as DecimalString,
    status: 'unsure' as const,
    inverted: true,
    behindCancel: true,
    arrivedByMs: arrivesMs,
    reachedMs: driver.nowMs,
  }));
  driver.state = { ...driver.state, orders, learned: { basis: 0.012 } };
  driver.later(500).read(at({ mark: '990' }));
  const { request } = driver.place();
  expect(Number(request.amount)).toBeLessThanOrEqual(0.5);
  expect(driver.next().kind).not.toBe('cancelAll');
  driver.later(100).read(at({ mark: '990' }));
  expect(driver.next().kind).not.toBe('cancelAll');
});

test('after refusals of the price the gap alternates between wider and nearer', () => {
  const driver = new Driver({ maxAttempts: 30, intentTtlMs: 600_000, mostSets: 30 })
    .read(at({ mark: '1000' }))
    .ask(action(half));
  const gaps: number[] = [];
  for (let attempt = 0; attempt < 14; attempt += 1) {
    const { request } = driver.refuse({ name: 'priceInvalid' });
    gaps.push(1_000 - Number(request.activationPrice));
    driver.later(6_000).read(at({ mark: '1000' }));
  }
  const nearer = gaps.filter((gap, index) => index > 0 && gap < (gaps[index - 1] ?? 0));
  expect(nearer.length).toBeGreaterThan(1);
  expect(Math.max(...gaps)).toBeGreaterThan(10 * Math.min(...gaps));
});

interface Shown {
  readonly last: string;
  readonly sentBeforeMs?: number;
}

/** Reads a position together with a last price of another request. */
function readBeside(driver: Driver, position: ReadPosition, { last, sentBeforeMs = 0 }: Shown): Driver {
  driver.nowMs += 10;
  const prices = { [MARKET]: last as DecimalString };
  const observation = { ...readAt(driver.nowMs, position), lastPrices: { sentBeforeMs, prices } };
  driver.apply(observeRead(driver.state, observation, driver.context.settings, driver.nowMs));
  return driver;
}

/** The first order of a fresh lane at a mark of 1000. */
function firstActivation(shown: Shown, direction: 'long' | 'short' = 'long'): number {
  const position = direction === 'long' ? at({}) : { ...at({ liquidation: '1100' }), direction };
  return Number(readBeside(new Driver(), position, shown).ask(action(half)).place().request.activationPrice);
}

test('an order activates beyond the last price, where it is shown', () => {
  expect(firstActivation({ last: '990' })).toBeCloseTo(988.9, 0);
  expect(firstActivation({ last: '1010' }, 'short')).toBeCloseTo(1011.1, 0);
});

test('the error of a mark does not count twice where the last price is shown', () => {
  const coarse = { ...at({}), markError: 2 };
  const driver = readBeside(new Driver(), coarse, { last: '990' }).ask(action(half));
  expect(Number(driver.place().request.activationPrice)).toBeCloseTo(988.9, 0);
});

test('a last price on the other side of the mark moves no order', () => {
  const usual = firstActivation({ last: '1000' });
  expect(firstActivation({ last: '1010' })).toBe(usual);
  expect(firstActivation({ last: '990' }, 'short')).toBe(firstActivation({ last: '1000' }, 'short'));
});

test('replies so slow that none shows both prices at once: an order was placed on the wrong side of the last price', () => {
  expect(firstActivation({ last: '990', sentBeforeMs: 3_000 })).toBeCloseTo(988.9, 0);
});

test('with many markets in one pool an order was placed beyond the liquidation of the account', () => {
  const far = at({ mark: '998', liquidation: null });
  const activationWith = (joint?: string): number => {
    const shown = { ...far, ...(joint !== undefined && { jointLiquidationPrice: joint as DecimalString }) };
    const driver = new Driver().read({ ...shown, markPrice: '1000' as DecimalString });
    driver.state = { ...driver.state, roundTripMs: 9_000 };
    driver.later(990).read(shown).ask(action(half));
    return Number(driver.place().request.activationPrice);
  };
  expect(activationWith()).toBeLessThan(985);
  expect(activationWith('985')).toBeGreaterThan(987);
});

describe('a standing stop', () => {
  const room = { liquidation: '800' };
  const stopAt = (speed: number, before = (driver: Driver): Driver => driver): number => {
    const driver = new Driver().read(at(room)).ask(action(protect));
    driver.refuse({ name: 'rateLimited' });
    before(driver.later(8_990)).read(at({ ...room, mark: String(885 + speed) }));
    driver.state = { ...driver.state, roundTripMs: 2_000 };
    driver.later(990).read(at({ ...room, mark: '885' }));
    return Number(driver.place().request.activationPrice);
  };
  const still = (driver: Driver): Driver => {
    for (let seconds = 0; seconds < 120; seconds++) driver.later(1_000).read(at({ ...room, mark: '885' }));
    return driver;
  };

  test('lies beyond where the market will be when it arrives: passed, it took the room of all others', () => {
    expect(stopAt(0, still)).toBe(880);
    expect(stopAt(10)).toBeLessThan(865);
  });

  test('lies beyond where the last price will be, too: it was accepted on the wrong side of that', () => {
    const before = at({ ...room, mark: '895' });
    const last = (price: string) => (driver: Driver) => readBeside(driver, before, { last: price });
    const unknown = stopAt(10, (driver) => driver.read(before));
    expect(stopAt(10, last('880'))).toBeLessThan(unknown - 10);
    expect(stopAt(10, last('8'))).toBe(unknown);
  });

  test('a last price of a minute ago moves no stop: the first dip put one far beyond where the market had been', () => {
    const since = (shown: boolean) => (driver: Driver) => {
      const then = at({ ...room, mark: '860' });
      if (shown) readBeside(driver, then, { last: '860' });
      else driver.read(then);
      for (let seconds = 0; seconds < 60; seconds++) driver.later(990).read(at({ ...room, mark: '885.1' }));
      return driver;
    };
    expect(stopAt(0.1, since(true))).toBe(stopAt(0.1, since(false)));
  });

  test('in doubt that would be passed on arrival was not sent again, and nothing stood: a new one goes beyond', () => {
    const driver = new Driver({ readLagMs: 500 }).read(at({}));
    driver.state = { ...driver.state, roundTripMs: 1_000 };
    driver.ask(action(protect)).lose('place');
    for (const mark of ['996', '992', '988', '984', '980', '976'])
      driver.later(990).read(at({ mark })).next();
    const { request, isResend } = driver.place();
    expect(isResend).toBe(false);
    expect(976 - Number(request.activationPrice)).toBeGreaterThan(6);
  });

  test('in doubt was sent again while the market passed it, and took the room of the reduction', () => {
    const nextAfter = (mark: string, last: string, spec: ActionSpec = protect, markError = 0): string => {
      const driver = new Driver().read(at({})).ask(action(spec));
      driver.lose('place');
      driver.later(8_000).read(at({ mark: '985' }));
      readBeside(driver.later(990), { ...at({ mark }), markError }, { last, sentBeforeMs: 500 });
      const step = driver.next();
      return step.kind === 'place' && step.isResend ? 'resend' : step.kind;
    };
    expect(nextAfter('985', '972')).toBe('resend');
    expect(nextAfter('980', '978')).toBe('resend');
    expect(nextAfter('980', '972')).toBe('place');
    // However exact the mark is.
    expect(nextAfter('980', '972', protect, 9)).toBe('place');
    const ladder: ActionSpec = {
      kind: 'protect',
      at: 0.6,
      slippage: 0.01,
      ladder: [{ at: 0.6, leave: 0 }],
    };
    expect(nextAfter('980', '978', ladder)).toBe('resend');
    expect(nextAfter('980', '972', ladder)).toBe('idle');
  });

  test('keeps its distance from the liquidation, however fast the market runs', () => {
    expect(stopAt(40)).toBeGreaterThan(809);
    expect(stopAt(40)).toBeLessThan(811);
  });

  test('got none in a run where a price band was known: one nearer to the market is sent all the same', () => {
    const driver = new Driver().read(at({ mark: '1030' }));
    driver.state = { ...driver.state, roundTripMs: 2_000, learned: { lowestPart: 0.958 } };
    driver.later(990).read(at({})).ask(action(protect));
    expect(Number(driver.place().request.activationPrice)).toBe(970);
  });

  test('that stands is not taken down for one farther away because the market runs', () => {
    const driver = new Driver().read(at(room)).ask(action(protect));
    driver.place();
    driver.state = { ...driver.state, roundTripMs: 2_000 };
    for (const mark of ['950', '920', '895', '885']) {
      driver
        .later(990)
        .read(at({ ...room, mark, liquidation: mark === '885' ? '810' : '800' }))
        .ordersAreTaken();
    }
    expect(driver.next().kind).not.toBe('cancelAll');
  });
});

test('a joint price that the market has passed is out of date, and neither hurries nor places an order', () => {
  const stale = new Driver().read({
    ...at({ liquidation: '700' }),
    jointLiquidationPrice: '990' as DecimalString,
  });
  const usual = new Driver().read(at({ liquidation: '700' }));
  const activations = [stale, usual].map((driver) => {
    driver.state = { ...driver.state, roundTripMs: 2_000 };
    driver
      .later(990)
      .read(at({ mark: '985', liquidation: '700' }))
      .ask(action(half));
    return driver.place().request.activationPrice;
  });
  expect(activations[0]).toBe(activations[1]);
});

test('a last price of another time, or of something else, moves no order', () => {
  const usual = firstActivation({ last: '1000' });
  expect(firstActivation({ last: '990', sentBeforeMs: 5_000 })).toBe(usual);
  expect(firstActivation({ last: '500' })).toBe(usual);
  expect(firstActivation({ last: '0' })).toBe(usual);
});

test('a fall within the second for which an exchange keeps its last prices is no distance between mark and last', () => {
  const fallen = (shown?: Shown): number => {
    const driver = new Driver().read(at({}));
    driver.later(990);
    if (shown === undefined) driver.read(at({ mark: '990' }));
    else readBeside(driver, at({ mark: '990' }), shown);
    return Number(driver.ask(action(half)).place().request.activationPrice);
  };
  expect(fallen({ last: '990' })).toBe(fallen());
  expect(fallen({ last: '995' })).toBe(fallen());
});

test('an order beyond the last price stands while the market stands, and is known by its fill', () => {
  const shown = { last: '990' };
  const driver = readBeside(new Driver(), at({}), shown).ask(action(half));
  const { request } = driver.place();
  for (let second = 0; second < 20; second++) {
    readBeside(driver.later(990), at({}), shown);
    expect(driver.next().kind).toBe('idle');
  }
  readBeside(driver.later(990), at({ mark: '998', size: '0.5' }), { last: '988' });
  expect(driver.events.find(({ kind }) => kind === 'filled')?.order).toEqual(request);
  expect(driver.reasons('ambiguousMove')).toEqual([]);
});

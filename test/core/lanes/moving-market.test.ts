import { expect, test } from 'vitest';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from './driver.ts';
import { action, all, half, protect, readPositionOf } from './fixtures.ts';

test('an order refused for a while was sent with the price of a read from before: it is read again first', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.refuse({ name: 'rateLimited', retryAfterMs: 3_000 });
  driver.later(3_100);
  driver.answerRead(at({ mark: '970' }));
  expect(Number(driver.place().request.activationPrice)).toBeLessThan(970);
});

test('two round trips are allowed where the exchange is slower than the bound', () => {
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

test('a full close ahead of the fence is no exception', () => {
  const driver = new Driver().read(at({})).ask(action(all)).lose('place').later(10).read(at({}));
  expect(driver.next().kind).toBe('place');
  driver.later(2_500);
  expect(driver.next().kind).toBe('readPositions');
});

test('in a falling market the activation lies as far below as the market falls until the order arrives', () => {
  const driver = new Driver().read(at({}));
  driver.later(990).read(at({ mark: '998' }));
  driver.ask(action(half));
  // 0.2 % a second, a read of 10 ms: a step, the allowance of 0.1 %, and hardly any way to go.
  expect(Number(driver.place().request.activationPrice)).toBeCloseTo(996.8, 0);
  const slow = new Driver().read(at({}));
  slow.state = { ...slow.state, roundTripMs: 1_000 };
  slow.later(990).read(at({ mark: '998' }));
  slow.ask(action(half));
  expect(Number(slow.place().request.activationPrice)).toBeCloseTo(994.8, 0);
});

test('a read that may lag half a second was taken for as old as its request, and the market had passed the order', () => {
  const activationWith = (readLagMs: number): number => {
    const driver = new Driver({ readLagMs }).read(at({}));
    driver.later(990).read(at({ mark: '998' }));
    driver.ask(action(half));
    return Number(driver.place().request.activationPrice);
  };
  // 0.2 % a second.
  expect(activationWith(0) - activationWith(500)).toBeCloseTo(1, 1);
});

test('a stop that the market runs towards is not taken down: before it could be up again the position would be gone', () => {
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

test('a stop just ahead of the market was taken down to be loosened, and the reads behind the cancel failed', () => {
  const nextAt = (mark: string): string => {
    const driver = new Driver().read(at({})).ask(action(protect));
    expect(driver.place().request.activationPrice).toBe('970');
    driver.later(20_000).read(at({ mark: '1000' }));
    // Somebody paid in.
    driver.later(1_000).read(at({ mark, liquidation: '900' }));
    driver.ordersAreTaken();
    return driver.next().kind;
  };
  expect(nextAt('995')).toBe('cancelAll');
  expect(nextAt('980')).not.toBe('cancelAll');
});

test('a stop that closes the whole position is not taken down for want of room to close it a little earlier', () => {
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

test('a stop that closes a part, as a hedge keeps the rest, is not taken down a moment before it triggers', () => {
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

test('a full close that came too late was cancelled first, which cost two round trips and the orders of the owner', () => {
  const driver = new Driver().read(at({})).ask(action(all));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  // Near the mark, and beyond what mark and last price may be apart: together the whole.
  const amounts = [driver.place().request.amount, driver.place().request.amount];
  expect(amounts).toEqual(['0.45', '0.55']);
  expect(driver.state.orders).toHaveLength(3);
  expect(driver.next().kind).toBe('idle');
});

test('where what stands leaves no room it is cancelled after all', () => {
  const driver = new Driver().read(at({})).ask(action(all));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  driver.answerRead(at({ mark: '997' }));
  expect(driver.cancel().why).toBe('inverted');
});

test('a close was refused for the room of a stop that no cancel takes away, again and again: the rest is closed', () => {
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

test('a reduction was taken down again for the room that one before it had lacked', () => {
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
  // Whether the cancel has reached them is not known: a reason, other than what was refused seconds ago.
  expect(driver.next()).toMatchObject({ kind: 'cancelAll', why: 'ambiguousMove' });
});

test('full closes beside each other are so many that their fills can be told apart', () => {
  const driver = new Driver().read(at({})).ask(action(all));
  driver.place();
  for (let mark = 998; ; mark -= 15) {
    expect(mark).toBeGreaterThan(900);
    driver.later(500).read(at({ mark: String(mark), liquidation: '800' }));
    while (driver.next().kind === 'place') driver.place();
    if (driver.next().kind === 'cancelAll') break;
    expect(driver.state.orders.length).toBeLessThanOrEqual(6);
  }
  driver.cancel();
  expect(driver.state.orders).toEqual([]);
});

test('an order was taken down for a larger one just before the market reached it', () => {
  const until: ActionSpec = {
    kind: 'reduce',
    target: { kind: 'untilDistance', distance: 0.1 },
    slippageSteps: [0.005],
  };
  // Under cross margin the liquidation price comes nearer as well, and more has to be closed.
  const nextAt = (mark: string): string => {
    const driver = new Driver().read(at({})).ask(action(until));
    const { amount, activationPrice } = driver.place().request;
    expect([amount, activationPrice]).toEqual(['0.381', '998.9']);
    driver.state = { ...driver.state, roundTripMs: 1_000 };
    driver.later(1_000).read(at({ mark, liquidation: '960' }));
    const step = driver.next();
    return step.kind === 'place' ? `${step.kind} ${step.request.amount}` : step.kind;
  };
  expect(nextAt('1000.1')).toBe('cancelAll');
  expect(nextAt('999.0')).toBe('place 0.084');
});

test('a stop that the last price had still to reach was cancelled when the mark had passed it for a while', () => {
  const driver = covered();
  driver.later(1_000).read(at({ mark: '966' }));
  expect(driver.reasons('coverTriggered')).toEqual(['triggered']);
  driver.later(3_100).read(at({ mark: '966' }));
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  for (let reads = 0; reads < 5; reads++) {
    driver.later(3_000).read(at({ mark: '966' }));
    const step = driver.next();
    expect(step.kind).not.toBe('cancelAll');
    if (step.kind === 'place') driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  }
  // Past its limit, it may have been jumped over.
  driver.later(3_000).read(at({ mark: '959' }));
  expect(driver.next().kind).toBe('cancelAll');
});

/** A stop half way to liquidation stands. */
function covered(): Driver {
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.place();
  return driver;
}

test('the gap takes at most half of the distance to liquidation', () => {
  const driver = new Driver().read(at({}));
  driver.state = { ...driver.state, roundTripMs: 10_000 };
  driver.later(990).read(at({ mark: '980' }));
  driver.ask(action(half));
  expect(driver.place().request.activationPrice).toBe('965');
});

test('an order that the market had passed when it arrived is replaced at the next read, by two at two gaps', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  expect(driver.cancel()).toMatchObject({ why: 'inverted', unfilled: [] });
  driver.later(21_000).answerRead(at({ mark: '997' }));
  // One waits where it was, as the last price may lag behind the mark; one beyond what mark and last may be apart.
  const near = driver.place().request;
  const far = driver.place().request;
  expect(997 - Number(near.activationPrice)).toBeCloseTo(1.1, 1);
  expect(997 - Number(far.activationPrice)).toBeCloseTo(12, 0);
  expect([near.amount, far.amount]).toEqual(['0.225', '0.275']);
  expect(driver.next().kind).toBe('idle');
});

test('one of two orders closed a part of a hedged side, and left a rest that was too small to be closed', () => {
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

test('the nearer of two is left alone while the farther one may still be activated; past both, both are replaced', () => {
  const driver = inverted();
  driver.later(1_000).read(at({ mark: '990' }));
  expect(driver.next().kind).toBe('idle');
  driver.later(7_000).read(at({ mark: '986' }));
  expect(driver.next().kind).toBe('idle');
  driver.later(1_000).read(at({ mark: '983' }));
  expect(driver.cancel().why).toBe('inverted');
  driver.later(21_000).answerRead(at({ mark: '983' }));
  driver.place();
  // Four times as much would be beyond liquidation, which is at 950: nine tenths of the way to it.
  expect(driver.place().request.activationPrice).toBe('953.3');
});

test('the fill of one of two says how far mark and last price are apart: the rest is placed by that', () => {
  const driver = inverted();
  // The farther one filled: the last price is about 0.7 to 1 % below the mark.
  driver.later(1_000).read(at({ mark: '995' }));
  driver.later(1_000).read(at({ mark: '992', size: '0.725' }));
  expect(driver.reasons('filled')).toHaveLength(1);
  driver.later(1_000).read(at({ mark: '984', size: '0.725' }));
  expect(driver.cancel().why).toBe('inverted');
  driver.later(21_000).answerRead(at({ mark: '984', size: '0.725' }));
  const { request } = driver.place();
  expect(request.amount).toBe('0.225');
  expect(1 - Number(request.activationPrice) / 984).toBeCloseTo(0.01, 2);
  expect(driver.next().kind).toBe('idle');
});

/** At a mark of 997 two orders stand, at 995.9 and 984.9. */
function inverted(): Driver {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  driver.cancel();
  driver.later(21_000).answerRead(at({ mark: '997' }));
  driver.place();
  driver.place();
  return driver;
}

test('a gap that was never reached shrinks to what is configured', () => {
  const driver = inverted();
  driver.later(4_000).read(at({ mark: '1002' }));
  expect(driver.cancel().why).toBe('marketMovedAway');
  driver.answerRead(at({ mark: '1002' }));
  const { request } = driver.place();
  expect(request.amount).toBe('0.5');
  expect(1002 - Number(request.activationPrice)).toBeCloseTo(1.2, 1);
});

test('an activation that was measured too far was placed there again and again, once every 3 s', () => {
  const driver = new Driver().read(at({}));
  driver.state = { ...driver.state, measuredBasis: { low: 0.011, high: 0.012 } };
  driver.ask(action(half));
  expect(1_000 - Number(driver.place().request.activationPrice)).toBeGreaterThan(10);
  driver.later(4_000).read(at({ mark: '1040' }));
  expect(driver.cancel().why).toBe('marketMovedAway');
  driver.answerRead(at({ mark: '1040' }));
  expect(1_040 - Number(driver.place().request.activationPrice)).toBeLessThan(2);
});

test('what was placed beside an order in doubt that the market has passed was taken back for it, and placed again, twenty times a second', () => {
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
  driver.state = { ...driver.state, orders, learnedBasis: 0.012 };
  driver.later(500).read(at({ mark: '990' }));
  const { request } = driver.place();
  expect(Number(request.amount)).toBeLessThanOrEqual(0.5);
  expect(driver.next().kind).not.toBe('cancelAll');
  driver.later(100).read(at({ mark: '990' }));
  expect(driver.next().kind).not.toBe('cancelAll');
});

test('refusals of the price: wider and nearer by turns, never only wider', () => {
  const driver = new Driver({ maxAttempts: 30, intentTtlMs: 600_000 })
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

import { describe, expect, test } from 'vitest';
import { brakedUntilMs } from '../../../src/core/intents/brake.ts';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { begin } from '../../../src/core/lanes/lane-step.ts';
import { rebase, recover } from '../../../src/core/lanes/recover-lane.ts';
import { Dice } from '../../support/dice.ts';
import { sliceOf } from '../../support/slice.ts';
import { at, Driver, failure } from '../lanes/driver.ts';
import { action, all, half, MARKET, protect } from '../lanes/fixtures.ts';

/** The brake that needs no reply: counted by the requests that leave, whatever the exchange answers. */

/** Plays answers to a lane's requests and returns when its requests left, in ms since the start. */
function requestsOf(driver: Driver, position: () => ReadPosition, durationMs: number, ask: () => void) {
  const startMs = driver.nowMs;
  const sentMs: number[] = [];
  while (driver.nowMs - startMs < durationMs) {
    driver.read(position());
    ask();
    for (let step = driver.next(), count = 0; count < 30; step = driver.next(), count += 1) {
      if (step.kind === 'place') {
        sentMs.push(driver.nowMs - startMs);
        // Dealt in full, by its label and its numbers; the position never moves.
        driver.place({ status: { known: true, value: 'FILLED' } });
      } else if (step.kind === 'cancelAll') {
        sentMs.push(driver.nowMs - startMs);
        driver.cancel();
      } else if (step.kind === 'readPositions') driver.answerRead(position());
      else break;
    }
    driver.later(200);
  }
  return sentMs;
}

describe('orders that are answered as filled and never move the position', () => {
  test.each([
    ['a half', half],
    ['everything', all],
  ])('were sent without end, hundreds in a minute: %s', (_what, spec) => {
    const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000 });
    const position = () => at({ mark: '1000', liquidation: '700' });
    driver.read(position());
    const sentMs = requestsOf(driver, position, 300_000, () => driver.ask(action(spec)));
    const inFirstMinute = sentMs.filter((atMs) => atMs < 60_000).length;
    expect(inFirstMinute).toBe(spec === all ? 12 : 2);
    // One a minute from then on, a set of at most two orders.
    expect(sentMs.length - inFirstMinute).toBeLessThanOrEqual(10);
    expect(driver.reasons('braked')).toEqual([spec === all ? 'nothingChanges' : 'sumOfAmounts']);
  });

  test('go on every few seconds at a margin call, and freely once the position moves', () => {
    const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000 });
    let size = '1';
    const called = (): ReadPosition => ({ ...at({ mark: '960', size }), liquidationState: 'margin_call' });
    driver.read(called());
    const sentMs = requestsOf(driver, called, 180_000, () => driver.ask(action(half)));
    const later = sentMs.filter((atMs) => atMs >= 60_000).length;
    expect(later).toBeGreaterThanOrEqual(10);
    expect(later).toBeLessThanOrEqual(30);
    size = '0.9';
    driver.later(100).read(called());
    expect(driver.state.brake).toBeUndefined();
  });
});

test('a dozen refused cancels held back the reduction behind them', () => {
  const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000 });
  const position = () => at({ mark: '1000', liquidation: '700' });
  driver.read(position());
  const request = { market: MARKET, types: ['futures'] as const };
  const cancel = {
    kind: 'cancelAll',
    request,
    why: 'cancelAction',
    task: null,
    admitted: [],
    unfilled: [],
  } as const;
  for (let count = 0; count < 12; count += 1) {
    driver.apply(begin(driver.state, cancel, driver.nowMs));
    driver.end({
      kind: 'cancelAll',
      outcome: { kind: 'rejected', error: failure({ name: 'permissionDenied' }) },
    });
    driver.later(1_000).read(position());
  }
  driver.ask(action(half));
  for (const _attempt of [1, 2, 3]) {
    expect(driver.refuse({ name: 'insufficientBalance' }).order.role).toBe('reduce');
    driver.later(6_000).read(position()).ask(action(half));
  }
  expect(driver.reasons('braked')).toEqual([]);
  // Cancels are held back by themselves.
  expect(brakedUntilMs(driver.state, cancel, driver.context.settings, driver.nowMs - 18_000)).toBeGreaterThan(
    0,
  );
});

test.each([
  [half, 'sumOfAmounts'],
  [all, 'nothingChanges'],
])('a brake that was put on before the clock stepped back holds no longer than its pace', (spec, reason) => {
  const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000 });
  const position = () => at({ mark: '1000' });
  driver.read(position());
  requestsOf(driver, position, 30_000, () => driver.ask(action(spec)));
  expect(driver.reasons('braked')).toEqual([reason]);
  driver.nowMs -= 3_600_000;
  driver.state = rebase(driver.state, driver.context.settings, driver.nowMs);
  const sentMs = requestsOf(driver, position, 150_000, () => driver.ask(action(spec)));
  expect(sentMs.length).toBeGreaterThanOrEqual(2);
});

const NO_MARK = { markPrice: null } as const;
const NO_DATE = { openDate: null } as const;

describe('a stream of orders that changes nothing', () => {
  const refused = { name: 'insufficientBalance' } as const;
  const still = (mark = '1000') => at({ mark, liquidation: '700' });

  /** Sets that leave while each is refused; a read every 200 ms shows what `seen` says. */
  function setsWhile(seen: (tick: number) => readonly ReadPosition[], durationMs: number): number {
    const driver = new Driver({ maxAttempts: 10_000, maxRenewals: 10_000, intentTtlMs: 36_000_000 });
    driver.read(still());
    const startMs = driver.nowMs;
    let sets = 0;
    for (let tick = 0; driver.nowMs - startMs < durationMs; tick += 1) {
      driver.read(...seen(tick)).ask(action(half));
      const step = driver.next();
      if (step.kind === 'place') {
        driver.refuse(refused);
        sets += 1;
      } else if (step.kind === 'readPositions') driver.answerRead(...seen(tick));
      driver.later(190);
    }
    return sets;
  }

  test('was not held back at eleven a minute', () => {
    const driver = new Driver({ maxAttempts: 10_000, maxRenewals: 10_000, intentTtlMs: 36_000_000 });
    let sets = 0;
    for (let minute = 0; minute < 10; minute += 1) {
      for (let count = 0; count < 11; count += 1) {
        driver.later(5_450).read(still()).ask(action(half));
        if (driver.next().kind !== 'place') continue;
        driver.refuse(refused);
        sets += 1;
      }
    }
    // A dozen, and one a minute.
    expect(sets).toBeLessThanOrEqual(12 + 10);
    expect(driver.reasons('braked')).toEqual(['nothingChanges']);
  });

  test('went on freely while one position was listed, left out, and listed again', () => {
    const other = { ...still(), positionId: '7' };
    const sets = setsWhile((tick) => (tick % 2 === 0 ? [still(), other] : [still()]), 120_000);
    expect(sets).toBeGreaterThan(6);
    expect(sets).toBeLessThanOrEqual(12 + 2);
  });

  test('a move of the market excuses one set, not all before it', () => {
    // One move of 1 % a minute.
    const sets = setsWhile((tick) => [still(String(1000 - 10 * Math.floor(tick / 300)))], 300_000);
    expect(sets).toBeGreaterThan(12 + 5);
    expect(sets).toBeLessThanOrEqual(12 + 5 + 5);
  });

  test.each([
    ['a mark that flips between two values', (tick: number) => still(tick % 3 === 0 ? '9000000' : '1000')],
    ['a mark that is unknown at times', (tick: number) => ({ ...still(), ...(tick % 3 > 0 && NO_MARK) })],
    ['a date that cannot be read at times', (tick: number) => ({ ...still(), ...(tick % 3 > 0 && NO_DATE) })],
  ])('went on freely for %s', (_what, position) => {
    const sets = setsWhile((tick) => [position(tick)], 300_000);
    // The speed that a flip shows makes some of them go sooner.
    expect(sets).toBeLessThanOrEqual(12 + 5 + 5);
  });

  test('after a restart is released by what reads show, not held for good', () => {
    const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000 });
    driver.read(still());
    driver.apply(recover(driver.state, driver.context.settings, driver.nowMs));
    const cancel = { kind: 'cancelAll', request: { market: MARKET }, why: 'cancelAction' } as const;
    driver.apply(begin(driver.state, { ...cancel, task: null, admitted: [], unfilled: [] }, driver.nowMs));
    driver.end({ kind: 'cancelAll', outcome: { kind: 'rejected', error: failure(refused) } });
    driver.later(100).read(still());
    expect(driver.state.brake?.cancels?.sets).toBe(1);
    driver.later(100).read(at({ mark: '1000', liquidation: '700', size: '0.9' }));
    expect(driver.state.brake).toBeUndefined();
  });

  test('a set of more orders than a market has places counts as several', () => {
    const driver = new Driver();
    driver.read(still()).ask(action(half));
    const step = driver.start('place');
    driver.end({ kind: 'place', outcome: { kind: 'rejected', error: failure(refused) } });
    for (let count = 0; count < 300; count += 1) {
      const order = { ...step.order, positionId: `${100 + count}` };
      driver.apply(begin(driver.state, { ...step, order }, driver.nowMs));
      driver.end({ kind: 'place', outcome: { kind: 'rejected', error: failure(refused) } });
    }
    expect(driver.state.brake?.orders?.sets).toBeGreaterThan(12);
  });
});

describe('the amounts of all orders sent', () => {
  /** A long at 1,000, 30 % from liquidation, whose reduction by half is answered as filled and never fills. */
  const unmoved = (settings = {}) => {
    const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000, ...settings });
    const position = () => at({ mark: '1000', liquidation: '700' });
    driver.read(position()).ask(action(half));
    return { driver, position };
  };
  const FILLED = { status: { known: true, value: 'FILLED' } } as const;
  const fillTwice = (driver: Driver, position: ReadPosition) => {
    for (const _order of [1, 2]) {
      driver.place(FILLED);
      driver.later(100).read(position);
    }
  };

  test('added up to six times the position before anything counted them', () => {
    const { driver, position } = unmoved();
    fillTwice(driver, position());
    const held = driver.next();
    expect(held).toMatchObject({ kind: 'wait', why: 'braked' });
    expect(driver.reasons('braked')).toEqual(['sumOfAmounts']);
    // A minute after the last one, and then again: people are told once.
    driver.later(60_000).read(position());
    expect(driver.place(FILLED).request.amount).toBe('0.5');
    driver.later(100).read(position());
    expect(driver.next().kind).toBe('wait');
    expect(driver.reasons('braked')).toEqual(['sumOfAmounts']);
  });

  test('are kept over a restart', () => {
    const { driver, position } = unmoved();
    fillTwice(driver, position());
    driver.apply(recover(driver.state, driver.context.settings, driver.nowMs));
    driver.later(10).read(position());
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'braked' });
  });

  test.each([
    ['an explicit refusal', (driver: Driver) => driver.refuse({ name: 'positionLimit' })],
    [
      'a refusal at creation',
      (driver: Driver) => driver.place({ status: { known: true, value: 'CANCELLED' } }),
    ],
  ])('do not hold what %s took out of them', (_what, refuse) => {
    const { driver, position } = unmoved();
    driver.place(FILLED);
    driver.later(100).read(position());
    for (const _time of [1, 2, 3]) {
      refuse(driver);
      driver.later(6_000).read(position());
    }
    expect(driver.start('place').order.role).toBe('reduce');
  });

  test('shrink by what reads show as closed, oldest first, and by an accepted cancel', () => {
    const { driver } = unmoved();
    driver.place(FILLED);
    driver.later(100).read(at({ mark: '1000', liquidation: '700', size: '0.8' }));
    driver.place(FILLED);
    driver.later(100).read(at({ mark: '1000', liquidation: '700', size: '0.8' }));
    // Of 0.5 and 0.3 sent, 0.2 was closed: 0.6 may still fill.
    expect(driver.state.unclosed?.map(({ amount }) => amount)).toEqual(['0.3', '0.3']);
    expect(driver.next().kind).toBe('wait');
    const request = { market: MARKET, types: ['futures'] as const };
    const rest = { task: null, admitted: [], unfilled: [] };
    driver.apply(begin(driver.state, { kind: 'cancelAll', request, why: 'doubt', ...rest }, driver.nowMs));
    driver.end({
      kind: 'cancelAll',
      outcome: { kind: 'accepted', value: null, timing: { sentAtMs: 0, receivedAtMs: 0, attempts: 1 } },
    });
    expect(driver.state.unclosed).toBeUndefined();
  });

  test('count for one episode, and never at a target of zero', () => {
    const { driver, position } = unmoved();
    fillTwice(driver, position());
    driver.ask();
    driver.ask(action(half, { episode: 2 }));
    expect(driver.start('place').request.amount).toBe('0.5');
    const whole = new Driver({ maxAttempts: 1_000 }).read(position()).ask(action(all));
    fillTwice(whole, position());
    expect(whole.start('place').request.amount).toBe('1');
  });
});

/** Any answer, in any order; the numbers say nothing true about the position. */
function answer(driver: Driver, kind: 'place' | 'cancelAll', random: () => number): void {
  const drawn = Math.floor(random() * 7);
  const names = [
    'validationFailed',
    'rateLimited',
    'priceInvalid',
    'insufficientBalance',
    'reduceOnlyRefused',
  ];
  const name = names[Math.floor(random() * names.length)] ?? '';
  if (drawn === 0) driver.lose(kind);
  else if (kind === 'cancelAll' && drawn < 3) driver.refuseCancel({ name });
  else if (kind === 'cancelAll') driver.cancel();
  else if (drawn === 1) driver.refuse({ name });
  else if (drawn === 2) driver.refuse({ name: 'duplicateClientOrderId' });
  else if (drawn === 3) driver.place({ status: { known: true, value: 'CANCELLED' } });
  else if (drawn === 4)
    driver.place({ status: { known: false, raw: 'ODD' } as never, clientOrderIdEchoed: false });
  else if (drawn === 5) driver.place();
  else driver.place({ status: { known: true, value: 'FILLED' } });
}

describe('two halves in doubt that the market has passed', () => {
  const inDoubt = (liquidation: string): Driver => {
    const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000 });
    driver.read(at({ mark: '1000', liquidation })).ask(action(half));
    for (const mark of ['980', '960']) {
      const seen = at({ mark, liquidation });
      driver.lose('place').later(5_010).read(seen).next();
      driver.later(3_000).read(seen).ask(action(half));
    }
    expect(driver.state.orders.map(({ status }) => status)).toEqual(['unsure', 'unsure']);
    return driver;
  };

  test.each([[true], [false]])(
    'held the next one back, though a cancel could take them down; orders are taken: %s',
    (areTaken) => {
      const driver = inDoubt('100');
      if (areTaken) driver.ordersAreTaken();
      else expect(driver.place().order).toMatchObject({ role: 'cover', trial: true });
      expect(driver.cancel().why).toBe(areTaken ? 'doubt' : 'resolved');
      driver.later(10).answerRead(at({ mark: '960', liquidation: '100' }));
      expect(driver.place().order).toMatchObject({ role: 'reduce', amount: '0.5' });
      expect(driver.reasons('braked')).toEqual([]);
    },
  );

  test('hold it back for a moment only near liquidation, and no cancel goes before it', () => {
    const driver = inDoubt('700').ordersAreTaken();
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'braked' });
    driver.later(2_000).read(at({ mark: '959', liquidation: '700' }));
    expect(driver.place().order).toMatchObject({ role: 'reduce', amount: '0.5' });
  });
});

describe('an order flood is impossible by construction', () => {
  const seeds = sliceOf([...Array(60).keys()], 3, 'seeds of arbitrary replies');
  test.each(seeds)('over arbitrary replies, seed %i', (seed) => {
    // Near liquidation the brake's rate is one set in 10 s, else one a minute.
    const [liquidation, most] = seed % 2 === 0 ? (['700', 12] as const) : (['950', 18] as const);
    const dice = new Dice(seed);
    const random = () => dice.next();
    const settings = {
      maxAttempts: 1_000,
      maxRenewals: 1_000,
      cancelCoversStops: seed % 3 !== 0,
      nonceMode: seed % 2 === 0 ? ('unique' as const) : ('increasing' as const),
      cancel: seed % 5 === 0 ? ('never' as const) : ('always' as const),
    };
    const driver = new Driver(settings);
    const startMs = driver.nowMs;
    const sets: number[] = [];
    // The mark trembles by less than the gap of an order, so nothing explains a request.
    const position = () => at({ mark: (1000 + (random() - 0.5) * 0.1).toFixed(2), liquidation });
    let episode = 1;
    let names = new Set<string>();
    while (driver.nowMs - startMs < 240_000) {
      driver.read(position());
      // A rule that flaps begins new episodes, so the keys of its intents change.
      if (random() < 0.02) episode += 1;
      driver.ask(action(half, { episode }), action(protect, { ruleId: 'cover' }));
      for (let count = 0; count < 40; count += 1) {
        const step = driver.next();
        if (step.kind === 'readPositions') {
          driver.answerRead(position());
          continue;
        }
        if (step.kind !== 'place' && step.kind !== 'cancelAll') break;
        const name = step.kind === 'cancelAll' ? 'cancel' : `${step.order.role} ${step.order.trial}`;
        if (name === 'cancel' || names.has(name) || sets.length === 0) {
          sets.push(driver.nowMs - startMs);
          names = new Set();
        }
        names.add(name);
        answer(driver, step.kind, random);
      }
      driver.later(100 + Math.floor(random() * 400));
    }
    for (const fromMs of sets) {
      const within = sets.filter((atMs) => atMs >= fromMs && atMs < fromMs + 60_000).length;
      expect(within, `sets within a minute of ${fromMs} ms`).toBeLessThanOrEqual(most);
    }
    expect(driver.reasons('braked').length).toBeLessThanOrEqual(1);
  });
});

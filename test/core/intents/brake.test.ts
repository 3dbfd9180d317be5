import { describe, expect, test } from 'vitest';
import { brakedUntilMs } from '../../../src/core/intents/brake.ts';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { begin } from '../../../src/core/lanes/lane-step.ts';
import { rebase } from '../../../src/core/lanes/recover-lane.ts';
import { Dice } from '../../support/dice.ts';
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
    expect(inFirstMinute).toBeGreaterThan(6);
    expect(inFirstMinute).toBeLessThanOrEqual(12);
    // One a minute from then on, a set of at most two orders.
    expect(sentMs.length - inFirstMinute).toBeLessThanOrEqual(10);
    expect(driver.reasons('braked')).toEqual(['nothingChanges']);
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

test('a brake that was put on before the clock stepped back holds no longer than its pace', () => {
  const driver = new Driver({ maxAttempts: 1_000, intentTtlMs: 3_600_000 });
  const position = () => at({ mark: '1000' });
  driver.read(position());
  requestsOf(driver, position, 30_000, () => driver.ask(action(half)));
  expect(driver.reasons('braked')).toEqual(['nothingChanges']);
  driver.nowMs -= 3_600_000;
  driver.state = rebase(driver.state, driver.context.settings, driver.nowMs);
  const sentMs = requestsOf(driver, position, 150_000, () => driver.ask(action(half)));
  expect(sentMs.length).toBeGreaterThanOrEqual(2);
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

describe('an order flood is impossible by construction', () => {
  test.each(Array.from({ length: 60 }, (_, seed) => seed))('over arbitrary replies, seed %i', (seed) => {
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
        const name =
          step.kind === 'cancelAll' ? 'cancel' : `${step.order.role} ${step.order.part} ${step.order.trial}`;
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

import { describe, expect, test } from 'vitest';
import { ExchangeClock } from '../../../src/simulator/exchange-clock.ts';
import { assembleExchange } from '../../../src/simulator/start-simulated-exchange.ts';
import { Timeline } from '../../../src/simulator/timeline.ts';
import { account, d, longOf, START_MS, world } from '../model/helpers.ts';

const DAY_MS = 86_400_000;

describe('catching up with a clock that is far ahead', () => {
  test.each([
    [[], 'no read lags'],
    [[800], 'reads lag'],
  ])('may be stopped midway, and continues later with the same result (%j)', (ages) => {
    const stopped = world();
    const whole = world();
    const timelines = [stopped, whole].map((model) => {
      model.createAccount(account({ positions: [longOf('0.5', 'BTC_USDT')] }));
      const clock = new ExchangeClock(START_MS, 0, () => 0);
      const timeline = new Timeline(model, clock);
      timeline.setAges(ages);
      clock.step(DAY_MS);
      return timeline;
    });
    const [first, second] = timelines;
    if (first === undefined || second === undefined) throw new Error('two timelines');
    expect(first.catchUp(() => false)).toBe(false);
    expect(stopped.nowMs()).toBeGreaterThan(START_MS);
    expect(stopped.nowMs()).toBeLessThan(START_MS + DAY_MS / 2);
    expect(first.catchUp()).toBe(true);
    expect(second.catchUp()).toBe(true);
    expect(stopped.nowMs()).toBe(START_MS + DAY_MS);
    expect(stopped.openPositions('a')).toEqual(whole.openPositions('a'));
    expect(first.reads('a', 800).openPositions()).toEqual(second.reads('a', 800).openPositions());
  });

  test('lagging reads show the state at the stop, not the one before the leap', () => {
    const model = world();
    model.createAccount(account({ positions: [longOf('0.5')] }));
    const clock = new ExchangeClock(START_MS, 0, () => 0);
    const timeline = new Timeline(model, clock);
    timeline.setAges([800]);
    let next: number | undefined = START_MS + 5_000;
    model.setPriceSource('BTC_PERP', {
      nextMs: () => next,
      take: () => {
        next = undefined;
        return d('61000');
      },
    });
    clock.step(DAY_MS);
    timeline.catchUp(() => false);
    timeline.catchUp(() => false);
    const [position] = timeline.reads('a', 800).openPositions();
    expect(position?.unrealizedPnl.toFixed()).toBe('500');
  });
});

test('at 100,000 times the speed with moving prices, it blocks the loop for at most a fifth of its tick', () => {
  let monotonicMs = 0;
  const time = {
    wallMs: () => START_MS,
    monotonicMs: () => monotonicMs,
    timers: { after: () => () => undefined },
  };
  const exchange = assembleExchange({ speed: 0 }, time);
  let atMs = exchange.model.nowMs();
  exchange.setPriceSource('BTC_PERP', {
    nextMs: () => atMs + 100,
    take: (last) => {
      atMs += 100;
      // Work per price.
      monotonicMs += 0.03;
      return last;
    },
  });
  exchange.clock.setSpeed(100_000);
  for (let tick = 0; tick < 20; tick += 1) {
    monotonicMs += 50;
    const before = { monotonicMs, exchangeMs: exchange.model.nowMs() };
    exchange.catchUp();
    expect(monotonicMs - before.monotonicMs).toBeLessThanOrEqual(14);
    expect(exchange.model.nowMs() - before.exchangeMs).toBeGreaterThanOrEqual(10_000);
  }
});

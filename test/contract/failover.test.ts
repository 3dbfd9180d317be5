import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { RegionState } from '../../src/simulator/http/front.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { type ConnectOptions, connect, openExchange, placed, STOP } from './support/world.ts';

/** Two base addresses of one exchange, with one of them down, slow, silent, or answering 503. */

/** A clock whose monotonic time a test can move ahead; it measures how long a bad address is left alone. */
function movableClock() {
  let aheadMs = 0;
  return {
    ...systemClock,
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    sleep: (delayMs: number, signal?: AbortSignal) => systemClock.sleep(delayMs, signal),
    move(ms: number) {
      aheadMs += ms;
    },
  };
}

/** On a slow machine, too, the time for which a bad address is left alone does not pass between two reads. */
const unhurried = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() / 100 };

const ills: readonly (readonly [string, RegionState])[] = [
  ['down', { mode: 'down' }],
  ['slow', { mode: 'slow', delayMs: 5000 }],
  ['silent', { mode: 'hang' }],
  ['answering 503', { mode: 'unavailable' }],
];

const settings: ConnectOptions = {
  timeouts: { attemptMs: 600, callMs: 20_000 },
  retry: { maxAttempts: 4, firstBackoffMs: 5 },
};

const regions = (exchange: RunningSimulator, endpoint: string) =>
  exchange
    .requestLog({ endpoint })
    .filter(({ outcome }) => outcome === 'served')
    .map(({ region }) => region);

describe.each(ills)('with the first address %s', (_what, state) => {
  it('reads switch to the second and stay there', async () => {
    const exchange = await openExchange();
    const { client, calls } = connect(exchange, 'long', { ...settings, clock: unhurried });
    exchange.setRegion(0, state);
    for (let index = 0; index < 3; index += 1) {
      expect(await client.openPositions()).toMatchObject({ kind: 'ok', value: { complete: true } });
    }
    expect(calls.map(({ attempts, baseUrlIndex }) => [attempts, baseUrlIndex])).toEqual([
      [2, 1],
      [1, 1],
      [1, 1],
    ]);
    expect(regions(exchange, 'openPositions')).toEqual([1, 1, 1]);
  });

  it('a command that meets it first is sent once, with an unknown outcome unless it is certain', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', settings);
    exchange.setRegion(0, state);
    const outcome = await client.reduceOnlyStop(STOP);
    const orders = () => placed(exchange, 'stop-1').length;
    if (outcome.kind === 'rejected') {
      expect(outcome.error).toMatchObject({ name: 'connectFailed', effect: 'none' });
      expect(orders()).toBe(0);
    } else {
      expect(outcome).toMatchObject({ kind: 'unknown', error: { effect: 'possible' } });
    }
    expect(exchange.requestLog({ endpoint: 'stopLimit' }).filter(({ region }) => region === 1)).toEqual([]);
    expect(orders()).toBeLessThanOrEqual(1);
  });

  it('the next command goes to the second, and is accepted there, once', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', settings);
    exchange.setRegion(0, state);
    await client.openPositions();
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
    expect(exchange.requestLog({ endpoint: 'stopLimit' })).toMatchObject([{ region: 1, outcome: 'served' }]);
    expect(placed(exchange)).toHaveLength(1);
  });

  it('reads return to it when it works again, and commands only after a read has shown that', async () => {
    const exchange = await openExchange();
    const clock = movableClock();
    const { client } = connect(exchange, 'long', { ...settings, clock });
    exchange.setRegion(0, state);
    await client.openPositions();
    exchange.setRegion(0, { mode: 'up' });
    clock.move(60_000);
    await client.cancelAll({});
    await client.openPositions();
    await client.cancelAll({});
    expect(regions(exchange, 'cancelAll')).toEqual([1, 0]);
    expect(regions(exchange, 'openPositions')).toEqual([1, 0]);
  });
});

it('with both addresses failing, reads fail with a named error in bounded time', async () => {
  const exchange = await openExchange();
  const { client } = connect(exchange, 'long', settings);
  exchange.setRegion(0, { mode: 'down' });
  exchange.setRegion(1, { mode: 'unavailable' });
  const outcome = await client.openPositions();
  expect(outcome).toMatchObject({ kind: 'failed', attempts: 4 });
  const names = ['connectionLost', 'connectFailed', 'temporarilyUnavailable'];
  expect(names).toContain(outcome.kind === 'failed' && outcome.error.name);
});

it('without a listener a command certainly has no effect', async () => {
  const exchange = await openExchange();
  const { accounts } = exchange;
  const { client } = connect({ baseUrls: ['http://127.0.0.1:1'], accounts }, 'long', settings);
  expect(await client.reduceOnlyStop(STOP)).toMatchObject({
    kind: 'rejected',
    error: { name: 'connectionRefused', effect: 'none' },
  });
  expect(exchange.requestLog()).toEqual([]);
});

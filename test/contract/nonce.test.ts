import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NonceStore } from '../../src/core/ports/nonce-store.ts';
import { createSharedLimiter, type ExchangeClient } from '../../src/exchange/client.ts';
import type { NonceMode } from '../../src/exchange/nonce/nonce-modes.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';
import { createRedisNonceStore } from '../../src/state/nonce/nonce-redis.ts';
import { type PrivateRedis, startPrivateRedis } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { startTampering } from './support/tamper.ts';
import { accountNamed, closeAfterTest, connect, openExchange, STOP } from './support/world.ts';

const WORKER = path.join(import.meta.dirname, 'fixtures/nonce-worker.ts');
const MODES = ['unique', 'increasing', 'window'] as const;

let redis: PrivateRedis;
beforeAll(async () => {
  redis = await startPrivateRedis();
});
afterAll(() => redis.stop());

type RequestRecord = ReturnType<RunningSimulator['requestLog']>[number];

function noncesOf(exchange: RunningSimulator): string[] {
  return exchange.requestLog().flatMap(({ nonce }) => nonce ?? []);
}

function expectUnique(nonces: readonly string[], count: number): void {
  expect([nonces.length, new Set(nonces).size]).toEqual([count, count]);
}

function expectIncreasing(nonces: readonly string[]): void {
  const backwards = nonces.filter((nonce, index) => BigInt(nonce) <= BigInt(nonces[index - 1] ?? '0'));
  expect(backwards).toEqual([]);
}

function redisStore(prefix: string) {
  const connection = new Redis(redis.url);
  const store = createRedisNonceStore({ redis: connection, prefix: `${redis.prefix}${prefix}:` });
  closeAfterTest(async () => {
    await store.close();
    connection.disconnect();
  });
  return store;
}

/** Half of them: test/exchange/nonce tests each mode against its own server. */
const CASES: readonly (readonly [NonceMode, 'unique' | 'increasing'])[] = [
  ['unique', 'unique'],
  ['increasing', 'increasing'],
  ['window', 'increasing'],
  ['window', 'unique'],
];

/** Half the width of the window around the exchange's time, and how far back in it the client begins. */
const WINDOW_MS = 5_000;
const BACK_MS = 1_000;

describe('1,000 calls at once from 4 processes on one key', () => {
  async function ready(child: ChildProcess): Promise<ChildProcess> {
    await once(child, 'message');
    return child;
  }

  it.each(sliceOf(CASES, 4, 'modes of nonces'))(
    'mode %s, rule %s: no nonce twice, none refused',
    async (mode, nonceRule) => {
      const exchange = await openExchange({ readings: { nonceRule } });
      const { apiKey, apiSecret } = accountNamed(exchange, 'long');
      const children = await Promise.all(
        [0, 1, 2, 3].map((process) => {
          const task = {
            baseUrls: exchange.baseUrls,
            apiKey,
            apiSecret,
            redisUrl: redis.url,
            prefix: `${redis.prefix}${mode}-${nonceRule}:`,
            mode,
            // The default for all processes: only the store keeps their nonces apart.
            ordinal: 0,
            calls: 250,
            // Clocks of several hosts differ; the window allows for that, as the exchange shows its time.
            clockOffsetMs: (process % 2) * 1300,
          };
          return ready(fork(WORKER, [JSON.stringify(task)], { execArgv: [] }));
        }),
      );
      const results = children.map(async (child) => {
        const [outcomes] = (await once(child, 'message')) as [Record<string, number>];
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        return outcomes;
      });
      const beganMs = Date.now();
      for (const child of children) child.send('go');
      expect(await Promise.all(results)).toEqual(children.map(() => ({ ok: 225, accepted: 25 })));
      const nonces = noncesOf(exchange);
      // On a busy machine a nonce may be older than the window when it arrives; it is then sent again.
      const endedMs = Date.now();
      const mayBeLate = ({ nonce, message }: RequestRecord): boolean =>
        mode === 'window' &&
        message?.includes('more than 5 seconds') === true &&
        Number(nonce) >= beganMs - BACK_MS &&
        Number(nonce) < endedMs - WINDOW_MS;
      const refused = exchange.requestLog({ outcome: 'refused' });
      expect(refused.filter((record) => !mayBeLate(record))).toEqual([]);
      if (mode === 'increasing') expectIncreasing(nonces);
      // A read that gave way to an urgent call is sent again, with its own nonce.
      expect(nonces.length).toBeGreaterThanOrEqual(1000);
      expectUnique(nonces, nonces.length);
      if (mode === 'unique') expect(nonces).toHaveLength(1000);
    },
  );
});

describe('one process', () => {
  it('may close its client twice', async () => {
    const { client } = connect(await openExchange(), 'long');
    await client.openPositions();
    await Promise.all([client.close(), client.close()]);
    await client.close();
    expect(await client.openPositions()).toMatchObject({ kind: 'failed', error: { name: 'clientClosed' } });
  });

  it.each(MODES)('in mode %s uses no nonce twice, even when its clock steps back', async (mode) => {
    const nonceRule = mode === 'unique' ? 'unique' : 'increasing';
    const exchange = await openExchange({ readings: { nonceRule } });
    let offsetMs = 0;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + offsetMs };
    const { client } = connect(exchange, 'long', { clock, nonce: { mode } });
    for (const step of [0, -3_600_000, 86_400_000, -1]) {
      offsetMs = step;
      const outcomes = await Promise.all(Array.from({ length: 25 }, () => client.openPositions()));
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 25 }, () => 'ok'));
    }
    expectUnique(noncesOf(exchange), 100);
    if (mode !== 'window') expectIncreasing(noncesOf(exchange).toSorted(byValue));
    if (mode === 'increasing') expectIncreasing(noncesOf(exchange));
  });

  it.each(MODES)('in mode %s goes on after a restart with its clock behind', async (mode) => {
    const nonceRule = mode === 'unique' ? 'unique' : 'increasing';
    const exchange = await openExchange({ readings: { nonceRule } });
    const prefix = `restart-${mode}`;
    const before = connect(exchange, 'long', { nonce: { mode, store: redisStore(prefix) } });
    await Promise.all(Array.from({ length: 20 }, () => before.client.openPositions()));
    await before.client.close();
    const clock = {
      ...systemClock,
      nowMs: () => systemClock.nowMs() - (mode === 'window' ? 2000 : 3_600_000),
    };
    const after = connect(exchange, 'long', { clock, nonce: { mode, store: redisStore(prefix) } });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => after.client.openPositions()));
    expect(outcomes.filter(({ kind }) => kind !== 'ok')).toEqual([]);
    expectUnique(noncesOf(exchange), 40);
    if (mode === 'increasing') expectIncreasing(noncesOf(exchange));
  });

  it('in window mode learns the time of an exchange whose clock is an hour off', async () => {
    const exchange = await openExchange({ readings: { nonceRule: 'increasing' } });
    exchange.exchange.serverTimeSkewMs = 3_600_000;
    const { client } = connect(exchange, 'long', { nonce: { mode: 'window' }, retry: { maxAttempts: 3 } });
    expect(await client.openPositions()).toMatchObject({ kind: 'ok' });
    expect(await client.cancelAll({})).toMatchObject({ kind: 'accepted' });
    expect(exchange.requestLog({ outcome: 'refused' })).toHaveLength(1);
    exchange.exchange.serverTimeSkewMs = -3_600_000;
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
  });

  it('sends nonceWindow only in window mode', async () => {
    const exchange = await openExchange();
    const { apiSecret } = accountNamed(exchange, 'long');
    const proxy = await startTampering(exchange.baseUrl, apiSecret);
    for (const mode of MODES) {
      const { client } = connect({ ...exchange, baseUrls: [proxy.url] }, 'long', { nonce: { mode } });
      await client.openPositions();
    }
    const flags = proxy.bodies.map((body) => (JSON.parse(body) as { nonceWindow?: unknown }).nonceWindow);
    expect(flags).toEqual([undefined, undefined, true]);
  });
});

it.each(['unique', 'increasing'] as const)(
  '%s nonces of a key that was used with larger ones start at nonceStart',
  async (mode) => {
    const exchange = await openExchange();
    // As another program may have used them: far more than ten minutes ahead, in microseconds.
    const start = Date.now() * 4_000;
    const { client } = connect(exchange, 'long', {
      nonce: { mode, start, store: redisStore(`start-${mode}`) },
    });
    for (let count = 0; count < 3; count += 1)
      expect(await client.openPositions()).toMatchObject({ kind: 'ok' });
    const nonces = noncesOf(exchange);
    expectUnique(nonces, 3);
    expectIncreasing(nonces);
    for (const nonce of nonces) {
      expect(BigInt(nonce)).toBeGreaterThanOrEqual(BigInt(start));
      expect(BigInt(nonce)).toBeLessThan(BigInt(start) + 1_000_000n);
    }
  },
);

describe('in unique mode, if the exchange demands increasing nonces and another process begins to use the key', () => {
  /** A client that has been alone with its key for so long that it reserves nonces for several calls. */
  async function openSettled(prefix: string) {
    const exchange = await openExchange({ readings: { nonceRule: 'increasing' } });
    let laterMs = 0;
    const clock = {
      ...systemClock,
      nowMs: () => systemClock.nowMs() + laterMs,
      monotonicMs: () => systemClock.monotonicMs() + laterMs,
    };
    const shared = redisStore(prefix);
    let reservedAt = 0;
    const store: NonceStore = {
      ...shared,
      reserve(...args) {
        reservedAt = second;
        return shared.reserve(...args);
      },
    };
    const permits = createMemoryRateLimitStore(clock);
    const sharedLimiter = createSharedLimiter({ limiter: { store: permits, fallback: permits }, clock });
    const options = { clock, sharedLimiter, retry: { maxAttempts: 2 } };
    const { client, calls } = connect(exchange, 'long', { ...options, nonce: { store } });
    let second = 0;
    // Until its nonces have just been reserved.
    while (second <= 60 || reservedAt < second - 1) {
      expect(await client.openPositions()).toMatchObject({ kind: 'ok' });
      laterMs += 1000;
      second += 1;
    }
    calls.length = 0;
    const nonce = { store: redisStore(prefix), ordinal: 1 };
    const other = connect(exchange, 'long', { ...options, nonce }).client;
    // The second time permits are taken in advance: the next call finds one at hand.
    for (const _ of [1, 2]) expect(await other.cancelAll({})).toMatchObject({ kind: 'accepted' });
    return { client, calls };
  }

  const protective = { priority: 'protective' } as const;
  it.each([
    ['a command', (client: ExchangeClient) => client.cancelAll({})],
    ['a read in the course of an action', (client: ExchangeClient) => client.openPositions({}, protective)],
  ])('%s is not refused', async (_what, act) => {
    const { client, calls } = await openSettled('acts');
    expect((await act(client)).kind).toMatch(/accepted|ok/);
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
    expect(calls).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  it('a read is refused once at most', async () => {
    const { client, calls } = await openSettled('reads');
    expect(await client.openPositions()).toMatchObject({ kind: 'ok' });
    expect(await client.openPositions()).toMatchObject({ kind: 'ok' });
    expect(calls).toMatchObject([{ attempts: 2, noncesRefused: 1, limitsHit: 0 }, { attempts: 1 }]);
  });
});

describe('in increasing mode', () => {
  it.each([
    ['of the same client', false],
    ['of another process', true],
  ])('an urgent call ends a read ahead of it, %s, and the read is made again', async (_what, apart) => {
    const exchange = await openExchange({ readings: { nonceRule: 'increasing' } });
    const timeouts = { attemptMs: 20_000, callMs: 20_000 };
    const settings = (store: ReturnType<typeof redisStore>) => ({
      timeouts,
      nonce: { mode: 'increasing' as const, store, leaseMs: 15_000 },
    });
    const reader = connect(exchange, 'long', settings(redisStore(`urgent-${apart}`))).client;
    const actor = apart ? connect(exchange, 'long', settings(redisStore(`urgent-${apart}`))).client : reader;
    // Signals between processes need a subscription, which the first call of each makes.
    await reader.mainBalance();
    await actor.mainBalance();
    const effect = { kind: 'hang' } as const;
    exchange.injectFault({ effect, target: { endpoint: 'openPositions' }, count: 1 });
    const ended: string[] = [];
    const read = reader.openPositions().then((outcome) => {
      ended.push('read');
      return outcome;
    });
    await expect.poll(() => exchange.requestLog({ endpoint: 'openPositions' }).length).toBe(1);
    const cancel = await actor.cancelAll({}, { priority: 'protective' });
    ended.push('cancel');
    expect(cancel).toMatchObject({ kind: 'accepted' });
    expect(await read).toMatchObject({ kind: 'ok', value: { records: [{ amount: '0.5' }] } });
    expect(ended).toEqual(['cancel', 'read']);
    expect(exchange.requestLog({ outcome: 'refused' })).toEqual([]);
    expectIncreasing(noncesOf(exchange));
  });

  it('an urgent call does not end a command ahead of it', async () => {
    const exchange = await openExchange({ readings: { nonceRule: 'increasing' } });
    const { client } = connect(exchange, 'long', { nonce: { mode: 'increasing' } });
    const effect = { kind: 'latency', delayMs: 150 } as const;
    exchange.injectFault({ effect, target: { endpoint: 'stopLimit' }, count: 1 });
    const order = client.reduceOnlyStop(STOP);
    // The fault is used up when the order has arrived.
    await expect.poll(() => exchange.exchange.faults.list()).toEqual([]);
    const cancel = client.cancelAll({}, { priority: 'protective' });
    expect([await order, await cancel]).toMatchObject([{ kind: 'accepted' }, { kind: 'accepted' }]);
    expect(exchange.requestLog().map(({ endpoint }) => endpoint)).toEqual(['stopLimit', 'cancelAll']);
    expectIncreasing(noncesOf(exchange));
  });

  it('recovers when somebody else has used the key with larger nonces, and reports the nonce as the cause', async () => {
    const exchange = await openExchange({ readings: { nonceRule: 'increasing' } });
    const { client, calls } = connect(exchange, 'long', { nonce: { mode: 'increasing' } });
    const ahead = { ...systemClock, nowMs: () => systemClock.nowMs() + 120_000 };
    const other = connect(exchange, 'long', {
      clock: ahead,
      nonce: { mode: 'increasing', store: createMemoryNonceStore(ahead) },
    }).client;
    await other.openPositions();
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
    expect(calls).toMatchObject([{ outcome: 'accepted', attempts: 3, noncesRefused: 2, limitsHit: 0 }]);
    expect(exchange.model.openOrders('long')).toHaveLength(1);
    expect(exchange.requestLog({ status: 429 }).map(({ outcome }) => outcome)).toEqual([
      'refused',
      'refused',
    ]);
  });
});

function byValue(one: string, other: string): number {
  return BigInt(one) < BigInt(other) ? -1 : 1;
}

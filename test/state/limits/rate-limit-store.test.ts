import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RateLimitStore, WINDOW_BUCKETS } from '../../../src/core/ports/rate-limit-store.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { createRedisRateLimitStore } from '../../../src/state/limits/limiter-redis.ts';
import { unlessHeldUp } from '../../support/working-time.ts';
import { manualClock } from '../support/manual-clock.ts';
import { type PrivateRedis, startRedis } from '../support/redis-server.ts';

let server: PrivateRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

let prefixes = 0;
const openRedis = (): [RateLimitStore, RateLimitStore] => {
  prefixes += 1;
  const options = () => ({ redis: server.connect(), prefix: `limits${prefixes}` });
  return [createRedisRateLimitStore(options()), createRedisRateLimitStore(options())];
};
const openMemory = (): [RateLimitStore, RateLimitStore] => {
  const store = createMemoryRateLimitStore(systemClock);
  return [store, store];
};
const BUDGET = { scope: 'x', limit: 100, periodMs: 400, share: 1, count: 1, ignorePenalty: false };

describe.each([
  ['memory', openMemory],
  ['redis', openRedis],
])('rate limit store in %s', (_name, open) => {
  test('grants exactly the limit, over all callers, and again after the period', async () => {
    await unlessHeldUp(100, async () => {
      const [a, b] = open();
      expect(await a.take({ ...BUDGET, count: 60 })).toEqual({ granted: 60, retryInMs: 0, isPause: false });
      expect((await b.take({ ...BUDGET, count: 60 })).granted).toBe(40);
      const refused = await a.take(BUDGET);
      expect(refused).toMatchObject({ granted: 0, isPause: false });
      expect(refused.retryInMs).toBeGreaterThan(0);
      expect(refused.retryInMs).toBeLessThanOrEqual(420);
      await delay(refused.retryInMs + 5);
      expect((await b.take(BUDGET)).granted).toBe(1);
    });
  });

  test('a share leaves the rest to others', async () => {
    const [a, b] = open();
    expect((await a.take({ ...BUDGET, scope: 's', share: 0.9, count: 200 })).granted).toBe(90);
    expect((await a.take({ ...BUDGET, scope: 's', share: 0.9 })).granted).toBe(0);
    expect((await b.take({ ...BUDGET, scope: 's', count: 200 })).granted).toBe(10);
  });

  test('a penalty blocks, shrinks and recovers; protective callers keep the limit', async () => {
    const [a, b] = open();
    const slow = { factor: 0.5, floor: 0.1, recoveryMs: 1e9 };
    const long = { ...BUDGET, periodMs: 60_000 };
    await a.penalize({ ...slow, scope: 'blocked', blockMs: 60_000 });
    expect(await b.take({ ...long, scope: 'blocked' })).toMatchObject({ granted: 0, isPause: true });
    expect((await b.take({ ...long, scope: 'blocked', ignorePenalty: true })).granted).toBe(1);
    await a.penalize({ ...slow, scope: 'shrunk', blockMs: 50 });
    await delay(60);
    expect((await b.take({ ...long, scope: 'shrunk', count: 200 })).granted).toBe(50);
    expect((await b.take({ ...long, scope: 'shrunk', count: 200, ignorePenalty: true })).granted).toBe(50);
    await a.penalize({ scope: 'grown', factor: 0.1, floor: 0.9, recoveryMs: 50, blockMs: 0 });
    await delay(60);
    expect((await b.take({ ...long, scope: 'grown', count: 200 })).granted).toBe(100);
  });

  test('a share of a limit so small that nothing would be left lets one through', async () => {
    const [a] = open();
    const tiny = { ...BUDGET, scope: 'tiny', limit: 1, share: 0.25 };
    expect((await a.take(tiny)).granted).toBe(1);
    expect((await a.take(tiny)).granted).toBe(0);
  });

  test('scopes are independent', async () => {
    const [a] = open();
    expect((await a.take({ ...BUDGET, scope: 'one', count: 200 })).granted).toBe(100);
    expect((await a.take({ ...BUDGET, scope: 'two', count: 200 })).granted).toBe(100);
  });
});

test('a Redis server whose clock stepped back blocks nobody until it has caught up', async () => {
  const redis = server.connect();
  const store = createRedisRateLimitStore({ redis, prefix: 'stepped' });
  const hourAheadMs = Date.now() + 3_600_000;
  await redis.hset('stepped:{limit/x}:window', String(Math.floor(hourAheadMs / 10)), 100);
  const penalty = { factor: 0.1, at: hourAheadMs, recovery: 60_000, blockedUntil: hourAheadMs + 1000 };
  await redis.hset('stepped:{limit/x}:penalty', penalty);
  expect((await store.take({ ...BUDGET, count: 100 })).granted).toBe(100);
});

test('no sliding window ever holds more than the limit', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ pauseMs: fc.integer({ min: 0, max: 300 }), count: fc.integer({ min: 1, max: 30 }) }),
        {
          maxLength: 120,
        },
      ),
      fc.integer({ min: 1, max: 40 }),
      async (steps, limit) => {
        const clock = manualClock();
        const store = createMemoryRateLimitStore(clock);
        const grants: { atMs: number; granted: number }[] = [];
        for (const { pauseMs, count } of steps) {
          clock.advance(pauseMs);
          const { granted } = await store.take({ ...BUDGET, limit, periodMs: 1000, count });
          grants.push({ atMs: clock.monotonicMs(), granted });
        }
        for (const { atMs } of grants) {
          const within = grants.filter((grant) => grant.atMs > atMs - 1000 && grant.atMs <= atMs);
          expect(within.reduce((sum, { granted }) => sum + granted, 0)).toBeLessThanOrEqual(limit);
        }
      },
    ),
  );
});

describe('values that somebody else wrote to Redis', () => {
  const opening = () => {
    prefixes += 1;
    const redis = server.connect();
    const store = createRedisRateLimitStore({ redis, prefix: `limits${prefixes}` });
    return { redis, store, tag: `limits${prefixes}:{limit/x}` };
  };

  test.each([
    ['blocks for ever', { factor: '1', at: '1', recovery: '1', blockedUntil: '9e15' }],
    [
      'blocks for an hour',
      { factor: '1', at: '1', recovery: '1', blockedUntil: String(Date.now() + 3_600_000) },
    ],
    [
      'shrinks the budget for ever',
      { factor: '0', at: String(Date.now() - 120_000), recovery: '9e15', blockedUntil: '0' },
    ],
    ['is no numbers', { factor: 'none', at: 'now', recovery: 'never', blockedUntil: 'always' }],
    ['lacks fields', { factor: '0.1' }],
  ])('a penalty that %s freezes no budget', async (_what, penalty) => {
    const { redis, store, tag } = opening();
    await redis.hset(`${tag}:penalty`, penalty);
    expect((await store.take(BUDGET)).granted).toBe(1);
  });

  test('permits that are no numbers, or negative, are not counted', async () => {
    const { redis, store, tag } = opening();
    const now = Math.floor(Date.now() / Math.ceil(BUDGET.periodMs / WINDOW_BUCKETS));
    await redis.hset(`${tag}:window`, { [now]: 'many', [now + 1]: '-1000000', soon: '100' });
    expect((await store.take({ ...BUDGET, count: 1_000 })).granted).toBe(100);
  });
});

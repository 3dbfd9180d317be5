import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RateLimitStore } from '../../../src/core/ports/rate-limit-store.ts';
import { ENDPOINTS } from '../../../src/exchange/endpoints.ts';
import { Limiter } from '../../../src/exchange/limits/limiter.ts';
import {
  DEFAULT_RATE_LIMITS,
  limitsOf,
  overrideLimits,
} from '../../../src/exchange/limits/rate-limit-table.ts';
import { systemTimers } from '../../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { type ManualClock, manualClock } from '../../state/support/manual-clock.ts';

const PATH = '/api/v4/x';

function openLimiter(clock: ManualClock, store: RateLimitStore, limit: number, changes = {}): Limiter {
  return new Limiter(
    { clock, timers: systemTimers },
    {
      store,
      fallback: createMemoryRateLimitStore(clock),
      table: { x: { limit, periodMs: 1000, paths: [PATH] } },
      egress: 'test',
      reservedShare: 0.1,
      storeTimeoutMs: 1000,
      onStoreChange: () => undefined,
      ...changes,
    },
  );
}

async function grantedOf(limiter: Limiter, protective: boolean): Promise<boolean> {
  const priority = protective ? 'protective' : 'normal';
  return (await limiter.acquire(PATH, priority)).kind === 'granted';
}

describe('the table of limits', () => {
  test('covers every endpoint with at least one budget, histories of transfers with two', () => {
    const names = (path: string) => limitsOf(path, DEFAULT_RATE_LIMITS).map(([name]) => name);
    for (const { path } of Object.values(ENDPOINTS)) expect(names(path).length).toBeGreaterThan(0);
    expect(names(ENDPOINTS.transfers.path)).toEqual(['main-account', 'transfers']);
    expect(names(ENDPOINTS.stopLimit.path)).toEqual(['order']);
    expect(names(ENDPOINTS.openPositions.path)).toEqual(['positions']);
  });

  test('can be overridden in parts; a new entry must be whole', () => {
    expect(overrideLimits({ order: { limit: 5 } })['order']).toMatchObject({ limit: 5, periodMs: 10_000 });
    expect(() => overrideLimits({ other: { limit: 5 } })).toThrow(/"other" is new/);
    expect(() => overrideLimits({ order: { limit: 0 } })).toThrow(RangeError);
  });
});

describe('the limiter', () => {
  test('lets no more through in any sliding window, with several clients on one store', async () => {
    const step = fc.record({
      pauseMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 1, max: 190 }),
        fc.integer({ min: 300, max: 1000 }),
      ),
      who: fc.integer({ min: 0, max: 2 }),
      calls: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(600)),
      protective: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 1, max: 60 }),
        async (steps, limit) => {
          const clock = manualClock();
          const store = createMemoryRateLimitStore(clock);
          const limiters = [0, 1, 2].map(() => openLimiter(clock, store, limit, { reservedShare: 0 }));
          const sentAt: number[] = [];
          for (const { pauseMs, who, calls, protective } of steps) {
            clock.advance(pauseMs);
            const limiter = limiters[who];
            if (limiter === undefined) continue;
            for (let call = 0; call < calls; call += 1) {
              if (!(await grantedOf(limiter, protective))) break;
              sentAt.push(clock.monotonicMs());
            }
          }
          for (const atMs of sentAt) {
            expect(sentAt.filter((other) => other > atMs - 1000 && other <= atMs).length).toBeLessThanOrEqual(
              limit,
            );
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('permits taken in advance and used late do not add up with the next period', async () => {
    const clock = manualClock();
    const memory = createMemoryRateLimitStore(clock);
    let ahead = 0;
    const store: RateLimitStore = {
      async take(request) {
        const grant = await memory.take(request);
        ahead += grant.granted;
        return grant;
      },
      penalize: (penalty) => memory.penalize(penalty),
    };
    const [early, late] = [1, 2].map(() => openLimiter(clock, store, 1000, { reservedShare: 0 }));
    if (early === undefined || late === undefined) throw new Error('two limiters');
    const sentAt: number[] = [];
    const send = async (limiter: Limiter, travelMs = 0) => {
      const granted = await grantedOf(limiter, false);
      if (granted) sentAt.push(clock.monotonicMs() + travelMs);
      return granted;
    };
    // Ends with permits at hand: more were granted than used.
    while (ahead - sentAt.length < 10) await send(early);
    while (await send(late));
    clock.advance(290);
    while (await send(early, 240));
    clock.advance(1060);
    while (await send(late));
    for (const atMs of new Set(sentAt)) {
      expect(sentAt.filter((other) => other > atMs - 1000 && other <= atMs).length).toBeLessThanOrEqual(1000);
    }
  });

  test('needs few round trips for many calls, and lets most of the limit through', async () => {
    const clock = manualClock();
    const memory = createMemoryRateLimitStore(clock);
    let trips = 0;
    const store: RateLimitStore = {
      take: (request) => {
        trips += 1;
        return memory.take(request);
      },
      penalize: (penalty) => memory.penalize(penalty),
    };
    const limiter = openLimiter(clock, store, 10_000);
    let sent = 0;
    for (let ms = 0; ms < 10_000; ms += 1) {
      for (let call = 0; call < 5; call += 1) if (await grantedOf(limiter, false)) sent += 1;
      clock.advance(1);
    }
    expect(sent).toBe(50_000);
    expect(trips).toBeLessThan(1500);
  });

  test('keeps the reserved share for protective calls', async () => {
    const clock = manualClock();
    const limiter = openLimiter(clock, createMemoryRateLimitStore(clock), 20);
    let normal = 0;
    while (await grantedOf(limiter, false)) normal += 1;
    expect(normal).toBe(18);
    let protective = 0;
    while (await grantedOf(limiter, true)) protective += 1;
    expect(protective).toBe(2);
  });

  test('without its store it allows its own share, and less for a time after a refusal by the exchange', async () => {
    const clock = manualClock();
    const lost: RateLimitStore = {
      take: () => Promise.reject(new Error('lost')),
      penalize: () => Promise.reject(new Error('lost')),
    };
    const changes: boolean[] = [];
    const limiter = openLimiter(clock, lost, 100, { onStoreChange: (up: boolean) => changes.push(up) });
    const drain = async () => {
      let count = 0;
      while (await grantedOf(limiter, false)) count += 1;
      return count;
    };
    expect(await drain()).toBe(22);
    expect(changes).toEqual([false]);
    clock.advance(2000);
    limiter.refused(PATH, 500);
    await Promise.resolve();
    expect(await drain()).toBe(0);
    clock.advance(600);
    expect(await drain()).toBeLessThan(15);
    clock.advance(120_000);
    expect(await drain()).toBe(22);
  });

  test('in a pause that others prolong, one call a second goes after the first end, and the next at once after a success', async () => {
    const clock = manualClock();
    const store = createMemoryRateLimitStore(clock);
    const limiter = openLimiter(clock, store, 100);
    const prolonging = openLimiter(clock, store, 100);
    const from = clock.monotonicMs();
    const granted: number[] = [];
    for (let atMs = 0; atMs < 9000; atMs += 100) {
      if (atMs % 1000 === 0) prolonging.refused(PATH, 4000);
      await Promise.resolve();
      if (atMs === 5500) limiter.passed(PATH);
      while (await grantedOf(limiter, false)) granted.push(clock.monotonicMs() - from);
      clock.advance(100);
    }
    expect(granted).toEqual([4000, 5000, 5500, 6500, 7500, 8500]);
    limiter.passed(PATH);
    expect(await grantedOf(limiter, false)).toBe(true);
    expect(await limiter.acquire(PATH, 'normal')).toEqual({ kind: 'wait', retryInMs: 1000 });
    clock.advance(4500);
    expect(await grantedOf(limiter, false)).toBe(true);
    limiter.refused(PATH, 4000);
    await Promise.resolve();
    expect(await limiter.acquire(PATH, 'normal')).toEqual({ kind: 'granted' });
    clock.advance(60_000);
    limiter.refused(PATH, 4000);
    await Promise.resolve();
    expect(await limiter.acquire(PATH, 'normal')).toEqual({ kind: 'wait', retryInMs: 4000 });
  });

  test('calls that wait for a tight limit do not use up a wide one that others need', async () => {
    const clock = manualClock();
    const table = {
      wide: { limit: 100, periodMs: 1000, paths: [PATH, '/api/v4/other'] },
      tight: { limit: 10, periodMs: 1000, paths: [PATH] },
    };
    const limiter = openLimiter(clock, createMemoryRateLimitStore(clock), 0, { table, reservedShare: 0 });
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 200 }, () => limiter.acquire(PATH, 'normal')));
      clock.advance(100);
    }
    expect((await limiter.acquire('/api/v4/other', 'normal')).kind).toBe('granted');
  });

  test('a permit that lapsed while another one was waited for is not used', async () => {
    const clock = manualClock();
    const memory = createMemoryRateLimitStore(clock);
    const taken: string[] = [];
    const store: RateLimitStore = {
      take: (request) => {
        taken.push(request.scope);
        if (taken.length === 2) clock.advance(310);
        return memory.take(request);
      },
      penalize: (penalty) => memory.penalize(penalty),
    };
    const table = {
      wide: { limit: 100, periodMs: 1000, paths: [PATH] },
      tight: { limit: 10, periodMs: 1000, paths: [PATH] },
    };
    const limiter = openLimiter(clock, store, 0, { table });
    expect((await limiter.acquire(PATH, 'normal')).kind).toBe('granted');
    expect(taken.filter((scope) => scope === 'test/tight')).toHaveLength(2);
  });

  test.each([1, 3, 9])(
    'a limit as small as %i lets calls through, with and without its store',
    async (limit) => {
      const clock = manualClock();
      const lost = { take: () => Promise.reject(new Error('lost')), penalize: async () => undefined };
      for (const store of [createMemoryRateLimitStore(clock), lost]) {
        const limiter = openLimiter(clock, store, limit, { reservedShare: 0.5 });
        expect(await grantedOf(limiter, false)).toBe(true);
      }
    },
  );
});

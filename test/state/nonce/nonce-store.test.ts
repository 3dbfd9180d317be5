import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MutexSignal, NonceStore } from '../../../src/core/ports/nonce-store.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { createRedisNonceStore, type RedisNonceStore } from '../../../src/state/nonce/nonce-redis.ts';
import { unlessHeldUp } from '../../support/working-time.ts';
import { type PrivateRedis, startRedis } from '../support/redis-server.ts';

let server: PrivateRedis;
const opened: RedisNonceStore[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await server.stop();
});

let prefixes = 0;
const openRedisStores = (): [NonceStore, NonceStore] => {
  prefixes += 1;
  const prefix = `test${prefixes}`;
  const stores = [1, 2].map(() => createRedisNonceStore({ redis: server.connect(), prefix }));
  opened.push(...stores);
  return stores as [RedisNonceStore, RedisNonceStore];
};
const openMemoryStores = (): [NonceStore, NonceStore] => {
  const store = createMemoryNonceStore(systemClock);
  return [store, store];
};

const LEASE = { leaseMs: 2000, floor: 1, urgent: false };

describe.each([
  ['memory', openMemoryStores],
  ['redis', openRedisStores],
])('nonce store in %s', (_name, open) => {
  test('sequences always rise, even when the clock of a caller steps back', async () => {
    const [a, b] = open();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ floor: fc.integer({ min: 1, max: 1e12 }), count: fc.integer({ min: 1, max: 50 }) }),
          {
            maxLength: 15,
          },
        ),
        async (requests) => {
          run += 1;
          let last = 0;
          for (const [index, { floor, count }] of requests.entries()) {
            const block = await (index % 2 === 0 ? a : b).reserve(`key${run}`, floor, count);
            expect(block.count).toBe(count);
            expect(block.first).toBe(Math.max(floor, last + 1));
            expect(block.previous).toBe(last);
            last = block.first + count - 1;
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test('sequences as large as real ones lose no digit', async () => {
    const [a] = open();
    const floor = 17_600_000_000_001;
    expect(await a.reserve('large', floor, 3)).toEqual({ first: floor, count: 3, previous: 0 });
    expect(await a.reserve('large', 5, 1)).toEqual({ first: floor + 3, count: 1, previous: floor + 2 });
  });

  test('a value that came with the mutex is the previous one for the next reservation, too', async () => {
    const [a, b] = open();
    await a.reserve('both', 10, 5);
    expect(await b.enterMutex('both', { ...LEASE, owner: 'b' })).toMatchObject({ sequence: 15 });
    expect(await a.reserve('both', 10, 1)).toEqual({ first: 16, count: 1, previous: 15 });
  });

  test('no millisecond is reserved twice and all lie within the bounds, for any clock', async () => {
    const [a, b] = open();
    let run = 0;
    const request = fc.record({
      from: fc.oneof(fc.integer({ min: 1e6, max: 1e6 + 3000 }), fc.integer({ min: 5e6, max: 5e6 + 3000 })),
      width: fc.integer({ min: 0, max: 2000 }),
      count: fc.integer({ min: 1, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 20 }), async (requests) => {
        run += 1;
        const used = new Set<number>();
        for (const [index, { from, width, count }] of requests.entries()) {
          const store = index % 2 === 0 ? a : b;
          const reserved = await store.reserveWindow(`window${run}`, from, from + width, count);
          if (reserved.kind === 'exhausted') {
            expect(reserved.waitMs).toBeGreaterThan(0);
            continue;
          }
          expect(reserved.count).toBeGreaterThan(0);
          expect(reserved.count).toBeLessThanOrEqual(count);
          for (let ms = reserved.first; ms < reserved.first + reserved.count; ms += 1) {
            expect(used.has(ms)).toBe(false);
            expect(ms).toBeGreaterThanOrEqual(from);
            expect(ms).toBeLessThanOrEqual(from + width);
            used.add(ms);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  test('a clock that was an hour ahead does not block the key once it is corrected', async () => {
    const [a] = open();
    const now = 1_760_000_000_000;
    await a.reserveWindow('hour', now + 3_600_000, now + 3_602_000, 5);
    expect(await a.reserveWindow('hour', now, now + 2000, 5)).toEqual({
      kind: 'reserved',
      first: now,
      count: 5,
    });
  });

  test('one holder at a time; each entry has a larger sequence; a waiting caller makes it contended', async () => {
    const [a, b] = open();
    const first = await a.enterMutex('mutex', { ...LEASE, owner: 'a' });
    expect(first).toMatchObject({ kind: 'granted', contended: false });
    expect(await b.enterMutex('mutex', { ...LEASE, owner: 'b' })).toMatchObject({ kind: 'busy' });
    const again = await a.enterMutex('mutex', { ...LEASE, owner: 'a' });
    expect(again).toMatchObject({ kind: 'granted', contended: true });
    await a.leaveMutex('mutex', 'a');
    const second = await b.enterMutex('mutex', { ...LEASE, owner: 'b' });
    expect(second.kind).toBe('granted');
    const sequences = [first, again, second].map((entry) => (entry.kind === 'granted' ? entry.sequence : 0));
    expect(sequences).toEqual(sequences.toSorted((x, y) => x - y));
    expect(new Set(sequences).size).toBe(3);
  });

  test('a holder that neither renews nor leaves loses the mutex after its lease; a renewing one keeps it', async () => {
    let keys = 0;
    await unlessHeldUp(100, async () => {
      const [a, b] = open();
      keys += 1;
      const key = `lease${keys}`;
      await a.enterMutex(key, { ...LEASE, leaseMs: 600, owner: 'a' });
      await delay(350);
      expect(await a.renewMutex(key, 'a', 600)).toBe('held');
      await delay(350);
      expect(await b.enterMutex(key, { ...LEASE, leaseMs: 600, owner: 'b' })).toMatchObject({ kind: 'busy' });
      await delay(700);
      expect((await b.enterMutex(key, { ...LEASE, leaseMs: 600, owner: 'b' })).kind).toBe('granted');
      expect(await a.renewMutex(key, 'a', 600)).toBe('lost');
      await a.leaveMutex(key, 'a');
      expect(await b.renewMutex(key, 'b', 600)).toBe('held');
    });
  });

  test('an urgent request is signalled to the holder, keeps others out and ends with its entry', async () => {
    const [a, b] = open();
    const signals: MutexSignal[] = [];
    const stop = a.onMutexSignal((signal) => signals.push(signal));
    await a.enterMutex('urgent', { ...LEASE, leaseMs: 5000, owner: 'a' });
    // A subscription takes a moment. Signals are hints, so requests are repeated until one arrives.
    let entry = await b.enterMutex('urgent', { ...LEASE, leaseMs: 20, owner: 'b', urgent: true });
    expect(entry.kind).toBe('busy');
    while (!signals.some(({ kind, key }) => kind === 'urgent' && key === 'urgent')) {
      await delay(25);
      entry = await b.enterMutex('urgent', { ...LEASE, leaseMs: 20, owner: 'b', urgent: true });
      expect(entry.kind).toBe('busy');
    }
    await b.enterMutex('urgent', { ...LEASE, leaseMs: 5000, owner: 'b', urgent: true });
    expect(await a.renewMutex('urgent', 'a', 5000)).toMatch(/urgentWaiting|held/);
    stop();
  });

  test('a repeated urgent request is signalled once, so that it does not wake its own caller for ever', async () => {
    const [a, b] = open();
    const signals: MutexSignal[] = [];
    const stop = b.onMutexSignal((signal) => signals.push(signal));
    const heard = async (kind: MutexSignal['kind'], ask: () => Promise<unknown>): Promise<void> => {
      while (!signals.some((signal) => signal.kind === kind && signal.key === 'once')) {
        await ask();
        await delay(25);
      }
    };
    // A subscription takes a moment.
    const enter = () => a.enterMutex('once', { ...LEASE, leaseMs: 5000, owner: 'a' });
    await heard('free', async () => {
      await enter();
      await a.leaveMutex('once', 'a');
    });
    signals.length = 0;
    await enter();
    for (let times = 0; times < 5; times++) {
      await b.enterMutex('once', { ...LEASE, leaseMs: 5000, owner: 'b', urgent: true });
    }
    await a.leaveMutex('once', 'a');
    await heard('free', async () => undefined);
    expect(signals.filter(({ kind, key }) => kind === 'urgent' && key === 'once')).toHaveLength(1);
    stop();
  });

  test('a holder that is told to make way has already lost the mutex', async () => {
    const [a, b] = open();
    await a.enterMutex('way', { ...LEASE, leaseMs: 5000, owner: 'a' });
    await b.enterMutex('way', { ...LEASE, leaseMs: 5000, owner: 'b', urgent: true });
    expect(await a.renewMutex('way', 'a', 5000)).toBe('urgentWaiting');
    expect((await a.enterMutex('way', { ...LEASE, leaseMs: 5000, owner: 'a' })).kind).toBe('busy');
    expect((await b.enterMutex('way', { ...LEASE, leaseMs: 5000, owner: 'b', urgent: true })).kind).toBe(
      'granted',
    );
    expect((await a.enterMutex('way', { ...LEASE, leaseMs: 5000, owner: 'a' })).kind).toBe('busy');
    await b.leaveMutex('way', 'b');
    expect((await a.enterMutex('way', { ...LEASE, leaseMs: 5000, owner: 'a' })).kind).toBe('granted');
  });
});

test("a mutex whose holder and urgent request date from before the Redis server's clock stepped back is free", async () => {
  const redis = server.connect();
  const store = createRedisNonceStore({ redis, prefix: 'stepped' });
  opened.push(store);
  const until = Date.now() + 3_600_000;
  const left = { holder: 'dead', holderUntil: until, urgent: 'dead', urgentUntil: until };
  await redis.hset('stepped:{nonce/mutex}:mutex', left);
  expect((await store.enterMutex('mutex', { ...LEASE, owner: 'a' })).kind).toBe('granted');
});

describe('values that somebody else wrote to Redis', () => {
  const now = Date.now();
  const floor = now * 10;
  const opening = () => {
    prefixes += 1;
    const prefix = `test${prefixes}`;
    const redis = server.connect();
    const store = createRedisNonceStore({ redis, prefix });
    opened.push(store);
    return { redis, store, tag: `${prefix}:{nonce/key}` };
  };

  test.each(['9e20', '900000000000000000000', String(floor + 7_000_000), '-5', 'nan', 'many'])(
    'a sequence of %s is overwritten: no nonce exceeds what the exchange takes',
    async (written) => {
      const { redis, store, tag } = opening();
      await redis.set(`${tag}:sequence`, written);
      expect(await store.reserve('key', floor, 2)).toEqual({ first: floor, count: 2, previous: 0 });
      await redis.set(`${tag}:sequence`, written);
      expect(await store.enterMutex('key', { ...LEASE, owner: 'a', floor })).toMatchObject({
        kind: 'granted',
        sequence: floor,
      });
      expect(await store.reserve('key', floor, 1)).toEqual({ first: floor + 1, count: 1, previous: floor });
    },
  );

  test('the sequence of a key used with larger nonces is believed up to those, and no further', async () => {
    const { redis, store, tag } = opening();
    // Moved by `nonceStart`.
    const ahead = floor * 100;
    await redis.set(`${tag}:sequence`, String(ahead + 1_000));
    expect(await store.reserve('key', ahead, 1)).toMatchObject({ first: ahead + 1_001 });
    await redis.set(`${tag}:sequence`, String(ahead + 7_000_000));
    expect(await store.reserve('key', ahead, 1)).toMatchObject({ first: ahead });
  });

  test('a run of milliseconds that reaches far ahead is not taken', async () => {
    const { redis, store, tag } = opening();
    await redis.set(`${tag}:runs`, '0 900000000000000000000');
    expect(await store.reserveWindow('key', now - 1_000, now + 2_000, 3)).toMatchObject({ kind: 'reserved' });
  });

  test('a mutex whose holder has no time is free', async () => {
    const { redis, store, tag } = opening();
    await redis.hset(`${tag}:mutex`, { holder: 'nobody', holderUntil: 'for ever', contendedUntil: 'always' });
    expect(await store.enterMutex('key', { ...LEASE, owner: 'a', floor })).toMatchObject({ kind: 'granted' });
  });
});

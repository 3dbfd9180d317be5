import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/core/redaction/redactor.ts';
import { bucketsOf, schedulerId } from '../../src/queues/names.ts';
import { pollJobSchema } from '../../src/queues/payloads.ts';
import { examineRedis } from '../../src/queues/redis-sanity.ts';
import {
  assertSchedules,
  delaysOf,
  groupTicks,
  meantAt,
  removeLeftovers,
  repairSchedules,
  type Schedule,
  tickOf,
} from '../../src/queues/schedules.ts';
import { startWorker } from '../../src/queues/worker.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { eventually } from '../pipeline/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { openQueueWorld, type QueueWorld } from './support.ts';

const EVERY_MS = 200;
const WANTED = Array.from({ length: 8 }, (_, index) => ({
  buckets: [index * 8, index * 8 + 3],
  everyMs: EVERY_MS,
}));

function ticks(world: QueueWorld, work: () => Promise<void> = async () => {}) {
  const seen: { buckets: readonly number[]; id: string }[] = [];
  const worker = startWorker('poll', world.settings, pollJobSchema, async ({ buckets }, { id }) => {
    seen.push({ buckets, id: id ?? '' });
    await work();
  });
  closeAfterTest(() => worker.close(AbortSignal.timeout(5_000)));
  return seen;
}

type OfBuckets = Pick<Schedule, 'buckets'>;

function isOf(tick: OfBuckets, wanted: OfBuckets): boolean {
  return tick.buckets.join() === wanted.buckets.join();
}

describe('schedules', () => {
  test('tick their buckets, spread over the interval instead of all at once', async () => {
    const world = await openQueueWorld();
    await assertSchedules(world.redis, world.queues.poll, WANTED);
    const seen = ticks(world);
    await eventually(
      () => WANTED.every((wanted) => seen.filter((tick) => isOf(tick, wanted)).length > 2),
      'ticks',
    );
    const phases = new Set(seen.map(({ id }) => (meantAt(id) ?? 0) % EVERY_MS));
    expect(phases.size).toBe(WANTED.length);
  });

  test('tick no more often when asserted again while healthy', async () => {
    const world = await openQueueWorld();
    await assertSchedules(world.redis, world.queues.poll, WANTED.slice(0, 1));
    const seen = ticks(world);
    for (let index = 0; index < 10; index++) {
      await assertSchedules(world.redis, world.queues.poll, WANTED.slice(0, 1));
      await repairSchedules(world.redis, world.queues.poll, WANTED.slice(0, 1), { nowMs: Date.now() });
    }
    await eventually(() => seen.length >= 4, 'ticks');
    const meant = seen.map(({ id }) => meantAt(id) ?? 0);
    expect(new Set(meant).size).toBe(meant.length);
    for (const [index, atMs] of meant.slice(1).entries())
      expect(atMs - (meant[index] ?? 0)).toBeGreaterThanOrEqual(EVERY_MS);
  });

  test('are set up again if their chain broke, and only those', async () => {
    const world = await openQueueWorld();
    await assertSchedules(world.redis, world.queues.poll, WANTED);
    // The state left by a process killed between taking a tick and planning the next one.
    const victim = WANTED[2] ?? { buckets: [] };
    const delayed = await world.redis.zrange(world.queues.poll.toKey('delayed'), '0', '-1');
    const job = delayed.find((id) => id.startsWith(`repeat:${schedulerId(victim.buckets)}:`)) ?? '';
    await world.redis.zrem(world.queues.poll.toKey('delayed'), job);
    await world.redis.del(world.queues.poll.toKey(job));
    const seen = ticks(world);
    await eventually(() => seen.length > 20, 'ticks of the others');
    expect(seen.some((tick) => isOf(tick, victim))).toBe(false);
    let repaired: readonly number[] = [];
    await eventually(async () => {
      repaired = (await repairSchedules(world.redis, world.queues.poll, WANTED, { nowMs: Date.now() }))
        .buckets;
      return repaired.length > 0;
    }, 'a repair');
    expect(repaired).toEqual(victim.buckets);
    await eventually(() => seen.some((tick) => isOf(tick, victim)), 'ticks again');
  });

  test('of buckets without accounts are removed', async () => {
    const world = await openQueueWorld();
    await assertSchedules(world.redis, world.queues.poll, WANTED);
    await assertSchedules(world.redis, world.queues.poll, WANTED.slice(0, 2));
    expect(await world.redis.zcard(world.queues.poll.toKey('repeat'))).toBe(2);
    // A next tick that is already due waits for a worker instead of its time.
    const { delayed = 0, waiting = 0 } = await world.queues.poll.getJobCounts('delayed', 'waiting');
    expect(delayed + waiting).toBe(2);
  });

  test('restored by the previous process during a replacement are removed once it has ended', async () => {
    const world = await openQueueWorld();
    const { redis } = world;
    const { poll } = world.queues;
    const ids = async () => (await redis.zrange(poll.toKey('repeat'), '0', '-1')).toSorted();
    const everyMs = EVERY_MS;
    const old = [
      { buckets: [0, 1, 2], everyMs },
      { buckets: [40], everyMs },
    ];
    const next = [{ buckets: [0, 1, 2, 3], everyMs }];
    await assertSchedules(redis, poll, old);
    await assertSchedules(redis, poll, next);
    // The old one is still there for a moment, and one of an older version.
    await repairSchedules(redis, poll, old, { nowMs: Date.now() });
    await poll.upsertJobScheduler('bucket-2', { every: everyMs });
    const all = ['bucket-2', 'buckets-0-2', 'buckets-0-3', 'buckets-40'];
    expect(await ids()).toEqual(all);
    const seen = await removeLeftovers(redis, poll, next, new Set());
    expect(await ids()).toEqual(all);
    expect(await removeLeftovers(redis, poll, next, seen)).toEqual(new Set());
    // Nothing here ticks bucket 40: if it is wanted elsewhere, it must continue.
    expect(await ids()).toEqual(['buckets-0-3', 'buckets-40']);
    // A schedule wanted elsewhere is set up again, and may stay until it has been seen twice more.
    await repairSchedules(redis, poll, old, { nowMs: Date.now() });
    expect(await removeLeftovers(redis, poll, next, new Set())).toEqual(new Set(['buckets-0-2']));
    expect(await ids()).toEqual(['buckets-0-2', 'buckets-0-3', 'buckets-40']);
  });

  test('leave no jobs behind, whether they fail or not', async () => {
    const world = await openQueueWorld();
    await assertSchedules(world.redis, world.queues.poll, WANTED);
    let count = 0;
    const seen = ticks(world, async () => {
      count += 1;
      if (count % 4 === 0) throw new Error('on purpose');
    });
    await eventually(() => seen.length > 60, 'ticks');
    const { completed = 0, failed = 0 } = await world.queues.poll.getJobCounts('completed', 'failed');
    expect(completed).toBe(0);
    expect(failed).toBeLessThanOrEqual(101);
  });
});

const needs = fc.uniqueArray(
  fc.record({ bucket: fc.nat({ max: 63 }), everyMs: fc.constantFrom(50, 200, 1_000) }),
  { selector: ({ bucket }) => bucket, maxLength: 64 },
);

test('of buckets share ticks of the same pace, and each bucket keeps its own time within the interval', () => {
  fc.assert(
    fc.property(needs, (ticks) => {
      const groups = groupTicks(ticks);
      const pacesOf = (groups: readonly Schedule[]): readonly string[] =>
        groups.flatMap(({ buckets, everyMs }) => buckets.map((bucket) => `${bucket} ${everyMs}`)).sort();
      expect(pacesOf(groups)).toEqual(ticks.map(({ bucket, everyMs }) => `${bucket} ${everyMs}`).sort());
      for (const group of groups) {
        const delays = delaysOf(group);
        expect([...delays.keys()]).toEqual(group.buckets);
        expect(delays.get(group.buckets[0]!)).toBe(0);
        for (const [bucket, delayMs] of delays) {
          const apart = ((bucket - group.buckets[0]!) * group.everyMs) / 64;
          expect(Math.abs(delayMs - apart)).toBeLessThanOrEqual(1);
          expect(delayMs).toBeLessThan(group.everyMs / 8);
        }
      }
      // The id of a schedule determines what it ticks.
      const ids = groups.map(({ buckets }) => schedulerId(buckets));
      expect(ids.flatMap((id) => bucketsOf(id) ?? []).toSorted((a, b) => a - b)).toEqual(
        ticks.map(({ bucket }) => bucket).toSorted((a, b) => a - b),
      );
      // In any order of the configured accounts.
      expect(new Set(groupTicks(ticks.toReversed()).map(({ buckets }) => schedulerId(buckets)))).toEqual(
        new Set(ids),
      );
    }),
  );
});

test('all buckets at one pace are eight ticks', () => {
  const all = Array.from({ length: 64 }, (_, bucket) => ({ bucket, everyMs: 1_000 }));
  expect(groupTicks(all)).toHaveLength(8);
});

test('the tick follows the shortest alert cadence, within bounds', () => {
  expect(tickOf([5_000, 10_000])).toBe(1_000);
  expect(tickOf([5_000, 300])).toBe(300);
  expect(tickOf([1])).toBe(50);
  expect(tickOf([])).toBe(1_000);
});

test.runIf(hasRedisServer())(
  'a Redis that may evict is refused; one without a file, or with slow timers, causes a warning',
  async () => {
    const server = await startRedisServer({ args: ['--maxmemory-policy', 'allkeys-lru', '--hz', '10'] });
    closeAfterTest(() => server.stop());
    const redis = new Redis(server.url);
    closeAfterTest(async () => redis.disconnect());
    const bad = await examineRedis(redis, 'ok');
    expect(bad.errors.join()).toContain('noeviction');
    expect(bad.warnings.join()).toMatch(/append-only.*hz/s);
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    await redis.config('SET', 'appendonly', 'yes');
    await redis.config('SET', 'hz', '100');
    expect(await examineRedis(redis, 'ok')).toMatchObject({ errors: [], warnings: [] });
    const open = await examineRedis(redis, 'warning');
    const redactor = createRedactor();
    expect(
      open.warnings.map((words) => redactor.text(words)),
      'in the log',
    ).toEqual([expect.stringMatching(/^Redis asks for no password, so whoever connects/)]);
  },
);

import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { BUCKETS } from '../core/ports/state-store.ts';
import { bucketsOf, schedulerId } from './names.ts';
import type { PollJob } from './payloads.ts';

/** Buckets, in ascending order, that share a tick. */
export interface Schedule {
  readonly buckets: readonly number[];
  readonly everyMs: number;
}

/** How often the accounts of a bucket need a tick. */
export interface BucketTicks {
  readonly bucket: number;
  readonly everyMs: number;
}

/** Buckets per shared tick: a tick costs as much as several polls. Each bucket is still polled at its own time. */
const SHARING = 8;

/** Groups neighbouring buckets that need equal ticks. All processes with the same config get the same groups. */
export function groupTicks(ticks: readonly BucketTicks[]): readonly Schedule[] {
  const inOrder = ticks.toSorted((a, b) => a.bucket - b.bucket);
  const groups = Map.groupBy(inOrder, ({ bucket, everyMs }) => `${Math.floor(bucket / SHARING)} ${everyMs}`);
  return Array.from(groups.values(), (group) => ({
    buckets: group.map(({ bucket }) => bucket),
    everyMs: group[0]!.everyMs,
  }));
}

/** Returns a bucket's offset within each interval, in milliseconds. Buckets are spread over the interval. */
export function phaseOf(bucket: number, everyMs: number): number {
  return 1 + Math.floor((bucket * (everyMs - 1)) / BUCKETS);
}

/** Returns, by bucket, how many milliseconds after the tick of the schedule it is polled. */
export function delaysOf({ buckets, everyMs }: Schedule): ReadonlyMap<number, number> {
  const first = phaseOf(buckets[0] ?? 0, everyMs);
  return new Map(buckets.map((bucket) => [bucket, phaseOf(bucket, everyMs) - first]));
}

const LONGEST_TICK_MS = 1_000;
const SHORTEST_TICK_MS = 50;

/** Returns the time between ticks, in milliseconds, that accounts with these alert cadences need. */
export function tickOf(alertMs: readonly number[]): number {
  return Math.max(SHORTEST_TICK_MS, Math.min(LONGEST_TICK_MS, ...alertMs));
}

/** A schedule whose next tick is overdue by more than this has stopped. */
const OVERDUE_MS = 500;

/** Sets up the wanted schedules and removes all others. */
export async function assertSchedules(
  redis: Redis,
  queue: Queue<PollJob>,
  wanted: readonly Schedule[],
): Promise<void> {
  const ids = new Set(wanted.map(({ buckets }) => schedulerId(buckets)));
  const known = await nextTicks(redis, queue);
  await Promise.all([
    ...wanted.map((schedule) => setUp(queue, schedule)),
    ...[...known.keys()].filter((id) => !ids.has(id)).map((id) => queue.removeJobScheduler(id)),
  ]);
}

/**
 * Sets up missing or overdue schedules (a dead process breaks its chain of ticks), and those that stand still far ahead,
 * as a wrong clock has left them. `before`: the next ticks found by the last call. Resolves to those found now.
 */
export async function repairSchedules(
  redis: Redis,
  queue: Queue<PollJob>,
  wanted: readonly Schedule[],
  { nowMs, before }: { readonly nowMs: number; readonly before?: ReadonlyMap<string, number> },
): Promise<{ readonly buckets: readonly number[]; readonly known: ReadonlyMap<string, number> }> {
  const known = await nextTicks(redis, queue);
  const repairs = wanted.map(async (schedule) => {
    const id = schedulerId(schedule.buckets);
    const next = known.get(id) ?? Number.NEGATIVE_INFINITY;
    const isFarAhead = next > nowMs + schedule.everyMs + OVERDUE_MS && next === before?.get(id);
    if (!isFarAhead && next >= nowMs - schedule.everyMs - OVERDUE_MS) return [];
    // One that is set up again goes on from its next tick.
    if (isFarAhead) await queue.removeJobScheduler(id);
    await setUp(queue, schedule);
    return schedule.buckets;
  });
  return { buckets: (await Promise.all(repairs)).flat(), known };
}

/**
 * Removes schedules that another process left behind, as after a roll-out: those that are not wanted here and already
 * existed on the last call (`before`). A process that still wants one sets it up again. A schedule stays if one of its
 * buckets has no wanted schedule here, so no bucket loses its ticks. Resolves to the next `before`.
 */
export async function removeLeftovers(
  redis: Redis,
  queue: Queue<PollJob>,
  wanted: readonly Schedule[],
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const ids = new Set(wanted.map(({ buckets }) => schedulerId(buckets)));
  const ticked = new Set(wanted.flatMap(({ buckets }) => buckets));
  const isSpare = (id: string): boolean => bucketsOf(id)?.every((bucket) => ticked.has(bucket)) ?? true;
  const known = await nextTicks(redis, queue);
  const spare = [...known.keys()].filter((id) => !ids.has(id) && isSpare(id));
  const leftovers = spare.filter((id) => before.has(id));
  await Promise.all(leftovers.map((id) => queue.removeJobScheduler(id)));
  return new Set(spare.filter((id) => !before.has(id)));
}

/** Returns when each schedule ticks next, in Unix milliseconds, by schedule id. */
async function nextTicks(redis: Redis, queue: Queue<PollJob>): Promise<ReadonlyMap<string, number>> {
  // WITHSCORES replies with one flat list in RESP2, with pairs in RESP3.
  const reply = (await redis.call('ZRANGE', queue.toKey('repeat'), '0', '-1', 'WITHSCORES')) as unknown[];
  const found = reply.flat();
  const ids = found.filter((_, place) => place % 2 === 0).map(String);
  return new Map(ids.map((id, index) => [id, Number(found[2 * index + 1])]));
}

async function setUp(queue: Queue<PollJob>, { buckets, everyMs }: Schedule): Promise<void> {
  const offset = phaseOf(buckets[0] ?? 0, everyMs);
  await queue.upsertJobScheduler(
    schedulerId(buckets),
    { every: everyMs, offset },
    {
      name: 'tick',
      data: { version: 2, buckets: [...buckets], everyMs },
      opts: { removeOnComplete: true, removeOnFail: { count: KEPT_FAILURES, age: KEPT_SECONDS } },
    },
  );
}

const KEPT_FAILURES = 100;
const KEPT_SECONDS = 3_600;

/** Returns when a tick was meant to begin, in Unix milliseconds; undefined if its job id does not say. */
export function meantAt(jobId = ''): number | undefined {
  const text = jobId.slice(jobId.lastIndexOf(':') + 1);
  const atMs = text === '' ? Number.NaN : Number(text);
  return Number.isSafeInteger(atMs) ? atMs : undefined;
}

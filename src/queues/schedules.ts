import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { BUCKETS } from '../core/ports/state-store.ts';
import { schedulerId } from './names.ts';
import type { PollJob } from './payloads.ts';

/** One tick of a bucket in so many milliseconds. */
export interface Schedule {
  readonly bucket: number;
  readonly everyMs: number;
}

/** Ticks are no further apart than this, and no nearer than that, whatever the cadences are. */
const LONGEST_TICK_MS = 1_000;
const SHORTEST_TICK_MS = 50;

/** The ticks that accounts with these alert cadences need. */
export function tickOf(alertMs: readonly number[]): number {
  return Math.max(SHORTEST_TICK_MS, Math.min(LONGEST_TICK_MS, ...alertMs));
}

/** A schedule whose next tick is overdue by more than this has stopped. */
const OVERDUE_MS = 500;

/** Sets up all of the schedules, and takes away those of buckets that have no accounts any more. */
export async function assertSchedules(
  redis: Redis,
  queue: Queue<PollJob>,
  wanted: readonly Schedule[],
): Promise<void> {
  const ids = new Set(wanted.map(({ bucket }) => schedulerId(bucket)));
  const known = await nextTicks(redis, queue);
  await Promise.all([
    ...wanted.map((schedule) => setUp(queue, schedule)),
    ...[...known.keys()].filter((id) => !ids.has(id)).map((id) => queue.removeJobScheduler(id)),
  ]);
}

/**
 * Sets up again what is missing or has stopped: a chain of ticks breaks when its process dies between taking a
 * tick and planning the next one. One read while all is well.
 */
export async function repairSchedules(
  redis: Redis,
  queue: Queue<PollJob>,
  wanted: readonly Schedule[],
  nowMs: number,
): Promise<readonly number[]> {
  const known = await nextTicks(redis, queue);
  const broken = wanted.filter(({ bucket, everyMs }) => {
    const next = known.get(schedulerId(bucket));
    return next === undefined || next < nowMs - everyMs - OVERDUE_MS;
  });
  await Promise.all(broken.map((schedule) => setUp(queue, schedule)));
  return broken.map(({ bucket }) => bucket);
}

/** When each schedule ticks next, Unix milliseconds, by its id. */
async function nextTicks(redis: Redis, queue: Queue<PollJob>): Promise<ReadonlyMap<string, number>> {
  // Pairs or one flat list, by the version of the protocol.
  const reply = (await redis.call('ZRANGE', queue.toKey('repeat'), '0', '-1', 'WITHSCORES')) as unknown[];
  const found = reply.flat().map(String);
  const ticks = new Map<string, number>();
  for (let index = 0; index + 1 < found.length; index += 2) {
    ticks.set(found[index] ?? '', Number(found[index + 1]));
  }
  return ticks;
}

async function setUp(queue: Queue<PollJob>, { bucket, everyMs }: Schedule): Promise<void> {
  // Spread over the interval: without an offset all of them tick at once.
  const offset = 1 + Math.floor((bucket * (everyMs - 1)) / BUCKETS);
  await queue.upsertJobScheduler(
    schedulerId(bucket),
    { every: everyMs, offset },
    {
      name: 'tick',
      data: { version: 1, bucket, everyMs },
      opts: { removeOnComplete: true, removeOnFail: { count: KEPT_FAILURES, age: KEPT_SECONDS } },
    },
  );
}

const KEPT_FAILURES = 100;
const KEPT_SECONDS = 3_600;

/** When a tick was meant to begin, Unix milliseconds; undefined when its id does not say. */
export function meantAt(jobId: string | undefined): number | undefined {
  const text = jobId?.slice(jobId.lastIndexOf(':') + 1);
  const atMs = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isSafeInteger(atMs) ? atMs : undefined;
}

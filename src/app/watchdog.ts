import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { QueueName, Telemetry } from '../core/ports/telemetry.ts';
import { assertSchedules, removeLeftovers, repairSchedules, type Schedule } from '../queues/schedules.ts';
import type { AuditHeads } from './audit-heads.ts';
import type { ConfigWatch } from './config-watch.ts';
import { followClock } from './connect-redis.ts';
import type { Base } from './open-base.ts';
import type { SharedPlace } from './process-place.ts';

export interface WatchdogParts extends Pick<Base, 'clock' | 'telemetry' | 'shared' | 'time'> {
  readonly watch: ConfigWatch;
  readonly audit: Pick<AuditReader, 'head'>;
  readonly heads: AuditHeads;
  /** Absent: other processes maintain the schedules. */
  readonly schedules: WantedSchedules | undefined;
}

export interface WantedSchedules {
  readonly wanted: () => readonly Schedule[];
  /** They are set up as wanted now, as far as this process knows. */
  areSetUp: boolean;
  /** The next tick of each schedule as found at the last check, Unix milliseconds. */
  nextTicks: ReadonlyMap<string, number>;
  /** Schedules found at the last check that are not wanted here. */
  unwanted: ReadonlySet<string>;
}

export type Watchdog = ReturnType<typeof startWatchdog>;

const LOOK_MS = 1_000;
const CLOCK_EVERY_LOOKS = 10;
/** Long enough for the preceding process of a roll-out to end between two checks. */
const LEFTOVERS_EVERY_LOOKS = 30;
const HEADS_EVERY_LOOKS = 3_600;

/** Checks every second, apart from the queues: do they run, are the schedules alive, is the config file in force? */
export function startWatchdog(parts: WatchdogParts) {
  let looks = 0;
  let looking: Promise<void> | undefined;
  // Not node-cron: it would build its calendar code at every start.
  const timer = setInterval(() => {
    // One look at a time: looks must not pile up behind a hanging one.
    if (looking !== undefined) return;
    looks += 1;
    looking = look(parts, looks)
      .catch((error: unknown) => parts.telemetry.emit({ kind: 'workerError', queue: 'poll', error }))
      .finally(() => {
        looking = undefined;
      });
  }, LOOK_MS);
  return {
    async stop(): Promise<void> {
      clearInterval(timer);
      await looking;
    },
  };
}

async function look(parts: WatchdogParts, looks: number): Promise<void> {
  const { telemetry, shared, watch } = parts;
  await watch.look();
  // Without Redis nothing can be repaired; the connection reports its own loss.
  if (shared !== undefined && shared.redis.status !== 'ready') return;
  try {
    if (shared !== undefined) await lookAtShared(shared, parts, looks);
    await noteHeads(parts, looks);
  } catch (error) {
    telemetry.emit({ kind: 'workerError', queue: 'poll', error });
  }
}

async function lookAtShared(shared: SharedPlace, parts: WatchdogParts, looks: number): Promise<void> {
  const { clock, telemetry, time, schedules } = parts;
  if (schedules !== undefined) {
    await resumeQueues(shared, telemetry);
    await lookAtSchedules(shared, { ...parts, schedules }, looks);
  }
  if (looks % CLOCK_EVERY_LOOKS === 0) await followClock(shared.redis, clock, time);
}

async function noteHeads({ heads, watch, ...place }: WatchdogParts, looks: number): Promise<void> {
  const isWatcher = place.schedules !== undefined;
  await heads.start({ ...place, config: () => watch.config }, isWatcher);
  if (isWatcher && looks % HEADS_EVERY_LOOKS === 0) await heads.noteAll(true);
  else await heads.noteActed();
}

/** BullMQ's limits for a whole queue. */
const LIMITS = ['concurrency', 'max', 'duration'];

/** A paused or limited queue no longer watches, acts or notifies, even after a restart. People have pauses. */
async function resumeQueues({ redis, queues }: SharedPlace, telemetry: Telemetry): Promise<void> {
  for (const queue of queues.all) {
    const meta = queue.toKey('meta');
    const found = await redis.hmget(meta, 'paused', ...LIMITS);
    if (found.every((value) => value === null)) continue;
    await redis.hdel(meta, ...LIMITS);
    await queue.resume();
    telemetry.emit({ kind: 'queueResumed', queue: queue.name as QueueName });
  }
}

async function lookAtSchedules(
  { redis, queues }: SharedPlace,
  parts: WatchdogParts & { readonly schedules: WantedSchedules },
  looks: number,
): Promise<void> {
  const { clock, telemetry, schedules } = parts;
  if (schedules.areSetUp) {
    const wanted = schedules.wanted();
    const found = { nowMs: clock.nowMs(), before: schedules.nextTicks };
    const { buckets, known } = await repairSchedules(redis, queues.poll, wanted, found);
    schedules.nextTicks = known;
    if (buckets.length > 0) telemetry.emit({ kind: 'schedulesAsserted', buckets, why: 'repair' });
    if (looks % LEFTOVERS_EVERY_LOOKS === 0) {
      schedules.unwanted = await removeLeftovers(redis, queues.poll, wanted, schedules.unwanted);
    }
    return;
  }
  // A reload could not set them up. A schedule with an old pace is not broken, so a repair would leave it.
  await setUpSchedules(parts, schedules, 'reload');
}

/** Does nothing without schedules or queues: other processes maintain them, or there are none. */
export async function setUpSchedules(
  { shared, telemetry }: Pick<WatchdogParts, 'shared' | 'telemetry'>,
  schedules: WantedSchedules | undefined,
  why: 'start' | 'reload',
): Promise<void> {
  if (schedules === undefined || shared === undefined) return;
  const { redis, queues } = shared;
  schedules.areSetUp = false;
  const wanted = schedules.wanted();
  await assertSchedules(redis, queues.poll, wanted);
  schedules.areSetUp = true;
  telemetry.emit({ kind: 'schedulesAsserted', buckets: wanted.flatMap(({ buckets }) => buckets), why });
}

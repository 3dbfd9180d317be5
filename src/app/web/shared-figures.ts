import { setImmediate } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { type Controls, hasExpired } from '../../core/controls/controls.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { StateStore } from '../../core/ports/state-store.ts';
import { within } from '../../core/ports/within.ts';
import type { StoredStress } from '../../core/view/stress-result.ts';
import { accountFigures, lostView } from '../../core/view/view-account.ts';
import { systemTimers } from '../../exchange/system-clock.ts';
import type { WatchedAccount } from '../../pipeline/pipeline-context.ts';
import type { LaneTime } from '../../pipeline/shared-time.ts';
import { meantAt } from '../../queues/schedules.ts';
import { StateSeries } from '../../telemetry/metrics/state-gauges.ts';
import type { QueueFigures, SharedFigures } from '../../telemetry/record.ts';
import { type JudgedClocks, readBuckets } from './shared-view.ts';

export interface FigureParts {
  readonly store: Pick<StateStore, 'readBucket'>;
  /** As configured now. */
  readonly accounts: () => readonly WatchedAccount[];
  readonly queues: readonly Queue[];
  readonly stress: () => Promise<StoredStress | undefined>;
  readonly clock: Clock;
  readonly clocks: JudgedClocks;
  /** The lanes' clock, by which intents are dated. */
  readonly time: Pick<LaneTime, 'nowMs'>;
}

/** Shorter than Prometheus waits for a scrape, even if Redis hangs. */
const TIMEOUT_MS = 4_000;

/** Reads figures of the shared state and the queues. Rejects if they are unavailable. */
export async function readSharedFigures(parts: FigureParts): Promise<SharedFigures> {
  const { queues, clock, stress } = parts;
  const late = new AbortController();
  const read = Promise.all([readState(parts, late.signal), readQueues(queues, clock), stress()]);
  try {
    const [state, depths, stressed] = await within(systemTimers, TIMEOUT_MS, read);
    return { state, queues: Object.fromEntries(depths), stress: stressed };
  } finally {
    late.abort();
  }
}

/** The series while the shared state cannot be read: every account is blind. */
export function lostSeries(accountIds: readonly string[]): StateSeries {
  const series = new StateSeries();
  for (const [index, id] of accountIds.entries()) series.takeState(index, id, lostView(id).state);
  return series;
}

/** Accounts processed before yielding to the event loop. */
const AT_A_STRETCH = 8;

/** The series of every configured account. Keeps no account: a thousand would need ten times the series' memory. */
async function readState(parts: FigureParts, signal: AbortSignal): Promise<StateSeries> {
  const { store, clocks, time } = parts;
  const watched = parts.accounts();
  const places = new Map(watched.map(({ id, rules }, index) => [id, { index, rules }]));
  const series = new StateSeries();
  let count = 0;
  for await (const accounts of readBuckets(store, [...places.keys()], { remember: false })) {
    for (const shared of accounts) {
      const { accountId, load, controls } = shared;
      const { index, rules } = places.get(accountId)!;
      const times = { nowMs: clocks.nowMs(shared), laneMs: time.nowMs() };
      const figures = accountFigures({ load, rules, controls, nowMs: times.nowMs });
      series.take(index, figures, times);
      series.isPausedEverywhere ||= isPausedEverywhere(controls, times.nowMs);
      count += 1;
      if (count % AT_A_STRETCH === 0) await setImmediate();
      signal.throwIfAborted();
    }
  }
  return series;
}

/** A pause of everything is among the controls of every bucket. */
function isPausedEverywhere({ entries }: Controls, nowMs: number): boolean {
  return entries.some(
    (control) => control.kind === 'pause' && control.accountId === null && !hasExpired(control, nowMs),
  );
}

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

export async function readQueues(queues: FigureParts['queues'], clock: Clock) {
  return await Promise.all(queues.map((queue) => readQueue(queue, clock)));
}

async function readQueue(queue: Queue, clock: Clock): Promise<readonly [string, QueueFigures]> {
  const [jobs, [oldest], isPaused] = await Promise.all([
    queue.getJobCounts(...STATES),
    queue.getJobs(['waiting'], 0, 0, true),
    queue.isPaused(),
  ]);
  // A tick's job is created long before the tick is meant to begin.
  const meantMs = queue.name === 'poll' ? meantAt(oldest?.id) : undefined;
  const sinceMs = meantMs ?? oldest?.timestamp;
  return [queue.name, { jobs, oldestAgeMs: sinceMs === undefined ? 0 : clock.nowMs() - sinceMs, isPaused }];
}

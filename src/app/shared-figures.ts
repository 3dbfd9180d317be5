import type { Queue } from 'bullmq';
import type { Clock } from '../core/ports/clock.ts';
import { controlsInForce } from '../core/ports/controls.ts';
import type { LaneTime } from '../pipeline/time.ts';
import { meantAt } from '../queues/schedules.ts';
import type { QueueFigures, SharedAccountFigures, SharedFigures } from '../telemetry/record.ts';
import { type SharedView, within } from './shared-view.ts';

export interface FigureParts {
  readonly view: () => Promise<SharedView>;
  readonly queues: { readonly all: readonly Queue[] };
  readonly clock: Clock;
  /** The clock of the lanes, on which intents are dated. */
  readonly time: Pick<LaneTime, 'nowMs'>;
}

/** Whoever scrapes has an answer within its own patience, also when Redis hangs. */
const TIMEOUT_MS = 4_000;

/** Figures of the shared state and the queues. Rejects when they cannot be had. */
export async function readSharedFigures({ view, queues, clock, time }: FigureParts): Promise<SharedFigures> {
  const read = Promise.all([view(), Promise.all(queues.all.map((queue) => readQueue(queue, clock)))]);
  const [shared, depths] = await within(read, TIMEOUT_MS, 'the shared state did not answer in time');
  return { accounts: accountFigures(shared, time.nowMs()), queues: Object.fromEntries(depths) };
}

export function accountFigures(
  { atMs, accounts }: SharedView,
  laneMs: number,
): readonly SharedAccountFigures[] {
  return accounts.flatMap(({ accountId, load, controls }) => {
    const paused = controlsInForce(controls, accountId, atMs).pause !== undefined;
    const lanes = load.kind === 'loaded' ? [...load.account.lanes.values()] : [];
    const intents = lanes
      .flatMap((lane) => lane.intents)
      .filter(({ end }) => end === null)
      .map(({ mode, openedMs }) => ({ mode, ageMs: Math.max(0, laneMs - openedMs) }));
    return [{ accountId, paused, intents }];
  });
}

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

async function readQueue(queue: Queue, clock: Clock): Promise<readonly [string, QueueFigures]> {
  const [jobs, [oldest]] = await Promise.all([
    queue.getJobCounts(...STATES),
    queue.getJobs(['waiting'], 0, 0, true),
  ]);
  // A tick was made long before it was meant to begin.
  const meantMs = queue.name === 'poll' ? meantAt(oldest?.id) : undefined;
  const sinceMs = meantMs ?? oldest?.timestamp;
  return [queue.name, { jobs, oldestAgeMs: sinceMs === undefined ? 0 : clock.nowMs() - sinceMs }];
}

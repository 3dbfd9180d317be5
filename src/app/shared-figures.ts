import type { Queue } from 'bullmq';
import type { Clock } from '../core/ports/clock.ts';
import { hasExpired } from '../core/ports/controls.ts';
import type { AccountView } from '../core/view/account-view.ts';
import { viewAccount } from '../core/view/view-account.ts';
import type { WatchedAccount } from '../pipeline/account.ts';
import type { LaneTime } from '../pipeline/time.ts';
import { meantAt } from '../queues/schedules.ts';
import type { QueueFigures, SharedFigures } from '../telemetry/record.ts';
import { type SharedView, within } from './shared-view.ts';

export interface FigureParts {
  readonly view: () => Promise<SharedView>;
  /** As configured now. */
  readonly accounts: () => readonly WatchedAccount[];
  readonly queues: { readonly all: readonly Queue[] };
  readonly clock: Clock;
  /** The clock of the lanes, on which intents are dated. */
  readonly time: Pick<LaneTime, 'nowMs'>;
}

/** Whoever scrapes has an answer within its own patience, also when Redis hangs. */
const TIMEOUT_MS = 4_000;

/** Figures of the shared state and the queues. Rejects when they cannot be had. */
export async function readSharedFigures(parts: FigureParts): Promise<SharedFigures> {
  const { view, queues, clock, time } = parts;
  const read = Promise.all([view(), readQueues(queues, clock)]);
  const [shared, depths] = await within(read, TIMEOUT_MS, 'the shared state did not answer in time');
  return {
    accounts: accountViews(shared, parts.accounts()),
    nowMs: shared.atMs,
    laneMs: time.nowMs(),
    isPausedEverywhere: isPausedEverywhere(shared),
    queues: Object.fromEntries(depths),
  };
}

/**
 * Every configured account as people are shown it, one at a time: a thousand views at once would take more memory
 * than all that is made from them.
 */
export function accountViews(
  { atMs, accounts }: SharedView,
  watched: readonly WatchedAccount[],
): Iterable<AccountView> {
  const rules = new Map(watched.map((account) => [account.id, account.rules]));
  return {
    *[Symbol.iterator]() {
      for (const { accountId, load, controls } of accounts) {
        const of = { load, rules: rules.get(accountId), controls, nowMs: atMs };
        yield viewAccount({ ...of, withReasons: false });
      }
    },
  };
}

function isPausedEverywhere({ atMs, accounts }: SharedView): boolean {
  // Such a pause is among the controls of every bucket.
  const controls = accounts[0]?.controls.entries ?? [];
  return controls.some(
    (control) => control.kind === 'pause' && control.accountId === null && !hasExpired(control, atMs),
  );
}

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

export async function readQueues(
  queues: FigureParts['queues'],
  clock: Clock,
): Promise<readonly (readonly [string, QueueFigures])[]> {
  return await Promise.all(queues.all.map((queue) => readQueue(queue, clock)));
}

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

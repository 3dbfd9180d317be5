import type { ConfigChange } from '../config/compare-configs.ts';
import type { NotifySettings } from '../config/notify.ts';
import type { LaneDispatcher } from '../core/ports/lane-dispatcher.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import { type ActingTurns, ALWAYS } from '../pipeline/act/lane-turns.ts';
import { NearLanes } from '../pipeline/act/near-lanes.ts';
import { runLane } from '../pipeline/act/run-lane.ts';
import type { PipelineContext } from '../pipeline/pipeline-context.ts';
import { groupTicks, type Schedule, tickOf } from '../queues/schedules.ts';
import type { ConfiguredAccounts } from './configured-accounts.ts';

/** The parts that the process provides. */
export interface PipelineParts {
  readonly work: Omit<PipelineContext, 'lanes' | 'settings' | 'turns'>;
  /** Identifies this process among those that share the store. */
  readonly instance: string;
  /** Takes the lanes that this process does not start itself. */
  readonly queue: LaneDispatcher;
  /** An action that this process may not take now is left to the next poll. Absent: it always may. */
  readonly turns: ActingTurns | undefined;
  readonly notify: () => Pick<NotifySettings, 'escalation' | 'remindEveryMs'>;
  /** Bound on one request as configured now, milliseconds. */
  readonly attemptTimeoutMs: () => number;
}

export interface Pipeline {
  readonly context: PipelineContext;
  /** Absent: this process does not act; others take the jobs. */
  readonly near: NearLanes | undefined;
}

/** After this, the next tick repeats a poll whose process died: no account goes unpolled for more than 5 s. */
const CLAIM_MS = 1_500;
const LANE_LEASE_MS = 3_000;
/** A lane that was started at once needs its job in the queue only after this: queue work delays other lanes. */
const JOB_AFTER_MS = 1_000;
/** Well below the lane lease: should the process die, a poll within this time hands its lanes over soon enough. */
const NEXT_POLL_WITHIN_MS = 2_000;
const LONGEST_WAIT_MS = 10_000;
const HISTORY_MS = 10_000;

/** After `signal` no lane is started. */
export function openPipeline(parts: PipelineParts, acts: boolean, signal: AbortSignal): Pipeline {
  const { queue } = parts;
  const { telemetry, timers } = parts.work;
  if (!acts) return { context: contextOf(parts, queue), near: undefined };
  const near: NearLanes = new NearLanes({
    queue,
    run: async (lane, seen) =>
      context.turns.mayAct(lane.accountId) ? await runLane(context, lane, signal, seen) : 'idle',
    onError: (error) => telemetry.emit({ kind: 'workerError', queue: 'act', error }),
    timers,
    jobAfterMs: JOB_AFTER_MS,
    nextPollWithinMs: NEXT_POLL_WITHIN_MS,
    signal,
  });
  const context = contextOf(parts, near);
  return { context, near };
}

function contextOf(
  { work, instance, turns, notify, attemptTimeoutMs }: PipelineParts,
  lanes: LaneDispatcher,
): PipelineContext {
  return {
    ...work,
    lanes,
    turns: turns ?? ALWAYS,
    settings: {
      instance,
      claimMs: CLAIM_MS,
      laneLeaseMs: LANE_LEASE_MS,
      longestWaitMs: LONGEST_WAIT_MS,
      historyMs: HISTORY_MS,
      get reminderMs() {
        return notify().remindEveryMs;
      },
      get escalation() {
        return notify().escalation;
      },
      get attemptTimeoutMs() {
        return attemptTimeoutMs();
      },
    },
  };
}

/** Schedules of the buckets that have accounts, as frequent as their accounts' cadences need. */
export function schedulesOf(accounts: ConfiguredAccounts): readonly Schedule[] {
  const ticks = accounts.buckets().map((bucket) => {
    const ids = accounts.inBucket(bucket);
    const alerts = ids.map(
      (id) => accounts.get(id)?.rules.settings.cadence.alertMs ?? Number.POSITIVE_INFINITY,
    );
    return { bucket, everyMs: tickOf(alerts) };
  });
  return groupTicks(ticks);
}

/** Makes accounts that a reload changed due at once, not at their old cadence. */
export async function makeChangedDue(store: StateStore, change: ConfigChange): Promise<void> {
  const ids = [...change.added, ...change.changed.map(({ accountId }) => accountId)];
  await Promise.all(ids.map((id) => store.makeDue(id, 0)));
}

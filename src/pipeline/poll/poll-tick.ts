import type { AccountLoad } from '../../core/ports/state-store.ts';
import type { PipelineContext } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import { BatchedCommits } from './batched-commits.ts';
import { timeApart } from './due-in.ts';
import { HeldClaims, type PollGuard, pollAccount, type StartedTick } from './poll-account.ts';

export interface BucketTick {
  /** Time between ticks. */
  readonly everyMs: number;
  /** Planned start of the tick, Unix milliseconds on the planner's clock. */
  readonly meantMs: number;
  /** Delay of each bucket after that, milliseconds. */
  readonly delaysMs: ReadonlyMap<number, number>;
}

/** Polls each bucket at its own time, independently of the others; throws the first failure at the end. */
export async function pollTick(
  context: PipelineContext,
  guard: PollGuard,
  { everyMs, meantMs, delaysMs }: BucketTick,
): Promise<void> {
  const { clock } = context;
  const polls = [...delaysMs].map(async ([bucket, delayMs]) => {
    const waitMs = meantMs + delayMs - clock.nowMs();
    // Never longer than planned: the planner's clock may be ahead of this one.
    if (waitMs > 0) await clock.sleep(Math.min(waitMs, delayMs));
    const lagMs = Math.max(0, clock.nowMs() - meantMs - delayMs);
    await pollBucket(context, guard, { bucket, everyMs, lagMs });
  });
  for (const poll of await Promise.allSettled(polls)) if (poll.status === 'rejected') throw poll.reason;
}

interface Tick {
  readonly bucket: number;
  /** Time between ticks: accounts fall due with a tick, never later than their risk allows. */
  readonly everyMs: number;
  /** How much later than planned this tick began. */
  readonly lagMs: number;
}

/**
 * Polls due accounts, the most endangered first. Commits go in batches, so that a slow exchange delays no other
 * account.
 */
export async function pollBucket(context: PipelineContext, guard: PollGuard, tick: Tick): Promise<void> {
  const { accounts, clock, store, telemetry, settings, time } = context;
  const startedMs = clock.monotonicMs();
  const ids = accounts.inBucket(tick.bucket);
  const free = guard.free(ids);
  if (free.length === 0) return;
  pass('poll.taking', { bucket: tick.bucket });
  const askedAtMs = clock.monotonicMs();
  const view = await store.takeDue(tick.bucket, {
    accountIds: free,
    claimMs: settings.claimMs,
    maxAheadMs: maxAhead(context, free),
  });
  pass('poll.taken', { bucket: tick.bucket });
  time.notice({ storeMs: view.storeMs, askedAtMs, answeredAtMs: clock.monotonicMs() });
  const commits = new BatchedCommits(store, context.timers);
  const claims = new HeldClaims(context, tick.bucket);
  const apartMs = timeApart(tick.everyMs, view.accounts.length);
  const started: StartedTick = { ...tick, startedMs, commits, claims, guard };
  const polls = await Promise.allSettled(
    view.accounts.map((load, index) => {
      const due = { load, controls: view.controls, afterMs: index * apartMs };
      return guard.run(idOf(load), () => pollAccount(context, due, started));
    }),
  );
  telemetry.emit({
    kind: 'ticked',
    bucket: tick.bucket,
    lagMs: tick.lagMs,
    durationMs: clock.monotonicMs() - startedMs,
    due: view.accounts.length,
    inFlight: ids.length - free.length,
  });
  // One failed account must not stop the others. All failures are reported, and the first makes the tick fail.
  const failed = polls.flatMap((poll, index) =>
    poll.status === 'rejected' ? [{ load: view.accounts[index]!, error: poll.reason as unknown }] : [],
  );
  for (const { load, error } of failed) {
    telemetry.emit({ kind: 'pollFailed', accountId: idOf(load), why: 'error', error });
  }
  if (failed.length > 0) throw failed[0]!.error;
}

/** Due times beyond this were set by a wrong clock. */
function maxAhead({ accounts, settings }: PipelineContext, ids: readonly string[]): number {
  let longestMs = settings.claimMs;
  for (const id of ids) {
    const account = accounts.get(id);
    if (account === undefined) continue;
    const { calmMs } = account.rules.settings.cadence;
    longestMs = Math.max(longestMs, calmMs, account.leastIntervalMs);
  }
  return longestMs;
}

function idOf(load: AccountLoad): string {
  return load.kind === 'loaded' ? load.account.accountId : load.problem.accountId;
}

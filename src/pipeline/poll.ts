import type { Clock } from '../core/ports/clock.ts';
import type { AccountCommit, AccountLoad, CommitResult, DueView } from '../core/ports/state-store.ts';
import type { SeenAccount } from '../core/ports/work.ts';
import type { PipelineContext, WatchedAccount } from './account.ts';
import { BatchedCommits } from './batched-commits.ts';
import { HeldClaims } from './claims.ts';
import { tellCommit } from './committed.ts';
import { type Decided, decide } from './decide.ts';
import { dangerOf, dueIn, timeApart } from './due.ts';
import { carryOut } from './follow-up.ts';
import { type Observation, observeAccount } from './observe.ts';
import { pass } from './points.ts';

export interface Tick {
  readonly bucket: number;
  /** Time between ticks: accounts fall due with one of them, never later than their risk allows. */
  readonly everyMs: number;
  /** How much later than meant this tick began. */
  readonly lagMs: number;
}

export interface TickResult {
  readonly due: number;
  readonly inFlight: number;
}

/** An account is not polled twice at the same time by one process, however long a poll takes. */
export class PollGuard {
  readonly #polling = new Set<string>();

  get size(): number {
    return this.#polling.size;
  }

  free(accountIds: readonly string[]): readonly string[] {
    return this.#polling.size === 0 ? accountIds : accountIds.filter((id) => !this.#polling.has(id));
  }

  async run<T>(accountId: string, poll: () => Promise<T>): Promise<T> {
    this.#polling.add(accountId);
    try {
      return await poll();
    } finally {
      this.#polling.delete(accountId);
    }
  }
}

/** A store that answers with conflicts more often than this has another process at the same account. */
const MOST_ATTEMPTS = 4;

/**
 * One tick of one bucket: polls the accounts that are due, the most endangered first, at the same time or, where they
 * are few, a little apart. Their commits go to the store in batches, each as soon as the one before has been answered,
 * so that an account whose exchange is slow holds up no other.
 */
export async function pollBucket(
  context: PipelineContext,
  guard: PollGuard,
  tick: Tick,
): Promise<TickResult> {
  const { accounts, clock, store, telemetry, settings } = context;
  const startedMs = clock.monotonicMs();
  const ids = accounts.inBucket(tick.bucket);
  const free = guard.free(ids);
  if (free.length === 0) return { due: 0, inFlight: ids.length };
  pass('poll.taking', { bucket: tick.bucket });
  const view = await store.takeDue(tick.bucket, {
    accountIds: free,
    claimMs: settings.claimMs,
    maxAheadMs: maxAhead(context, free),
  });
  pass('poll.taken', { bucket: tick.bucket });
  const commits = new BatchedCommits(store, context.timers);
  const claims = new HeldClaims(context, tick.bucket);
  const apartMs = timeApart(tick.everyMs, view.accounts.length);
  const started = { ...tick, startedMs, commits, claims };
  const polls = await Promise.allSettled(
    view.accounts.map((load, index) =>
      guard.run(idOf(load), () => pollLoaded(context, load, view, started, index * apartMs)),
    ),
  );
  const result = { due: view.accounts.length, inFlight: ids.length - free.length };
  const durationMs = clock.monotonicMs() - startedMs;
  telemetry.emit({ kind: 'ticked', bucket: tick.bucket, lagMs: tick.lagMs, durationMs, ...result });
  reportFailures(context, view, polls);
  return result;
}

/** What fails one account keeps no other from being polled; all of it is told, and the first makes the tick fail. */
function reportFailures(
  { telemetry }: PipelineContext,
  view: DueView,
  polls: readonly PromiseSettledResult<void>[],
): void {
  let first: PromiseRejectedResult | undefined;
  for (const [index, poll] of polls.entries()) {
    const load = view.accounts[index];
    if (poll.status === 'fulfilled' || load === undefined) continue;
    first ??= poll;
    telemetry.emit({ kind: 'pollFailed', accountId: idOf(load), why: 'error', error: poll.reason });
  }
  if (first !== undefined) throw first.reason;
}

/** Due times beyond this were set by a clock that was wrong. */
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

interface StartedTick extends Tick {
  readonly startedMs: number;
  readonly commits: BatchedCommits;
  readonly claims: HeldClaims;
}

async function pollLoaded(
  context: PipelineContext,
  load: AccountLoad,
  view: DueView,
  tick: StartedTick,
  afterMs: number,
): Promise<void> {
  const { accounts, telemetry, clock } = context;
  if (afterMs > 0) await clock.sleep(afterMs);
  if (load.kind === 'refused') {
    telemetry.emit({ kind: 'accountRefused', problem: load.problem });
    return;
  }
  const account = accounts.get(load.account.accountId);
  if (account === undefined) return;
  await pollAccount(context, account, { stored: load.account, controls: view.controls }, tick);
}

async function pollAccount(
  context: PipelineContext,
  account: WatchedAccount,
  loaded: SeenAccount,
  tick: StartedTick,
): Promise<void> {
  const { telemetry, store, clock } = context;
  const about = { accountId: account.id, bucket: tick.bucket };
  const startedMs = clock.monotonicMs();
  pass('poll.reading', about);
  const observation = await tick.claims.during(account.id, () =>
    observeAccount(context, account, loaded.stored),
  );
  pass('poll.read', about);
  if (observation === undefined) {
    telemetry.emit({ kind: 'pollFailed', accountId: account.id, why: 'aborted' });
    await store.makeDue(account.id, 0);
    return;
  }
  const settled = await commitDecision(context, account, loaded, observation, tick);
  if (settled === undefined) return;
  const { decided, committed } = settled;
  telemetry.emit({
    kind: 'evaluated',
    accountId: account.id,
    settings: account.rules.settings,
    snapshot: decided.snapshot,
    evaluation: decided.evaluation,
    durationMs: clock.monotonicMs() - startedMs,
  });
  await carryOut(context, decided, committed);
}

interface Settled {
  readonly decided: Decided;
  readonly committed: SeenAccount;
}

/** Decides on what was observed until it is durable: whoever else changed the account meanwhile is heard first. */
async function commitDecision(
  context: PipelineContext,
  account: WatchedAccount,
  first: SeenAccount,
  observation: Observation,
  tick: StartedTick,
): Promise<Settled | undefined> {
  const { memory, clock, settings } = context;
  const about = { accountId: account.id, bucket: tick.bucket };
  const withHistory = memory.takeHistoryTurn(account.id, clock.monotonicMs(), settings.historyMs);
  let loaded = first;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const decided = decideNow(context, account, loaded, observation, withHistory);
    pass('poll.evaluated', about);
    const commit = commitOf(decided, tick, clock);
    pass('poll.committing', about);
    const result = await tick.commits.add(commit, decided.lanes.length > 0);
    pass('poll.committed', about);
    tellCommit(context.telemetry, 'poll', loaded.stored, result);
    if (result.kind === 'committed') {
      return { decided, committed: { stored: result.account, controls: loaded.controls } };
    }
    const again = await reload(context, account, result);
    if (again === undefined) return undefined;
    loaded = again;
  }
  context.telemetry.emit({ kind: 'pollFailed', accountId: account.id, why: 'contended' });
  return undefined;
}

function decideNow(
  { time, settings }: PipelineContext,
  account: WatchedAccount,
  { stored, controls }: SeenAccount,
  observation: Observation,
  withHistory: boolean,
): Decided {
  const { reminderMs } = settings;
  const [now, laneMs] = [time.instant(), time.nowMs()];
  return decide({ account, stored, controls, observation, now, laneMs, reminderMs, withHistory });
}

function commitOf({ commit, evaluation }: Decided, tick: StartedTick, clock: Clock): AccountCommit {
  const inMs = dueIn(evaluation.nextDue.inMs, tick, clock.monotonicMs() - tick.startedMs);
  return { ...commit, due: { inMs, danger: dangerOf(evaluation) } };
}

async function reload(
  { telemetry, store }: PipelineContext,
  account: WatchedAccount,
  result: CommitResult,
): Promise<SeenAccount | undefined> {
  if (result.kind === 'refused') {
    telemetry.emit({ kind: 'accountRefused', problem: result.problem });
    return undefined;
  }
  const { load, controls } = await store.read(account.id);
  if (load.kind === 'refused') {
    telemetry.emit({ kind: 'accountRefused', problem: load.problem });
    return undefined;
  }
  return { stored: load.account, controls };
}

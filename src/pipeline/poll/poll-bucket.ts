import type { Clock } from '../../core/ports/clock.ts';
import type { SeenAccount } from '../../core/ports/lane-dispatcher.ts';
import type { AccountCommit, AccountLoad, CommitResult, DueView } from '../../core/ports/state-store.ts';
import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import { BatchedCommits } from './batched-commits.ts';
import { carryOut } from './carry-out.ts';
import { type Decided, type DecideInputs, decide } from './decide.ts';
import { dangerOf, dueIn, timeApart } from './due-in.ts';
import { HeldClaims } from './held-claims.ts';
import { catchUpLanes, type LeftLanes } from './left-lanes.ts';
import { type Observation, observationOf, observeAccount } from './observe-account.ts';
import { JUDGED_LATE } from './read-sources.ts';
import { sharedAccount } from './shared-account.ts';
import { tellCommit } from './tell-commit.ts';

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
  readonly #followed = new WeakSet<Promise<void>>();

  get size(): number {
    return this.#polling.size;
  }

  free(accountIds: readonly string[]): readonly string[] {
    return this.#polling.size === 0 ? accountIds : accountIds.filter((id) => !this.#polling.has(id));
  }

  /** Whether nobody has asked for this read before. */
  follow(read: Promise<void>): boolean {
    if (this.#followed.has(read)) return false;
    this.#followed.add(read);
    return true;
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
  const { accounts, clock, store, telemetry, settings, time } = context;
  const startedMs = clock.monotonicMs();
  const ids = accounts.inBucket(tick.bucket);
  const free = guard.free(ids);
  if (free.length === 0) return { due: 0, inFlight: ids.length };
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
  const started = { ...tick, startedMs, commits, claims, guard };
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
  readonly guard: PollGuard;
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
  try {
    await pollAccount(context, account, { stored: load.account, controls: view.controls }, tick);
    // It may have come while this was being committed.
    await judgeLate(context, account, tick);
  } finally {
    followReads(context, account, tick);
  }
}

/** What is still being read is judged when it comes: the next tick may be a calm interval away. */
function followReads(context: PipelineContext, account: WatchedAccount, tick: StartedTick): void {
  const { memory, telemetry } = context;
  const { id } = account;
  const late = async (read: Promise<void>): Promise<void> => {
    await read;
    // A poll that goes on here judges what it finds when it has read, and again at its end.
    if (tick.guard.free([id]).length === 0) return;
    await tick.guard.run(id, () => judgeLate(context, account, tick));
  };
  for (const source of JUDGED_LATE) {
    for (const { ended } of memory.underWay(id, source)) {
      if (!tick.guard.follow(ended)) continue;
      memory.settle(
        late(ended).catch((error: unknown) =>
          telemetry.emit({ kind: 'pollFailed', accountId: id, why: 'error', error }),
        ),
      );
    }
  }
}

/** Judges what has arrived and no commit was decided with, if there is anything. */
async function judgeLate(
  context: PipelineContext,
  account: WatchedAccount,
  tick: StartedTick,
): Promise<void> {
  const { accounts, memory, store, telemetry, clock } = context;
  const { id } = account;
  if (!JUDGED_LATE.some((source) => memory.isNew(id, source)) || accounts.get(id) !== account) return;
  const { load, controls } = await store.read(id);
  if (load.kind === 'refused') {
    telemetry.emit({ kind: 'accountRefused', problem: load.problem });
    return;
  }
  const startedMs = clock.monotonicMs();
  const observation = observationOf(context, account, load.account);
  // Due as if it had come in time: cadences count from one read to the next, however long they take.
  await judge(context, account, { loaded: { stored: load.account, controls }, observation, startedMs }, tick);
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
  await judge(context, account, { loaded, observation, startedMs }, tick);
}

interface Found {
  readonly loaded: SeenAccount;
  readonly observation: Observation;
  /** When this look at the account began. */
  readonly startedMs: number;
}

/** Decides on what was observed, makes it durable and hands it to those who carry it out. */
async function judge(
  context: PipelineContext,
  account: WatchedAccount,
  { loaded, observation, startedMs }: Found,
  tick: StartedTick,
): Promise<void> {
  const { telemetry, memory, clock } = context;
  const settled = await commitDecision(context, account, newest(context, loaded), observation, tick);
  if (settled === undefined) return;
  const { decided, committed, left } = settled;
  memory.take(account.id, observation.kept, decided.evaluation.nextDue.isPressing === true);
  telemetry.emit({
    kind: 'evaluated',
    accountId: account.id,
    settings: account.rules.settings,
    snapshot: decided.snapshot,
    evaluation: decided.evaluation,
    durationMs: clock.monotonicMs() - startedMs,
  });
  await Promise.all([carryOut(context, decided, committed), carryOutLeft(context, committed, left)]);
}

/** While the exchange was asked, runs of lanes in this process went on: what they committed is known here. */
function newest({ store }: PipelineContext, { stored, controls }: SeenAccount): SeenAccount {
  const known = store.remembered(stored.accountId);
  const isNewer = known?.epoch.id === stored.epoch.id && known.version >= stored.version;
  return isNewer ? { stored: known, controls } : { stored, controls };
}

async function carryOutLeft(
  context: PipelineContext,
  { controls }: SeenAccount,
  left: LeftLanes | undefined,
): Promise<void> {
  const caughtUp = left && (await catchUpLanes(context, left));
  if (caughtUp === undefined) return;
  const { stored, toRun: lanes, events } = caughtUp;
  await carryOut(context, { lanes, events, notices: [] }, { stored, controls });
}

interface Settled {
  /** Without what concerns lanes that were left out. */
  readonly decided: Decided;
  readonly committed: SeenAccount;
  readonly left: LeftLanes | undefined;
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
    const inputs = inputsNow(context, account, loaded, observation, withHistory);
    const decided = decide(inputs);
    pass('poll.evaluated', about);
    const commit = commitOf(decided, tick, clock);
    pass('poll.committing', about);
    const result = await tick.commits.add(commit, decided.lanes.length > 0);
    pass('poll.committed', about);
    tellCommit(context.telemetry, 'poll', loaded.stored, result);
    if (result.kind === 'committed') {
      const { leftOut } = result;
      return {
        decided: leftOut.length === 0 ? decided : without(decided, new Set(leftOut)),
        committed: { stored: result.account, controls: loaded.controls },
        left: leftOut.length === 0 ? undefined : { inputs, decided, leftOut },
      };
    }
    const again = await reload(context, account, result);
    if (again === undefined) return undefined;
    loaded = again;
  }
  context.telemetry.emit({ kind: 'pollFailed', accountId: account.id, why: 'contended' });
  return undefined;
}

function without(decided: Decided, leftOut: ReadonlySet<string>): Decided {
  return {
    ...decided,
    lanes: decided.lanes.filter(({ market }) => market === null || !leftOut.has(market)),
    events: decided.events.filter(({ market }) => market === undefined || !leftOut.has(market)),
  };
}

function inputsNow(
  context: PipelineContext,
  account: WatchedAccount,
  { stored, controls }: SeenAccount,
  observation: Observation,
  withHistory: boolean,
): DecideInputs {
  const { reminderMs } = context.settings;
  const [now, moment] = [context.time.instant(), context.time.moment()];
  const sharedWith = sharedAccount(context, account);
  const shared = sharedWith === undefined ? {} : { sharedWith };
  return { account, stored, controls, observation, now, moment, reminderMs, withHistory, ...shared };
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

import type { Controls } from '../../core/controls/controls.ts';
import type { Timers } from '../../core/ports/clock.ts';
import type { SeenAccount } from '../../core/ports/lane-dispatcher.ts';
import type { AccountLoad, StoredAccount } from '../../core/ports/state-store.ts';
import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import type { BatchedCommits } from './batched-commits.ts';
import { carryOut, carryOutLeft, type LeftLanes } from './carry-out.ts';
import { type Decided, decide } from './decide.ts';
import { dangerOf, dueIn } from './due-in.ts';
import { type Observation, observationOf, observeAccount, sharedAccount } from './observe-account.ts';
import { JUDGED_LATE } from './read-sources.ts';
import { tellCommit } from './tell-commit.ts';
import { type Deliveries, WaitedNotices } from './waited-notices.ts';

/** Keeps one process from polling an account twice at the same time, however long a poll takes. */
export class PollGuard {
  readonly #polling = new Set<string>();
  readonly #followed = new WeakSet<Promise<void>>();

  get size(): number {
    return this.#polling.size;
  }

  free(accountIds: readonly string[]): readonly string[] {
    return this.#polling.size === 0 ? accountIds : accountIds.filter((id) => !this.#polling.has(id));
  }

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

/** Renewals within one claim: a single late renewal must not let another process step in. */
const RENEWALS_PER_CLAIM = 3;

type ClaimContext = Pick<PipelineContext, 'store'> & {
  readonly timers: Pick<Timers, 'after'>;
  readonly settings: Pick<PipelineContext['settings'], 'claimMs'>;
};

/**
 * Keeps the claims of a tick while its accounts are read. Claims are short, so that others soon take over those of a
 * dead process.
 */
export class HeldClaims {
  readonly #context: ClaimContext;
  readonly #bucket: number;
  readonly #held = new Set<string>();
  #callOff: (() => void) | undefined;

  constructor(context: ClaimContext, bucket: number) {
    this.#context = context;
    this.#bucket = bucket;
  }

  /** Holds the claim until the work ends. The commit that follows sets the next due time itself. */
  async during<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    this.#held.add(accountId);
    this.#callOff ??= this.#renewLater();
    try {
      return await work();
    } finally {
      this.#held.delete(accountId);
      if (this.#held.size === 0) {
        this.#callOff?.();
        this.#callOff = undefined;
      }
    }
  }

  #renewLater(): () => void {
    const { store, timers, settings } = this.#context;
    const { claimMs } = settings;
    return timers.after(claimMs / RENEWALS_PER_CLAIM, () => {
      this.#callOff = this.#renewLater();
      // The commit notices a lost store.
      store.holdClaims(this.#bucket, [...this.#held], claimMs).catch(() => undefined);
    });
  }
}

export interface StartedTick {
  readonly bucket: number;
  readonly everyMs: number;
  /** By the monotonic clock of this process. */
  readonly startedMs: number;
  readonly commits: BatchedCommits;
  readonly claims: HeldClaims;
  readonly guard: PollGuard;
}

/** After more conflicts than this, another process is polling the same account. */
const MOST_ATTEMPTS = 4;

interface DueAccount {
  readonly load: AccountLoad;
  readonly controls: Controls;
  /** Delay from the tick to the start of the poll. */
  readonly afterMs: number;
}

/** Reads an account, decides, and commits; late replies are judged when they arrive. */
export async function pollAccount(
  context: PipelineContext,
  { load, controls, afterMs }: DueAccount,
  tick: StartedTick,
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
    await judgeNow(context, account, { stored: load.account, controls }, tick);
    // A reply may have arrived during the commit.
    await judgeLate(context, account, tick);
  } finally {
    followReads(context, account, tick);
  }
}

/** Judges replies when they arrive: the next tick may be a calm interval away. */
function followReads(context: PipelineContext, account: WatchedAccount, tick: StartedTick): void {
  const { memory, telemetry } = context;
  const { id } = account;
  const late = async (read: Promise<void>): Promise<void> => {
    await read;
    // A poll in progress judges the reply after its reads, and again at its end.
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

/** Judges readings that no commit was based on yet, if any. */
async function judgeLate(
  context: PipelineContext,
  account: WatchedAccount,
  tick: StartedTick,
): Promise<void> {
  const { accounts, memory, clock } = context;
  const { id } = account;
  if (!JUDGED_LATE.some((source) => memory.isNew(id, source)) || accounts.get(id) !== account) return;
  const loaded = await load(context, id);
  if (loaded === undefined) return;
  const startedMs = clock.monotonicMs();
  const observation = observationOf(context, account, loaded.stored);
  // Due as if the reply had been in time: cadences count from one read to the next, however long reads take.
  await judge(context, account, { loaded, observation, startedMs }, tick);
}

async function load(
  { store, telemetry }: PipelineContext,
  accountId: string,
): Promise<SeenAccount | undefined> {
  const { load: reply, controls } = await store.read(accountId);
  if (reply.kind === 'loaded') return { stored: reply.account, controls };
  telemetry.emit({ kind: 'accountRefused', problem: reply.problem });
  return undefined;
}

async function judgeNow(
  context: PipelineContext,
  account: WatchedAccount,
  loaded: SeenAccount,
  tick: StartedTick,
): Promise<void> {
  const { telemetry, store, clock } = context;
  const about = { accountId: account.id, bucket: tick.bucket };
  const startedMs = clock.monotonicMs();
  pass('poll.reading', about);
  const delivery = new WaitedNotices(context, loaded.stored);
  const observation = await tick.claims.during(account.id, () =>
    observeAccount(context, account, loaded.stored),
  );
  pass('poll.read', about);
  if (observation === undefined) {
    telemetry.emit({ kind: 'pollFailed', accountId: account.id, why: 'aborted' });
    await store.makeDue(account.id, 0);
    return;
  }
  await judge(context, account, { loaded, observation, startedMs, deliveries: delivery.known }, tick);
}

interface Found {
  readonly loaded: SeenAccount;
  readonly observation: Observation;
  /** By the monotonic clock. */
  readonly startedMs: number;
  /** Delivery states of approval notices, as far as they are known. */
  readonly deliveries?: Deliveries | undefined;
}

/** Decides on an observation, commits, and hands the decisions over. */
async function judge(
  context: PipelineContext,
  account: WatchedAccount,
  found: Found,
  tick: StartedTick,
): Promise<void> {
  const { telemetry, memory, clock } = context;
  const { loaded, observation, startedMs } = found;
  const stored = newest(context, loaded.stored);
  const settled = await commitDecision(context, account, { ...found, loaded: { ...loaded, stored } }, tick);
  if (settled === undefined) return;
  const { decided, committed, left } = settled;
  memory.take(account.id, observation.kept, decided.evaluation.nextDue);
  telemetry.emit({
    kind: 'evaluated',
    accountId: account.id,
    settings: account.rules.settings,
    snapshot: decided.snapshot,
    evaluation: decided.evaluation,
    durationMs: clock.monotonicMs() - startedMs,
  });
  await Promise.all([carryOut(context, decided, committed), left && carryOutLeft(context, left, committed)]);
}

/** Runs of lanes in this process went on during the reads: takes over what they have committed. */
function newest({ store }: PipelineContext, stored: StoredAccount): StoredAccount {
  const known = store.remembered(stored.accountId);
  return known?.epoch.id === stored.epoch.id && known.version >= stored.version ? known : stored;
}

/** Decides until it is durable, after a conflict from the new state. `left`: lanes that `decided` leaves out. */
async function commitDecision(
  context: PipelineContext,
  account: WatchedAccount,
  found: Found,
  tick: StartedTick,
) {
  const { memory, clock, time, settings, telemetry } = context;
  const { observation } = found;
  const { reminderMs, escalation, historyMs } = settings;
  const about = { accountId: account.id, bucket: tick.bucket };
  const withHistory = memory.takeHistoryTurn(account.id, clock.monotonicMs(), historyMs);
  let { loaded } = found;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const [now, moment, sharedWith] = [time.instant(), time.moment(), sharedAccount(context, account)];
    const shared = {
      ...(sharedWith === undefined ? {} : { sharedWith }),
      ...(found.deliveries === undefined ? {} : { deliveries: found.deliveries }),
    };
    const inputs = {
      account,
      ...loaded,
      observation,
      now,
      moment,
      reminderMs,
      escalation,
      withHistory,
      ...shared,
    };
    const decided = decide(inputs);
    pass('poll.evaluated', about);
    const inMs = dueIn(decided.evaluation.nextDue.inMs, tick, clock.monotonicMs() - tick.startedMs);
    const commit = { ...decided.commit, due: { inMs, danger: dangerOf(decided.evaluation) } };
    pass('poll.committing', about);
    const result = await tick.commits.add(commit, decided.lanes.length > 0);
    pass('poll.committed', about);
    tellCommit(telemetry, 'poll', loaded.stored, result);
    if (result.kind === 'committed') {
      noteTaken(account, loaded.stored, decided);
      const committed = { stored: result.account, controls: loaded.controls };
      const { leftOut } = result;
      if (leftOut.length === 0) return { decided, committed, left: undefined };
      const left: LeftLanes = { inputs, decided, leftOut };
      return { decided: without(decided, new Set(leftOut)), committed, left };
    }
    if (result.kind === 'refused') {
      telemetry.emit({ kind: 'accountRefused', problem: result.problem });
      return undefined;
    }
    const again = await load(context, account.id);
    if (again === undefined) return undefined;
    loaded = again;
  }
  telemetry.emit({ kind: 'pollFailed', accountId: account.id, why: 'contended' });
  return undefined;
}

/** Remembers only orders that are believed: without the key nobody can have another one refused. */
function noteTaken(
  { orderTaken, orderFault }: WatchedAccount,
  { documents, epoch }: StoredAccount,
  { commit }: Pick<Decided, 'commit'>,
): void {
  const rest = commit.documents?.inbox?.orders;
  for (const order of rest === undefined ? [] : (documents.inbox?.orders ?? [])) {
    const isTaken = rest?.every(({ id }) => id !== order.id) === true;
    if (isTaken && orderFault(order, epoch.id) === undefined) orderTaken(order, epoch.id);
  }
}

function without(decided: Decided, leftOut: ReadonlySet<string>): Decided {
  return {
    ...decided,
    lanes: decided.lanes.filter(({ market }) => market === null || !leftOut.has(market)),
    events: decided.events.filter(({ market }) => market === undefined || !leftOut.has(market)),
  };
}

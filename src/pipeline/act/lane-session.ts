import type { AuditEvent } from '../../core/audit/audit-event.ts';
import { controlsInForce } from '../../core/controls/controls.ts';
import type { SeenAccount } from '../../core/ports/lane-dispatcher.ts';
import type {
  AccountCommit,
  LaneLease,
  LeaseRenewal,
  RefusedAccount,
  StoredAccount,
} from '../../core/ports/state-store.ts';
import type { LaneRunEnd } from '../../core/ports/telemetry.ts';
import { raise } from '../alerts/alerts-due.ts';
import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import { tellCommit } from '../poll/tell-commit.ts';
import { laneContext } from './lane-context.ts';

/** Ends a run at once; nothing that it did is undone. */
export class LaneRunEnded extends Error {
  readonly code = 'LANE_RUN_ENDED';
  readonly end: 'leaseLost' | 'contended' | 'refused';
  readonly problem: RefusedAccount | undefined;

  constructor(end: LaneRunEnded['end'], problem?: RefusedAccount) {
    super(`the run of the lane ended: ${end}`);
    this.name = 'LaneRunEnded';
    this.end = end;
    this.problem = problem;
  }
}

export interface SessionChange<T> {
  readonly commit: Omit<AccountCommit, 'base' | 'lease' | 'controls' | 'audit'>;
  readonly events: readonly AuditEvent[];
  /** Writes nothing: the change equals what is stored. */
  readonly isSame?: boolean;
  /** Runs while the commit is in flight; must have no effect if the commit fails. */
  readonly meanwhile?: () => void;
  readonly value: T;
}

/** Alarms become notices with the next poll. */
function withAlarms({ commit, events }: SessionChange<unknown>, { documents }: StoredAccount) {
  const alerts = raise(documents.alerts, events);
  return alerts === undefined ? {} : { documents: { ...commit.documents, alerts } };
}

interface HeldLane {
  readonly lease: LaneLease;
  /** By the monotonic clock. */
  readonly heldUntilMs: number;
  readonly seen: SeenAccount | undefined;
}

/** The account as seen, with the gate of the config, controls and clock of now. */
export function viewOf(
  { accounts, time, turns }: PipelineContext,
  account: WatchedAccount,
  { stored, controls }: SeenAccount,
) {
  const moment = time.moment();
  const inForce = controlsInForce(controls, account.id, moment.nowMs);
  const known = laneContext(accounts.get(account.id) ?? account, stored, inForce, moment);
  const context = turns.standsIn ? { ...known, standsIn: true as const } : known;
  /** `moment` is the same time as `nowMs`, with the clock's last step ahead. */
  return { stored, context, nowMs: moment.nowMs, moment };
}

export type SessionView = Readonly<ReturnType<typeof viewOf>>;

/** After more conflicts in a row than this a commit is not getting anywhere. */
const MOST_ATTEMPTS = 20;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;
const RENEWALS_PER_LEASE = 3;
/** From the extension of the lease until the request leaves. */
const COVER_MARGIN_MS = 1_000;

/** Long enough for a request. No lease is longer, so one that ends later than a new one predates a clock step. */
function longestLeaseMs({ laneLeaseMs, attemptTimeoutMs }: PipelineContext['settings']): number {
  return Math.max(laneLeaseMs, attemptTimeoutMs + COVER_MARGIN_MS);
}

/** A run's hold on a lane (or on all): its lease, without which nothing is written, and the account as last seen. */
export class LaneSession {
  readonly account: WatchedAccount;
  readonly #context: PipelineContext;
  readonly #lease: LaneLease;
  readonly #takenMs: number;
  #heldUntilMs: number;
  #isWanted = false;
  #isOver = false;
  #callOff: (() => void) | undefined;
  #renewal: Promise<void> = Promise.resolve();
  #covering: Promise<void> = Promise.resolve();
  #isSending = false;
  #seen: SeenAccount | undefined;

  /** `seen`: base of the first change. If it is out of date, the commit conflicts. */
  constructor(context: PipelineContext, account: WatchedAccount, { lease, heldUntilMs, seen }: HeldLane) {
    this.#context = context;
    this.account = account;
    this.#lease = lease;
    this.#takenMs = context.clock.monotonicMs();
    this.#heldUntilMs = heldUntilMs;
    this.#seen = seen;
    this.#keep();
  }

  /** Renews the lease until `release`. */
  #keep(): void {
    const { timers, settings } = this.#context;
    this.#callOff = timers.after(settings.laneLeaseMs / RENEWALS_PER_LEASE, () => {
      this.#renewal = this.#renew();
    });
  }

  /** An account-wide action waits for this lane. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Whether the lease is certainly held now, by the clock of this process. */
  get isHeld(): boolean {
    return this.covers(1);
  }

  covers(ms: number): boolean {
    const { clock, turns } = this.#context;
    return this.#takenMs > turns.lanesSinceMs && clock.monotonicMs() + ms <= this.#heldUntilMs;
  }

  /** Extends the lease to cover the request about to leave. Resolves when this has been tried. */
  cover(): Promise<void> {
    this.#isSending = true;
    if (!this.covers(this.#context.settings.attemptTimeoutMs)) this.#covering = this.#extend();
    return this.#covering;
  }

  /**
   * Aborts reads if nonces are increasing, since only one request at a time gets through then. Otherwise reads go on,
   * and lanes order them by their times.
   */
  overtakeReads(): void {
    const { id, rules } = this.account;
    if (rules.settings.nonceMode === 'increasing') this.#context.memory.abortReads(id);
  }

  uncover(): void {
    this.#isSending = false;
  }

  /** Forgets what was read: the next change starts from what is stored then. */
  refresh(): void {
    this.#seen = undefined;
  }

  /** Commits a change of the account as stored now; retries on conflict. `guarded`: only under the same controls. */
  async change<T>(compute: (view: SessionView) => SessionChange<T>, guarded: boolean): Promise<T> {
    const { store, telemetry, clock } = this.#context;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const { stored, controls } = await this.load();
      const change = compute(viewOf(this.#context, this.account, { stored, controls }));
      if (change.isSame === true) return change.value;
      change.meanwhile?.();
      const [result] = await store.commit([
        {
          ...change.commit,
          ...withAlarms(change, stored),
          base: stored,
          ...(change.events.length === 0
            ? {}
            : { audit: change.events.map((event) => ({ kind: 'action' as const, event })) }),
          lease: this.#lease,
          ...(guarded ? { controls } : {}),
        },
      ]);
      if (result === undefined) throw new TypeError('the store did not answer');
      tellCommit(telemetry, 'act', stored, result);
      if (result.kind === 'committed') {
        this.#seen = { stored: result.account, controls };
        for (const event of change.events) telemetry.emit({ kind: 'audited', event });
        return change.value;
      }
      if (result.kind === 'leaseLost') throw new LaneRunEnded('leaseLost');
      if (result.kind === 'refused') throw new LaneRunEnded('refused', result.problem);
      this.refresh();
      if (attempt > 0) await clock.sleep(this.#pauseMs(attempt));
    }
    throw new LaneRunEnded('contended');
  }

  #pauseMs(attempt: number): number {
    return Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + this.#context.random());
  }

  /** The base of the next change; read from the store unless known. */
  async load(): Promise<SeenAccount> {
    if (this.#seen !== undefined) return this.#seen;
    const { load, controls } = await this.#context.store.read(this.account.id);
    if (load.kind === 'refused') throw new LaneRunEnded('refused', load.problem);
    this.#seen = { stored: load.account, controls };
    return this.#seen;
  }

  async #renew(): Promise<void> {
    await this.#extend();
    if (!this.#isOver) this.#keep();
  }

  async #extend(): Promise<void> {
    const { clock, store, settings } = this.#context;
    const leaseMs = this.#isSending ? longestLeaseMs(settings) : settings.laneLeaseMs;
    const askedAtMs = clock.monotonicMs();
    // If the store does not answer, the lease runs out, and `isHeld` becomes false.
    const renewal = await store.leases
      .renew(this.#lease, leaseMs)
      .catch((): LeaseRenewal | undefined => undefined);
    if (renewal === 'held' || renewal === 'wanted') this.#heldUntilMs = askedAtMs + leaseMs;
    if (renewal === 'wanted') this.#isWanted = true;
    if (renewal === 'lost') this.#heldUntilMs = Number.NEGATIVE_INFINITY;
  }

  async release(): Promise<void> {
    this.#isOver = true;
    this.#callOff?.();
    await Promise.all([this.#renewal, this.#covering]);
    await this.#context.store.leases.release(this.#lease);
  }
}

/** Longest pause between two attempts at a lane that another run holds. */
const ACQUIRE_PAUSE_MS = 100;

export interface WantedLane {
  readonly context: PipelineContext;
  readonly account: WatchedAccount;
  /** Null: all lanes. */
  readonly market: string | null;
  readonly signal: AbortSignal;
  readonly seen: SeenAccount | undefined;
}

/** Acquires a lane; undefined: another run holds it for longer than `longestWaitMs`, or `signal` is aborted. */
export async function acquire(
  { context, account, market, signal, seen }: WantedLane,
  longestWaitMs = context.settings.longestWaitMs,
): Promise<LaneSession | undefined> {
  const { clock, store, settings, random } = context;
  const owner = `${settings.instance}.${Math.floor(random() * 2 ** 48).toString(36)}`;
  const giveUpMs = clock.monotonicMs() + longestWaitMs;
  const leaseMs = longestLeaseMs(settings);
  pass('lane.acquiring', { accountId: account.id, market });
  for (let isFirst = true; ; isFirst = false) {
    const askedAtMs = clock.monotonicMs();
    const reply = await store.leases.acquire(account.id, market, owner, leaseMs);
    if (reply.kind === 'held') {
      const heldUntilMs = askedAtMs + leaseMs;
      // After a wait `seen` is out of date: the previous holder has changed the lane.
      const known = isFirst ? seen : undefined;
      return new LaneSession(context, account, { lease: reply.lease, heldUntilMs, seen: known });
    }
    if (signal.aborted || clock.monotonicMs() >= giveUpMs) {
      await store.leases.release({ accountId: account.id, market, owner });
      return undefined;
    }
    await clock.sleep(Math.min(reply.retryInMs, ACQUIRE_PAUSE_MS), signal).catch(() => undefined);
  }
}

/** Reads the account without a lease; undefined: it cannot be read. */
export async function look(
  { store }: PipelineContext,
  { id }: WatchedAccount,
): Promise<SeenAccount | undefined> {
  const { load, controls } = await store.read(id);
  return load.kind === 'loaded' ? { stored: load.account, controls } : undefined;
}

/** A run waits in pieces of this length: a poll may change what it waits for. */
export const WAIT_PIECE_MS = 250;

/** Runs under the lease of the lane (or of all), and releases it however the run ends. */
export async function underLease<T>(
  wanted: WantedLane,
  run: (session: LaneSession) => Promise<T>,
  longestWaitMs?: number,
): Promise<T | LaneRunEnd> {
  const { context, account, market, signal } = wanted;
  const session = await acquire(wanted, longestWaitMs);
  if (session === undefined) return signal.aborted ? 'stopped' : 'busy';
  const about = { accountId: account.id, market };
  pass('lane.acquired', about);
  try {
    return await run(session);
  } catch (error) {
    if (!(error instanceof LaneRunEnded)) throw error;
    if (error.problem !== undefined)
      context.telemetry.emit({ kind: 'accountRefused', problem: error.problem });
    return error.end;
  } finally {
    pass('lane.releasing', about);
    await session.release().catch(() => undefined);
    pass('lane.released', about);
  }
}

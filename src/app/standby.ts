import type { Clock, Timers } from '../core/ports/clock.ts';
import type { LaneDispatcher, LaneRef } from '../core/ports/lane-dispatcher.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { within } from '../core/ports/within.ts';
import { DirectLanes } from '../pipeline/act/direct-lanes.ts';
import { LaneTurns } from '../pipeline/act/lane-turns.ts';
import type { PipelineContext } from '../pipeline/pipeline-context.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';
import type { HandedBack } from '../state/account/hand-back.ts';
import type { PollTicks } from './poll-ticks.ts';
import { StandbyLearning } from './standby-learning.ts';

export interface StandbyParts {
  readonly backend: StandbyBackend;
  /** Uses the same backend. */
  readonly store: StateStore & { forgetAll(): void };
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  readonly telemetry: Telemetry;
  /** Stores what belongs to no account: receipts of notices delivered while alone. Rejects if Redis is lost again. */
  readonly handBackOthers: () => Promise<void>;
  /** Rejects if the shared store does not accept a write. */
  readonly probe: () => Promise<unknown>;
  readonly ticks: PollTicks;
  /** Number of this process among several: those with a lower one act first. */
  readonly ordinal: number;
  /** Resolves when no lane runs in this process. */
  readonly lanesSettled: () => Promise<void>;
  /** Does the start's steps in the shared store if it was lost then; called before anything is handed back. */
  readonly join: () => Promise<void>;
  /** Runs a lane's job. */
  readonly runLane: (lane: LaneRef) => Promise<unknown>;
}

const PROBE_EVERY_MS = 400;
/** A store that takes longer for a small write is lost. */
const PROBE_TIMEOUT_MS = 1_000;
/** The store must answer for this long before it is trusted. */
const STEADY_MS = 2_000;
/** The process with the lowest ordinal hands back first: it is the one that acted. */
const IN_ORDER_MS = 1_000;
/** Lanes end within a few requests; a longer run goes on with its lane in doubt. */
const SETTLE_MS = 10_000;
/** For this long polls start no lane, and runs end. Longer would let a hanging run keep other lanes from acting. */
const BEGIN_NONE_MS = 3_000;
/** A longer poll is checked again in the shared store. */
const POLLS_END_MS = 1_000;

/**
 * Detects that the shared store is lost, runs the pipeline from this process's memory meanwhile, and hands back the
 * work when the store accepts writes again.
 */
export class Standby {
  readonly #parts: StandbyParts;
  readonly #direct: DirectLanes;
  #callOff: (() => void) | undefined;
  readonly turns: LaneTurns;
  readonly #learning: StandbyLearning;
  #context: PipelineContext | undefined;
  #steadySinceMs: number | undefined;
  #probing: Promise<void> | undefined;
  #isStopped = false;
  #attaching: Promise<void> | undefined;
  /** Why an account's records could not be attached, as last reported. */
  readonly #unattachable = new Map<string, string>();

  constructor(parts: StandbyParts) {
    this.#parts = parts;
    const { telemetry, clock, backend, ordinal } = parts;
    this.turns = new LaneTurns({
      clock,
      company: backend,
      ordinal,
      falls: () => this.#context?.memory.falls,
      shownWithinMs: (accountId) => this.#shownWithinMs(accountId),
    });
    this.#learning = new StandbyLearning({ ...parts, accounts: () => this.#context?.accounts });
    this.#direct = new DirectLanes(parts.runLane, (error) =>
      telemetry.emit({ kind: 'workerError', queue: 'act', error }),
    );
  }

  get isAlone(): boolean {
    return this.#parts.backend.isAlone;
  }

  /** Dispatches to the queue, or to this process while there is no queue. */
  over(queue: LaneDispatcher): LaneDispatcher {
    return {
      dispatch: (lanes, seen) => (this.isAlone ? this.#direct.dispatch(lanes) : queue.dispatch(lanes, seen)),
    };
  }

  /** Bound on when a request can take effect: it may arrive late, and is given up after the timeout. */
  #shownWithinMs(accountId: string): number {
    const { accounts, settings } = this.#context ?? {};
    const lateArrivalMs = accounts?.get(accountId)?.rules.settings.lateArrivalMs;
    return (lateArrivalMs ?? Number.POSITIVE_INFINITY) + (settings?.attemptTimeoutMs ?? 0);
  }

  /** `lost`: why the shared store was lost at the start, in words. */
  start(context: PipelineContext, lost?: string): void {
    this.#context = context;
    this.turns.begin(this.isAlone);
    this.#parts.backend.onAlone = (error) => {
      this.turns.begin(false);
      this.#beginTicks(error);
    };
    if (this.isAlone) this.#beginTicks(new Error(lost ?? 'what was done without it is not handed back yet'));
    else this.#parts.ticks.start();
    this.#probeLater();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#callOff?.();
    await this.#probing;
    await this.#attaching;
    await this.#direct.close();
  }

  #probeLater(): void {
    if (this.#isStopped) return;
    this.#callOff = this.#parts.timers.after(PROBE_EVERY_MS, () => {
      this.#probing = this.#probe().finally(() => this.#probeLater());
    });
  }

  async #probe(): Promise<void> {
    const { backend, clock, ordinal } = this.#parts;
    const problem = await this.#problemOfStore();
    if (this.#isStopped) return;
    if (problem !== undefined) {
      this.#unsettle();
      if (!backend.isAlone) backend.takeOver(problem.error);
      return;
    }
    this.#learning.learnControls();
    if (!backend.isAlone) {
      this.#learning.learnAccounts();
      this.#attachSegments();
      return;
    }
    const nowMs = clock.monotonicMs();
    this.#steadySinceMs ??= nowMs;
    const settlingMs = nowMs - this.#steadySinceMs - STEADY_MS - ordinal * IN_ORDER_MS;
    if (settlingMs < 0) return;
    this.turns.isSettling = settlingMs < BEGIN_NONE_MS;
    if (settlingMs >= SETTLE_MS || (await this.#haveLanesEnded())) await this.#handBack();
  }

  /** Lets lanes start as usual until the shared store is steady again. */
  #unsettle(): void {
    this.#steadySinceMs = undefined;
    this.turns.isSettling = false;
  }

  #beginTicks(error: unknown): void {
    const { backend, telemetry, ticks } = this.#parts;
    const { watchesOnly } = backend;
    const watches = watchesOnly === undefined ? {} : { watchesOnly };
    telemetry.emit({ kind: 'standby', state: 'alone', error, ...watches });
    ticks.start();
  }

  async #problemOfStore(): Promise<{ readonly error: unknown } | undefined> {
    const answer = this.#parts.probe().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    return await within(this.#parts.timers, PROBE_TIMEOUT_MS, answer, () => ({
      error: new Error('no answer in time'),
    }));
  }

  /** Waits until the next probe at most, which asks again. */
  async #haveLanesEnded(): Promise<boolean> {
    const ended = Promise.all([this.#parts.lanesSettled(), this.#direct.settled()]).then(() => true);
    return await within(this.#parts.timers, PROBE_EVERY_MS, ended, () => false);
  }

  async #handBack(): Promise<void> {
    const { backend, store, telemetry, ticks, timers, join, handBackOthers } = this.#parts;
    this.turns.isSettling = true;
    try {
      await join();
      ticks.isHeld = true;
      await within(timers, POLLS_END_MS, ticks.settled(), () => undefined);
      this.turns.handBack();
      const accounts = await backend.handBack(() => store.forgetAll());
      ticks.isHeld = false;
      ticks.start();
      this.turns.isSettling = false;
      telemetry.emit({ kind: 'standby', state: 'shared', accounts });
      await handBackOthers();
    } catch (error) {
      telemetry.emit({ kind: 'workerError', queue: 'poll', error });
      ticks.isHeld = false;
    }
    this.#unsettle();
  }

  /** Attaches records that could not continue their chain to one new record, at each probe until it succeeds. */
  #attachSegments(): void {
    this.#attaching ??= this.#attachEach().finally(() => {
      this.#attaching = undefined;
    });
  }

  async #attachEach(): Promise<void> {
    const { backend, telemetry } = this.#parts;
    for (const found of backend.unattached.all) {
      const { accountId } = found;
      try {
        await this.#attach(found);
        await backend.attached(found);
        this.#unattachable.delete(accountId);
      } catch (error) {
        if (this.#isStopped) return;
        const words = String(error);
        if (this.#unattachable.get(accountId) !== words)
          telemetry.emit({ kind: 'workerError', queue: 'poll', error });
        this.#unattachable.set(accountId, words);
      }
    }
  }

  /** Others poll the account meanwhile: a conflicting commit is retried, or an order would be in no record. */
  async #attach({ accountId, how, segment }: HandedBack): Promise<void> {
    const { store, clock } = this.#parts;
    const note = {
      kind: 'note',
      atMs: clock.nowMs(),
      about: 'carriedAlone',
      words: `${segment.length} records were made without the shared store; ${WORDS[how]}`,
      detail: { how, records: segment.length },
      attachments: { records: segment.map(({ text, hash }) => ({ text, hash })) },
    } as const;
    let why = 'it changes too fast';
    for (let attempt = 1; attempt <= ATTACH_ATTEMPTS && !this.#isStopped; attempt++) {
      const { load } = await store.read(accountId);
      if (load.kind === 'refused') {
        why = load.problem.message;
        break;
      }
      const [result] = await store.commit([{ base: load.account, audit: [note] }]);
      if (result?.kind === 'committed') return;
      await clock.sleep(attempt);
    }
    throw new Error(
      `${segment.length} records of ${accountId} could not be attached to the audit trail: ${why}`,
    );
  }
}

const ATTACH_ATTEMPTS = 50;

const WORDS: Readonly<Record<HandedBack['how'], string>> = {
  continued: 'they continue the chain',
  merged:
    'they are in force: the shared store had lost what came before, or others had decided nothing there meanwhile',
  superseded: 'another process went on with the account meanwhile, and its state is in force',
};

/** What a stop could not hand back as Redis did not answer, in words. */
export function leftBy(backend: StandbyBackend | undefined): string {
  const jobs = 'Redis did not answer: another process or the next start takes up what was under way';
  if (backend === undefined || (!backend.isAlone && backend.unattached.all.length === 0)) return jobs;
  return `${jobs}; with a mirror (stateDir) the next start hands back what was done without Redis`;
}

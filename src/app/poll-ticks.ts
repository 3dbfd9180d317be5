import type { Clock, Timers } from '../core/ports/clock.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { PipelineContext } from '../pipeline/pipeline-context.ts';
import { PollGuard } from '../pipeline/poll/poll-account.ts';
import { type BucketTick, pollTick } from '../pipeline/poll/poll-tick.ts';
import { delaysOf, type Schedule } from '../queues/schedules.ts';

export interface PollTicksParts {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly timers: Pick<Timers, 'after'>;
  readonly telemetry: Telemetry;
  readonly context: () => PipelineContext;
  readonly schedules: () => readonly Schedule[];
  /** Absent: others may take ticks of the queue, too, as with `hasCompany`. */
  readonly standby: { readonly isAlone: boolean; readonly hasCompany: boolean } | undefined;
}

/** For a process without a queue: every tick is its own. */
export const WITHOUT_QUEUE = { isAlone: true, hasCompany: false };

/** Buckets without a tick of the queue for `waitMs` get one by this process, which says so after `tellMs` more. */
const PATIENCE = { waitMs: 2_000, tellMs: 8_000 };
/** Others take most of the ticks. */
const PATIENCE_IN_COMPANY = { waitMs: 5_000, tellMs: 30_000 };
const LONGEST_TURN_MS = 1_000;

/**
 * The ticks of this process: those of the queue, and its own by the monotonic clock where the queue gives none, whatever
 * the cause. One tick too many finds no account due.
 */
export class PollTicks {
  readonly #parts: PollTicksParts;
  readonly #guard = new PollGuard();
  readonly #running = new Set<Promise<void>>();
  /** By bucket: when the queue last gave a tick. */
  readonly #takenMs = new Map<number, number>();
  #startedMs = 0;
  #byItselfMs = 0;
  #isStopped = false;
  #callOff: (() => void) | undefined;
  /** While work done alone is handed back, no own tick polls. */
  isHeld = false;

  constructor(parts: PollTicksParts) {
    this.#parts = parts;
  }

  /** Also starts over: alone it ticks at once, otherwise the queue has its time to give ticks. */
  start(): void {
    this.#startedMs = this.#parts.clock.monotonicMs();
    this.#takenMs.clear();
    this.#callOff?.();
    this.#turn();
  }

  /** Ends its own ticks. Resolves when no tick runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#callOff?.();
    await this.settled();
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Takes a tick of the queue. */
  async take(tick: BucketTick): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const bucket of tick.delaysMs.keys()) this.#takenMs.set(bucket, nowMs);
    await this.#poll(tick);
  }

  #poll(tick: BucketTick): Promise<void> {
    const { context } = this.#parts;
    const polled: Promise<void> = pollTick(context(), this.#guard, tick).finally(() =>
      this.#running.delete(polled),
    );
    this.#running.add(polled);
    return polled;
  }

  #turn(): void {
    if (this.#isStopped) return;
    const { clock, timers, telemetry, schedules, standby } = this.#parts;
    const wanted = schedules();
    const everyMs = Math.min(LONGEST_TURN_MS, ...wanted.map((schedule) => schedule.everyMs));
    this.#callOff = timers.after(everyMs, () => this.#turn());
    const isAlone = standby?.isAlone === true;
    const inCompany = standby?.hasCompany ?? true;
    const { waitMs, tellMs } = inCompany ? PATIENCE_IN_COMPANY : PATIENCE;
    const sinceMs = clock.monotonicMs() - waitMs;
    const all = wanted.flatMap(({ buckets }) => buckets);
    const lacking = all.filter(
      (bucket) => isAlone || (this.#takenMs.get(bucket) ?? this.#startedMs) < sinceMs,
    );
    const wasTold = this.#byItselfMs >= tellMs;
    const isByItself = !isAlone && lacking.length > (inCompany ? all.length - 1 : 0);
    this.#byItselfMs = isByItself ? this.#byItselfMs + everyMs : 0;
    const isTold = this.#byItselfMs >= tellMs;
    if (isTold !== wasTold) telemetry.emit({ kind: 'ownTicks', state: isTold ? 'begun' : 'over' });
    if (this.isHeld || lacking.length === 0) return;
    const delaysMs = delaysOf({ buckets: lacking.toSorted((a, b) => a - b), everyMs });
    this.#poll({ everyMs, meantMs: clock.nowMs(), delaysMs }).catch((error: unknown) =>
      telemetry.emit({ kind: 'workerError', queue: 'poll', error }),
    );
  }
}

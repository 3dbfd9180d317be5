import type { Timers } from '../../core/ports/clock.ts';
import type { LaneDispatcher, LaneRef, SeenAccount } from '../../core/ports/lane-dispatcher.ts';
import type { LaneRunEnd } from '../../core/ports/telemetry.ts';
import { laneKey } from './lane-key.ts';

export interface NearLanesOptions {
  readonly queue: LaneDispatcher;
  readonly run: (lane: LaneRef, seen: SeenAccount | undefined) => Promise<LaneRunEnd>;
  /** Reports a failed run that was begun at once (its job repeats it), or a job that could not be queued. */
  readonly onError: (error: unknown, lane: LaneRef) => void;
  readonly timers: Pick<Timers, 'after'>;
  /** The job of a run that takes longer than this is queued while the run goes on. */
  readonly jobAfterMs: number;
  /** The job is queued at once if the account's next poll is further off than this. */
  readonly nextPollWithinMs: number;
  /** Once aborted, nothing is begun at once any more. */
  readonly signal: AbortSignal;
}

interface Run {
  readonly ended: Promise<unknown>;
  /** Whether the job is still to be queued: it will find all that is dispatched until then. */
  owesJob: boolean;
  /** Whether the lane was dispatched again meanwhile. */
  isAskedAgain: boolean;
}

/**
 * The act queue of a process that also consumes its jobs. A lane begins here at once and its job is queued after the
 * run, so that nothing is lost and no lane waits for a hundred jobs to be queued. If the process dies first, the next
 * poll dispatches the lane again; if that poll is too far off, the job is queued at once.
 */
export class NearLanes implements LaneDispatcher {
  readonly #options: NearLanesOptions;
  readonly #running = new Map<string, Run>();
  readonly #queueing = new Set<Promise<void>>();

  constructor(options: NearLanesOptions) {
    this.#options = options;
  }

  async dispatch(lanes: readonly LaneRef[], seen?: SeenAccount): Promise<void> {
    const { queue, signal } = this.#options;
    const queued = new Set(lanes);
    if (seen !== undefined && !signal.aborted) {
      // The account's own lane takes all others: they would only wait for it, and it dispatches them again itself.
      const own = lanes.filter((lane) => lane.market === null && !this.#running.has(laneKey(lane)));
      for (const lane of own.length > 0 ? own : lanes) if (this.#begins(lane, seen)) queued.delete(lane);
    }
    if (queued.size > 0) await queue.dispatch([...queued], seen);
  }

  /** Begins the lane, unless it runs here. Returns whether a job that is still to be queued covers this dispatch. */
  #begins(lane: LaneRef, seen: SeenAccount): boolean {
    const nextPollMs = seen.stored.documents.evaluation?.passage?.plannedMs ?? Number.POSITIVE_INFINITY;
    const isPolledSoon = nextPollMs <= this.#options.nextPollWithinMs;
    const before = this.#running.get(laneKey(lane));
    if (before !== undefined) before.isAskedAgain = true;
    const running = before ?? this.#begin(lane, seen, isPolledSoon);
    return running.owesJob && isPolledSoon;
  }

  /** Runs the lane's job after the run that goes on here, if any, so that the next job waits in the queue. */
  async run(lane: LaneRef): Promise<void> {
    const key = laneKey(lane);
    for (let before = this.#running.get(key); before !== undefined; before = this.#running.get(key)) {
      await before.ended;
    }
    const run = this.#options.run(lane, undefined);
    this.#track(lane, run, false);
    await run;
  }

  #begin(lane: LaneRef, seen: SeenAccount, owesJob: boolean): Run {
    const { run, timers, jobAfterMs, onError } = this.#options;
    const begun = run(lane, seen).catch((error: unknown) => {
      onError(error, lane);
      return undefined;
    });
    const running = this.#track(lane, begun, owesJob);
    if (owesJob) void running.ended.then(timers.after(jobAfterMs, () => this.#queue(running, lane)));
    return running;
  }

  #track(lane: LaneRef, run: Promise<LaneRunEnd | undefined>, owesJob: boolean): Run {
    const key = laneKey(lane);
    const over = (end?: LaneRunEnd): void => {
      // Both in one step: `settled` must see the run or its job.
      this.#running.delete(key);
      // Nothing is left to do, and this process will not consume the job that would find that.
      const isDone = end === 'idle' && !running.isAskedAgain && this.#options.signal.aborted;
      if (!isDone) this.#queue(running, lane);
    };
    const ended = run.then(over, () => over());
    const running: Run = { ended, owesJob, isAskedAgain: false };
    this.#running.set(key, running);
    return running;
  }

  #queue(running: Run, lane: LaneRef): void {
    if (!running.owesJob) return;
    running.owesJob = false;
    const { queue, onError } = this.#options;
    const queued = queue
      .dispatch([lane])
      .catch((error: unknown) => onError(error, lane))
      .finally(() => this.#queueing.delete(queued));
    this.#queueing.add(queued);
  }

  /** Resolves when all runs have ended and their jobs are queued. */
  async settled(): Promise<void> {
    while (this.#running.size + this.#queueing.size > 0) {
      await Promise.all([...this.#queueing, ...Array.from(this.#running.values(), ({ ended }) => ended)]);
    }
  }
}

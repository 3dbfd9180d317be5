import type { LaneDispatcher, LaneRef, SeenAccount } from '../core/ports/work.ts';

export interface NearLanesOptions {
  readonly queue: LaneDispatcher;
  readonly run: (lane: LaneRef, seen: SeenAccount | undefined) => Promise<unknown>;
  /** Of a run that was begun at once; the lane's job runs it again. */
  readonly onError: (error: unknown, lane: LaneRef) => void;
  /** From here on nothing is begun at once any more. */
  readonly signal: AbortSignal;
}

/**
 * The act queue, in a process that also takes jobs from it: a lane that is handed over is begun here at once, while
 * its job is on its way. The job is what nothing is lost without: wherever it arrives, the lane is run again when
 * this run has ended or its process has died, and finds what is left to do, which usually is nothing.
 */
export class NearLanes implements LaneDispatcher {
  readonly #options: NearLanesOptions;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(options: NearLanesOptions) {
    this.#options = options;
  }

  async dispatch(lanes: readonly LaneRef[], seen?: SeenAccount): Promise<void> {
    const { queue, signal } = this.#options;
    if (seen !== undefined && !signal.aborted) for (const lane of toBegin(lanes)) this.#begin(lane, seen);
    await queue.dispatch(lanes, seen);
  }

  /** For the lane's job. While a run goes on here the job waits for it, so that the next job waits in the queue. */
  async run(lane: LaneRef): Promise<void> {
    const key = keyOf(lane);
    for (let before = this.#running.get(key); before !== undefined; before = this.#running.get(key)) {
      await before;
    }
    await this.#tracked(key, this.#options.run(lane, undefined));
  }

  /** What runs here is followed by the job of this hand-over: nothing is begun beside it. */
  #begin(lane: LaneRef, seen: SeenAccount): void {
    const key = keyOf(lane);
    if (this.#running.has(key)) return;
    const { run, onError } = this.#options;
    void this.#tracked(key, run(lane, seen)).catch((error: unknown) => onError(error, lane));
  }

  async #tracked(key: string, run: Promise<unknown>): Promise<void> {
    const ended = run.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(key, ended);
    try {
      await run;
    } finally {
      this.#running.delete(key);
    }
  }

  /** Resolves when what runs has ended. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }
}

/** An account's own lane takes all others: they would only wait for it, and it hands them over again itself. */
function toBegin(lanes: readonly LaneRef[]): readonly LaneRef[] {
  const own = lanes.filter(({ market }) => market === null);
  return own.length > 0 ? own : lanes;
}

function keyOf({ accountId, market }: LaneRef): string {
  return JSON.stringify([accountId, market]);
}

import type { LaneDispatcher, LaneRef } from '../../core/ports/lane-dispatcher.ts';
import { laneKey } from './lane-key.ts';

/** Runs lanes in this process: one run per lane at a time, plus one more if the lane is dispatched meanwhile. */
export class DirectLanes implements LaneDispatcher {
  readonly #run: (lane: LaneRef) => Promise<unknown>;
  readonly #onError: (error: unknown, lane: LaneRef) => void;
  readonly #running = new Map<string, { again: boolean; readonly ended: Promise<void> }>();
  #isClosed = false;

  constructor(run: (lane: LaneRef) => Promise<unknown>, onError: (error: unknown, lane: LaneRef) => void) {
    this.#run = run;
    this.#onError = onError;
  }

  async dispatch(lanes: readonly LaneRef[]): Promise<void> {
    if (this.#isClosed) return;
    for (const lane of lanes) {
      const key = laneKey(lane);
      const running = this.#running.get(key);
      if (running !== undefined) running.again = true;
      else this.#running.set(key, { again: false, ended: this.#runOften(key, lane) });
    }
  }

  async #runOften(key: string, lane: LaneRef): Promise<void> {
    // Waits until the caller has registered this run.
    await Promise.resolve();
    for (;;) {
      await this.#run(lane).catch((error: unknown) => this.#onError(error, lane));
      const running = this.#running.get(key);
      if (running === undefined || !running.again || this.#isClosed) break;
      running.again = false;
    }
    this.#running.delete(key);
  }

  /** Resolves when no lane is running. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Accepts no more lanes; resolves when the running ones have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }
}

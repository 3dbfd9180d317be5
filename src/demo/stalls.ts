import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 20;
const NS_PER_MS = 1e6;

/**
 * How long at a time this process ran nothing: whoever shares the machine's processors takes them from the daemon,
 * and time runs on for the exchange, faster than real time.
 */
export class Stalls {
  readonly #delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  begin(): void {
    this.#delays.reset();
    this.#delays.enable();
  }

  end(): void {
    this.#delays.disable();
  }

  /** 0 before the beginning. */
  longestMs(): number {
    return this.#delays.count === 0 ? 0 : Math.max(0, this.#delays.max / NS_PER_MS - RESOLUTION_MS);
  }
}

import type { Clock, Random } from '../../core/ports/clock.ts';

interface Health {
  failures: number;
  retryAtMs: number;
}

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/**
 * Chooses the base URL: the first healthy one. A failed one is avoided for a time that doubles with every failure.
 * The time has jitter, so that processes do not all return to it at once.
 */
export class BaseUrls {
  readonly #health: Health[];
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(count: number, clock: Clock, random: Random) {
    this.#health = Array.from({ length: count }, () => ({ failures: 0, retryAtMs: 0 }));
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Returns an index: if none is healthy, that of the base URL which may be tried soonest. A command uses a base URL
   * that failed last time only if no other is healthy.
   */
  pick(kind: 'read' | 'command'): number {
    if (this.#health[0]?.failures === 0) return 0;
    const now = this.#clock.monotonicMs();
    const healthy = this.#health.findIndex((base) => base.failures === 0);
    const usable = this.#health.findIndex((base) => base.retryAtMs <= now);
    if (kind === 'command' && healthy !== -1) return healthy;
    if (usable !== -1) {
      // One read at a time tries a failed base URL; the others use one that works.
      const base = this.#health[usable];
      if (base !== undefined && base.failures > 0) base.retryAtMs = now + this.#backoffMs(base.failures);
      return usable;
    }
    const soonest = Math.min(...this.#health.map((base) => base.retryAtMs));
    return this.#health.findIndex((base) => base.retryAtMs === soonest);
  }

  /** Whether another base URL may be tried now. */
  hasOther(index: number): boolean {
    const now = this.#clock.monotonicMs();
    return this.#health.some((base, other) => other !== index && base.retryAtMs <= now);
  }

  succeeded(index: number): void {
    const base = this.#health[index];
    if (base !== undefined && base.failures > 0) {
      base.failures = 0;
      base.retryAtMs = 0;
    }
  }

  failed(index: number): void {
    const base = this.#health[index];
    if (base === undefined) return;
    const now = this.#clock.monotonicMs();
    // Requests in flight together fail together: they count as one failure.
    if (base.failures > 0 && base.retryAtMs > now) return;
    base.failures += 1;
    base.retryAtMs = now + this.#backoffMs(base.failures);
  }

  #backoffMs(failures: number): number {
    const ceiling = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 16));
    return ceiling / 2 + (this.#random() * ceiling) / 2;
  }
}

import type { PermitGrant } from '../../core/ports/rate-limit-store.ts';

const TURN_MS = 1000;
/** A pause seen later than this after the last known end is a new pause. */
const SAME_PAUSE_MS = 5000;

/**
 * Bounds how long a pause can hold up polls. Protective calls go on during a pause, and each one that the exchange
 * refuses prolongs it, or starts a new one as soon as it ends. A single endangered account would thus stop the polls of
 * all others.
 * So no call waits past the end that was first announced. After that, one call a second ignores the pause, and the next
 * one goes at once when the exchange answered without a refusal.
 */
export class Turns {
  #toldUntilMs = -Infinity;
  #firstUntilMs = -Infinity;
  #nextMs = -Infinity;

  /** @returns how long the caller has to wait, ms; 0 during a pause: it may ignore the pause */
  waitMs({ retryInMs, isPause }: PermitGrant, nowMs: number): number {
    if (!isPause) return retryInMs;
    const untilMs = nowMs + retryInMs;
    if (nowMs - this.#toldUntilMs > SAME_PAUSE_MS) this.#firstUntilMs = untilMs;
    this.#toldUntilMs = untilMs;
    const waitMs = Math.max(this.#firstUntilMs, this.#nextMs) - nowMs;
    if (waitMs > 0) return Math.min(waitMs, retryInMs);
    this.#nextMs = nowMs + TURN_MS;
    return 0;
  }

  passed(): void {
    this.#nextMs = -Infinity;
  }
}

import type { PermitGrant } from '../../core/ports/rate-limit-store.ts';

const TURN_MS = 1000;
/** A pause that is met later than this after the end last told is another one. */
const SAME_PAUSE_MS = 5000;

/**
 * Who is refused a permit is told how long the pause lasts. Protective calls go on meanwhile, and each one that the
 * exchange refuses prolongs the pause for all others, or begins another one as soon as it is over: with one endangered
 * account nobody would look at the rest.
 * So nobody waits longer than he was told at first. From then on one call a second goes beside the pause, and the next
 * one at once when the exchange answered something else than a refusal.
 */
export class Turns {
  #toldUntilMs = -Infinity;
  #firstUntilMs = -Infinity;
  #nextMs = -Infinity;

  /** @returns how long who got this answer has to wait; 0 in a pause: this turn is his */
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

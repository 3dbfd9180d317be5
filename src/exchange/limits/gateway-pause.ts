import type { CallPriority } from '../../core/ports/exchange.ts';

/** The first pause, and at first the interval between calls that go on. */
const FIRST_MS = 1000;
const STEADY_REFUSALS = 3;
/** Longest pause if the gateway names none; calm accounts are not read during it. */
const MOST_POLL_MS = 60_000;
/** Longest pause as a multiple of what the gateway asks for, when refusals continue. */
const MOST_TIMES_ASKED = 4;
const MOST_PROTECTIVE_MS = 8000;

/**
 * The pause after a gateway's rate limit, which counts all requests from one address. Polls stop for the time that the
 * gateway asks for, at least a second; the pause doubles with each refusal up to four times that time. Protective calls
 * go on once a second. From the fourth refusal on their interval doubles, up to the time asked for (or 8 s).
 * Reads of an endangered account go on likewise, but slow down from the second refusal on.
 */
export class GatewayPause {
  #refusals = 0;
  #beganMs = -Infinity;
  #pollsUntilMs = -Infinity;
  #protectiveFromMs = -Infinity;
  #watchingFromMs = -Infinity;
  #retryAfterMs: number | undefined;

  /** @returns how long polls stop, ms; `undefined` if the request left before the last refusal and so is not news */
  refused(retryAfterMs: number | undefined, sentAtMs: number, nowMs: number): number | undefined {
    if (this.#refusals > 0 && sentAtMs < this.#beganMs) return undefined;
    this.#refusals += 1;
    this.#beganMs = nowMs;
    this.#retryAfterMs = retryAfterMs;
    const mostAskedMs = Math.min(MOST_POLL_MS, (retryAfterMs ?? MOST_POLL_MS) * MOST_TIMES_ASKED);
    const mostMs = Math.max(FIRST_MS, mostAskedMs);
    const pauseMs = Math.max(retryAfterMs ?? 0, Math.min(FIRST_MS * 2 ** (this.#refusals - 1), mostMs));
    this.#pollsUntilMs = Math.max(this.#pollsUntilMs, nowMs + pauseMs);
    this.#protectiveFromMs = nowMs + this.#paceMs(STEADY_REFUSALS);
    this.#watchingFromMs = nowMs + this.#paceMs(1);
    return pauseMs;
  }

  /**
   * The reply to a request sent at `sentAtMs` was not a gateway limit: the limit is over. Polls still wait for the time
   * asked for, but at most a minute.
   */
  passed(sentAtMs: number): void {
    if (sentAtMs <= this.#beganMs) return;
    this.#refusals = 0;
    this.#pollsUntilMs = Math.min(this.#pollsUntilMs, this.#beganMs + MOST_POLL_MS);
  }

  holds(nowMs: number): boolean {
    return nowMs < this.#pollsUntilMs;
  }

  waitMs(priority: CallPriority, nowMs: number): number {
    if (priority === 'protective' && this.#refusals === 0) return 0;
    if (priority === 'protective') return Math.max(0, this.#protectiveFromMs - nowMs);
    if (!this.holds(nowMs)) return 0;
    return priority === 'normal' ? this.#pollsUntilMs - nowMs : Math.max(0, this.#watchingFromMs - nowMs);
  }

  /** Records a call that leaves, so that the next one of its kind waits. */
  leaves(priority: CallPriority, nowMs: number): void {
    if (!this.holds(nowMs) && this.#refusals === 0) return;
    this.#watchingFromMs = nowMs + this.#paceMs(1);
    if (priority === 'protective') this.#protectiveFromMs = nowMs + this.#paceMs(STEADY_REFUSALS);
  }

  /** Interval between calls; doubles with each refusal after the first `steady` ones. */
  #paceMs(steady: number): number {
    const doubled = FIRST_MS * 2 ** Math.max(0, this.#refusals - steady);
    return Math.min(doubled, Math.max(FIRST_MS, this.#retryAfterMs ?? MOST_PROTECTIVE_MS));
  }
}

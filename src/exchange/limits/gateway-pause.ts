import type { CallPriority } from '../../core/ports/exchange.ts';

/** The first pause, and the pace of what goes on, at first. */
const FIRST_MS = 1000;
const STEADY_REFUSALS = 3;
/** Where the gateway does not say how long; calm accounts are not read meanwhile. */
const MOST_POLL_MS = 60_000;
/** Where it does: so many times as long, as refusals go on. */
const MOST_TIMES_ASKED = 4;
const MOST_PROTECTIVE_MS = 8000;

/**
 * The pause after a gateway's rate limit, which counts everything that leaves from one address. Polls stop for the time
 * that it asks for, at least a second, doubled with each refusal, up to four times what it asks for. Protective calls go once a second, after the third
 * refusal ever more seldom, up to that time. Reads of an endangered account do so from the second refusal on.
 */
export class GatewayPause {
  #refusals = 0;
  #beganMs = -Infinity;
  #pollsUntilMs = -Infinity;
  #protectiveFromMs = -Infinity;
  #watchingFromMs = -Infinity;
  #retryAfterMs: number | undefined;

  /** @returns how long polls stop; `undefined` when the request left before the last refusal, and tells nothing new */
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
   * Something else than a refusal for the limit came back: the limit does not hold any more. Polls keep to what was asked
   * for, up to a minute.
   */
  passed(sentAtMs: number): void {
    if (sentAtMs <= this.#beganMs) return;
    this.#refusals = 0;
    this.#pollsUntilMs = Math.min(this.#pollsUntilMs, this.#beganMs + MOST_POLL_MS);
  }

  /** Whether polls stop. */
  holds(nowMs: number): boolean {
    return nowMs < this.#pollsUntilMs;
  }

  waitMs(priority: CallPriority, nowMs: number): number {
    if (priority === 'protective' && this.#refusals === 0) return 0;
    if (priority === 'protective') return Math.max(0, this.#protectiveFromMs - nowMs);
    if (!this.holds(nowMs)) return 0;
    return priority === 'normal' ? this.#pollsUntilMs - nowMs : Math.max(0, this.#watchingFromMs - nowMs);
  }

  /** A call leaves; the next one of its kind waits its time. */
  leaves(priority: CallPriority, nowMs: number): void {
    if (!this.holds(nowMs) && this.#refusals === 0) return;
    this.#watchingFromMs = nowMs + this.#paceMs(1);
    if (priority === 'protective') this.#protectiveFromMs = nowMs + this.#paceMs(STEADY_REFUSALS);
  }

  /** Doubles with each refusal after the first `steady` ones. */
  #paceMs(steady: number): number {
    const doubled = FIRST_MS * 2 ** Math.max(0, this.#refusals - steady);
    return Math.min(doubled, Math.max(FIRST_MS, this.#retryAfterMs ?? MOST_PROTECTIVE_MS));
  }
}

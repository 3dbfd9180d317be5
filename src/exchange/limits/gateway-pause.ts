/** The first pause, and the pace of protective calls up to the third refusal in a row. */
const FIRST_MS = 1000;
const STEADY_REFUSALS = 3;
/** Where the gateway does not say how long. */
const MOST_POLL_MS = 60_000;
const MOST_PROTECTIVE_MS = 8000;

/**
 * The pause after a gateway in front of the exchange has refused for its rate limit, which counts everything that
 * leaves from one address. Polls stop for the time that it asks for, at least a second and twice as long each time.
 * Protective calls go one at a time, once a second, and after the third refusal ever more seldom, up to that time.
 */
export class GatewayPause {
  #refusals = 0;
  #beganMs = -Infinity;
  #pollsUntilMs = -Infinity;
  #protectiveFromMs = -Infinity;
  #retryAfterMs: number | undefined;

  /** @returns how long polls stop; `undefined` when the request left before the last refusal, and tells nothing new */
  refused(retryAfterMs: number | undefined, sentAtMs: number, nowMs: number): number | undefined {
    if (this.#refusals > 0 && sentAtMs < this.#beganMs) return undefined;
    this.#refusals += 1;
    this.#beganMs = nowMs;
    this.#retryAfterMs = retryAfterMs;
    const pauseMs = Math.max(retryAfterMs ?? 0, Math.min(FIRST_MS * 2 ** (this.#refusals - 1), MOST_POLL_MS));
    this.#pollsUntilMs = Math.max(this.#pollsUntilMs, nowMs + pauseMs);
    this.#protectiveFromMs = nowMs + this.#paceMs();
    return pauseMs;
  }

  /** Something else than a refusal for the limit came back: the limit does not hold any more. */
  passed(sentAtMs: number): void {
    if (sentAtMs > this.#beganMs) this.#refusals = 0;
  }

  waitMs(protective: boolean, nowMs: number): number {
    if (!protective) return Math.max(0, this.#pollsUntilMs - nowMs);
    return this.#refusals === 0 ? 0 : Math.max(0, this.#protectiveFromMs - nowMs);
  }

  /** A call leaves; the next protective one waits its time. */
  leaves(nowMs: number): void {
    if (this.#refusals > 0) this.#protectiveFromMs = nowMs + this.#paceMs();
  }

  #paceMs(): number {
    const doubled = FIRST_MS * 2 ** Math.max(0, this.#refusals - STEADY_REFUSALS);
    return Math.min(doubled, Math.max(FIRST_MS, this.#retryAfterMs ?? MOST_PROTECTIVE_MS));
  }
}

/** Exchange time, Unix milliseconds. It can be sped up, slowed down, frozen and stepped while it runs. */
export class ExchangeClock {
  readonly #monotonicMs: () => number;
  /** The time it runs on from, and the reading of `monotonicMs` at that time. */
  #startMs: number;
  #originMs: number;
  #latestMs: number;
  #speed: number;

  /** @param speed exchange milliseconds per real one; 0 stands still until stepped */
  constructor(startMs: number, speed: number, monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#startMs = startMs;
    this.#latestMs = startMs;
    this.#originMs = monotonicMs();
    this.#speed = checked(speed);
  }

  get speed(): number {
    return this.#speed;
  }

  /** Never runs backwards, except by `rebase`. */
  nowMs(): number {
    const passedMs = Math.floor((this.#monotonicMs() - this.#originMs) * this.#speed);
    this.#latestMs = Math.max(this.#latestMs, this.#startMs + passedMs);
    return this.#latestMs;
  }

  setSpeed(speed: number): void {
    this.rebase(this.nowMs());
    this.#speed = checked(speed);
  }

  /** Runs on from `atMs`, even if that is in the past. */
  rebase(atMs: number): void {
    this.#startMs = atMs;
    this.#latestMs = atMs;
    this.#originMs = this.#monotonicMs();
  }

  /** Jumps ahead by whole milliseconds; a running clock runs on from there. @throws RangeError */
  step(ms: number): void {
    if (!Number.isInteger(ms) || ms < 0) {
      throw new RangeError(`a step is a whole number of milliseconds, 0 or more; got ${ms}`);
    }
    this.rebase(this.nowMs() + ms);
  }
}

function checked(speed: number): number {
  if (Number.isFinite(speed) && speed >= 0) return speed;
  throw new RangeError(`clock factor must be 0 or more, got ${speed}`);
}

import { runningClock, type SimulationClock } from './simulation-clock.ts';

/** Exchange time that can be sped up, slowed down, frozen and stepped while it runs. */
export class ExchangeClock implements SimulationClock {
  readonly #monotonicMs: () => number;
  #clock: SimulationClock;
  #speed: number;

  /** `speed`: exchange milliseconds per real one; 0 stands still until stepped. */
  constructor(startMs: number, speed: number, monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#speed = speed;
    this.#clock = runningClock(startMs, monotonicMs, speed);
  }

  get speed(): number {
    return this.#speed;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  setSpeed(speed: number): void {
    this.#clock = runningClock(this.nowMs(), this.#monotonicMs, speed);
    this.#speed = speed;
  }

  /** Goes on from `atMs`, also when that is in the past. */
  rebase(atMs: number): void {
    this.#clock = runningClock(atMs, this.#monotonicMs, this.#speed);
  }

  /** Jumps ahead; a running clock goes on from there. */
  step(ms: number): void {
    if (!Number.isInteger(ms) || ms < 0) {
      throw new RangeError(`a step is a whole number of milliseconds, 0 or more; got ${ms}`);
    }
    this.#clock = runningClock(this.nowMs() + ms, this.#monotonicMs, this.#speed);
  }
}

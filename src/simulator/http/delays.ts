import type { Timers } from '../../core/ports/clock.ts';

/** Delayed work, which can be dropped at once so that a closed server leaves no timer behind. */
export class Delays {
  readonly #timers: Pick<Timers, 'after'>;
  readonly #waiting = new Set<() => void>();
  #held: (() => void)[] = [];

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers;
  }

  after(delayMs: number, work: () => void): void {
    const callOff = this.#timers.after(delayMs, () => {
      this.#waiting.delete(callOff);
      work();
    });
    this.#waiting.add(callOff);
  }

  /** Keeps the work until `release`. */
  hold(work: () => void): void {
    this.#held.push(work);
  }

  get heldCount(): number {
    return this.#held.length;
  }

  /** Runs the held work in order of arrival; returns how much it was. */
  release(): number {
    const held = this.#held;
    this.#held = [];
    for (const work of held) work();
    return held.length;
  }

  cancel(): void {
    for (const callOff of this.#waiting) callOff();
    this.#waiting.clear();
    this.#held = [];
  }
}

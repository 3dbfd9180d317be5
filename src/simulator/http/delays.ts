/** Work that waits: all of it can be dropped at once, so that a closed server leaves no timer behind. */
export class Delays {
  readonly #timers = new Set<NodeJS.Timeout>();
  #held: (() => void)[] = [];

  after(delayMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, delayMs);
    this.#timers.add(timer);
  }

  /** Keeps the work until `release`. */
  hold(work: () => void): void {
    this.#held.push(work);
  }

  get heldCount(): number {
    return this.#held.length;
  }

  /** Runs what is held, in the order in which it came; says how much it was. */
  release(): number {
    const held = this.#held;
    this.#held = [];
    for (const work of held) work();
    return held.length;
  }

  cancel(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#held = [];
  }
}

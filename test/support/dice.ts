/** Seeded random choices for simulated worlds, the same on every machine (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whether an event of this probability happens. */
  hits(chance: number): boolean {
    return this.next() < chance;
  }

  /** One of the given elements. */
  of<T>(...choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }
}

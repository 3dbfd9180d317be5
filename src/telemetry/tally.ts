interface Count {
  readonly labels: Readonly<Record<string, string>>;
  pending: number;
  isTold: boolean;
}

interface Counter {
  inc(labels: Record<string, string>, value: number): void;
}

/**
 * A counter of what happens thousands of times a second. The library makes a key of the labels at every call. Here two
 * values tell counts apart, as plain numbers, and a scrape adds them to the library's.
 */
export class Tally<A extends string, B extends string> {
  readonly #counter: Counter;
  readonly #labelsOf: (first: A, second: B) => Readonly<Record<string, string>>;
  readonly #counts = new Map<A, Map<B, Count>>();

  constructor(counter: Counter, labelsOf: (first: A, second: B) => Readonly<Record<string, string>>) {
    this.#counter = counter;
    this.#labelsOf = labelsOf;
  }

  add(first: A, second: B, value = 1): void {
    const count = this.#counts.get(first)?.get(second) ?? this.#begin(first, second);
    count.pending += value;
  }

  /** Hands over what was counted since the last time. */
  flush(): void {
    for (const counts of this.#counts.values()) {
      for (const count of counts.values()) {
        // One that is still zero is there to be seen, too.
        if (count.pending > 0 || !count.isTold) this.#counter.inc({ ...count.labels }, count.pending);
        count.pending = 0;
        count.isTold = true;
      }
    }
  }

  #begin(first: A, second: B): Count {
    const count = { labels: this.#labelsOf(first, second), pending: 0, isTold: false };
    const counts = this.#counts.get(first) ?? new Map<B, Count>();
    this.#counts.set(first, counts.set(second, count));
    return count;
  }
}

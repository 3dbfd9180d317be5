interface Count {
  readonly labels: Readonly<Record<string, string>>;
  pending: number;
  isTold: boolean;
}

type LabelsOf = (first: string, second: string) => Readonly<Record<string, string>>;

interface Counter {
  inc(labels: Record<string, string>, value: number): void;
}

/**
 * A counter for events that happen thousands of times a second. The library builds a key from the labels at each call.
 * A tally keeps plain numbers by two values instead, and a scrape adds them to the library's counter.
 */
export class Tally {
  readonly #counter: Counter;
  readonly #labelsOf: LabelsOf;
  readonly #counts = new Map<string, Map<string, Count>>();

  constructor(counter: Counter, labelsOf: LabelsOf) {
    this.#counter = counter;
    this.#labelsOf = labelsOf;
  }

  add(first: string, second = '', value = 1): void {
    const count = this.#counts.get(first)?.get(second) ?? this.#begin(first, second);
    count.pending += value;
  }

  /** Adds the counts since the last flush to the library's counter. */
  flush(): void {
    for (const counts of this.#counts.values()) {
      for (const count of counts.values()) {
        // A count of zero is added once, so that its series exists.
        if (count.pending > 0 || !count.isTold) this.#counter.inc({ ...count.labels }, count.pending);
        count.pending = 0;
        count.isTold = true;
      }
    }
  }

  #begin(first: string, second: string): Count {
    const count = { labels: this.#labelsOf(first, second), pending: 0, isTold: false };
    const counts = this.#counts.get(first) ?? new Map<string, Count>();
    this.#counts.set(first, counts.set(second, count));
    return count;
  }
}

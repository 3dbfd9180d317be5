import type { RecordList, SetAsideRecord } from '../../core/ports/exchange.ts';

/** Most records described: a reply full of faults must not write thousands of log lines. */
const MOST_TOLD = 20;

/** The records of one reply that are set aside: all are counted, the first ones described. */
export class SetAside {
  readonly #told: SetAsideRecord[] = [];
  #count = 0;

  /** Number of records, regardless of how many faults each has. */
  get count(): number {
    return this.#count;
  }

  /** @param tell called only if the record is going to be described */
  add(tell: () => SetAsideRecord): void {
    this.#count += 1;
    if (this.#told.length < MOST_TOLD) this.#told.push(tell());
  }

  addAll({ setAside, furtherSetAside = 0 }: Omit<RecordList<unknown>, 'records'>): void {
    for (const record of setAside) this.add(() => record);
    this.#count += furtherSetAside;
  }

  /** The same as flaws of records that are kept; absent if there are none. */
  asFlaws(): { readonly flaws?: readonly SetAsideRecord[] } {
    return this.#count === 0 ? {} : { flaws: this.#told };
  }

  /** A list without its records; `complete` if nothing was set aside. */
  asList(): Omit<RecordList<never>, 'records'> {
    const further = this.#count - this.#told.length;
    return {
      setAside: this.#told,
      ...(further === 0 ? {} : { furtherSetAside: further }),
      complete: this.#count === 0,
    };
  }
}

import type { RecordList, SetAsideRecord } from '../../core/ports/exchange.ts';

/** A reply of nothing but faults would otherwise write thousands of log lines. */
const MOST_TOLD = 20;

/** The records of one reply that are set aside: all counted, the first ones told of. */
export class SetAside {
  readonly #told: SetAsideRecord[] = [];
  #count = 0;

  /** Records, each counted once however many faults it has. */
  get count(): number {
    return this.#count;
  }

  /** @param tell asked only for a record that is told of */
  add(tell: () => SetAsideRecord): void {
    this.#count += 1;
    if (this.#told.length < MOST_TOLD) this.#told.push(tell());
  }

  addAll({ setAside, furtherSetAside = 0 }: Omit<RecordList<unknown>, 'records'>): void {
    for (const record of setAside) this.add(() => record);
    this.#count += furtherSetAside;
  }

  /** A list without its records; `complete` as far as what was set aside decides it. */
  asList(): Omit<RecordList<never>, 'records'> {
    const further = this.#count - this.#told.length;
    return {
      setAside: this.#told,
      ...(further === 0 ? {} : { furtherSetAside: further }),
      complete: this.#count === 0,
    };
  }
}

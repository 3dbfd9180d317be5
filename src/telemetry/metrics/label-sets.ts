/**
 * Label sets of many series as they stand between the braces, in pages of memory; a set is known by its number. Strings
 * or objects would take several times as much.
 */
export class LabelSets {
  readonly #pages: Buffer[] = [Buffer.allocUnsafe(PAGE_BYTES)];
  /** By number: its page, where it starts there, and its length. */
  readonly #sets: number[] = [];
  /** The set that is being put together, in the last page. */
  #start = 0;
  #at = 0;

  /** Bytes of a set. */
  length(set: number): number {
    return this.#sets[PARTS * set + 2]!;
  }

  /** Begins a set with the labels of another one. */
  begin(base?: number): this {
    this.#start = this.#at;
    if (base === undefined) return this;
    const page = this.#reserve(this.length(base));
    this.#at += this.copy(base, page, this.#at);
    return this;
  }

  /** Adds a label: what is before its value, quote included, and the value, escaped. */
  label(start: string, value: string): this {
    const page = this.#reserve((start.length + value.length + 1) * MOST_BYTES);
    this.#at += page.write(start, this.#at);
    this.#at += page.write(value, this.#at);
    page[this.#at++] = QUOTE;
    return this;
  }

  /** The number of the set. */
  end(): number {
    this.#sets.push(this.#pages.length - 1, this.#start, this.#at - this.#start);
    return this.#sets.length / PARTS - 1;
  }

  /** Returns the number of bytes that were copied. */
  copy(set: number, target: Buffer, at: number): number {
    const start = this.#sets[PARTS * set + 1]!;
    return this.#pages[this.#sets[PARTS * set]!]!.copy(target, at, start, start + this.length(set));
  }

  /** The page that has room; what there is of the set moves to a new one if this one has not. */
  #reserve(length: number): Buffer {
    const page = this.#pages.at(-1)!;
    if (this.#at + length <= page.length) return page;
    const begun = this.#at - this.#start;
    const next = Buffer.allocUnsafe(Math.max(PAGE_BYTES, begun + length));
    page.copy(next, 0, this.#start, this.#at);
    this.#pages.push(next);
    this.#start = 0;
    this.#at = begun;
    return next;
  }
}

const QUOTE = '"'.charCodeAt(0);
const PAGE_BYTES = 65_536;
const PARTS = 3;
/** Per character in UTF-8; one beyond the basic plane has four bytes and counts as two characters. */
export const MOST_BYTES = 3;

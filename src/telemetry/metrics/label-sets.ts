/**
 * Label sets of many series, stored in pages of memory as the text between the braces and referred to by number.
 * Strings or objects would take several times the memory.
 */
export class LabelSets {
  readonly #pages: Buffer[] = [Buffer.allocUnsafe(PAGE_BYTES)];
  /** By number: its page, where it starts there, and its length. */
  readonly #sets: number[] = [];
  /** Start of the set under construction, in the last page, and the next free byte. */
  #start = 0;
  #at = 0;

  /** Returns the length of a set in bytes. */
  length(set: number): number {
    return this.#sets[PARTS * set + 2]!;
  }

  /** Begins a set, with the labels of `base` if given. */
  begin(base?: number): this {
    this.#start = this.#at;
    if (base === undefined) return this;
    const page = this.#reserve(this.length(base));
    this.#at += this.copy(base, page, this.#at);
    return this;
  }

  /** Adds a label. `start` is the text before the value, including the quote; `value` is already escaped. */
  label(start: string, value: string): this {
    const page = this.#reserve((start.length + value.length + 1) * MOST_BYTES);
    this.#at += page.write(start, this.#at);
    this.#at += page.write(value, this.#at);
    page[this.#at++] = QUOTE;
    return this;
  }

  /** Ends the set and returns its number. */
  end(): number {
    this.#sets.push(this.#pages.length - 1, this.#start, this.#at - this.#start);
    return this.#sets.length / PARTS - 1;
  }

  /** Copies a set to `target` and returns its length in bytes. */
  copy(set: number, target: Buffer, at: number): number {
    const start = this.#sets[PARTS * set + 1]!;
    return this.#pages[this.#sets[PARTS * set]!]!.copy(target, at, start, start + this.length(set));
  }

  /** Returns a page with room for `length` more bytes. If it is a new page, the set under construction moves to it. */
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
/** Bytes per UTF-16 unit in UTF-8. A character beyond the basic plane has four bytes and two units. */
export const MOST_BYTES = 3;

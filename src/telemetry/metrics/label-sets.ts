/**
 * Label sets of many series as they stand between the braces, one after another in one piece of memory: a set is
 * known by its number. As texts, or even as objects, they would take several times as much.
 */
export class LabelSets {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  /** By number: where a set ends; the next one begins there. */
  readonly #ends: number[] = [];
  #at = 0;

  /** Bytes of a set. */
  length(set: number): number {
    return this.#ends[set]! - this.#start(set);
  }

  /** Begins a set with the labels of another one. */
  begin(base?: number): this {
    this.#at = this.#ends.at(-1) ?? 0;
    if (base === undefined) return this;
    this.#reserve(this.length(base));
    this.#at += this.copy(base, this.#bytes, this.#at);
    return this;
  }

  /** Adds a label: what is before its value, quote included, and the value, escaped. */
  label(start: string, value: string): this {
    this.#reserve((start.length + value.length + 1) * MOST_BYTES);
    this.#at += this.#bytes.write(start, this.#at);
    this.#at += this.#bytes.write(value, this.#at);
    this.#bytes[this.#at++] = QUOTE;
    return this;
  }

  /** The number of the set. */
  end(): number {
    return this.#ends.push(this.#at) - 1;
  }

  /** Returns the number of bytes that were copied. */
  copy(set: number, target: Buffer, at: number): number {
    return this.#bytes.copy(target, at, this.#start(set), this.#ends[set]);
  }

  #start(set: number): number {
    return set === 0 ? 0 : this.#ends[set - 1]!;
  }

  #reserve(length: number): void {
    const least = this.#at + length;
    if (least <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, least));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

const QUOTE = '"'.charCodeAt(0);
const FIRST_BYTES = 16_384;
/** Of a character in UTF-8; one beyond the basic plane has four and counts as two. */
export const MOST_BYTES = 3;

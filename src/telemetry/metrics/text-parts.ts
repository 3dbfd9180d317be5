import { type LabelSets, MOST_BYTES } from './label-sets.ts';

const PART_BYTES = 65_536;
/** Length limit of a value with its surroundings: `} -1.2345678901234567e+300` and the end of the line. */
const MOST_VALUE_BYTES = 32;

/** Builds text in memory that all parts reuse: a taken part is valid until more text is added. */
export class TextParts {
  #bytes = Buffer.allocUnsafe(PART_BYTES);
  #length = 0;

  /** Reports whether a series with these labels does not fit; then a part has to be taken first. */
  isFull(start: Buffer, labelBytes: number): boolean {
    return this.#length + start.length + labelBytes + MOST_VALUE_BYTES > this.#bytes.length;
  }

  take(): Uint8Array {
    const part = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return part;
  }

  /** Adds a line. `start` is the name and the brace; `value` is already formatted. */
  series(start: Buffer, labels: LabelSets, set: number, value: string): void {
    this.#reserve(start.length + labels.length(set) + MOST_VALUE_BYTES);
    const bytes = this.#bytes;
    let at = this.#length;
    at += start.copy(bytes, at);
    at += labels.copy(set, bytes, at);
    bytes[at++] = BRACE;
    bytes[at++] = SPACE;
    at += bytes.write(value, at, 'latin1');
    bytes[at++] = NEW_LINE;
    this.#length = at;
  }

  text(text: string): void {
    this.#reserve(text.length * MOST_BYTES);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Enlarges the buffer if the text does not fit; it keeps the bytes not taken yet. */
  #reserve(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(this.#length + length);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

const BRACE = '}'.charCodeAt(0);
const SPACE = ' '.charCodeAt(0);
const NEW_LINE = '\n'.charCodeAt(0);

import { type LabelSets, MOST_BYTES } from './label-sets.ts';

const PART_BYTES = 65_536;
/** A value with what is around it: `} -1.2345678901234567e+300` and the end of the line. */
const MOST_VALUE_BYTES = 32;

/** Puts text together in memory that is reused for every part: what is taken holds until the next one. */
export class TextParts {
  #bytes = Buffer.allocUnsafe(PART_BYTES);
  #length = 0;

  /** Whether there is no room for a series with these labels: then a part has to be taken first. */
  isFull(start: Buffer, labelBytes: number): boolean {
    return this.#length + start.length + labelBytes + MOST_VALUE_BYTES > this.#bytes.length;
  }

  take(): Uint8Array {
    const part = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return part;
  }

  /** `start`: the name and the brace; `value` as the format wants it. */
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

  /** For what is longer than a part; its first bytes are not taken yet. */
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

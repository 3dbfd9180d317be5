import { wordsOf } from './api.js';

/** Something that is read now and again, beside what the stream brings. */

/** @template T */
export class Resource {
  #read;
  #onChange;
  #timer;
  #isClosed = false;
  /** As last read. @type {T | undefined} */
  value;
  /** Why the newest reading failed; empty: it did not. */
  trouble = '';

  /** @param {() => Promise<T>} read @param {() => void} onChange @param {number} everyMs */
  constructor(read, onChange, everyMs) {
    this.#read = read;
    this.#onChange = onChange;
    this.#timer = setInterval(() => {
      if (!document.hidden) void this.look();
    }, everyMs);
    void this.look();
  }

  async look() {
    try {
      this.value = await this.#read();
      this.trouble = '';
    } catch (error) {
      this.trouble = wordsOf(error);
    }
    if (!this.#isClosed) this.#onChange();
  }

  close() {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }
}

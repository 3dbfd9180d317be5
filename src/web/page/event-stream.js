/**
 * Server-sent events out of the bytes of a response (WHATWG HTML, 9.2.6). Pure. A browser's own EventSource
 * cannot send a header, and the read token goes nowhere else.
 */

/**
 * @typedef {object} ServerEvent
 * @property {string} name `message` unless said otherwise
 * @property {string} data
 */

/** An event longer than this is no event of ours. */
const MAX_PENDING = 16 * 1024 * 1024;

export class EventParser {
  /** @type {string} */
  #pending = '';
  #name = '';
  /** @type {string[]} */
  #data = [];

  /**
   * @param {string} text the next piece, cut anywhere
   * @returns {ServerEvent[]} the events that it completed
   */
  push(text) {
    this.#pending += text;
    if (this.#pending.length > MAX_PENDING) throw new Error('an event is too long');
    /** @type {ServerEvent[]} */
    const events = [];
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(this.#pending);
      if (end === null) return events;
      const line = this.#pending.slice(0, end.index);
      this.#pending = this.#pending.slice(end.index + end[0].length);
      const event = this.#line(line);
      if (event !== undefined) events.push(event);
    }
  }

  /** @param {string} line @returns {ServerEvent | undefined} */
  #line(line) {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#name = value;
    else if (field === 'data') this.#data.push(value);
    return undefined;
  }

  /** @returns {ServerEvent | undefined} */
  #dispatch() {
    const event = { name: this.#name === '' ? 'message' : this.#name, data: this.#data.join('\n') };
    const isEmpty = this.#data.length === 0;
    this.#name = '';
    this.#data = [];
    return isEmpty ? undefined : event;
  }
}

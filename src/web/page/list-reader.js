import { get, wordsOf } from './api.js';

/**
 * Reads pages of the list: what was asked last counts, whatever answer comes first.
 */

/** @typedef {import('./contract.d.ts').AccountPage} AccountPage */
/** @typedef {{ query: string, firing: boolean }} ListFilter */

export const PER_PAGE = 25;

export class ListReader {
  #offset = 0;
  #asked = 0;
  /** @type {() => ListFilter} */
  #filter;
  /** @type {(page: AccountPage) => void} */
  #onPage;
  /** @type {(trouble: string) => void} */
  #onTrouble;

  /**
   * @param {() => ListFilter} filter
   * @param {(page: AccountPage) => void} onPage
   * @param {(trouble: string) => void} onTrouble
   */
  constructor(filter, onPage, onTrouble) {
    this.#filter = filter;
    this.#onPage = onPage;
    this.#onTrouble = onTrouble;
  }

  /** @param {number} offset */
  go(offset) {
    this.#offset = offset;
    void this.read();
  }

  close() {
    this.#asked += 1;
  }

  async read() {
    this.#asked += 1;
    const own = this.#asked;
    const { query, firing } = this.#filter();
    const asked = {
      query: query || undefined,
      firing: firing || undefined,
      limit: PER_PAGE,
      offset: this.#offset,
    };
    try {
      /** @type {AccountPage} */
      const page = await get('/accounts', asked);
      if (own !== this.#asked) return;
      // The list got shorter than where we are in it.
      if (page.accounts.length === 0 && page.total > 0 && this.#offset > 0) {
        this.go(Math.floor((page.total - 1) / PER_PAGE) * PER_PAGE);
        return;
      }
      this.#onPage(page);
    } catch (error) {
      if (own === this.#asked) this.#onTrouble(`The accounts could not be read: ${wordsOf(error)}.`);
    }
  }
}

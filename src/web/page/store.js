import { EMPTY } from './page-state.js';

/** @import { PageState } from './contract.d.ts' */

/** Holds the state and tells of changes, at most once per frame. */
export class Store {
  /** @type {PageState} */
  #state = EMPTY;
  #isTelling = false;
  /** @type {(state: PageState) => void} */
  #listener;

  /** @param {(state: PageState) => void} listener */
  constructor(listener) {
    this.#listener = listener;
  }

  get state() {
    return this.#state;
  }

  /** @param {(state: PageState) => PageState} next */
  change(next) {
    const changed = next(this.#state);
    if (changed === this.#state) return;
    this.#state = changed;
    this.tell();
  }

  tell() {
    if (this.#isTelling) return;
    this.#isTelling = true;
    const run = () => {
      this.#isTelling = false;
      this.#listener(this.#state);
    };
    // A hidden tab has no frames, but its title still tells how things are.
    if (document.hidden) setTimeout(run, 250);
    else requestAnimationFrame(run);
  }
}

/**
 * What is typed once and kept until the tab is closed, nowhere else: tokens, and who is sitting here.
 */

const KEYS = {
  read: 'breakwater.readToken',
  control: 'breakwater.controlToken',
  author: 'breakwater.author',
};

/** @typedef {keyof typeof KEYS} Kept */

/** @param {Kept} what */
export function kept(what) {
  return sessionStorage.getItem(KEYS[what]) ?? undefined;
}

/** @param {Kept} what @param {string} value */
export function keep(what, value) {
  sessionStorage.setItem(KEYS[what], value);
  announce();
}

/** @param {Kept} what */
export function forget(what) {
  sessionStorage.removeItem(KEYS[what]);
  announce();
}

/** @type {string | null} */
let ownName = null;

/** Whom the daemon knows by a token of their own, or because a proxy names them; null: nobody in particular. */
export function knownAs() {
  return ownName;
}

/** @param {string | null} name */
export function setKnownAs(name) {
  ownName = name;
  announce();
}

/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {() => void} listener */
export function onKeptChange(listener) {
  listeners.add(listener);
}

function announce() {
  for (const listener of listeners) listener();
}

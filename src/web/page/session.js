/** What is typed once and kept until the tab is closed, nowhere else: tokens, and who is sitting here. */

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
/** @type {readonly string[]} */
let ownScopes = [];

/** Whom the daemon knows by a token of their own, or because a proxy names them; null: nobody in particular. */
export function knownAs() {
  return ownName;
}

/** @param {string | null} name @param {readonly string[]} scopes what they may */
export function setKnownAs(name, scopes) {
  [ownName, ownScopes] = [name, scopes];
  announce();
}

/** Whether who sits here may answer and acknowledge: one who is not known may have the control token. @param {{ control: boolean }} may */
export function mayControl({ control }) {
  return control && (ownName === null || ownScopes.includes('control'));
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

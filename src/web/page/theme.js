import { html } from './lit-html/lit-html.js';

/** Light or dark as the device says, or as it is switched here; kept on this device. */

const KEY = 'breakwater.theme';
const ORDER = /** @type {const} */ (['auto', 'light', 'dark']);
const WORDS = { auto: 'Theme: as the device', light: 'Theme: light', dark: 'Theme: dark' };

/** @typedef {typeof ORDER[number]} Theme */

/** @returns {Theme} */
function stored() {
  const found = localStorage.getItem(KEY);
  return ORDER.find((theme) => theme === found) ?? 'auto';
}

export function applyTheme() {
  const theme = stored();
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  document.dispatchEvent(new Event('themechange'));
}

/** @param {() => void} changed */
export function themeSwitch(changed) {
  const switched = () => {
    const next = ORDER[(ORDER.indexOf(stored()) + 1) % ORDER.length] ?? 'auto';
    localStorage.setItem(KEY, next);
    applyTheme();
    changed();
  };
  return html`<button type="button" class="button button-quiet" @click=${switched}>${WORDS[stored()]}</button>`;
}

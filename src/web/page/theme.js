import { h, setAttribute, setText } from './dom.js';

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

/** @param {Theme} theme */
function apply(theme) {
  setAttribute(document.documentElement, 'data-theme', theme === 'auto' ? null : theme);
  document.dispatchEvent(new Event('themechange'));
}

export function themeSwitch() {
  const node = h('button', { type: 'button', class: 'button button-quiet' });
  const showTheme = (/** @type {Theme} */ theme) => {
    apply(theme);
    setText(node, WORDS[theme]);
  };
  showTheme(stored());
  node.addEventListener('click', () => {
    const next = ORDER[(ORDER.indexOf(stored()) + 1) % ORDER.length] ?? 'auto';
    localStorage.setItem(KEY, next);
    showTheme(next);
  });
  return node;
}

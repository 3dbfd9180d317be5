import { LEVEL_WORDS } from './danger.js';
import { icon } from './icons.js';
import { html, nothing } from './lit-html/lit-html.js';

/** @import { Level } from './contract.d.ts' */

/** A level as shape and word. @param {Level} level @param {string} [words] */
export function levelChip(level, words = LEVEL_WORDS[level]) {
  return html`<span class="chip chip-level" data-level=${level}>${icon(level)}<span>${words}</span></span>`;
}

/** A short word in a frame. @param {{ text: string, title?: string, look?: string }} chip */
export function chip({ text, title, look }) {
  return html`<span class="chip" title=${title ?? nothing} data-look=${look ?? nothing}>${text}</span>`;
}

/** @type {Readonly<Record<string, { text: string, title: string }>>} */
const MODES = {
  enforce: { text: 'enforce', title: 'Rules act: orders are cancelled and reduce-only stops are placed' },
  approve: { text: 'approve', title: 'People are asked before a rule acts' },
  observe: { text: 'observe only', title: 'Nothing is sent: what would be done is only recorded' },
  mixed: { text: 'mixed modes', title: 'Some accounts act, some are only observed' },
};

/** @param {string | null} mode */
export function modeChip(mode) {
  if (mode === null) return chip({ text: 'mode unknown', look: 'mode-mixed' });
  return chip({ ...(MODES[mode] ?? { text: mode, title: mode }), look: `mode-${mode}` });
}

import { LEVEL_WORDS } from './danger.js';
import { h, setAttribute, setText, show } from './dom.js';
import { drawIcon, icon } from './icons.js';

/** @typedef {import('./contract.d.ts').Level} Level */

/** A level as shape and word. @returns {import('./contract.d.ts').Part<{ level: Level, words?: string }>} */
export function levelChip() {
  const shape = icon('ok');
  const word = h('span');
  const node = h('span', { class: 'chip chip-level' }, shape, word);
  return {
    node,
    update({ level, words = LEVEL_WORDS[level] }) {
      drawIcon(shape, level);
      setAttribute(node, 'data-level', level);
      setText(word, words);
    },
  };
}

/** A short word in a frame; nothing for null. @returns {import('./contract.d.ts').Part<{ text: string, title?: string, look?: string } | null>} */
export function chip() {
  const node = h('span', { class: 'chip' });
  return {
    node,
    update(value) {
      show(node, value !== null);
      if (value === null) return;
      setText(node, value.text);
      setAttribute(node, 'title', value.title);
      setAttribute(node, 'data-look', value.look);
    },
  };
}

/** @type {Readonly<Record<string, { text: string, title: string }>>} */
const MODES = {
  enforce: { text: 'enforce', title: 'Rules act: orders are cancelled and reduce-only stops are placed' },
  observe: { text: 'observe only', title: 'Nothing is sent: what would be done is only recorded' },
  mixed: { text: 'mixed modes', title: 'Some accounts act, some are only observed' },
};

/** @param {string | null} mode */
export function modeWords(mode) {
  if (mode === null) return { text: 'mode unknown', look: 'mode-mixed' };
  return { ...(MODES[mode] ?? { text: mode, title: mode }), look: `mode-${mode}` };
}

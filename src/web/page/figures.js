import { h, keyedList, setAttribute, setText } from './dom.js';

/**
 * @typedef {object} FigureLine
 * @property {string} label
 * @property {string} text
 * @property {string} [title] said on hover
 * @property {'bad' | 'good'} [tone] besides what the text says
 * @property {boolean} [minor] left out where there is little room and nothing to fear
 */

/** A list of names and figures. @returns {import('./contract.d.ts').Part<readonly FigureLine[]>} */
export function figures() {
  const node = h('dl', { class: 'figures' });
  const set = keyedList(node, (line) => line.label, figure);
  return { node, update: set };
}

/** @returns {import('./contract.d.ts').Part<FigureLine>} */
function figure() {
  const term = h('dt');
  const value = h('dd');
  const node = h('div', { class: 'figure' }, term, value);
  return {
    node,
    update({ label, text, title, tone, minor }) {
      setText(term, label);
      setText(value, text);
      setAttribute(value, 'title', title);
      setAttribute(node, 'data-tone', tone);
      setAttribute(node, 'data-minor', minor === true);
    },
  };
}

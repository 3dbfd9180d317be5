import { h, keyedList, onChange, setAttribute, setText, show } from './dom.js';
import { labelName, scaleWords, sideOf } from './scale.js';

/**
 * The bar of a position or a credit line: how much of the way to liquidation is used up, and where the rules'
 * thresholds lie. A passed threshold shows in colour, in the pattern of the bar and in words beside it.
 */

/** @typedef {import('./scale.js').Scale} Scale */
/** @typedef {import('./scale.js').Mark} Mark */

/** @returns {import('./contract.d.ts').Part<{ scale: Scale, figure: string }>} */
export function bar() {
  const fill = h('div', { class: 'bar-fill' });
  const ticks = h('div', { class: 'bar-ticks' });
  const track = h('div', { class: 'bar-track' }, fill, ticks);
  const left = h('span', { class: 'bar-end' });
  const right = h('span', { class: 'bar-end bar-end-harm' });
  const labels = h('div', { class: 'bar-labels' });
  const node = h(
    'div',
    { class: 'bar', role: 'meter', 'aria-valuemin': 0, 'aria-valuemax': 100 },
    track,
    labels,
    h('div', { class: 'bar-ends' }, left, right),
  );
  const setTicks = keyedList(ticks, keyOf, tick);
  const setLabels = keyedList(labels, keyOf, label);
  return {
    node,
    update({ scale, figure }) {
      const isKnown = scale.fill !== null;
      const percent = Math.round((scale.fill ?? 0) * 1_000) / 10;
      setAttribute(node, 'data-zone', scale.zone);
      fill.style.setProperty('--fill', isKnown ? `${percent}%` : '100%');
      setAttribute(node, 'aria-valuenow', isKnown ? percent : null);
      setAttribute(node, 'aria-label', 'Way to liquidation that is used up');
      setAttribute(node, 'aria-valuetext', scaleWords(scale, figure));
      setTicks(scale.marks);
      setLabels(scale.marks);
      const rows = Math.max(0, ...scale.marks.map(({ row }) => row + 1));
      labels.style.setProperty('--rows', String(rows));
      show(labels, rows > 0);
      setText(left, scale.left);
      setText(right, scale.right);
    },
  };
}

/** @param {Mark} mark */
function keyOf({ label, name, at }) {
  return `${at} ${label} ${name}`;
}

/** @param {HTMLElement} node @param {Mark} mark */
function place(node, { at, row, kind }) {
  node.style.setProperty('--at', `${at * 100}%`);
  node.style.setProperty('--row', String(row));
  setAttribute(node, 'data-kind', kind);
  setAttribute(node, 'data-side', sideOf(at));
}

/** @returns {import('./contract.d.ts').Part<Mark>} */
function tick() {
  const node = h('i', { class: 'bar-tick' });
  return {
    node,
    update(mark) {
      place(node, mark);
      setAttribute(node, 'title', `${mark.name}: ${mark.label}`);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<Mark>} */
function label() {
  const figure = h('b');
  const name = h('span', { class: 'bar-label-name' });
  const node = h('span', { class: 'bar-label' }, figure, ' ', name);
  return {
    node,
    update: onChange((mark) => {
      place(node, mark);
      setText(figure, mark.label);
      setText(name, labelName(mark.name));
      setAttribute(node, 'title', `${mark.name}: ${mark.label}`);
    }),
  };
}

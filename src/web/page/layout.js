import { h } from './dom.js';

/** What the pages of an account and of its subjects are laid out with. */

/** The way back. @param {readonly { text: string, href: string }[]} steps */
export function breadcrumb(steps) {
  const links = [{ text: 'All accounts', href: '/' }, ...steps];
  return h(
    'nav',
    { class: 'breadcrumb', 'aria-label': 'Way back' },
    h('ol', {}, ...links.map(({ text, href }) => h('li', {}, h('a', { href }, text)))),
  );
}

/** @param {string} title @param {...Node} children */
export function section(title, ...children) {
  return h('section', { class: 'panel' }, h('h2', {}, title), ...children);
}

/**
 * What matters now, what stands beside it, and below both the story, which is long.
 * @param {{ now: readonly Node[], side: readonly Node[], story: Node }} parts
 */
export function columns({ now, side, story }) {
  return h(
    'main',
    { id: 'content', class: 'columns', tabindex: -1 },
    h('div', { class: 'column-main' }, ...now),
    h('aside', { class: 'column-side', 'aria-label': 'Rules, orders and actions' }, ...side),
    h('div', { class: 'column-story' }, section('Story', story)),
  );
}

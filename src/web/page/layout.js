import { html } from './lit-html/lit-html.js';

/** What the pages of an account and of its subjects are laid out with. */

/** @import { Drawn } from './contract.d.ts' */

/** The way back. @param {readonly { text: string, href: string }[]} steps */
export function breadcrumb(steps) {
  const links = [{ text: 'All accounts', href: '/' }, ...steps];
  return html`<nav class="breadcrumb" aria-label="Way back"
    ><ol>${links.map(({ text, href }) => html`<li><a href=${href}>${text}</a></li>`)}</ol></nav>`;
}

/** @param {string} title @param {...Drawn} children */
export function section(title, ...children) {
  return html`<section class="panel"><h2>${title}</h2>${children}</section>`;
}

/**
 * What matters now, what stands beside it, and below both the story, which is long.
 * @param {{ now: Drawn, side: Drawn, story: Drawn }} parts
 */
export function columns({ now, side, story }) {
  return html`<main id="content" class="columns" tabindex="-1">
    <div class="column-main">${now}</div>
    <aside class="column-side" aria-label="Rules, orders and actions">${side}</aside>
    <div class="column-story">${section('Story', story)}</div>
  </main>`;
}

/** @param {'h3' | 'h4'} level @param {Drawn} content */
export function heading(level, content) {
  return level === 'h3' ? html`<h3>${content}</h3>` : html`<h4>${content}</h4>`;
}

/** @param {readonly string[]} lines @param {string} look */
export function textLines(lines, look) {
  return html`<ul class=${look}>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

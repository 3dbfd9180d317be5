import { chaptersOf } from './glossary-text.js';
import { breadcrumb } from './layout.js';
import { html, nothing } from './lit-html/lit-html.js';

/** What the words mean that page, command line and messages have in common. */

/** @import { Chapter } from './glossary-text.js' */

/** @param {() => void} changed @returns {import('./contract.d.ts').PageView} */
export function glossaryView(changed) {
  /** @type {readonly Chapter[]} */
  let chapters = [];
  let trouble = '';
  const read = async () => {
    try {
      const response = await fetch('/assets/glossary.md', { credentials: 'same-origin' });
      if (response.ok) chapters = chaptersOf(await response.text());
      trouble = response.ok ? '' : `The glossary could not be read: the answer was ${response.status}.`;
    } catch {
      trouble = 'The glossary could not be read: the daemon cannot be reached.';
    }
    changed();
  };
  void read();
  return {
    title: 'Glossary - Breakwater',
    wantsRows: false,
    watched: () => [],
    template: () => html`<main id="content" class="glossary" tabindex="-1">${breadcrumb([])}
      <h1>What the words mean</h1>
      ${trouble === '' ? nothing : html`<p class="trouble" role="alert">${trouble}</p>`}
      ${chapters.map(chapter)}</main>`,
    refresh: () => void read(),
    close() {},
  };
}

/** @param {Chapter} chapter */
function chapter({ title, entries }) {
  const line = (/** @type {Chapter['entries'][number]} */ { word, meaning }) =>
    html`<div><dt>${word}</dt><dd>${meaning}</dd></div>`;
  return html`<section class="panel"><h2>${title}</h2><dl>${entries.map(line)}</dl></section>`;
}

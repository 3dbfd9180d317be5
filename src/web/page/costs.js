import { costWords } from './account-words.js';
import { heading } from './layout.js';
import { html, nothing } from './lit-html/lit-html.js';

/** What protection cost and kept lately, by money currency. */

/** @import { CostsReply } from './contract.d.ts' */

/** @param {CostsReply | undefined} costs undefined: not read @param {'h3' | 'h4'} level of its heading */
export function costPart(costs, level) {
  if (costs === undefined || costs.totals.length === 0) return nothing;
  const since = costs.isComplete ? '' : ' Older orders are not in it.';
  return html`<div class="costs">${heading(level, 'Price of protection, last 30 days')}
    <ul>${costs.totals.map((total) => html`<li>${costWords(total)}</li>`)}</ul>
    ${since === '' ? nothing : html`<p class="muted">${since}</p>`}</div>`;
}

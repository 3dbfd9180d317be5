import { costWords } from './account-words.js';
import { get } from './api.js';
import { heading } from './layout.js';
import { html, nothing } from './lit-html/lit-html.js';
import { Resource } from './resource.js';

/** What protection cost lately, by money currency. */

/** @import { CostsReply } from './contract.d.ts' */

const LOOK_EVERY_MS = 60_000;

/** @param {string} accountId @param {() => void} onChange @returns {Resource<CostsReply>} */
export function costResource(accountId, onChange) {
  return new Resource(() => get(`/accounts/${encodeURIComponent(accountId)}/costs`), onChange, LOOK_EVERY_MS);
}

/** @param {CostsReply | undefined} costs undefined: not read @param {'h3' | 'h4'} level of its heading */
export function costPart(costs, level) {
  if (costs === undefined || costs.totals.length === 0) return nothing;
  const since = costs.isComplete ? '' : ' Older orders are not in it.';
  return html`<div class="costs">${heading(level, 'Price of protection, last 30 days')}
    <ul>${costs.totals.map((total) => html`<li>${costWords(total)}</li>`)}</ul>
    ${since === '' ? nothing : html`<p class="muted">${since}</p>`}</div>`;
}

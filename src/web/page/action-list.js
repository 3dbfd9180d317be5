import { duration } from './format.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { accountPath, subjectPath } from './route.js';
import { time } from './time.js';

/** @import { PageAction as ActionLine } from './contract.d.ts' */

/** @type {Readonly<Record<string, string>>} */
const KINDS = { place: 'Order', cancelAll: 'Cancel all' };

/** What was done lately, newest first. @param {readonly ActionLine[]} actions */
export function actionList(actions) {
  if (actions.length === 0) return html`<p class="muted">Nothing has been done yet.</p>`;
  return html`<ol class="actions" aria-live="off">${repeat(actions, ({ id }) => id, actionLine)}</ol>`;
}

/** @type {Readonly<Record<string, string>>} */
const OUTCOMES = { pending: 'being sent', observed: 'only observed, not sent', unknown: 'outcome unknown' };

/** How an outcome is taken. @param {string} outcome */
export function toneOf(outcome) {
  if (/reject|fail|refus/i.test(outcome)) return 'bad';
  if (/unknown|doubt|blocked/i.test(outcome)) return 'doubt';
  return /accept|reached|done|filled/i.test(outcome) ? 'good' : 'plain';
}

/** @param {ActionLine} action */
function actionLine({ accountId, market, positionId, kind, outcome, atMs, tookMs, words, reason }) {
  const place = market === null ? accountId : `${accountId} ${market}`;
  const href =
    positionId === null ? accountPath(accountId) : subjectPath(accountId, `position:${positionId}`);
  return html`<li class="action">
    <div class="action-head">${time('clock', atMs)} <b>${KINDS[kind] ?? kind}</b>
      <span class="outcome" data-tone=${toneOf(outcome)}>${OUTCOMES[outcome] ?? outcome}</span>
      ${tookMs === null ? nothing : html`<span class="muted">took ${duration(tookMs)}</span>`}</div>
    <div><a href=${href}>${place}</a> <span class="action-words">${words}</span></div>
    ${outcome !== 'accepted' && reason !== '' ? html`<span class="reason">${reason}</span>` : nothing}
  </li>`;
}

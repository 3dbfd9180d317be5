import { levelChip } from './chips.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { mayControl } from './session.js';
import { openChange } from './signature.js';
import { time } from './time.js';

/** What people were told and is not over, and who sees to it. */

/** @import { AccountView, NoticeLine } from '../../core/view/account-view.ts' */
/** @typedef {import('./contract.d.ts').PageOverview['may']} May */

/** @param {Pick<AccountView, 'accountId' | 'notices'>} account @param {May} may */
export function openNotices({ accountId, notices }, may) {
  if (notices.length === 0) return nothing;
  const line = (/** @type {NoticeLine} */ notice) => {
    const { ruleId, subject, severity, toldAtMs, acknowledged } = notice;
    const button = html`<button type="button" class="button button-small" aria-label=${`Acknowledge ${ruleId} for ${subject}`}
      @click=${() => openAcknowledge(accountId, notice)}>Acknowledge</button>`;
    const seen =
      acknowledged === null
        ? html`<span class="muted">told ${time('ago', toldAtMs)}</span>`
        : html`<span class="muted">${acknowledged.author} sees to it, ${time('ago', acknowledged.atMs)}</span>`;
    return html`<li class="rule-line">${levelChip(severity, 'Told')}
      <b class="id">${ruleId}</b> ${seen} ${acknowledged === null && mayControl(may) ? button : nothing}</li>`;
  };
  const keyOf = (/** @type {NoticeLine} */ { ruleId, subject }) => JSON.stringify([ruleId, subject]);
  return html`<ul class="rule-lines" aria-label="What people were told">${repeat(notices, keyOf, line)}</ul>`;
}

/** @param {string} accountId @param {NoticeLine} notice */
function openAcknowledge(accountId, { ruleId, subject, episode, stage }) {
  openChange({
    title: `Acknowledge ${ruleId} in ${accountId}`,
    text:
      `For ${subject}: nobody is told of it again until it is over or gets worse. ` +
      'Breakwater goes on acting by its rules.',
    action: 'Acknowledge',
    path: '/acknowledgements',
    body: () => ({ accountId, ruleId, subject, episode, stage }),
  });
}

import { blindWords, startedWords, subjectsOf } from './account-words.js';
import { chip, modeChip } from './chips.js';
import { openPause } from './controls.js';
import { costPart } from './costs.js';
import { listed } from './format.js';
import { textLines } from './layout.js';
import { doings, notableRules } from './lines.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { openNotices } from './notices.js';
import { openOrder, openWithdraw } from './order-dialog.js';
import { openQuestions } from './questions.js';
import { accountPath } from './route.js';
import { jointWords } from './scale.js';
import { accountStress } from './stress.js';
import { subjectCard } from './subject-card.js';
import { time } from './time.js';

/** What there is to say of one account below its line in the list. */

/** @import { AccountView } from '../../core/view/account-view.ts' */
/** @typedef {import('./contract.d.ts').PageOverview['may']} May */

/** Chips that say how an account is run. @param {AccountView} account */
export function accountChips({ mode, pause, silences, labels }) {
  const why = pause === null ? '' : `${pause.author}: ${pause.reason}`;
  const rules = listed(silences.map(({ ruleId }) => ruleId));
  const words = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return html`<span class="chips">${modeChip(mode)}
    ${pause === null ? nothing : chip({ text: 'paused', title: why, look: 'paused' })}
    ${silences.length === 0 ? nothing : chip({ text: `silenced: ${rules}`, look: 'paused' })}
    ${words.length === 0 ? nothing : chip({ text: words.join(' '), look: 'label' })}</span>`;
}

/** What a person can do about an account. @param {AccountView} account @param {May} may */
export function accountDeeds(account, may) {
  const { accountId } = account;
  const off = (/** @type {boolean} */ is) =>
    is ? nothing : 'Changing things from here is off: set web.controlToken, or web.users';
  return html`<div class="deeds">
    <button type="button" class="button" ?disabled=${!may.operate} title=${off(may.operate)}
      @click=${() => openOrder(account)}>Reduce or close</button>
    <button type="button" class="button" ?disabled=${!may.control} title=${off(may.control)}
      @click=${() => openPause(accountId)}>Pause this account</button>
  </div>`;
}

/** What keeps it from being judged, and what a person may want to know. @param {AccountView} account */
export function accountNotes(account) {
  const [blind, started, together] = [blindWords(account), startedWords(account), jointWords(account)];
  return html`${together === '' ? nothing : html`<p>${together}</p>`}
    ${blind.length === 0 ? nothing : textLines(blind, 'blind')}
    ${started === '' ? nothing : html`<p class="muted">${started}</p>`}`;
}

/** Orders by hand that have not begun, or have and are not over. @param {AccountView} account @param {May} may */
export function ordersByHand({ accountId, inbox, intents }, may) {
  const begun = intents
    .filter(({ ruleId, ended }) => !ended && ruleId.startsWith(OPERATOR))
    .map(({ ruleId, target, market }) => ({
      id: ruleId.slice(OPERATOR.length),
      words: `${target} in ${market}`,
    }));
  const waiting = inbox
    .filter(({ kind }) => kind === 'reduce')
    .map(({ id, author, reason }) => ({ id, words: `not begun, by ${author}: ${reason}` }));
  const all = [...new Map([...begun, ...waiting].map((one) => [one.id, one])).values()];
  if (all.length === 0) return nothing;
  const line = (/** @type {{ id: string, words: string }} */ { id, words }) => html`<li class="doing">
    <b>By hand</b> <span>${words}</span>
    <button type="button" class="button button-small" ?disabled=${!may.operate} aria-label=${`Withdraw the order ${id}`}
      @click=${() => openWithdraw(accountId, id)}>Withdraw</button></li>`;
  return html`<ul class="doings" aria-label="Orders by hand">${repeat(all, ({ id }) => id, line)}</ul>`;
}

const OPERATOR = 'operator:';

/**
 * @param {AccountView} account
 * @param {{ may: May, stress: import('./contract.d.ts').PageStress | undefined, costs: import('./contract.d.ts').CostsReply | undefined }} beside
 */
export function accountCard(account, { may, stress, costs }) {
  const { accountId, rules, intents, orders, positions, judgedAtMs, refused } = account;
  const shown = new Set(positions.map(({ positionId }) => positionId));
  const subjects = subjectsOf(account);
  const isEmpty = subjects.length === 0 && refused === null && judgedAtMs !== null;
  return html`<div class="account-card">
    <p class="account-about">${accountChips(account)}
      <span class="muted account-age">judged ${time('ago', judgedAtMs)}</span></p>
    ${accountNotes(account)}
    ${openQuestions(account, may)}${openNotices(account, may)}
    ${notableRules(rules.filter(({ subject }) => subject === 'account'))}
    ${doings(
      intents.filter(({ positionId }) => !shown.has(positionId)),
      orders.filter(({ positionId }) => !shown.has(positionId)),
      { ended: false },
    )}
    ${ordersByHand(account, may)}
    <div class="subjects">${repeat(
      subjects,
      ({ subject }) => subject,
      ({ subject }) => subjectCard(account, subject, 'h4'),
    )}</div>
    ${isEmpty ? html`<p class="muted">No position and no credit line.</p>` : nothing}
    ${accountStress(stress, accountId, 'h4')}${costPart(costs, 'h4')}
    ${accountDeeds(account, may)}
    <p><a href=${accountPath(accountId)}>Rules, orders, data and story of ${accountId}</a></p>
  </div>`;
}

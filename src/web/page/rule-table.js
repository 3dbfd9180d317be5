import { levelChip } from './chips.js';
import { openSilence } from './controls.js';
import { levelOfRule } from './danger.js';
import { phaseWords, ruleKey, sinceWords, sortedRules } from './lines.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { subjectPath } from './route.js';

/** Every rule for an account or one of its subjects, with its state and the reason for it. */

/** @import { RuleLine } from '../../core/view/account-view.ts' */

const OFF = 'Changing things from here is off: set web.controlToken';

/**
 * @param {string} accountId
 * @param {readonly RuleLine[]} rules
 * @param {{ withSubject: boolean, mayControl: boolean }} options
 */
export function ruleTable(accountId, rules, options) {
  if (rules.length === 0) return html`<p class="muted">No rule looks at this.</p>`;
  const row = (/** @type {RuleLine} */ rule) => ruleRow(accountId, rule, options);
  return html`<ul class="rules">${repeat(sortedRules(rules), ruleKey, row)}</ul>`;
}

/**
 * @param {string} accountId
 * @param {RuleLine} rule
 * @param {{ withSubject: boolean, mayControl: boolean }} options
 */
function ruleRow(accountId, rule, { withSubject, mayControl }) {
  const { ruleId, subject, stage, silenced, mode, reason, condition } = rule;
  const link = html`<a href=${subjectPath(accountId, subject)}>${subject}</a>`;
  const silence = () => openSilence(accountId, ruleId, subject);
  return html`<li class="rule">
    <div class="rule-head">${levelChip(levelOfRule(rule), phaseWords(rule))} <b class="id">${ruleId}</b>
      ${withSubject && subject !== 'account' ? link : nothing} ${sinceWords(rule.sinceMs)}
      ${stage === null || stage === 0 ? nothing : html`<span class="muted">stage ${stage}</span>`}
      ${silenced ? html`<span class="chip" data-look="paused">silenced</span>` : nothing}
      ${mode === 'observe' ? html`<span class="chip">observe only</span>` : nothing}</div>
    <p class="reason">${reason}</p>
    <div class="rule-foot"><p class="condition muted">Fires when <code>${condition}</code></p>
      <button type="button" class="button button-small" ?disabled=${!mayControl} title=${mayControl ? nothing : OFF}
        aria-label=${`Silence ${ruleId} for ${subject}`} @click=${silence}>Silence</button></div>
  </li>`;
}

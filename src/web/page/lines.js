import { levelChip } from './chips.js';
import { isNotable, LEVELS, levelOfRule } from './danger.js';
import { doingLines } from './doing-words.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { time } from './time.js';

/** Lines about what the rules say and what is being done, for lists and pages alike. */

/** @import { RuleLine, IntentLine, OrderLine } from '../../core/view/account-view.ts' */
/** @import { DoingLine } from './doing-words.js' */

/** Rules that fire, are about to, or cannot be judged. @param {readonly RuleLine[]} rules */
export function notableRules(rules) {
  const notable = sortedRules(rules.filter(isNotable));
  if (notable.length === 0) return nothing;
  return html`<ul class="rule-lines" aria-label="Rules">${repeat(notable, ruleKey, ruleLine)}</ul>`;
}

/** @param {readonly RuleLine[]} rules */
export function sortedRules(rules) {
  return rules.toSorted((a, b) => LEVELS.indexOf(levelOfRule(a)) - LEVELS.indexOf(levelOfRule(b)));
}

/** @param {RuleLine} rule */
export function ruleKey({ ruleId, subject }) {
  return JSON.stringify([ruleId, subject]);
}

/** @param {RuleLine} rule */
export function phaseWords({ phase, frozen, severity }) {
  const words = { firing: 'Firing', pending: 'Pending', inactive: 'Quiet' }[phase];
  const known =
    phase === 'firing' && severity !== null && severity !== 'info' ? `${words}, ${severity}` : words;
  if (!frozen) return known;
  return phase === 'inactive' ? 'Not known' : `${known}, frozen`;
}

/** @param {number | null} sinceMs */
export function sinceWords(sinceMs) {
  return sinceMs === null ? nothing : html`<span class="muted">for ${time('for', sinceMs)}</span>`;
}

/** @param {RuleLine} rule */
function ruleLine(rule) {
  const { ruleId, phase, sinceMs, silenced, mode, reason } = rule;
  return html`<li class="rule-line">${levelChip(levelOfRule(rule), phaseWords(rule))} <b class="id">${ruleId}</b>
    ${phase === 'inactive' ? nothing : sinceWords(sinceMs)}
    ${silenced ? html`<span class="chip">silenced</span>` : nothing}
    ${mode === 'observe' && phase === 'firing' ? html`<span class="chip">observe only</span>` : nothing}
    <span class="reason">${reason}</span></li>`;
}

/**
 * What is being done: open intents, and orders of the daemon that are out.
 * @param {readonly IntentLine[]} intents
 * @param {readonly OrderLine[]} orders
 * @param {{ ended: boolean }} options whether intents that have ended, and orders that count as filled, are shown too
 */
export function doings(intents, orders, { ended }) {
  const lines = doingLines(intents, orders).filter(({ isOver }) => ended || !isOver);
  if (lines.length === 0) return nothing;
  return html`<ul class="doings" aria-label="What is being done">${repeat(lines, ({ key }) => key, doing)}</ul>`;
}

/** @param {DoingLine} line */
function doing({ label, words, title, sinceMs, isOver }) {
  return html`<li class="doing" ?data-over=${isOver} title=${title}><b>${label}</b> <span>${words}</span>
    ${sinceMs === null ? nothing : time('ago', sinceMs)}</li>`;
}

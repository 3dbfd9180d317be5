import { get } from './api.js';
import { levelChip } from './chips.js';
import { counted, percent } from './format.js';
import { heading, section } from './layout.js';
import { html, nothing } from './lit-html/lit-html.js';
import { Resource } from './resource.js';
import { time } from './time.js';

/** What crashes would do if they came now: the newest stress test on a schedule. Nothing without a schedule. */

/** @import { PageStress } from './contract.d.ts' */
/** @typedef {NonNullable<NonNullable<PageStress['stored']>['result']>} Result */
/** @typedef {Result['cases'][number]} StressCase */

const LOOK_EVERY_MS = 60_000;

/** @param {() => void} onChange @returns {Resource<PageStress>} */
export function stressResource(onChange) {
  return new Resource(() => get('/stress'), onChange, LOOK_EVERY_MS);
}

/** @param {Resource<PageStress>} resource */
export function stressPart({ value, trouble }) {
  if (value?.scheduled !== true) return nothing;
  const { stored } = value;
  const result = stored?.result ?? null;
  // Without an answer what was shown stays: its age is beside it.
  const wrong = trouble === '' ? lastRunWords(stored) : `The stress test could not be read: ${trouble}.`;
  const age = () =>
    html`<p class="muted">Played ${time('ago', result?.atMs ?? null)}, again ${time('until', stored?.nextAtMs ?? null)}.</p>`;
  return html`<div class="stress">${section(
    'If it came now',
    wrong === '' ? nothing : html`<p class="trouble" role="alert">${wrong}</p>`,
    html`<p class="muted">${aboutWords(stored)}</p>`,
    html`<ul class="stress-cases">${(result?.cases ?? []).map((one) => caseLine(one, result?.accounts ?? 0))}</ul>`,
    leftOut(result),
    result === null ? nothing : age(),
  )}</div>`;
}

/** @param {PageStress['stored']} stored */
function lastRunWords(stored) {
  const { lastRun } = stored ?? {};
  if (lastRun?.outcome === 'failed') return `The newest stress test failed: ${lastRun.words}.`;
  return lastRun?.outcome === 'partial' ? `Not complete: ${lastRun.words}.` : '';
}

/** @param {PageStress['stored']} stored */
function aboutWords(stored) {
  if (stored === null) return 'A stress test is scheduled; none has run yet.';
  if (stored.result === null) return '';
  const { accounts } = stored.result;
  return accounts === 0
    ? 'No account held a position.'
    : `What crashes would do to ${counted(accounts, 'account')} as the positions were.`;
}

/** @param {StressCase} one @param {number} accounts */
function caseLine(one, accounts) {
  const { level, words } = verdictOf(one);
  return html`<li title=${one.about}><div class="stress-head"><strong>${titled(one.title, one.conditions)}</strong>${levelChip(level, words)}</div
    ><p>${caseWords(one, accounts)}</p></li>`;
}

/** @param {string} title @param {string} conditions */
function titled(title, conditions) {
  return conditions === 'crash' ? title : `${title}, exchange ${conditions}`;
}

/** @param {StressCase} one @returns {{ level: import('./contract.d.ts').Level, words: string }} */
function verdictOf({ liquidatedWith, liquidatedWithout }) {
  if (liquidatedWith > 0) return { level: 'critical', words: 'Liquidates' };
  return liquidatedWithout > 0 ? { level: 'ok', words: 'Rules hold' } : { level: 'ok', words: 'Harmless' };
}

/** @param {StressCase} one @param {number} accounts */
function caseWords({ liquidatedWithout, liquidatedWith, keptWithout, keptWith }, accounts) {
  return (
    `${liquidatedWithout} of ${accounts} liquidated, ${costWords(keptWithout)}; ` +
    `with these rules ${liquidatedWith}, ${costWords(keptWith)} of equity`
  );
}

/** @param {number} kept */
function costWords(kept) {
  return kept > 1 ? `gain ${percent(kept - 1)}` : `cost ${percent(1 - kept)}`;
}

/** @param {Result | null} result */
function leftOut(result) {
  if (result === null || result.leftOutCount === 0) return nothing;
  const more = result.leftOutCount - result.leftOut.length;
  const sentences = more > 0 ? [...result.leftOut, `And ${more} more.`] : result.leftOut;
  return html`<details><summary>${result.leftOutCount} left out</summary
    ><ul>${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul></details>`;
}

/**
 * What the newest stress test says of one account.
 * @param {PageStress | undefined} stress
 * @param {string} accountId
 * @param {'h3' | 'h4'} level of its heading
 */
export function accountStress(stress, accountId, level) {
  const result = stress?.stored?.result ?? null;
  const cases = result?.accountCases.filter((one) => one.accountId === accountId) ?? [];
  if (result === null || cases.length === 0) return nothing;
  const titleOf = (/** @type {string} */ id) =>
    result.cases.find(({ scenario }) => scenario === id)?.title ?? id;
  const line = (/** @type {Result['accountCases'][number]} */ one) =>
    html`<li>${titled(titleOf(one.scenario), one.conditions)}: ${accountCaseWords(one)}</li>`;
  return html`<div class="account-stress">${heading(level, 'If it came now')}<ul>${cases.map(line)}</ul></div>`;
}

/** @param {Result['accountCases'][number]} one */
function accountCaseWords({ liquidatedWithout, liquidatedWith, keptWithout, keptWith }) {
  const fate = (/** @type {boolean} */ is) => (is ? 'liquidated' : 'not liquidated');
  return (
    `${fate(liquidatedWithout)}, ${costWords(keptWithout)} of equity; ` +
    `with these rules ${fate(liquidatedWith)}, ${costWords(keptWith)}`
  );
}

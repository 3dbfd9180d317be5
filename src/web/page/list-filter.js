import { levelOfAccount } from './danger.js';
import { icon } from './icons.js';
import { html, nothing } from './lit-html/lit-html.js';
import { causeOf, labelNames, needsAttention, SORTS } from './row-order.js';

/** What is above the list: states to choose from, a search, order and groups. */

/** @import { ListChoice } from './row-order.js' */
/** @import { PageOverview as Overview } from './contract.d.ts' */
/** @typedef {Overview['headline']['groups'][number]} StateGroup */

/**
 * @param {{ choice: ListChoice, rows: import('./contract.d.ts').PageState['rows'], overview: Overview | null,
 *   choose: (changed: Partial<ListChoice>) => void }} parts
 */
export function listFilter({ choice, rows, overview, choose }) {
  const all = [...rows.values()];
  const groups = overview?.headline.groups ?? [];
  const typed = (/** @type {Event} */ { target }) =>
    choose({ query: /** @type {HTMLInputElement} */ (target).value });
  const attention = (/** @type {Event} */ { target }) =>
    choose({ isAttentionOnly: /** @type {HTMLInputElement} */ (target).checked });
  return html`<div class="filter" role="search">
    <h2 tabindex="-1">Accounts</h2>
    <label class="filter-text"><span class="visually-hidden">Filter</span><input type="search" placeholder="name, market, label"
      autocomplete="off" spellcheck="false" maxlength="100" .value=${choice.query} @input=${typed}></label>
    <label class="filter-check"><input type="checkbox" .checked=${choice.isAttentionOnly} @change=${attention}
      ><span>Needs attention (${all.filter(needsAttention).length})</span></label>
    ${picker('Order', choice.sort, Object.entries(SORTS), (sort) =>
      choose({ sort: /** @type {ListChoice['sort']} */ (sort) }),
    )}
    ${picker('Group', choice.group, groupOptions(labelNames(all)), (group) => choose({ group }))}
    <a class="jump" href="#lately">Actions and health</a>
    ${groups.length < 2 && choice.cause === '' ? nothing : stateButtons(groups, choice, choose)}
  </div>`;
}

/** @param {readonly string[]} labels */
function groupOptions(labels) {
  return [['', 'Not grouped'], ['state', 'By state'], ...labels.map((name) => [name, `By ${name}`])];
}

/** @param {string} name @param {string} chosen @param {readonly (readonly string[])[]} options @param {(value: string) => void} choose */
function picker(name, chosen, options, choose) {
  const changed = (/** @type {Event} */ { target }) =>
    choose(/** @type {HTMLSelectElement} */ (target).value);
  return html`<label class="filter-select"><span class="visually-hidden">${name}</span><select @change=${changed}>${options.map(
    ([value = '', label]) => html`<option value=${value} ?selected=${value === chosen}>${label}</option>`,
  )}</select></label>`;
}

/** @param {readonly StateGroup[]} groups @param {ListChoice} choice @param {(changed: Partial<ListChoice>) => void} choose */
function stateButtons(groups, { cause }, choose) {
  const isThere = groups.some((group) => causeOf(group) === cause);
  return html`<ul class="states" aria-label="States to choose from">${groups.map((group) => {
    const key = causeOf(group);
    const level = levelOfAccount({ state: group });
    return html`<li><button type="button" class="button state-button" data-level=${level} aria-pressed=${key === cause}
      @click=${() => choose({ cause: key === cause ? '' : key })}>${icon(level)}<span>${shortWords(group)}</span></button></li>`;
  })}${isThere || cause === '' ? nothing : html`<li><button type="button" class="button state-button" aria-pressed="true" @click=${() => choose({ cause: '' })}>No account is in that state any more: show all</button></li>`}</ul>`;
}

/** Of one account the figures are in its line. @param {StateGroup} group */
function shortWords({ count, words }) {
  return count === 1 ? (words.split(': ')[0] ?? words) : words;
}

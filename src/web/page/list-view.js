import { accountCard } from './account-card.js';
import { accountRow } from './account-row.js';
import { actionList } from './action-list.js';
import { costResource } from './costs.js';
import { levelOfAccount } from './danger.js';
import { counted } from './format.js';
import { healthPart } from './health.js';
import { icon } from './icons.js';
import { listFilter } from './list-filter.js';
import { guard } from './lit-html/directives/guard.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { groupedRows, listedRows, needsAttention } from './row-order.js';
import { stressPart, stressResource } from './stress.js';

/**
 * The list: one line for each account. The order is found anew when somebody chooses, when the count of a state
 * changes and every few seconds; in between, lines are brought up to date where they are, so that nobody misses one.
 */

/** @import { PageState, AccountRow, PageView } from './contract.d.ts' */
/** @import { ListChoice } from './row-order.js' */

const ORDER_EVERY_MS = 10_000;
const AT_FIRST = 50;
const MORE = 200;
/** More than this the stream does not carry at once. */
const MAX_OPEN = 100;

/** What somebody has chosen; stays while other views are shown. */
export class ListState {
  /** @type {ListChoice} */
  choice = { query: '', isAttentionOnly: false, cause: '', sort: 'danger', group: '' };
  shown = AT_FIRST;
  /** Groups that somebody has opened or closed. @type {ReadonlyMap<string, boolean>} */
  groups = new Map();
  /** Accounts that are open, the last one last. @type {readonly string[]} */
  open = [];
}

/** @implements {PageView} */
export class ListView {
  title = 'Breakwater';
  wantsRows = true;
  #ui;
  #deeds;
  #stress;
  /** @type {Map<string, ReturnType<typeof costResource>>} */
  #costs = new Map();
  /** @type {readonly string[]} */
  #order = [];
  #orderedFor = '';
  #orderedAtMs = 0;
  #timer;

  /** @param {ListState} ui @param {{ changed: () => void, watch: () => void }} deeds `watch`: other accounts are open */
  constructor(ui, deeds) {
    this.#ui = ui;
    this.#deeds = deeds;
    this.#stress = stressResource(deeds.changed);
    this.#timer = setInterval(() => {
      if (!document.hidden) deeds.changed();
    }, ORDER_EVERY_MS);
    for (const accountId of ui.open) this.#readCosts(accountId);
  }

  watched() {
    return this.#ui.open;
  }

  refresh() {
    void this.#stress.look();
  }

  close() {
    clearInterval(this.#timer);
    this.#stress.close();
    for (const resource of this.#costs.values()) resource.close();
  }

  /** @param {string} accountId */
  #readCosts(accountId) {
    this.#costs.set(accountId, costResource(accountId, this.#deeds.changed));
  }

  /** @param {string} accountId */
  #toggle = (accountId) => {
    const { open } = this.#ui;
    const isOpen = open.includes(accountId);
    const others = open.filter((id) => id !== accountId);
    this.#ui.open = isOpen ? others : [...others.slice(1 - MAX_OPEN), accountId];
    for (const [id, resource] of this.#costs) {
      if (this.#ui.open.includes(id)) continue;
      resource.close();
      this.#costs.delete(id);
    }
    if (!isOpen) this.#readCosts(accountId);
    this.#deeds.watch();
    this.#deeds.changed();
  };

  /** @param {Partial<ListChoice>} changed */
  #choose = (changed) => {
    this.#ui.choice = { ...this.#ui.choice, ...changed };
    this.#ui.shown = AT_FIRST;
    this.#deeds.changed();
  };

  #more = () => {
    this.#ui.shown += MORE;
    this.#deeds.changed();
  };

  /** Rows as they are now, in the order that was found last. @param {PageState} state @returns {readonly AccountRow[]} */
  #ordered({ rows, overview }) {
    const counts = overview?.headline.groups.map(({ kind, cause, count }) => [kind, cause, count]);
    const reasons = JSON.stringify([this.#ui.choice, rows.size, counts]);
    const atMs = performance.now();
    if (reasons !== this.#orderedFor || atMs - this.#orderedAtMs >= ORDER_EVERY_MS) {
      this.#order = listedRows([...rows.values()], this.#ui.choice).map(({ accountId }) => accountId);
      this.#orderedFor = reasons;
      this.#orderedAtMs = atMs;
    }
    return this.#order.flatMap((accountId) => rows.get(accountId) ?? []);
  }

  /** @param {PageState} state */
  template(state) {
    const { overview, rows, actions, isListKnown } = state;
    const found = isListKnown ? this.#ordered(state) : [];
    const { choice } = this.#ui;
    return html`<main id="content" class="columns" tabindex="-1">
      <h1 class="visually-hidden">Status of all accounts</h1>
      <section class="column-main" aria-label="Accounts">
        ${listFilter({ choice, rows, overview, choose: this.#choose })}
        <p class="muted found" role="status">${isListKnown ? foundWords(found.length, rows.size, choice) : 'Reading ...'}</p>
        ${
          choice.group === ''
            ? this.#list(found, state)
            : groupedRows(found, choice.group).map((group) => this.#group(group, found.length, state))
        }
      </section>
      <aside class="column-side" id="lately" aria-label="Actions and health">
        <section class="panel"><h2>Recent actions</h2>${guard([actions], () => actionList(actions))}</section>
        ${stressPart(this.#stress)}
        <section class="panel"><h2>Health</h2>${guard([overview], () => healthPart(overview))}</section>
      </aside>
    </main>`;
  }

  /**
   * @param {import('./row-order.js').RowGroup} group
   * @param {number} found in all groups
   * @param {PageState} state
   */
  #group({ title, rows }, found, state) {
    const isOpen = this.#ui.groups.get(title) ?? found <= AT_FIRST;
    const [worst] = rows.toSorted((a, b) => a.rank - b.rank);
    const level = worst === undefined ? 'ok' : levelOfAccount(worst);
    const toggled = (/** @type {Event} */ { target }) => {
      const { open } = /** @type {HTMLDetailsElement} */ (target);
      if (open === isOpen) return;
      this.#ui.groups = new Map(this.#ui.groups).set(title, open);
      this.#deeds.changed();
    };
    return html`<details class="group" data-level=${level} ?open=${isOpen} @toggle=${toggled}>
      <summary><span data-level=${level}>${icon(level)}</span> ${title}: ${counted(rows.length, 'account')}, ${groupWords(rows)}</summary>
      ${isOpen ? this.#list(rows, state) : nothing}</details>`;
  }

  /** @param {readonly AccountRow[]} all @param {PageState} state */
  #list(all, { accounts, overview }) {
    const { shown } = this.#ui;
    const rows = all.slice(0, shown);
    const left = all.length - shown;
    const more = html`<button type="button" class="button more" @click=${this.#more}
      >Show ${Math.min(left, MORE)} more of ${counted(all.length, 'account')}</button>`;
    const may = overview?.may ?? NOTHING;
    const isModeShown = overview?.mode === 'mixed';
    const stress = this.#stress.value;
    const line = (/** @type {AccountRow} */ row) => {
      const isOpen = this.#ui.open.includes(row.accountId);
      const account = isOpen ? accounts.get(row.accountId) : undefined;
      const costs = this.#costs.get(row.accountId)?.value;
      return guard([row, isOpen, account, costs, isModeShown, isOpen && may, isOpen && stress], () => {
        const card =
          account === undefined
            ? html`<p class="muted">Reading ...</p>`
            : accountCard(account, { may, stress, costs });
        return accountRow(row, { isOpen, card, isModeShown, onToggle: this.#toggle });
      });
    };
    return html`<ul class="accounts">${repeat(rows, ({ accountId }) => accountId, line)}</ul>${left > 0 ? more : nothing}`;
  }
}

const NOTHING = { control: false, operate: false, topUp: false };

/** @param {readonly AccountRow[]} rows */
function groupWords(rows) {
  const count = rows.filter(needsAttention).length;
  return count === 0 ? 'none needs attention' : `${count} ${count === 1 ? 'needs' : 'need'} attention`;
}

/** @param {number} found @param {number} all @param {ListChoice} choice */
function foundWords(found, all, { sort }) {
  if (all === 0) return 'No account is watched.';
  if (found === 0) return 'No account matches.';
  const order = {
    danger: 'worst first',
    distance: 'nearest to liquidation first',
    worth: 'most at risk first',
    name: 'by name',
  };
  return `${counted(found, 'account')}${found === all ? '' : ` of ${all}`}, ${order[sort]}`;
}

import { accountCard } from './account-card.js';
import { actionList } from './action-list.js';
import { h, keyedList, onChange, setText, show } from './dom.js';
import { counted } from './format.js';
import { healthPart } from './health.js';
import { ListReader, PER_PAGE } from './list-reader.js';
import { stressPart } from './stress.js';

/**
 * The list: accounts, most endangered first, a page at a time. The order is the server's, looked at again when
 * rules begin or cease to fire and every few seconds; in between, what is shown is brought up to date in place.
 */

/** @typedef {import('./contract.d.ts').PageState} PageState */
/** @typedef {import('./contract.d.ts').AccountPage} AccountPage */

const LOOK_EVERY_MS = 10_000;
const TYPING_MS = 150;

/**
 * @param {{ onPage: (page: AccountPage) => void, onTrouble: () => void }} deeds
 * @returns {import('./contract.d.ts').PageView}
 */
export function listView({ onPage, onTrouble }) {
  const heading = h('h2', { tabindex: -1 }, 'Accounts');
  const found = h('p', { class: 'muted', role: 'status' });
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true });
  const list = h('div', { class: 'accounts' });
  const actions = actionList();
  const health = healthPart();
  const stress = stressPart();
  const filter = filterPart(heading, found);
  const reader = new ListReader(
    filter.read,
    (got) => {
      page = got;
      show(trouble, false);
      onPage(got);
    },
    (words) => {
      setText(trouble, words);
      show(trouble, true);
      onTrouble();
    },
  );
  filter.onChanged(() => reader.go(0));
  const pager = pagerPart((offset) => {
    reader.go(offset);
    heading.scrollIntoView({ block: 'start' });
    heading.focus({ preventScroll: true });
  });
  const setAccounts = keyedList(list, ({ accountId }) => accountId, accountCard);
  /** @type {AccountPage | undefined} */
  let page;
  const timer = setInterval(() => {
    if (!document.hidden) void reader.read();
  }, LOOK_EVERY_MS);
  const onFiring = onChange(() => void reader.read());
  return {
    node: layout([filter.node, trouble, list, pager.node], actions.node, {
      stress: stress.node,
      health: health.node,
    }),
    title: 'Breakwater',
    watched: () => page?.accounts.map(({ accountId }) => accountId),
    update({ overview, accounts, actions: done }) {
      if (overview !== null) onFiring(JSON.stringify(overview.firing));
      actions.update(done);
      health.update(overview);
      if (page === undefined) return;
      const shown = page.accounts.map(({ accountId }) => accounts.get(accountId));
      setAccounts(shown.filter((view) => view !== undefined));
      setText(found, foundWords(page, overview?.accounts ?? page.total));
      pager.update(page);
    },
    refresh() {
      void reader.read();
      stress.refresh();
    },
    close() {
      clearInterval(timer);
      stress.close();
      filter.close();
      reader.close();
    },
  };
}

/** @param {readonly Node[]} accounts @param {Node} actions @param {{ stress: Node, health: Node }} state */
function layout(accounts, actions, { stress, health }) {
  return h(
    'main',
    { id: 'content', class: 'columns', tabindex: -1 },
    h('h1', { class: 'visually-hidden' }, 'Status of all accounts'),
    h('section', { class: 'column-main', 'aria-label': 'Accounts' }, ...accounts),
    h(
      'aside',
      { class: 'column-side', id: 'lately', 'aria-label': 'Actions and health' },
      h('section', { class: 'panel' }, h('h2', {}, 'Recent actions'), actions),
      stress,
      h('section', { class: 'panel' }, h('h2', {}, 'Health'), health),
    ),
  );
}

/** @param {HTMLElement} heading @param {HTMLElement} found */
function filterPart(heading, found) {
  const query = h('input', {
    type: 'search',
    placeholder: 'account, market, label',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: 100,
  });
  const firing = h('input', { type: 'checkbox' });
  const node = h(
    'div',
    { class: 'filter', role: 'search' },
    heading,
    h('label', { class: 'filter-text' }, h('span', {}, 'Filter'), query),
    h('label', { class: 'filter-check' }, firing, h('span', {}, 'Only firing')),
    found,
    h('a', { class: 'jump', href: '#lately' }, 'Recent actions and health'),
  );
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  return {
    node,
    read: () => ({ query: query.value.trim(), firing: firing.checked }),
    /** @param {() => void} changed */
    onChanged(changed) {
      query.addEventListener('input', () => {
        clearTimeout(typing);
        typing = setTimeout(changed, TYPING_MS);
      });
      firing.addEventListener('change', changed);
      changed();
    },
    close: () => clearTimeout(typing),
  };
}

/** @param {AccountPage} page @param {number} all */
function foundWords({ total, offset, accounts }, all) {
  if (total === 0) return all === 0 ? 'No account is watched.' : 'No account matches.';
  const which = total > accounts.length ? `${offset + 1} to ${offset + accounts.length} of ` : '';
  return `${which}${counted(total, 'account')}${total === all ? '' : ` of ${all}`}, most endangered first`;
}

/** @param {(offset: number) => void} go */
function pagerPart(go) {
  const previous = h('button', { type: 'button', class: 'button' }, 'Previous page');
  const next = h('button', { type: 'button', class: 'button' }, 'Next page');
  const words = h('span');
  const node = h(
    'nav',
    { class: 'pager', 'aria-label': 'Pages of accounts', hidden: true },
    previous,
    words,
    next,
  );
  let offset = 0;
  previous.addEventListener('click', () => go(Math.max(0, offset - PER_PAGE)));
  next.addEventListener('click', () => go(offset + PER_PAGE));
  return {
    node,
    /** @param {AccountPage} page */
    update(page) {
      offset = page.offset;
      const pages = Math.max(1, Math.ceil(page.total / PER_PAGE));
      const current = Math.floor(page.offset / PER_PAGE) + 1;
      show(node, pages > 1);
      setText(words, `Page ${current} of ${pages}`);
      previous.disabled = current <= 1;
      next.disabled = current >= pages;
    },
  };
}

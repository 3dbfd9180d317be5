import { accountView } from './account-view.js';
import { ApiError, get, segment, wordsOf } from './api.js';
import { field, openForm } from './dialog.js';
import { h } from './dom.js';
import { header } from './header.js';
import { listView } from './list-view.js';
import { Live } from './live.js';
import { EMPTY, onlyAccounts, withActions, withAsked, withEvent } from './page-state.js';
import { routeOf } from './route.js';
import { keep, kept, setKnownAs } from './session.js';
import { Store } from './store.js';
import { subjectView } from './subject-view.js';
import { setServerTime, startTicking } from './time.js';

/** Puts the parts together: addresses, state, stream, and the view that is shown. */

/** @typedef {import('./contract.d.ts').PageView} View */

/** @type {View | undefined} */
let view;
let isAsking = false;
let routed = '';

const store = new Store((state) => {
  top.update(state);
  view?.update(state);
  document.title = titleOf(state);
});

const live = new Live({
  onEvent(event) {
    const at = /** @type {{ atMs?: number }} */ (event.data).atMs;
    if (event.name === 'hello' && at !== undefined) setServerTime(at);
    store.change((state) => withEvent(state, event));
  },
  onConnection(connection) {
    const before = store.state.connection.kind;
    store.change((state) => ({ ...state, connection }));
    if (connection.kind === 'live' && before === 'lost') readAnew();
    if (connection.kind === 'refused') askReadToken();
  },
});

const top = header({ retryNow: () => live.retryNow(), askReadToken });

/** @param {import('./contract.d.ts').PageState} state */
function titleOf({ overview, connection }) {
  const name = view?.title ?? 'Breakwater';
  if (connection.kind === 'lost') return `STALE - ${name}`;
  const critical = overview?.firing.critical ?? 0;
  return critical > 0 ? `(${critical}!) ${name}` : name;
}

/** What the stream does not bring by itself. */
function readAnew() {
  void readOverview();
  void readActions();
  view?.refresh();
}

async function readOverview() {
  await reading(async () => {
    /** @type {{ name: string | null }} */
    const { name } = await get('/me');
    setKnownAs(name);
    /** @type {import('./contract.d.ts').PageOverview} */
    const overview = await get('/overview');
    setServerTime(overview.atMs);
    store.change((state) => ({ ...state, overview }));
  });
}

async function readActions() {
  await reading(async () => {
    /** @type {{ actions: readonly import('./contract.d.ts').PageAction[] }} */
    const { actions } = await get('/actions', { limit: 50 });
    store.change((state) => withActions(state, [...state.actions, ...actions]));
  });
}

/** A refused reading asks for the token; a lost connection says so itself. @param {() => Promise<void>} read */
async function reading(read) {
  try {
    await read();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) askReadToken();
    else if (!(error instanceof ApiError)) throw error;
  }
}

function askReadToken() {
  if (isAsking) return;
  isAsking = true;
  const token = h('input', { type: 'password', name: 'token', required: true, autocomplete: 'off' });
  const wasWrong = kept('read') !== undefined;
  openForm({
    title: 'Read token',
    text: wasWrong ? 'The read token is not right.' : 'This daemon shows nothing without its read token.',
    fields: [field('Read token', token, 'Kept until this tab is closed')],
    action: 'Show the page',
    async send() {
      keep('read', token.value);
      try {
        await get('/overview');
      } catch (error) {
        if (error instanceof ApiError && error.status === 401)
          throw new Error('That is not the read token.', { cause: error });
        throw new Error(`That could not be tried: ${wordsOf(error)}.`, { cause: error });
      }
      readAnew();
      live.retryNow();
    },
    onClosed() {
      isAsking = false;
    },
  });
}

/** Shows what the address says. */
function route() {
  view?.close();
  routed = location.pathname;
  view = viewOf(routed);
  const shown = /** @type {HTMLElement} */ (document.querySelector('main'));
  shown.replaceWith(view.node);
  const watched = view.watched();
  if (watched !== undefined) {
    store.change((state) => onlyAccounts(state, watched));
    live.watch(watched);
  }
  store.tell();
}

/** @param {string} path @returns {View} */
function viewOf(path) {
  const to = routeOf(path);
  if (to.kind === 'list') {
    return listView({
      onPage(page) {
        const ids = page.accounts.map(({ accountId }) => accountId);
        store.change((state) => withAsked(onlyAccounts(state, ids), page.accounts));
        live.watch(ids);
        store.tell();
      },
      // Without a list there is still the state of everything, and whether it is live.
      onTrouble: () => live.retryNow(),
    });
  }
  if (to.kind === 'nowhere') return nowhere('There is no such page here.');
  void readAccount(to.accountId);
  if (to.kind === 'account') return accountView(to.accountId);
  return subjectView(to.accountId, to.subject, to.kind);
}

/** The stream brings it too, but does not say when there is none. @param {string} accountId */
async function readAccount(accountId) {
  await reading(async () => {
    try {
      /** @type {import('../../core/view/account-view.ts').AccountView} */
      const account = await get(`/accounts/${segment(accountId)}`);
      if (view?.watched()?.includes(accountId) === true) store.change((state) => withAsked(state, [account]));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      const shown = /** @type {HTMLElement} */ (document.querySelector('main'));
      view?.close();
      view = nowhere(`There is no account ${accountId}.`);
      shown.replaceWith(view.node);
    }
  });
}

/** @param {string} words @returns {View} */
function nowhere(words) {
  const node = h(
    'main',
    { id: 'content', tabindex: -1 },
    h('h1', {}, words),
    h('p', {}, h('a', { href: '/' }, 'All accounts')),
  );
  return { node, title: 'Breakwater', watched: () => [], update() {}, refresh() {}, close() {} };
}

/** Links of the page's own stay in it, unless asked for another tab. @param {MouseEvent} event */
function follow(event) {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.origin !== location.origin || event.defaultPrevented)
    return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.hash !== '' || routeOf(link.pathname).kind === 'nowhere') return;
  event.preventDefault();
  history.pushState(null, '', link.pathname);
  route();
  scrollTo(0, 0);
  view?.node.focus({ preventScroll: true });
}

document.querySelector('#header')?.replaceWith(top.node);
document.addEventListener('click', follow);
addEventListener('popstate', () => {
  // Going to a place within the page changes no view.
  if (location.pathname !== routed) route();
});
startTicking();
store.change(() => ({ ...EMPTY, connection: { kind: 'connecting', sinceMs: Date.now() } }));
void readOverview();
void readActions();
route();

import { accountView } from './account-view.js';
import { ApiError, get, wordsOf } from './api.js';
import { nowMs, setServerTime } from './clock.js';
import { openForm } from './dialog.js';
import { textField, textOf } from './form-fields.js';
import { header, showFavicon } from './header.js';
import { ListState, ListView } from './list-view.js';
import { html, render } from './lit-html/lit-html.js';
import { Live } from './live.js';
import { onlyAccounts, withActions, withAllRows, withAsked, withEvent } from './page-state.js';
import { routeOf } from './route.js';
import { keep, kept, onKeptChange, setKnownAs } from './session.js';
import { Store } from './store.js';
import { subjectView } from './subject-view.js';
import { applyTheme } from './theme.js';
import { startTicking } from './time.js';

/** Puts the parts together: addresses, state, stream, and the view that is shown. */

/** @import { PageView as View } from './contract.d.ts' */

const KEPT = 'Kept until this tab is closed';

/** Before this nobody waits for the stream to bring the list. */
const LIST_AFTER_MS = 1_500;

const root = /** @type {HTMLElement} */ (document.querySelector('#page'));
const listState = new ListState();
let isAsking = false;
let routed = '';
let focusContent = false;

const store = new Store((state) => {
  const focused = document.activeElement;
  render(html`${header(state, deeds)}${view.template(state)}`, root);
  keepFocus(focused);
  showFavicon(state);
  document.title = titleOf(state);
  document.body.toggleAttribute('data-stale', ['lost', 'refused'].includes(state.connection.kind));
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
    if (connection.kind === 'lost') void readRows();
    if (connection.kind === 'refused') askReadToken();
  },
  rowsCursor: () => store.state.rowsCursor,
});

const deeds = { retryNow: () => live.retryNow(), askReadToken, changed: () => store.tell() };

/** @type {View} */
let view = viewOf(location.pathname);

/** What moves within the page keeps the focus; where it went away, the page's content has it. @param {Element | null} focused */
function keepFocus(focused) {
  const isLost = focused !== null && focused !== document.body && document.activeElement !== focused;
  if (isLost && focused instanceof HTMLElement && focused.isConnected) focused.focus({ preventScroll: true });
  else if (isLost || focusContent) document.querySelector('main')?.focus({ preventScroll: true });
  focusContent = false;
}

/** @param {import('./contract.d.ts').PageState} state */
function titleOf({ overview, connection }) {
  if (connection.kind === 'lost') return `STALE - ${view.title}`;
  const critical = overview?.firing.critical ?? 0;
  return critical > 0 ? `(${critical}!) ${view.title}` : view.title;
}

/** What the stream does not bring by itself. */
function readAnew() {
  void readOverview();
  void readActions();
  view.refresh();
}

async function readOverview() {
  await reading(async () => {
    /** @type {{ name: string | null, scopes: readonly string[] }} */
    const { name, scopes } = await get('/me');
    setKnownAs(name, scopes);
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

/** While the stream is not there; its own rows are as new. */
async function readRows() {
  if (!view.wantsRows) return;
  await reading(async () => {
    /** @type {import('./contract.d.ts').RowsReply} */
    const { rows } = await get('/rows');
    store.change((state) => withAllRows(state, rows));
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
  const wasWrong = kept('read') !== undefined;
  openForm({
    title: 'Read token',
    text: wasWrong ? 'The read token is not right.' : 'This daemon shows nothing without its read token.',
    fields: () => textField({ name: 'token', label: 'Read token', type: 'password', hint: KEPT }),
    action: 'Show the page',
    async send(given) {
      keep('read', textOf(given, 'token'));
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
  view.close();
  view = viewOf(location.pathname);
  watch();
  store.tell();
}

/** Tells the stream what is shown. */
function watch() {
  const watched = view.watched();
  store.change((state) => onlyAccounts(state, watched));
  live.watch(watched, view.wantsRows);
}

/** @param {string} path @returns {View} */
function viewOf(path) {
  routed = path;
  const to = routeOf(path);
  const { changed } = deeds;
  if (to.kind === 'list') return new ListView(listState, { changed, watch });
  if (to.kind === 'nowhere') return nowhere('There is no such page here.');
  void readAccount(to.accountId);
  return to.kind === 'account' ? accountView(to.accountId, changed) : subjectView(to, changed);
}

/** The stream brings it too, but does not say when there is none. @param {string} accountId */
async function readAccount(accountId) {
  await reading(async () => {
    try {
      /** @type {import('../../core/view/account-view.ts').AccountView} */
      const account = await get(`/accounts/${encodeURIComponent(accountId)}`);
      if (view.watched().includes(accountId)) store.change((state) => withAsked(state, account));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      view.close();
      view = nowhere(`There is no account ${accountId}.`);
      store.tell();
    }
  });
}

/** @param {string} words @returns {View} */
function nowhere(words) {
  const template = () =>
    html`<main id="content" tabindex="-1"><h1>${words}</h1><p><a href="/">All accounts</a></p></main>`;
  return { title: 'Breakwater', wantsRows: false, watched: () => [], template, refresh() {}, close() {} };
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
  focusContent = true;
}

document.addEventListener('click', follow);
addEventListener('popstate', () => {
  // Going to a place within the page changes no view.
  if (location.pathname !== routed) route();
});
onKeptChange(() => store.tell());
applyTheme();
startTicking();
store.change((state) => ({ ...state, connection: { kind: 'connecting', sinceMs: nowMs() } }));
void readOverview();
void readActions();
watch();
setTimeout(() => {
  if (store.state.connection.kind !== 'live') void readRows();
}, LIST_AFTER_MS);

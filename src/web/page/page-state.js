/**
 * What the page knows: one immutable state, changed by what the API and the stream say. Parts that did not
 * change stay the very same objects, so that everything shown can tell by identity whether it has to look again.
 */

/** @import { PageState, PageOverview as Overview, PageAction as ActionLine, AccountRow } from './contract.d.ts' */
/** @import { AccountView } from '../../core/view/account-view.ts' */

const MAX_ACTIONS = 50;

/** @type {PageState} */
export const EMPTY = {
  overview: null,
  connection: { kind: 'connecting', sinceMs: 0 },
  rows: new Map(),
  isListKnown: false,
  rowsCursor: undefined,
  accounts: new Map(),
  actions: [],
  happened: new Map(),
};

/** @param {PageState} state @param {{ name: string, data: unknown }} event @returns {PageState} */
export function withEvent(state, { name, data }) {
  if (name === 'overview') {
    const { changed } = /** @type {{ changed: Partial<Overview> }} */ (data);
    return { ...state, overview: /** @type {Overview} */ ({ ...state.overview, ...changed }) };
  }
  if (name === 'account') {
    const { accountId, changed } = /** @type {{ accountId: string, changed: Partial<AccountView> }} */ (data);
    const known = state.accounts.get(accountId);
    // Only the first one is complete; a change of what is not shown any more is of no use.
    if (known === undefined && changed.accountId === undefined) return state;
    const account = /** @type {AccountView} */ ({ ...known, ...changed });
    return withHappened(withAccount(state, account), accountId);
  }
  if (name === 'rows') return withRows(state, /** @type {RowsEvent} */ (data));
  if (name === 'gone') {
    const { accountId } = /** @type {{ accountId: string }} */ (data);
    const accounts = new Map(state.accounts);
    accounts.delete(accountId);
    return { ...state, accounts };
  }
  if (name === 'action') {
    const action = /** @type {ActionLine} */ (data);
    return withHappened(withActions(state, [action, ...state.actions]), action.accountId);
  }
  return state;
}

/** @typedef {{ rows: readonly AccountRow[], ids?: readonly string[], cursor?: string }} RowsEvent */

/**
 * Rows that changed. With `ids` all others are gone; with a cursor all that are there have come.
 * @param {PageState} state
 * @param {RowsEvent} event
 * @returns {PageState}
 */
function withRows(state, { rows: changed, ids, cursor }) {
  const rows = new Map(state.rows);
  for (const row of changed) rows.set(row.accountId, row);
  if (ids !== undefined) {
    const kept = new Set(ids);
    for (const id of rows.keys()) if (!kept.has(id)) rows.delete(id);
  }
  return {
    ...state,
    rows,
    isListKnown: state.isListKnown || cursor !== undefined,
    rowsCursor: cursor ?? state.rowsCursor,
  };
}

/** All rows, read where the stream does not bring them. @param {PageState} state @param {readonly AccountRow[]} rows @returns {PageState} */
export function withAllRows(state, rows) {
  // What the stream has brought is newer.
  if (state.connection.kind === 'live' && state.isListKnown) return state;
  return { ...state, rows: new Map(rows.map((row) => [row.accountId, row])), isListKnown: true };
}

/**
 * An account that was asked for. What the stream keeps up to date is not replaced: the answer may be older than
 * the last change, and a change tells only what changed since the one before.
 * @param {PageState} state
 * @param {AccountView} view
 * @returns {PageState}
 */
export function withAsked(state, view) {
  const isKept = state.connection.kind === 'live' && state.accounts.has(view.accountId);
  return isKept ? state : withAccount(state, view);
}

/** @param {PageState} state @param {AccountView} view @returns {PageState} */
function withAccount(state, view) {
  return { ...state, accounts: new Map(state.accounts).set(view.accountId, view) };
}

/** Forgets accounts that nothing brings up to date any more. @param {PageState} state @param {readonly string[]} ids @returns {PageState} */
export function onlyAccounts(state, ids) {
  const keep = new Set(ids);
  if ([...state.accounts.keys()].every((id) => keep.has(id))) return state;
  return { ...state, accounts: new Map([...state.accounts].filter(([id]) => keep.has(id))) };
}

/** Newest first, each once. @param {PageState} state @param {readonly ActionLine[]} actions @returns {PageState} */
export function withActions(state, actions) {
  // The first of equal ids is the newest state of that request.
  const once = new Map(actions.toReversed().map((action) => [action.id, action]));
  const sorted = [...once.values()].sort((a, b) => b.atMs - a.atMs);
  return { ...state, actions: sorted.slice(0, MAX_ACTIONS) };
}

/** @param {PageState} state @param {string} accountId @returns {PageState} */
function withHappened(state, accountId) {
  const count = (state.happened.get(accountId) ?? 0) + 1;
  return { ...state, happened: new Map(state.happened).set(accountId, count) };
}

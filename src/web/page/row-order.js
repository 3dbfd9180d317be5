/** Which accounts are listed, in which order and groups. Pure. */

/** @import { AccountRow } from '../../core/lines/account-row.ts' */
/** @typedef {'danger' | 'distance' | 'worth' | 'name'} Sort */

/**
 * @typedef {object} ListChoice
 * @property {string} query text in the id, a label, a market, an asset, a rule that fires or the state
 * @property {boolean} isAttentionOnly
 * @property {string} cause `kind cause` of a state; empty: all
 * @property {Sort} sort
 * @property {string} group name of a label, `state` or empty
 */

/**
 * @typedef {object} RowGroup
 * @property {string} title
 * @property {readonly AccountRow[]} rows
 */

/** @type {Readonly<Record<Sort, string>>} */
export const SORTS = {
  danger: 'Worst first',
  distance: 'Nearest to liquidation',
  worth: 'Most at risk',
  name: 'Name',
};

/** What `ListChoice.cause` is compared with. @param {Pick<AccountRow['state'], 'kind' | 'cause'>} state */
export function causeOf({ kind, cause }) {
  return `${kind} ${cause}`;
}

/** @param {AccountRow} row */
export function needsAttention({ state }) {
  return state.severity === 'critical' || state.severity === 'warning';
}

/** @param {readonly AccountRow[]} rows @param {ListChoice} choice @returns {readonly AccountRow[]} */
export function listedRows(rows, { query, isAttentionOnly, cause, sort }) {
  const text = query.trim().toLowerCase();
  return rows
    .filter((row) => !isAttentionOnly || needsAttention(row))
    .filter((row) => cause === '' || causeOf(row.state) === cause)
    .filter((row) => text === '' || wordsOf(row).some((words) => words.toLowerCase().includes(text)))
    .sort((a, b) => ORDERS[sort](a, b) || NAMES.compare(a.accountId, b.accountId));
}

/** `desk-9` before `desk-10`. */
const NAMES = new Intl.Collator('en', { numeric: true });

/** @param {AccountRow} row */
function wordsOf({ accountId, labels, holds, firing, state }) {
  const own = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [accountId, ...own, ...holds, ...firing, state.words];
}

/** @type {Readonly<Record<Sort, (a: AccountRow, b: AccountRow) => number>>} */
const ORDERS = {
  danger: (a, b) => a.rank - b.rank || distanceOf(a) - distanceOf(b),
  distance: (a, b) => distanceOf(a) - distanceOf(b),
  worth: (a, b) => worthOf(b) - worthOf(a),
  name: () => 0,
};

const FAR = 1e9;

/** Unknown is never far. @param {AccountRow} row */
function distanceOf({ nearest }) {
  if (nearest === null) return 0;
  return nearest === 'none' ? FAR : nearest;
}

/** Unknown comes first. Money of different currencies is compared as if it were one. @param {AccountRow} row */
function worthOf({ atRisk }) {
  return Math.max(0, ...atRisk.map(({ worth }) => worth ?? FAR * FAR));
}

/** Groups in the order of their first rows. @param {readonly AccountRow[]} rows @param {string} group @returns {readonly RowGroup[]} */
export function groupedRows(rows, group) {
  const byTitle = Map.groupBy(rows, (row) =>
    group === 'state' ? row.state.kind : `${group}=${row.labels[group] ?? 'none'}`,
  );
  return [...byTitle].map(([title, members]) => ({ title, rows: members }));
}

/** Names of labels that accounts have. @param {readonly AccountRow[]} rows */
export function labelNames(rows) {
  return [...new Set(rows.flatMap(({ labels }) => Object.keys(labels)))].sort();
}

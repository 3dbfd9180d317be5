/** The page's own addresses. Pure. */

/**
 * @typedef {{ kind: 'list' } | { kind: 'account', accountId: string }
 *   | { kind: 'position', accountId: string, subject: string }
 *   | { kind: 'creditLine', accountId: string, subject: string } | { kind: 'nowhere' }} Route
 */

const POSITION = 'position:';

/** @param {string} path @returns {Route} */
export function routeOf(path) {
  const parts = path.split('/').slice(1);
  if (parts.at(-1) === '') parts.pop();
  const [first, accountId, third, last] = parts.map(decoded);
  if (parts.length === 0) return { kind: 'list' };
  if (first !== 'accounts' || accountId === undefined || accountId === '') return { kind: 'nowhere' };
  if (parts.length === 2) return { kind: 'account', accountId };
  if (parts.length !== 4 || last === undefined || last === '') return { kind: 'nowhere' };
  if (third === 'positions') return { kind: 'position', accountId, subject: `${POSITION}${last}` };
  return third === 'credit-lines' ? { kind: 'creditLine', accountId, subject: last } : { kind: 'nowhere' };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** @param {string} accountId */
export function accountPath(accountId) {
  return `/accounts/${encodeURIComponent(accountId)}`;
}

/** @param {string} accountId @param {string} subject */
export function subjectPath(accountId, subject) {
  const base = accountPath(accountId);
  if (subject.startsWith(POSITION)) {
    return `${base}/positions/${encodeURIComponent(subject.slice(POSITION.length))}`;
  }
  return subject === 'account' ? base : `${base}/credit-lines/${encodeURIComponent(subject)}`;
}

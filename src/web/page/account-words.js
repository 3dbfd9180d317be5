import { LEVELS, levelOfSubject } from './danger.js';
import { counted, listed, money, ofCurrency } from './format.js';

/** What is said of an account as a whole. Pure. */

/** @import { AccountView } from '../../core/view/account-view.ts' */
/** @typedef {import('./contract.d.ts').CostsReply['totals'][number]} CostTotal */

/** Its positions and credit lines, most endangered first. @param {AccountView} account */
export function subjectsOf(account) {
  return [...account.positions, ...account.creditLines]
    .map(({ subject }) => ({ subject, level: levelOfSubject(account, subject) }))
    .sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
}

/** What keeps an account from being judged, in words; empty: nothing. @param {AccountView} account */
export function blindWords(account) {
  const { refused, judgedAtMs, sources, doubts } = account;
  if (refused !== null) return [`Its stored state cannot be read (${refused.document}): ${refused.message}`];
  const words = [];
  if (judgedAtMs === null) words.push('Not polled yet.');
  const old = sources.filter(({ tooOld }) => tooOld).map(({ source }) => source);
  if (old.length > 0) words.push(`Data too old: ${listed(old)}. Rules that need it are frozen.`);
  const partial = sources.filter(({ setAside }) => setAside > 0);
  if (partial.length > 0) {
    words.push(
      `Records that cannot be read were set aside: ${listed(partial.map(({ source, setAside }) => `${setAside} of ${source}`))}.`,
    );
  }
  for (const { market, why } of doubts) if (why !== 'newStore') words.push(`${market}: ${doubtWords(why)}`);
  return words;
}

/** @type {Readonly<Record<string, string>>} */
const DOUBTS = {
  unknownOutcome: 'not known whether the last request took effect; orders are cleared before the next one.',
  processDied: 'a daemon died in the middle of a request; orders are cleared before the next one.',
  duplicateUnexpected:
    'the exchange knows an order that was not sent; orders are cleared before the next one.',
};

/** @param {string} why */
function doubtWords(why) {
  return DOUBTS[why] ?? `orders are not confirmed (${why}); they are cleared before the next one.`;
}

/** What a person may want to know and need not act on. @param {AccountView} account */
export function startedWords({ doubts }) {
  const markets = doubts.filter(({ why }) => why === 'newStore').map(({ market }) => market);
  if (markets.length === 0) return '';
  return `Just started: orders in ${listed(markets)} are not confirmed yet; they are cleared before the first action there.`;
}

/** `USDT: 2 orders cost 50.00 by slippage and 29.95 in fees.` @param {CostTotal} total */
export function costWords({ money: currency, orders, slippage, fees }) {
  const said = (/** @type {CostTotal['fees']} */ { known, unknown }) =>
    unknown === orders ? 'an unknown amount' : money(known);
  const partly = [slippage, fees]
    .map(({ unknown }) => unknown)
    .filter((count) => count > 0 && count < orders);
  const aside = partly.length === 0 ? '' : ` Not all is known of ${counted(Math.max(...partly), 'order')}.`;
  return `${ofCurrency(currency, (name) => `${name}: `)}${counted(orders, 'order')} cost ${said(slippage)} by slippage and ${said(fees)} in fees.${aside}`;
}

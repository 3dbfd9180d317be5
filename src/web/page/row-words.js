import { counted, ofCurrency, percent } from './format.js';

/** What the one line of an account says. Pure. */

/** @import { AccountRow } from '../../core/lines/account-row.ts' */
/** @import { Scale } from './scale.js' */

/** The same for every account, so that bars can be compared. */
const FAR_AWAY = 0.25;

/** Empty is 25 % away or more, full is liquidation. @param {Pick<AccountRow, 'nearest' | 'worst'>} row @returns {Pick<Scale, 'fill' | 'zone'>} */
export function rowScale({ nearest, worst }) {
  if (nearest === null) return { fill: null, zone: 'unknown' };
  const fill = nearest === 'none' ? 0 : 1 - Math.min(1, Math.max(0, nearest / FAR_AWAY));
  return { fill, zone: worst ?? 'calm' };
}

/** @param {Pick<AccountRow, 'nearest'>} row */
export function nearestWords({ nearest }) {
  if (nearest === null) return 'unknown';
  return nearest === 'none' ? 'no position' : percent(nearest);
}

const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** `32.1K USDT`; of several currencies each. @param {Pick<AccountRow, 'atRisk'>} row */
export function atRiskWords({ atRisk }) {
  return atRisk
    .map(
      ({ money, worth }) =>
        `${worth === null ? '?' : SHORT.format(worth)}${ofCurrency(money, (name) => `\u00a0${name}`)}`,
    )
    .join(' + ');
}

/** Beside what the state says. @param {Pick<AccountRow, 'doing' | 'silences' | 'state'>} row */
export function doingWords({ doing, silences, state }) {
  // What people are asked about has not begun, and the state names it.
  const isBegun = doing.reductions > 0 && state.kind !== 'asking';
  const parts = [
    ...(doing.orders > 0 ? [`${counted(doing.orders, 'order')} out`] : []),
    ...(isBegun && doing.orders === 0 ? [counted(doing.reductions, 'open reduction')] : []),
    ...(doing.byHand > 0 ? [`${counted(doing.byHand, 'order')} by hand not begun`] : []),
    ...(doing.stops > 0 ? [counted(doing.stops, 'standing stop')] : []),
    ...(silences > 0 ? [counted(silences, 'silence')] : []),
  ];
  return parts.join(', ');
}

import type { AccountView, Figure, WorthLine } from '../view/account-view.ts';
import { rankOf } from '../view/state-line.ts';

/**
 * One account as a row in the list of all: enough to sort, group and find it, and to see whether it needs a person.
 * Figures are rounded, so that a row changes only when the change is visible.
 */
export interface AccountRow extends Pick<AccountView, 'accountId' | 'state' | 'labels' | 'mode' | 'worst'> {
  /** How far prices may move before the first liquidation or margin call, a fraction. */
  readonly nearest: Figure;
  readonly atRisk: readonly WorthLine[];
  /** Distinct markets of positions and assets of credit lines, sorted. */
  readonly holds: readonly string[];
  /** Distinct ids of the firing rules, sorted. */
  readonly firing: readonly string[];
  readonly doing: Doing;
  readonly silences: number;
  /** Sort key: smaller is more urgent. */
  readonly rank: number;
}

/** Current work, as counts. */
export interface Doing {
  /** Reductions in progress. */
  readonly reductions: number;
  /** Orders of reductions, at the exchange or being sent. */
  readonly orders: number;
  /** Standing stops. */
  readonly stops: number;
  /** Operator orders that have not started. */
  readonly byHand: number;
}

const DISTANCE_DIGITS = 4;
const WORTH_DIGITS = 3;

export function accountRow(view: AccountView): AccountRow {
  const { accountId, state, labels, mode, worst, nearest, atRisk, positions, creditLines, rules } = view;
  const { intents, orders, inbox, silences } = view;
  const out = orders.filter(({ status }) => status !== 'presumedFilled' && status !== 'observed');
  const fired = rules.filter(({ phase }) => phase === 'firing').map(({ ruleId }) => ruleId);
  return {
    accountId,
    state,
    labels,
    mode,
    worst,
    nearest: typeof nearest === 'number' ? Number(nearest.toFixed(DISTANCE_DIGITS)) : nearest,
    atRisk: atRisk.map(({ money, worth }) => ({
      money,
      worth: worth === null ? null : Number(worth.toPrecision(WORTH_DIGITS)),
    })),
    holds: [
      ...new Set([...positions.map(({ market }) => market), ...creditLines.map(({ asset }) => asset)]),
    ].toSorted(),
    firing: [...new Set(fired)].toSorted(),
    doing: {
      reductions: intents.filter(({ ended }) => !ended).length,
      orders: out.filter(({ role }) => role === 'reduce').length,
      stops: out.filter(({ role }) => role === 'cover').length,
      byHand: inbox.filter(({ kind }) => kind === 'reduce').length,
    },
    silences: silences.length,
    rank: rankOf(state),
  };
}

import { amount, amountUp, baseOf, forecast, longDuration, money, percent, probability } from './format.js';

/** What is said of a position and of a credit line. Pure. */

/** @import { PositionLine, CreditLineLine } from '../../core/view/account-view.ts' */

/**
 * @typedef {object} FigureLine
 * @property {string} label
 * @property {string} text
 * @property {string} [title] said on hover
 * @property {'bad'} [tone] colours the text
 * @property {boolean} [minor] left out where there is little room and nothing to fear
 */

/** @type {Readonly<Record<string, string>>} */
const STATES = {
  margin_call: 'Margin call',
  liquidation: 'Being liquidated',
  unrecognised: 'State not recognised, treated as margin call',
};

/** @type {Readonly<Record<string, string>>} */
const COVERS = {
  ok: 'in place',
  missing: 'missing',
  beyondLiquidation: 'beyond liquidation',
  unconfirmed: 'not confirmed',
};

/** What the exchange itself says of a position that is not as it should be. @param {PositionLine} position */
export function stateWords({ liquidationState, disagreement }) {
  if (liquidationState === null) return 'State not known';
  if (liquidationState !== 'none') return STATES[liquidationState] ?? liquidationState;
  return disagreement === true ? 'The exchange contradicts itself' : '';
}

/** @param {PositionLine} position */
export function positionTitle({ market, direction, sizeBase }) {
  return `${market} ${direction ?? 'direction unknown'} ${amount(sizeBase)}\u00a0${baseOf(market)}`;
}

/** @param {PositionLine} position */
function coverWords({ stopCover, stopCoverShare, stopPrices = [], markPrice, unprotectedMs }) {
  const [nearest] = stopPrices;
  if (nearest !== undefined && stopCoverShare !== undefined) {
    const where = stopPrices.map((price) => amount(price)).join(', ');
    const away =
      markPrice === null ? '' : `, ${percent(Math.abs(1 - Number(nearest) / Number(markPrice)))} away`;
    return `${percent(stopCoverShare)} at ${where}${away}`;
  }
  if (stopCover === null) return 'unknown';
  const open = unprotectedMs !== null && unprotectedMs > 0 ? `, for ${longDuration(unprotectedMs)}` : '';
  return `${COVERS[stopCover] ?? stopCover}${open}`;
}

/** @param {PositionLine} position @returns {readonly FigureLine[]} */
export function positionFigures(position) {
  const { markPrice, liquidationPrice, notional, unrealizedPnl, marginUsage } = position;
  const pnl = typeof unrealizedPnl === 'number' && unrealizedPnl !== 0 ? unrealizedPnl : 0;
  return [
    { label: 'Mark', text: amount(markPrice) },
    { label: 'Liquidation', text: amount(liquidationPrice) },
    { label: 'Notional', text: money(notional), minor: true },
    {
      label: 'Profit',
      text: `${pnl > 0 ? '+' : ''}${money(unrealizedPnl)}`,
      title: 'Unrealised profit or loss',
    },
    { label: 'Margin used', text: percent(marginUsage), minor: true },
    {
      label: 'Risk in 1 h',
      text: probability(position.liquidationProbability1h),
      title: 'Chance of liquidation within an hour, from volatility and drift',
    },
    {
      label: 'Time left',
      text: forecast(position.minutesToLiquidation, 'not approaching'),
      title: 'To liquidation, if the price goes on as it does',
      minor: true,
    },
    {
      label: 'Stop',
      text: coverWords(position),
      title: 'Whether a stop on the near side of liquidation covers the position',
      ...(position.stopCover === 'ok' ? {} : { tone: 'bad' }),
    },
  ];
}

/** @param {CreditLineLine} line */
export function creditTitle({ asset, amount: lent }) {
  return `Credit line ${amount(lent)}\u00a0${asset}`;
}

/** @param {CreditLineLine} line */
export function creditFigureWords({ currentLtv }) {
  if (currentLtv === null) return 'LTV unknown';
  return currentLtv === 'none' ? 'no LTV' : `LTV ${percent(currentLtv)}`;
}

/** @param {CreditLineLine} line @returns {readonly FigureLine[]} */
export function creditFigures(line) {
  const { debt, asset, collateralMayFall, marginCallLtv, liquidationLtv, minutesToMarginCall } = line;
  return [
    { label: 'Debt', text: debt === null ? 'unknown' : `${amountUp(debt)} ${asset}` },
    {
      label: 'Collateral may fall',
      text: percent(collateralMayFall),
      title: 'Until the margin call',
      ...(typeof collateralMayFall === 'number' && collateralMayFall <= 0 ? { tone: 'bad' } : {}),
    },
    { label: 'Margin call at', text: percent(marginCallLtv) },
    { label: 'Liquidation at', text: percent(liquidationLtv), minor: true },
    {
      label: 'Time left',
      text: forecast(minutesToMarginCall, 'not approaching'),
      title: 'To the margin call',
    },
  ];
}

/** @param {CreditLineLine} line */
export function cureWords(line) {
  return line.cures
    .filter(({ repay }) => Number(repay) > 0)
    .map(
      ({ targetLtv, repay, addCollateralWorth }) =>
        `To ${percent(targetLtv)}: repay ${amountUp(repay)}\u00a0${line.asset}, or add collateral worth ${amountUp(addCollateralWorth)}\u00a0${line.asset}`,
    );
}

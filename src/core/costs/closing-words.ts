import type { LaneState } from '../lanes/lane-state.ts';
import { type ActionCost, costFigures } from './action-cost.ts';
import type { PricedAction } from './cost-report.ts';
import { moneyText } from './cost-words.ts';

/** One of our orders that closed something. */
export type Closing = Omit<PricedAction, 'atMs'>;

/** Closings of the last hour, oldest first. */
export function closingsOf(lanes: Iterable<LaneState>): readonly Closing[] {
  const closings = [...lanes].flatMap(({ market, costs = [] }) =>
    costs.map(({ positionId, ruleId, cost }) => ({ market, positionId, ruleId, cost })),
  );
  return closings.sort((a, b) => a.cost.filledMs - b.cost.filledMs);
}

const MOST_NAMED = 3;

/** `sold 0.396 BTC_PERP at 54695, 398 USDT worse than at the mark 55700 of the decision; ...`. */
export function closingsWords(closings: readonly Closing[]): string {
  const named = closings.slice(-MOST_NAMED).map(closingWords);
  const more = closings.length - named.length;
  return [...(more === 0 ? [] : [`${more} earlier orders closed something`]), ...named].join('; ');
}

export function closingWords({ market, cost }: Closing): string {
  const verb = cost.direction === 'long' ? 'sold' : 'bought';
  const by = cost.role === 'cover' ? `our stop at ${cost.decidedPrice} ` : '';
  return `${by}${verb} ${cost.amountBase} ${market} ${priceWords(cost)}`;
}

function priceWords(cost: ActionCost): string {
  const { fill, role, decidedPrice, limitPrice, money } = cost;
  if (fill === null) return `(price not told by the exchange; its limit was ${limitPrice})`;
  const { slippage } = costFigures(cost);
  if (slippage === null || decidedPrice === null) return `at ${fill.price}`;
  const how = slippage < 0 ? 'better' : 'worse';
  const than = role === 'cover' ? 'that price' : `the mark ${decidedPrice} of the decision`;
  return `at ${fill.price}, ${moneyText(Math.abs(slippage), money)} ${how} than at ${than}`;
}

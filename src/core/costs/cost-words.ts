import { moneyUnit } from '../quantities/units.ts';
import { type ActionCost, type ActionFigures, costFigures } from './action-cost.ts';

/** `closed 0.4 at 60012.5 (decided at 60050), slippage 15 USDT, fee 13.2 USDT (configured rate)`. */
export function costWords(cost: ActionCost): string {
  const { amountBase, fill, money, fee, decidedPrice } = cost;
  const figures = costFigures(cost);
  const at = fill === null ? 'at a price that no reply tells' : `at ${fill.price}`;
  const decided = decidedPrice === null ? '' : ` (decided at ${decidedPrice})`;
  const feeWords =
    figures.fee === null
      ? 'fee not known'
      : `fee ${moneyText(figures.fee, money)} (${fee?.from === 'config' ? 'configured rate' : 'charged'})`;
  const parts = [`closed ${amountBase} ${at}${decided}`, slippageWords(figures, money), feeWords];
  if (cost.nextHour !== undefined) parts.push(keptWords(figures, money));
  if (cost.nextHour?.passedLiquidation === true)
    parts.push('the price passed what was the liquidation price');
  return parts.join(', ');
}

function slippageWords({ slippage, slippageAtMost }: ActionFigures, money: string): string {
  if (slippage !== null) return `slippage ${moneyText(slippage, money)}`;
  if (slippageAtMost === null) return 'slippage not known';
  return `slippage not known, at most ${moneyText(slippageAtMost, money)}`;
}

function keptWords({ kept }: ActionFigures, money: string): string {
  if (kept === null) return 'price an hour later not known';
  const amount = moneyText(Math.abs(kept), money);
  return kept < 0 ? `an hour later it had given up ${amount}` : `an hour later it had kept ${amount}`;
}

const DIGITS = 4;

/** Writes an amount with its unit, where the currency is known. */
export function moneyText(value: number, money: string): string {
  return `${Number(value.toPrecision(DIGITS))}${moneyUnit(money)}`;
}

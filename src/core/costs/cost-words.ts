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
  return `closed ${amountBase} ${at}${decided}, ${slippageWords(figures, money)}, ${feeWords}`;
}

function slippageWords({ slippage, slippageAtMost }: ActionFigures, money: string): string {
  if (slippage !== null) return `slippage ${moneyText(slippage, money)}`;
  if (slippageAtMost === null) return 'slippage not known';
  return `slippage not known, at most ${moneyText(slippageAtMost, money)}`;
}

const DIGITS = 4;

/** Writes an amount with its unit, where the currency is known. */
export function moneyText(value: number, money: string): string {
  return `${Number(value.toPrecision(DIGITS))}${moneyUnit(money)}`;
}

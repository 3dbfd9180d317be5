import type { Demo } from './open-demo.ts';
import type { DemoEvent } from './view.ts';

type LedgerEntry = ReturnType<Demo['ledger']>[number];
type Remark = Pick<DemoEvent, 'tone' | 'text'>;

/** What a person would want to hear of an entry in the exchange's ledger; most are not worth a word. */
export function remarkOn(entry: LedgerEntry): Remark | undefined {
  const { accountId, kind, side = '', amount = '', price = '' } = entry;
  if (accountId === null) return undefined;
  switch (kind) {
    case 'order_placed':
      return {
        tone: 'info',
        text: `${accountId}: reduce-only stop to ${side} ${amount} at ${price} or better`,
      };
    case 'fill':
      return { tone: 'good', text: `${accountId}: ${side} ${amount} at ${price}` };
    case 'margin_call':
      return { tone: 'warning', text: `${accountId}: margin call` };
    case 'liquidation':
      return { tone: 'danger', text: `${accountId}: LIQUIDATED ${amount} at ${price}` };
    case 'loan_margin_call':
      return { tone: 'warning', text: `${accountId}: margin call of its credit line` };
    case 'loan_liquidation':
      return { tone: 'danger', text: `${accountId}: collateral of its credit line sold` };
    default:
      return undefined;
  }
}

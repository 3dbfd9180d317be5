import { withoutUndefined } from '../../config/rules/filter.ts';
import type { LedgerEntry } from '../../simulator/model/ledger-entry.ts';
import { type ReplayEvent, type Track, valueAt } from '../record.ts';

/** Facts that the ledger itself lacks. */
export interface LedgerContext {
  readonly prices: Readonly<Record<string, Track>>;
  /** Why an order was sent, by its client order id. */
  readonly reasonOf: (clientOrderId: string) => string | undefined;
  /** Where events of the account as a whole are drawn. */
  readonly mainMarket: string | undefined;
}

/** Converts an account's ledger entries to events, in the same order. */
export function ledgerEvents(
  entries: readonly LedgerEntry[],
  context: LedgerContext,
): readonly ReplayEvent[] {
  const activations = new Map<number, number>();
  return entries.flatMap((entry) => {
    const activation = entry.details?.['activationPrice'];
    if (entry.kind === 'order_placed' && entry.orderId !== undefined && typeof activation === 'string') {
      activations.set(entry.orderId, Number(activation));
    }
    const event = eventOf(entry, context, activations);
    return event === undefined ? [] : [event];
  });
}

function eventOf(
  entry: LedgerEntry,
  context: LedgerContext,
  activations: ReadonlyMap<number, number>,
): ReplayEvent | undefined {
  const { atMs, market, side, amount = '', price = '', fee = '', clientOrderId = '', orderId = 0 } = entry;
  const place = withoutUndefined<Pick<ReplayEvent, 'atMs' | 'market' | 'side'>>({ atMs, market, side });
  const activation = activations.get(orderId);
  const why = withoutUndefined({ reason: context.reasonOf(clientOrderId) });
  switch (entry.kind) {
    case 'order_placed':
      return {
        ...place,
        kind: 'order',
        amount,
        price: activation ?? Number(price),
        words: `Order placed: ${side} ${amount} ${market}, activates at ${activation ?? price}, limit ${price}.`,
        ...why,
      };
    case 'stop_triggered':
      return {
        ...place,
        kind: 'trigger',
        price: Number(price),
        words: `The stop at ${activation ?? ''} was triggered at ${price}.`,
      };
    case 'fill': {
      const left = entry.details?.['sizeAfter'];
      const verb = side === 'buy' ? 'Bought' : 'Sold';
      const rest = typeof left === 'string' ? `; ${left} left` : '';
      return {
        ...place,
        kind: 'fill',
        amount,
        price: Number(price),
        words: `${verb} ${amount} ${market} at ${price}, fee ${fee}${rest}.`,
      };
    }
    case 'order_cancelled':
      return {
        ...place,
        kind: 'cancel',
        ...withoutUndefined({ price: activation }),
        words: `Order of ${amount} cancelled.`,
        ...withoutUndefined({ reason: entry.reason }),
      };
    case 'order_rejected':
      return {
        ...place,
        kind: 'refusal',
        words: `Order refused: ${entry.reason ?? 'no reason given'}.`,
        ...why,
      };
    default:
      return harm(entry, context);
  }
}

function harm(entry: LedgerEntry, { prices, mainMarket }: LedgerContext): ReplayEvent | undefined {
  const { atMs, amount = '', side } = entry;
  const market = entry.market ?? mainMarket;
  const written = Number(entry.price);
  const price = written > 0 ? written : (valueAt(prices[market ?? ''] ?? [], atMs) ?? undefined);
  type Place = Pick<ReplayEvent, 'atMs' | 'market' | 'side' | 'price'>;
  const place = withoutUndefined<Place>({ atMs, market, side, price });
  switch (entry.kind) {
    case 'margin_call':
      return { ...place, kind: 'margin-call', words: 'Margin call.' };
    case 'loan_margin_call':
      return { ...place, kind: 'margin-call', words: 'Margin call of the loan.' };
    case 'liquidation':
      return {
        ...place,
        kind: 'liquidation',
        amount,
        words: `Liquidated: ${amount} ${market} at ${entry.price ?? ''}.`,
      };
    case 'loan_liquidation':
      return { ...place, kind: 'liquidation', words: 'The collateral of the loan was sold.' };
    default:
      return undefined;
  }
}

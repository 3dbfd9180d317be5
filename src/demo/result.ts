import {
  type Decimal,
  type DecimalString,
  formatDecimal,
  toDecimal,
  toNumber,
  ZERO,
} from '../core/quantities/decimal.ts';
import type { LedgerKind } from '../simulator/model/ledger-entry.ts';
import type { RunningSimulator } from '../simulator/start-simulated-exchange.ts';

/** One of the two accounts as the exchange has it. Money in USDT, amounts in BTC. */
export type DemoSide = ReturnType<typeof sideOf>;

type Model = RunningSimulator['model'];

/** Reads an account from the exchange and its ledger, never from the daemon. */
export function sideOf(model: Model, id: string, equityBefore: Decimal) {
  const entries = (kind: LedgerKind) => model.ledger({ accountId: id, kinds: [kind] });
  const amountOf = (kind: LedgerKind): DecimalString =>
    formatDecimal(
      entries(kind).reduce(
        (sum, { amount }) => sum.plus(amount === undefined ? ZERO : toDecimal(amount)),
        ZERO,
      ),
    );
  const [position] = model.openPositions(id);
  const { equity, liquidationState } = model.account(id);
  const state: 'ok' | NonNullable<typeof liquidationState> = liquidationState ?? 'ok';
  const openOrders: readonly string[] = model
    .openOrders(id)
    .map(({ side, left, price }) => `${side} ${formatDecimal(left)} at ${formatDecimal(price)}`);
  return {
    id,
    amountBefore: amountOf('position_seeded'),
    amount: formatDecimal(position?.amount ?? ZERO),
    /** To liquidation, as a fraction of the mark price. `null`: no position is open, or it has no such price. */
    distance: distanceOf(position),
    state,
    /** The exchange took some or all of the position. */
    wasLiquidated: entries('liquidation').length > 0,
    takenByExchange: amountOf('liquidation'),
    // Only reduce-only orders are sent, so every fill closes.
    closedByOrders: amountOf('fill'),
    ordersPlaced: entries('order_placed').length,
    /** Orders and cancels that the exchange received. */
    requests: entries('request').length,
    openOrders,
    equityBefore: formatDecimal(equityBefore),
    equity: formatDecimal(equity),
    change: formatDecimal(equity.minus(equityBefore)),
  };
}

/** For a long position. */
function distanceOf(position: ReturnType<Model['openPositions']>[number] | undefined): number | null {
  if (position === undefined || position.liquidationPrice === null) return null;
  const { liquidationPrice, markPrice } = position;
  return 1 - toNumber(liquidationPrice) / toNumber(markPrice);
}

export interface DemoSides {
  readonly protectedSide: DemoSide;
  readonly twin: DemoSide;
}

/** Reasons why the demo failed. Empty: the daemon protected the account, and the crash made that necessary. */
export function failuresOf({ protectedSide, twin }: DemoSides): readonly string[] {
  const found: readonly (readonly [isSo: boolean, text: string])[] = [
    [protectedSide.wasLiquidated, 'the protected account was liquidated'],
    [!twin.wasLiquidated, 'its twin was not liquidated: this run shows nothing'],
    [
      !toDecimal(keptMore({ protectedSide, twin })).gt(ZERO),
      'the protected account kept no more money than its twin',
    ],
    [twin.requests > 0, 'the daemon acted on the twin, which it only observes'],
  ];
  return found.filter(([isSo]) => isSo).map(([, text]) => text);
}

/** How much more the protected account kept than its twin; below zero it kept less. */
export function keptMore({ protectedSide, twin }: DemoSides): DecimalString {
  return formatDecimal(toDecimal(protectedSide.change).minus(toDecimal(twin.change)));
}

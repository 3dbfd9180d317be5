import { type AuditEvent, recorder } from '../audit/audit-event.ts';
import type { LaneState } from '../lanes/lane-state.ts';
import type { SpotOrderRecord } from '../ports/exchange.ts';
import {
  type Decimal,
  type DecimalString,
  divide,
  formatDecimal,
  toDecimal,
  writtenDecimalPlaces,
  ZERO,
} from '../quantities/decimal.ts';
import { MS_PER_HOUR } from '../quantities/units.ts';
import type { ActionCost, PendingCost } from './action-cost.ts';
import { costWords } from './cost-words.ts';

export interface CostScene {
  readonly accountId: string;
  readonly nowMs: number;
  /** Current mark of a market; undefined: no open position shows it. */
  readonly markOf: (market: string) => DecimalString | undefined;
  /** Empty where the order history is not watched. */
  readonly orders: readonly SpotOrderRecord[];
}

/** How late the price of an hour after the fill may be read; after that it counts as unknown. */
const LATE_MS = 120_000;

export interface FollowedLane {
  readonly lane: LaneState;
  readonly events: readonly AuditEvent[];
}

/** Updates the pending costs of a lane; undefined: nothing changed. */
export function followCosts(lane: LaneState, scene: CostScene): FollowedLane | undefined {
  const { costs = [], market } = lane;
  if (costs.length === 0) return undefined;
  const audit = recorder(scene.accountId, market, scene.nowMs);
  const mark = scene.markOf(market);
  const left = costs.flatMap((pending) => {
    const priced = withHistory(pending, scene.orders);
    const seen = withMark(priced, mark);
    const ended = endOf(seen, mark, scene.nowMs);
    const { positionId, key, ruleId } = pending;
    const tell = (reason: string, cost: ActionCost): void =>
      audit.emit({ kind: 'priced', reason, key, ruleId, positionId, words: costWords(cost), cost });
    if (ended !== undefined) tell('hourLater', ended);
    else if (priced !== pending) tell('orderHistory', priced.cost);
    return ended === undefined ? [seen] : [];
  });
  const isSame = left.length === costs.length && left.every((pending, index) => pending === costs[index]);
  if (isSame) return undefined;
  const { costs: _, ...rest } = lane;
  return { lane: left.length === 0 ? rest : { ...rest, costs: left }, events: audit.events };
}

/** The exchange's own figures take precedence over those derived from reads. */
function withHistory(pending: PendingCost, orders: readonly SpotOrderRecord[]): PendingCost {
  const { cost } = pending;
  if (cost.fill?.from === 'orderHistory') return pending;
  const record = orders.find(({ clientOrderId }) => clientOrderId === cost.clientOrderId);
  const stock = decimalOf(record?.dealStock);
  const paid = decimalOf(record?.dealMoney);
  if (record === undefined || stock === undefined || paid === undefined || stock.lte(ZERO)) return pending;
  const places = Math.max(0, writtenDecimalPlaces(cost.limitPrice)) + PRICE_PLACES;
  const fill = {
    price: formatDecimal(divide(paid, stock, places, 'halfUp')),
    from: 'orderHistory',
  } as const;
  // An order may fill in several parts: each gets its share of the fee.
  const isInMoney = record.feeAsset === undefined || record.feeAsset === cost.money;
  const charged =
    record.dealFee === undefined || !isInMoney
      ? undefined
      : formatDecimal(
          divide(toDecimal(record.dealFee).times(toDecimal(cost.amountBase)), stock, FEE_PLACES, 'halfUp'),
        );
  const fee = charged === undefined ? {} : { fee: { from: 'orderHistory', paid: charged } as const };
  return { ...pending, cost: { ...cost, fill, ...fee } };
}

const PRICE_PLACES = 4;
const FEE_PLACES = 8;

function decimalOf(text: DecimalString | undefined): Decimal | undefined {
  return text === undefined ? undefined : toDecimal(text);
}

function withMark(pending: PendingCost, mark: DecimalString | undefined): PendingCost {
  const { direction, liquidationPrice } = pending.cost;
  if (pending.passedLiquidation || mark === undefined || liquidationPrice === null) return pending;
  const isPast =
    direction === 'long'
      ? Number(mark) <= Number(liquidationPrice)
      : Number(mark) >= Number(liquidationPrice);
  return isPast ? { ...pending, passedLiquidation: true } : pending;
}

/** The cost with its next hour; undefined while the hour lasts or a read may still show its end. */
function endOf(
  { cost, passedLiquidation }: PendingCost,
  mark: DecimalString | undefined,
  nowMs: number,
): ActionCost | undefined {
  const sinceMs = nowMs - cost.filledMs;
  const isLate = sinceMs > MS_PER_HOUR + LATE_MS;
  if (sinceMs < MS_PER_HOUR || (mark === undefined && !isLate)) return undefined;
  const markPrice = mark === undefined || isLate ? null : mark;
  // A mark between two reads may have passed it too.
  const isKnown = passedLiquidation || (markPrice !== null && cost.liquidationPrice !== null);
  return {
    ...cost,
    nextHour: { markPrice, passedLiquidation: isKnown ? passedLiquidation : null },
  };
}

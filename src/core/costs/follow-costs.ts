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
import type { RecentCost } from './action-cost.ts';
import { costWords } from './cost-words.ts';

export interface CostScene {
  readonly accountId: string;
  readonly nowMs: number;
  /** Empty where the order history is not watched. */
  readonly orders: readonly SpotOrderRecord[];
}

export interface FollowedLane {
  readonly lane: LaneState;
  readonly events: readonly AuditEvent[];
}

/** Takes what the order history says of recent fills, and forgets older ones; undefined: nothing changed. */
export function followCosts(lane: LaneState, scene: CostScene): FollowedLane | undefined {
  const { costs = [], market } = lane;
  const audit = recorder(scene.accountId, market, scene.nowMs);
  const left = costs.flatMap((recent) => {
    const priced = withHistory(recent, scene.orders);
    const { positionId, key, ruleId, cost } = priced;
    if (priced !== recent) {
      const words = costWords(cost);
      audit.emit({ kind: 'priced', reason: 'orderHistory', key, ruleId, positionId, words, cost });
    }
    return scene.nowMs - cost.filledMs < MS_PER_HOUR ? [priced] : [];
  });
  const isSame = left.length === costs.length && left.every((recent, index) => recent === costs[index]);
  if (isSame) return undefined;
  const { costs: _, ...rest } = lane;
  return { lane: left.length === 0 ? rest : { ...rest, costs: left }, events: audit.events };
}

/** The exchange's own figures take precedence over those derived from reads. */
function withHistory(recent: RecentCost, orders: readonly SpotOrderRecord[]): RecentCost {
  const { cost } = recent;
  if (cost.fill?.from === 'orderHistory') return recent;
  const record = orders.find(({ clientOrderId }) => clientOrderId === cost.clientOrderId);
  const stock = decimalOf(record?.dealStock);
  const paid = decimalOf(record?.dealMoney);
  if (record === undefined || stock === undefined || paid === undefined || stock.lte(ZERO)) return recent;
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
  return { ...recent, cost: { ...cost, fill, ...fee } };
}

const PRICE_PLACES = 4;
const FEE_PLACES = 8;

function decimalOf(text: DecimalString | undefined): Decimal | undefined {
  return text === undefined ? undefined : toDecimal(text);
}

import type { CreditLineRecord, PositionRecord } from '../../core/ports/exchange.ts';
import { CreditLineQuantities } from '../../core/quantities/credit-line.ts';
import { marginsOf, PositionQuantities } from '../../core/quantities/position.ts';
import { valueOf } from '../../core/quantities/quantity.ts';
import type { AccountAnswers } from './read-account.ts';

/** A position as `init` shows it; null if the exchange does not say or contradicts itself. */
export type HeldPosition = ReturnType<typeof heldPositions>[number];

/** What the exchange showed of an account. */
export type ShownAccount = ReturnType<typeof shownAccount>;

/** There is no config yet, so records are read as the specification says. */
const READING = { bothSign: 'signed', ltvUnit: 'auto', marketSettings: () => undefined } as const;

export function heldPositions(records: readonly PositionRecord[]) {
  return records.map((record) => {
    const quantities = new PositionQuantities(record, READING);
    return {
      market: record.market,
      direction: valueOf(quantities.direction),
      amount: quantities.exactSize,
      markPrice: valueOf(quantities.markPrice),
      liquidationPrice: valueOf(quantities.liquidationPrice),
      /** Fraction of the mark price. */
      liquidationDistance: valueOf(quantities.liquidationDistance),
    };
  });
}

/** LTVs are fractions, null if the exchange does not say. */
function heldCreditLines(records: readonly CreditLineRecord[]) {
  return records.map((record) => {
    const quantities = new CreditLineQuantities(record, READING);
    return {
      asset: record.asset,
      amount: record.amount,
      currentLtv: valueOf(quantities.ltv('currentLtv')),
      marginCallLtv: valueOf(quantities.ltv('marginCallLtv')),
    };
  });
}

export function shownAccount({ positions, creditLines, notes }: AccountAnswers) {
  return {
    positions: heldPositions(positions),
    /** Null: the exchange does not say. */
    leverage: leverageOf(positions) ?? null,
    creditLines: heldCreditLines(creditLines),
    /** Whole sentences. */
    notes,
  };
}

/** Worth of all positions divided by their equity; undefined if a record does not say. */
export function leverageOf(records: readonly PositionRecord[]): number | undefined {
  const equity = marginsOf(records);
  const worths = heldPositions(records).map(({ amount, markPrice }) =>
    markPrice === null ? Number.NaN : Number(amount) * markPrice,
  );
  const leverage = worths.reduce((sum, worth) => sum + worth, 0) / (equity ?? Number.NaN);
  return leverage > 0 && Number.isFinite(leverage) ? leverage : undefined;
}

/** Rates outside of this are no maintenance margins: the figures then mean something else. */
const PLAUSIBLE = { least: 0.002, most: 0.2 };
/** If the markets' rates differ by more than this share, they do not have one rate, or not one pool. */
const TOLERANCE = 0.1;

/**
 * The maintenance margin rate that explains the liquidation prices of all markets, if there is one: at its liquidation
 * price, a pool with this equity has exactly the maintenance margin left. A fraction, rounded to a tenth of a percent.
 */
export function maintenanceMarginOf(records: readonly PositionRecord[]): number | undefined {
  const equity = marginsOf(records);
  const positions = heldPositions(records);
  if (equity === undefined || positions.some(({ markPrice }) => markPrice === null)) return undefined;
  const worth = sumOf(positions, ({ amount, markPrice }) => Number(amount) * (markPrice ?? 0));
  const rates = [...Map.groupBy(positions, ({ market }) => market).values()].flatMap((legs) => {
    const priced = legs.find(({ liquidationPrice }) => liquidationPrice !== null);
    if (priced === undefined) return [];
    const fall = (priced.markPrice ?? 0) - (priced.liquidationPrice ?? 0);
    const net = sumOf(legs, ({ direction, amount }) => (direction === 'short' ? -1 : 1) * Number(amount));
    const rest = worth - sumOf(legs, ({ amount }) => Number(amount)) * fall;
    return [(equity - net * fall) / rest];
  });
  if (rates.length === 0) return undefined;
  const [lowest, highest] = [Math.min(...rates), Math.max(...rates)];
  if (!(lowest >= PLAUSIBLE.least && highest <= PLAUSIBLE.most)) return undefined;
  if (highest - lowest > TOLERANCE * lowest) return undefined;
  return Math.round(highest * 1_000) / 1_000;
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

import {
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  toNumber,
} from '../../core/quantities/decimal.ts';

/** A position as the exchange reports it, with all that determines the size of the margin pool. */
export interface ReportedPosition {
  readonly market: string;
  readonly side: 'long' | 'short';
  /** Base asset, above zero. */
  readonly amount: DecimalString;
  readonly entry: DecimalString;
  readonly mark: number;
  readonly liquidation: number | 'none';
  /** Rate, a fraction. */
  readonly maintenanceMargin: number;
}

export type PoolEquity =
  | { readonly kind: 'equity'; readonly equity: number }
  /** No position has a liquidation price. */
  | { readonly kind: 'unbounded' }
  /** The liquidation prices do not fit one pool: isolated margin, or coins as collateral. */
  | { readonly kind: 'several'; readonly lowest: number; readonly highest: number };

/** Buffers that differ by more than this share do not belong to one pool. */
const TOLERANCE = 0.2;

/** Equity of a pool by its liquidation prices, where equity is the maintenance margin; the largest notional counts. */
export function poolEquity(positions: readonly ReportedPosition[]): PoolEquity {
  const maintenance = sum(positions, (position) => maintenanceOf(position) * position.mark);
  const estimates = [...Map.groupBy(positions, ({ market }) => market).values()].flatMap((legs) =>
    estimateOf(legs, maintenance),
  );
  const largest = estimates.toSorted((a, b) => b.notional - a.notional)[0];
  if (largest === undefined) return { kind: 'unbounded' };
  const buffers = estimates.map(({ equity }) => equity - maintenance);
  const [lowest, highest] = [Math.min(...buffers), Math.max(...buffers)];
  if (highest - lowest > TOLERANCE * Math.abs(highest)) return { kind: 'several', lowest, highest };
  return { kind: 'equity', equity: largest.equity };
}

function estimateOf(
  legs: readonly ReportedPosition[],
  maintenance: number,
): readonly { readonly equity: number; readonly notional: number }[] {
  const first = legs.find(({ liquidation }) => liquidation !== 'none');
  if (first === undefined || first.liquidation === 'none') return [];
  const { liquidation, mark } = first;
  const net = sum(legs, signedSize);
  const rated = sum(legs, maintenanceOf);
  const equity = maintenance + (net - rated) * (mark - liquidation);
  return [{ equity, notional: Math.abs(net) * mark }];
}

/** Maintenance margin per unit of the price. */
function maintenanceOf({ amount, maintenanceMargin }: ReportedPosition): number {
  return toNumber(amount) * maintenanceMargin;
}

function signedSize({ side, amount }: ReportedPosition): number {
  return side === 'long' ? toNumber(amount) : -toNumber(amount);
}

/** Collateral balance before the profit and loss of these positions. */
export function collateralOf(equity: number, positions: readonly ReportedPosition[]): DecimalString {
  const pnl = sum(positions, (position) => signedSize(position) * (position.mark - toNumber(position.entry)));
  return formatDecimal(decimalFromNumber(Math.round((equity - pnl) * 1e6) / 1e6));
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

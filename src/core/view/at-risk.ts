import type { AccountView, Figure, WorthLine } from './account-view.ts';

/** The figures of an account's row: how near it is to harm, and how much is at stake. */

type Held = Pick<AccountView, 'positions' | 'creditLines'>;

/** The least distance: of one market, of all markets together, or of a credit line to its margin call. */
export function nearestOf({
  jointDistance,
  positions,
  creditLines,
  sources,
}: Held & Pick<AccountView, 'jointDistance' | 'sources'>): Figure {
  if (positions.length + creditLines.length === 0) {
    const isRead =
      sources.length > 0 && sources.every(({ readAtMs, complete }) => readAtMs !== null && complete);
    return isRead ? 'none' : null;
  }
  const figures = [
    ...(positions.length === 0 ? [] : [jointDistance]),
    ...positions.map(({ liquidationDistance }) => liquidationDistance),
    ...creditLines.map(({ collateralMayFall }) => collateralMayFall),
  ];
  const known = figures.filter((figure) => typeof figure === 'number');
  if (known.length > 0) return Math.max(0, Math.min(...known));
  return figures.includes(null) ? null : 'none';
}

/** Worth of positions, and of collateral computed from its credit line's debt and LTV. */
export function atRiskOf(
  { positions, creditLines }: Held,
  moneyOf: (market: string) => string,
): readonly WorthLine[] {
  const worths = [
    ...positions.map(({ market, notional }) => ({ money: moneyOf(market), worth: known(notional) })),
    ...creditLines.map(({ asset, debt, currentLtv }) => ({
      money: asset,
      worth: collateralOf(debt, known(currentLtv)),
    })),
  ];
  return [...Map.groupBy(worths, ({ money }) => money)].map(([money, ofMoney]) => ({
    money,
    worth: ofMoney.reduce<number | null>((sum, { worth }) => add(sum, worth), 0),
  }));
}

function collateralOf(debt: string | null, ltv: number | null): number | null {
  return debt === null || ltv === null || ltv <= 0 ? null : Number(debt) / ltv;
}

function known(figure: Figure): number | null {
  return typeof figure === 'number' ? figure : null;
}

function add(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

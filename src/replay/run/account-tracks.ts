import { decimal, toNumber } from '../../core/quantities/decimal.ts';
import type { PositionSheet } from '../../simulator/model/views.ts';
import type { SimulatedExchange } from '../../simulator/simulated-exchange.ts';
import { REFERENCE } from '../exposure.ts';
import type { StartingAccount } from '../positions/starting-account.ts';
import type { PositionTrack } from '../record.ts';
import type { Barrier } from './price-tape.ts';

type Points = [atMs: number, value: number | null][];

interface OpenTrack extends PositionTrack {
  readonly distance: Points;
  readonly liquidationPrice: Points;
  readonly size: Points;
}

/** Tracks of an account, sampled regularly: equity, and size and distance of each position. */
export class AccountTracks {
  readonly equity: [atMs: number, value: number][] = [];
  readonly positions: readonly OpenTrack[];
  readonly #exchange: SimulatedExchange;
  readonly #id: string;
  readonly #loanAssets: boolean;

  constructor(exchange: SimulatedExchange, { id, positions, loans }: StartingAccount) {
    this.#exchange = exchange;
    this.#id = id;
    this.#loanAssets = loans.length > 0;
    const empty = () => ({ distance: [], liquidationPrice: [], size: [] });
    this.positions = positions.map(({ market, side }) => ({ market, side, ...empty() }));
  }

  look(atMs: number): readonly PositionSheet[] {
    this.equity.push([atMs, this.#worth()]);
    const open = this.#exchange.model.openPositions(this.#id);
    for (const track of this.positions) {
      const position = open.find(
        ({ market, direction }) => market === track.market && direction === track.side,
      );
      add(track.size, atMs, position === undefined ? 0 : toNumber(position.amount));
      add(track.liquidationPrice, atMs, liquidationOf(position));
      track.distance.push([atMs, distanceOf(position)]);
    }
    return open;
  }

  /** Net worth of the account in the reference asset: all it has less all it owes. */
  #worth(): number {
    const { model } = this.#exchange;
    const { equity, main, spot } = model.account(this.#id);
    const assets = [...Object.entries(main), ...Object.entries(spot)];
    const held = assets.reduce((sum, [asset, amount]) => sum + toNumber(amount) * this.#rate(asset), 0);
    const loans = this.#loanAssets ? model.creditLines(this.#id) : [];
    const owed = loans.reduce((sum, { asset, amount, totalFunding, collateralAsset, collateralAmount }) => {
      const debt = (toNumber(amount) + toNumber(totalFunding)) * this.#rate(asset);
      return sum + debt - toNumber(collateralAmount) * this.#rate(collateralAsset);
    }, 0);
    return toNumber(equity) + held - owed;
  }

  #rate(asset: string): number {
    if (asset === REFERENCE) return 1;
    const market = this.#exchange.model.market(`${asset}_${REFERENCE}`);
    return market === undefined ? 0 : toNumber(market.mark);
  }
}

/** Skips values that repeat the last one. */
function add(points: Points, atMs: number, value: number | null): void {
  if (points.length === 0 || points.at(-1)?.[1] !== value) points.push([atMs, value]);
}

function liquidationOf(position: PositionSheet | undefined): number | null {
  const price = position?.liquidationPrice;
  return price === undefined || price === null ? null : toNumber(price);
}

function distanceOf(position: PositionSheet | undefined): number | null {
  const liquidation = liquidationOf(position);
  if (position === undefined || liquidation === null) return null;
  const mark = toNumber(position.markPrice);
  return ((position.direction === 'long' ? 1 : -1) * (mark - liquidation)) / mark;
}

/** Prices at which these positions come nearer to liquidation than `distance`. */
export function barriersOf(positions: readonly PositionSheet[], distance: number): readonly Barrier[] {
  return positions.flatMap((position) => {
    const liquidation = liquidationOf(position);
    if (liquidation === null || position.amount.lte(decimal('0'))) return [];
    const { market, direction: side } = position;
    const price = side === 'long' ? liquidation / (1 - distance) : liquidation / (1 + distance);
    return [{ market, side, price }];
  });
}

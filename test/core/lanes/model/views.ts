import type { DecimalString } from '../../../../src/core/quantities/decimal.ts';
import { known, NONE, type Quantity, unknown } from '../../../../src/core/quantities/quantity.ts';
import type { PositionView } from '../../../../src/core/rules/subject.ts';
import { liquidationTicks } from './liquidation.ts';
import type { ModelPosition, Snapshot } from './terms.ts';

export const MARKET = 'BTC_PERP';

export function lotsText(lots: number): DecimalString {
  return (lots / 1000).toFixed(3) as DecimalString;
}

export function ticksText(ticks: number): DecimalString {
  return (ticks / 10).toFixed(1) as DecimalString;
}

export function lotsOf(text: string): number {
  return Math.round(Number(text) * 1000);
}

export function ticksOf(text: string): number {
  return Math.round(Number(text) * 10);
}

/** A position as the daemon's own quantities would describe it. */
export function viewOf(
  position: Readonly<ModelPosition>,
  snapshot: Snapshot,
  isMarkKnown: boolean,
  showsOpenDate: boolean,
): PositionView {
  const liquidation = liquidationTicks(position, snapshot);
  const { mark } = snapshot;
  const distance = liquidation === undefined ? undefined : (position.sign * (mark - liquidation)) / mark;
  const isNegative = distance !== undefined && distance < 0;
  const price = (ticks: number): Quantity<DecimalString> => known(ticksText(Math.round(ticks)));
  return {
    positionId: position.id,
    market: MARKET,
    ...(showsOpenDate ? { openDate: position.openDate } : {}),
    positionSide: position.side,
    direction: known(position.sign === 1 ? 'long' : 'short'),
    sizeBase: lotsText(position.lots),
    markPrice: isMarkKnown ? price(mark) : unknown('markUnknown'),
    markError: isMarkKnown ? known(0) : unknown('markUnknown'),
    liquidationPrice: liquidation === undefined ? NONE : price(liquidation),
    liquidationDistance: distance === undefined ? NONE : known(distance),
    liquidationState: 'none',
    disagreement: isNegative,
    liquidationProbability: () => (distance === undefined ? known(0) : known(distance < 0.01 ? 0.5 : 0)),
  };
}

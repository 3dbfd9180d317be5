import type { ReadPosition } from '../../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../../src/core/quantities/decimal.ts';
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

/** A position as the daemon's own quantities describe it. */
export function readPosition(
  position: Readonly<ModelPosition>,
  snapshot: Snapshot,
  isMarkKnown: boolean,
  showsOpenDate: boolean,
): ReadPosition {
  const liquidation = liquidationTicks(position, snapshot);
  const { mark } = snapshot;
  const distance = liquidation === undefined ? undefined : (position.sign * (mark - liquidation)) / mark;
  const price = (ticks: number): DecimalString => ticksText(Math.round(ticks));
  return {
    positionId: position.id,
    openDate: showsOpenDate ? position.openDate : null,
    positionSide: position.side,
    direction: position.sign === 1 ? 'long' : 'short',
    sizeBase: lotsText(position.lots),
    markPrice: isMarkKnown ? price(mark) : null,
    markError: 0,
    liquidationPrice: liquidation === undefined ? 'none' : price(liquidation),
    distance: distance ?? 'none',
    liquidationState: 'none',
    disagreement: distance !== undefined && distance < 0,
    fenceRisk: distance !== undefined && distance < 0.01 ? 0.5 : 0,
  };
}

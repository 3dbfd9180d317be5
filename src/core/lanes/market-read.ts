import { fenceDurationMs } from '../orders/fence.ts';
import { type DecimalString, toDecimal, toNumber, ZERO } from '../quantities/decimal.ts';
import type { Quantity } from '../quantities/quantity.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { PositionView } from '../rules/subject.ts';
import type { LaneState, MarketRead, MarkSample, ReadPosition } from './lane-state.ts';

export interface ReadObservation {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** False when a record was set aside: absences prove nothing. The positions that it does show are as good as any. */
  readonly complete: boolean;
  /** Whether it was asked for this market alone; absent: for all markets. */
  readonly ofMarket?: boolean;
  /** Ids of positions that are listed with nulls: not to be judged, and not absent either. Absent: none. */
  readonly notOpenYet?: readonly string[];
  readonly positions: readonly PositionView[];
  /**
   * Sizes before other processes reduced positions a moment ago, by position, where processes act without seeing one
   * another. Absent: they do not.
   */
  readonly sizesBefore?: ReadonlyMap<string, DecimalString>;
  /** Mark prices of earlier reads, oldest first, of those sent at times that are missing; absent: none is known. */
  readonly earlierMarks?: (market: string, isMissing: (sentAtMs: number) => boolean) => readonly MarkSample[];
}

/** The open positions of one market as plain data; a size of zero is a closed one. */
export function marketRead(
  observation: ReadObservation,
  market: string,
  settings: AccountSettings,
): MarketRead {
  const horizonMs = fenceDurationMs(settings);
  return {
    sentAtMs: observation.sentAtMs,
    receivedAtMs: observation.receivedAtMs,
    ...(observation.complete ? {} : { partial: observation.ofMarket === true ? 'market' : 'list' }),
    positions: observation.positions
      .filter((position) => position.market === market && !toDecimal(position.sizeBase).eq(ZERO))
      .map((position) => withSizeBefore(readPosition(position, horizonMs), observation)),
  };
}

/** How long a request takes at present, as far as the lane can tell. */
export function roundTripOf(state: LaneState, read: MarketRead): number {
  return Math.max(state.roundTripMs ?? 0, read.receivedAtMs - read.sentAtMs);
}

/** Whether prices may come from a read: what it shows is as old as its request. */
export function mayPrice(
  read: MarketRead,
  state: LaneState,
  settings: AccountSettings,
  nowMs: number,
): boolean {
  const longestMs = Math.max(settings.maxOrderReadAgeMs, 2 * roundTripOf(state, read));
  return nowMs - read.sentAtMs <= longestMs;
}

function withSizeBefore(position: ReadPosition, { sizesBefore }: ReadObservation): ReadPosition {
  const sizeBeforeBase = sizesBefore?.get(position.positionId);
  return sizeBeforeBase === undefined ? position : { ...position, sizeBeforeBase };
}

function readPosition(view: PositionView, horizonMs: number): ReadPosition {
  const liquidationPrice = view.liquidationPrice.kind === 'none' ? 'none' : valueOf(view.liquidationPrice);
  return {
    positionId: view.positionId,
    positionSide: view.positionSide,
    openDate: view.openDate ?? null,
    direction: valueOf(view.direction),
    sizeBase: view.sizeBase,
    markPrice: view.markError.kind === 'value' ? valueOf(view.markPrice) : null,
    markError: valueOf(view.markError) ?? 0,
    liquidationPrice,
    distance: view.liquidationDistance.kind === 'none' ? 'none' : valueOf(view.liquidationDistance),
    liquidationState: view.liquidationState ?? null,
    disagreement: view.disagreement,
    ...(view.basePrice === undefined ? {} : { basePrice: view.basePrice }),
    ...(view.realizedPnl === undefined ? {} : { realizedPnl: view.realizedPnl }),
    ...(view.margin === undefined ? {} : { margin: view.margin }),
    ...(view.jointLiquidationPrice === undefined
      ? {}
      : { jointLiquidationPrice: view.jointLiquidationPrice }),
    fenceRisk: valueOf(view.liquidationProbability(horizonMs)),
  };
}

function valueOf<T>(quantity: Quantity<T>): T | null {
  return quantity.kind === 'value' ? quantity.value : null;
}

/** Not one rebuilt or turned around under its id. What the exchange leaves out on either side tells nothing. */
export function isSameHolding(
  before: Pick<ReadPosition, 'openDate' | 'direction'>,
  position: Pick<ReadPosition, 'openDate' | 'direction'>,
): boolean {
  const isReopened =
    before.openDate !== null && position.openDate !== null && before.openDate !== position.openDate;
  const isTurned =
    before.direction !== null && position.direction !== null && before.direction !== position.direction;
  return !isReopened && !isTurned;
}

export function findPosition(read: MarketRead | null, positionId: string): ReadPosition | undefined {
  return read?.positions.find((position) => position.positionId === positionId);
}

/** What a position's liquidation price tells of its pool. */
export interface PricedPosition {
  /** 1: long. */
  readonly sign: number;
  readonly size: number;
  readonly mark: number;
  readonly liquidation: number;
}

export function pricedPosition(position: ReadPosition): PricedPosition | undefined {
  const { direction, sizeBase, markPrice, liquidationPrice, disagreement } = position;
  if (markPrice === null || liquidationPrice === null || liquidationPrice === 'none' || disagreement)
    return undefined;
  return {
    sign: direction === 'long' ? 1 : -1,
    size: toNumber(sizeBase),
    mark: Number(markPrice),
    liquidation: Number(liquidationPrice),
  };
}

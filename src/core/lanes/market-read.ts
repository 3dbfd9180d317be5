import { fenceDurationMs } from '../orders/fence.ts';
import type { PositionList } from '../ports/exchange.ts';
import {
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  toDecimal,
  toNumber,
  ZERO,
} from '../quantities/decimal.ts';
import { jointLiquidationPrice, jointPool, marginBehind } from '../quantities/joint-pool.ts';
import { PositionQuantities } from '../quantities/position.ts';
import { type Quantity, unknown, valueOf } from '../quantities/quantity.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { hedgedAtBest } from '../quantities/shown-side.ts';
import type { Snapshot } from '../quantities/snapshot.ts';
import { type Motion, probabilityWithin } from '../risk/forecast.ts';
import type { AccountState } from '../rules/account-state.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { findCover } from '../rules/memory.ts';
import { marketForecasts, motionIn } from '../rules/subjects.ts';
import type { LaneState, MarketRead, MarkSample, ReadPosition } from './lane-state.ts';

export interface ReadObservation {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** False when a record was set aside: absences then prove nothing, but the positions shown are valid. */
  readonly complete: boolean;
  /** Whether the request was for this market alone. Absent: for all markets. */
  readonly ofMarket?: boolean;
  /** Ids of positions listed with nulls: they cannot be judged, but are not absent. Absent: none. */
  readonly notOpenYet?: readonly string[];
  /** Includes positions with a size of zero. */
  readonly byMarket: ReadonlyMap<string, readonly ReadPosition[]>;
  /** Sizes by position before unseen other processes reduced them a moment ago. Absent: processes see one another. */
  readonly sizesBefore?: ReadonlyMap<string, DecimalString>;
  /** Last prices that were shown, from a request sent `sentBeforeMs` before this one. Absent: none. */
  readonly lastPrices?: PositionList['lastPrices'];
  /** Returns mark prices of earlier reads for the times that are missing, oldest first. Absent: none is known. */
  readonly earlierMarks?: (market: string, isMissing: (sentAtMs: number) => boolean) => readonly MarkSample[];
}

/**
 * Converts the snapshot's positions for lanes, with the forecasts of an evaluated state. `ofMarket`: those of one market,
 * which tell nothing of the pool that they share with others.
 */
export function readPositions(
  snapshot: Snapshot,
  evaluated: AccountState,
  { settings }: CompiledRules,
  ofMarket = false,
): ReadObservation['byMarket'] {
  const reading = snapshot.sources.positions;
  const records = reading?.kind === 'read' ? reading.value.records : [];
  const forecasts = marketForecasts(evaluated);
  const positions = records.map(
    (record) =>
      new PositionQuantities(record, settings, findCover(evaluated.positions, record.positionId)?.direction),
  );
  const poolOf = (all: readonly PositionQuantities[]) =>
    ofMarket ? unknown('listIncomplete') : jointPool(all, settings);
  const pool = poolOf(positions);
  // One position of unknown side leaves a bound for the stops of the others, nearer than each one's own price.
  const poolAtBest = poolOf(hedgedAtBest(positions, settings));
  // What a record that was set aside hedges looks as if it had a margin of its own.
  const isWhole = reading?.kind === 'read' && reading.value.complete;
  const horizonMs = fenceDurationMs(settings);
  const byMarket = new Map<string, ReadPosition[]>();
  for (const position of positions) {
    const { market } = position;
    const taken = readPosition(position, {
      margin: marginBehind(position, isWhole ? pool : unknown('listIncomplete'), settings),
      jointPrice: jointLiquidationPrice(position, poolAtBest, settings),
      motion: motionIn(forecasts, market),
      horizonMs,
    });
    const others = byMarket.get(market);
    if (others === undefined) byMarket.set(market, [taken]);
    else others.push(taken);
  }
  return byMarket;
}

interface ReadScene {
  /** Like `jointPrice`, depends on the account's other positions. */
  readonly margin: ReadPosition['margin'] | undefined;
  readonly jointPrice: number | undefined;
  readonly motion: Quantity<Motion>;
  readonly horizonMs: number;
}

export function readPosition(
  position: PositionQuantities,
  { margin, jointPrice, motion, horizonMs }: ReadScene,
): ReadPosition {
  const { positionId, positionSide, openDate, basePrice, pnl } = position.record;
  const crossing = position.crossing(motion);
  return {
    positionId,
    positionSide: positionSide?.known === true ? positionSide.value : 'BOTH',
    openDate: openDate ?? null,
    direction: valueOf(position.direction),
    sizeBase: position.exactSize,
    markPrice: valueOf(position.exactMarkPrice),
    markError: valueOf(position.markError) ?? 0,
    liquidationPrice: valueOrNone(position.exactLiquidationPrice),
    distance: valueOrNone(position.liquidationDistance),
    liquidationState: valueOf(position.liquidationState),
    disagreement: valueOf(position.disagreement) ?? false,
    ...(basePrice !== undefined && { basePrice }),
    ...(pnl !== undefined && { realizedPnl: pnl }),
    ...(margin !== undefined && { margin }),
    ...(jointPrice !== undefined && { jointLiquidationPrice: decimalPrice(jointPrice) }),
    fenceRisk: crossing.kind === 'value' ? valueOf(probabilityWithin(crossing.value, horizonMs)) : null,
  };
}

function valueOrNone<T>(quantity: Quantity<T>): T | 'none' | null {
  return quantity.kind === 'none' ? 'none' : valueOf(quantity);
}

/** No price has more significant digits. */
const PRICE_DIGITS = 10;

function decimalPrice(price: number): DecimalString {
  return formatDecimal(decimalFromNumber(Number(price.toPrecision(PRICE_DIGITS))));
}

/** Returns the open positions of one market; a size of zero means closed. */
export function marketRead(observation: ReadObservation, market: string): MarketRead {
  const positions = observation.byMarket.get(market) ?? [];
  return {
    sentAtMs: observation.sentAtMs,
    receivedAtMs: observation.receivedAtMs,
    ...(observation.complete ? {} : { partial: observation.ofMarket === true ? 'market' : 'list' }),
    positions: positions
      .filter(({ sizeBase }) => !toDecimal(sizeBase).eq(ZERO))
      .map((position) => withSizeBefore(position, observation)),
  };
}

/** How long a request takes at present, as far as the lane can tell. */
export function roundTripOf(state: LaneState, read: MarketRead): number {
  return Math.max(state.roundTripMs ?? 0, read.receivedAtMs - read.sentAtMs);
}

/** Whether orders may be priced from a read: its data are as old as its request. */
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

/** Whether both are one position, not reopened or turned around under its id. A value missing on a side is ignored. */
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

/** From the margin call on, the exchange may reduce a position itself, and takes a fee of its own. */
export function isEndangered({ liquidationState }: ReadPosition): boolean {
  return liquidationState !== null && liquidationState !== 'none';
}

/** The exchange says so, and does not liquidate yet. */
export function isAtMarginCall({ liquidationState }: ReadPosition): boolean {
  return liquidationState === 'margin_call' || liquidationState === 'unrecognised';
}

export function findPosition(read: MarketRead | null, positionId: string): ReadPosition | undefined {
  return read?.positions.find((position) => position.positionId === positionId);
}

/** Upper bound of the fees and slippage of a trade between two reads, a fraction of its value. */
export const TRADING_COST = 0.002;

/** A position with what is needed to infer its pool from its liquidation price. */
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

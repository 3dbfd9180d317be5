import type { Recorder } from '../audit/audit-event.ts';
import type { LaneScene } from '../lanes/lane-change.ts';
import type { LaneState, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import {
  findPosition,
  isEndangered,
  isSameHolding,
  type PricedPosition,
  pricedPosition,
  TRADING_COST,
} from '../lanes/market-read.ts';
import { marketOf } from '../orders/market-steps.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { KnownMargin } from './targets.ts';

/** Whether only its own margin backs a position. A partial close takes margin along: only a full close helps. */
export function hasOwnMargin(
  position: ReadPosition,
  state: LaneState,
  { marginModel }: AccountSettings,
): boolean {
  if (marginModel !== 'auto') return marginModel === 'isolated';
  return marginOf(position, state)?.margin === 'own';
}

function marginOf(position: ReadPosition, { margins = [] }: LaneState): KnownMargin | undefined {
  return margins.find((known) => known.positionId === position.positionId && isSameHolding(known, position));
}

/** Returns the margin behind each position. A single one looks alike under both models until it is reduced. */
export function learnMargins(
  state: LaneState,
  read: MarketRead,
  { settings, audit }: LaneScene,
): readonly KnownMargin[] {
  if (settings.marginModel !== 'auto') return [];
  const shown = read.positions.flatMap((position) => {
    const known = marginOf(position, state);
    const isListed = known?.from === 'list';
    const margin = position.margin ?? (isListed ? undefined : shownByReduction(state, read, settings));
    if (margin === undefined || margin === known?.margin) return known ?? [];
    const from = position.margin === undefined ? 'reduction' : 'list';
    if (margin === 'own' || known !== undefined) tell(position, margin, from, audit);
    const { positionId, openDate, direction } = position;
    return { positionId, openDate, direction, margin, from } satisfies KnownMargin;
  });
  // A position that one read does not show may be in the next.
  const hidden = (state.margins ?? []).filter(
    ({ positionId }) =>
      findPosition(read, positionId) === undefined &&
      (findPosition(state.read, positionId) !== undefined ||
        state.absent?.some((absence) => absence.positionId === positionId) === true),
  );
  return [...shown, ...hidden];
}

function tell(
  { positionId }: ReadPosition,
  margin: KnownMargin['margin'],
  from: KnownMargin['from'],
  audit: Recorder,
): void {
  const by = from === 'list' ? 'liquidation prices show' : 'a reduction has shown';
  const words =
    margin === 'own'
      ? `${by} that only its own margin stands behind position ${positionId}: less of it is no further from liquidation, so that it is closed instead; \`exchange.marginModel\` in the config can say so`
      : `${by} that position ${positionId} shares its margin: less of it is further from liquidation`;
  audit.emit({ kind: 'marginLearned', positionId, reason: `${margin}:${from}`, words });
}

/** Reads further apart than this may have a transfer between them. */
const LONGEST_GAP_MS = 30_000;
/** A smaller relative change of the size is not conclusive. */
const LEAST_REDUCTION = 0.1;
/** If a pool would have moved the liquidation price by less than this part of the mark, nothing can be concluded. */
const LEAST_MOVE = 0.002;
/** A move of at most this part of what a pool would have caused: the price stayed where it was. */
const STAYED_SHARE = 0.25;
/** A move of at least this part: the price moved as that of a pool. */
const MOVED_SHARE = 0.75;

/** Infers the margin from two reads of the only position of a market, with a reduction between them. */
function shownByReduction(
  state: LaneState,
  read: MarketRead,
  settings: AccountSettings,
): KnownMargin['margin'] | undefined {
  const { read: before } = state;
  const [position] = read.positions;
  const rate = marketOf(state, settings)?.maintenanceMargin;
  if (position === undefined || before === null || rate === undefined) return undefined;
  const earlier = findPosition(before, position.positionId);
  const isComparable =
    earlier !== undefined &&
    read.positions.length + before.positions.length === 2 &&
    isSameHolding(earlier, position) &&
    !isEndangered(earlier) &&
    !isEndangered(position) &&
    read.sentAtMs - before.sentAtMs <= LONGEST_GAP_MS;
  if (!isComparable) return undefined;
  if (earlier.direction === null || position.direction === null) return undefined;
  const [one, two] = [pricedPosition(earlier), pricedPosition(position)];
  if (one === undefined || two === undefined || two.size > one.size * (1 - LEAST_REDUCTION)) return undefined;
  const expected = leastPooledMove(one, two, rate);
  const moved = one.sign * (one.liquidation - two.liquidation);
  if (expected < LEAST_MOVE * two.mark) return undefined;
  if (Math.abs(moved) <= STAYED_SHARE * expected) return 'own';
  return moved >= MOVED_SHARE * expected ? 'shared' : undefined;
}

/** Returns the least move of the liquidation price in a pool, whose equity is `size * |mark - L| + rate * size * L`. */
function leastPooledMove(one: PricedPosition, two: PricedPosition, rate: number): number {
  const { sign } = one;
  const equity = one.size * sign * (one.mark - one.liquidation) + rate * one.size * one.liquidation;
  const move = sign * (two.mark - one.mark);
  const cost = (one.size - two.size) * TRADING_COST * two.mark;
  const left = equity + Math.min(one.size * move, two.size * move) - cost;
  const liquidation = (two.size * two.mark - sign * left) / (two.size * (1 - sign * rate));
  return sign * (one.liquidation - liquidation);
}

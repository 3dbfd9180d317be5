import type { Recorder } from '../audit/audit-event.ts';
import { figure } from '../fields/field-words.ts';
import type { LaneScene } from '../lanes/lane-change.ts';
import type { LaneState, Learned, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import {
  findPosition,
  isEndangered,
  isSameHolding,
  pricedPosition,
  TRADING_COST,
} from '../lanes/market-read.ts';

type LearnedMaintenance = NonNullable<Learned['maintenance']>;

/** Reads further apart than this may have a deposit or another market's move between them. */
const LONGEST_GAP_MS = 10_000;
/** A smaller relative change of the size is not conclusive. */
const LEAST_CHANGE = 0.1;
/** Rates within this share of the configured one count as equal. */
const SAME_SHARE = 0.1;
const LARGEST_RATE = 0.5;

/**
 * Returns bounds of the maintenance rate implied by the reads around a trade: only the market's move and the cost of the
 * trade change the buffer `size * |mark - L| + rate * size * L`.
 */
function rateBetween(
  before: ReadPosition,
  after: ReadPosition,
): Pick<LearnedMaintenance, 'low' | 'high'> | undefined {
  const [one, two] = [pricedPosition(before), pricedPosition(after)];
  if (one === undefined || two === undefined) return undefined;
  const change = Math.abs(one.size - two.size);
  const traded = one.size * one.liquidation - two.size * two.liquidation;
  if (change < LEAST_CHANGE * Math.max(one.size, two.size) || traded === 0) return undefined;
  const move = (two.mark - one.mark) * one.sign;
  const won =
    two.size * Math.abs(two.mark - two.liquidation) - one.size * Math.abs(one.mark - one.liquidation);
  const cost = change * TRADING_COST * two.mark;
  const gains = [one.size * move, two.size * move];
  const rates = [Math.min(...gains) - cost, Math.max(...gains) + cost].map((gain) => (won - gain) / traded);
  const [low, high] = [Math.min(...rates), Math.max(...rates)];
  return low > 0 && high < LARGEST_RATE ? { low, high } : undefined;
}

/** Returns what is known of the maintenance rate after a new read. It counts once two trades in a row agree. */
export function learnMaintenance(
  state: LaneState,
  read: MarketRead,
  { settings, audit }: LaneScene,
): LearnedMaintenance | undefined {
  const known = state.learned?.maintenance;
  const [position, ...others] = read.positions;
  const configured = settings.marketSettings(state.market)?.maintenanceMargin;
  if (position === undefined || others.length > 0 || state.read === null || configured === undefined)
    return known;
  const before = findPosition(state.read, position.positionId);
  const isComparable =
    before !== undefined &&
    state.read.positions.length === 1 &&
    isSameHolding(before, position) &&
    !isEndangered(before) &&
    !isEndangered(position) &&
    read.sentAtMs - state.read.sentAtMs <= LONGEST_GAP_MS;
  const rate = isComparable ? rateBetween(before, position) : undefined;
  if (rate === undefined) return known;
  const agrees = known !== undefined && rate.low <= known.high && known.low <= rate.high;
  if (!agrees) return { ...rate, agreeing: 1 };
  const next = {
    low: Math.max(rate.low, known.low),
    high: Math.min(rate.high, known.high),
    agreeing: known.agreeing + 1,
  };
  if (next.agreeing === 2) tell(state, next, configured, audit);
  return next;
}

function tell(
  { market }: LaneState,
  { low, high }: LearnedMaintenance,
  configured: number,
  audit: Recorder,
): void {
  const isHigher = low > configured * (1 + SAME_SHARE);
  if (!isHigher && high >= configured * (1 - SAME_SHARE)) return;
  const inferred = figure((low + high) / 2, 'ratio');
  const used = isHigher ? inferred : figure(configured, 'ratio');
  audit.emit({
    kind: 'maintenanceDiffers',
    reason: isHigher ? 'higher' : 'lower',
    words: `liquidation prices in ${market} imply a maintenance margin of about ${inferred}, the config says ${figure(configured, 'ratio')}: ${used} is used; correct \`markets\` in the config`,
    alarm: true,
  });
}

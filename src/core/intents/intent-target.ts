import { BLOCK_WORDS, type BlockReason } from '../audit/audit-event.ts';
import { about, type LaneScene } from '../lanes/lane-change.ts';
import type { Intent, IntentBasis, LaneState, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import { isAtMarginCall, isSameHolding } from '../lanes/market-read.ts';
import { isHedged } from '../orders/net-exposure.ts';
import {
  type Decimal,
  type DecimalString,
  formatDecimal,
  maxDecimal,
  minDecimal,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import { isAccountTarget } from './account-plan.ts';
import { endIntent } from './end-intent.ts';
import { hasOwnMargin } from './own-margin.ts';
import { boundedTarget, clampTarget, distanceTarget, fixedTarget, reachedBy, sizeBelow } from './targets.ts';

/** Inputs for judging an intent: the current lane, and the newest read usable for sizing. */
export interface SettleScene extends LaneScene {
  readonly state: LaneState;
  /** The lane before any of its intents was settled by this read. */
  readonly before: LaneState;
  readonly read: MarketRead;
  /** The read, plus positions that it does not show but that may still be open. */
  readonly exposure: MarketRead;
  /** Whether the read is current, so that new intents may take their basis from it. */
  readonly mayStart: boolean;
  readonly market: MarketSettings | undefined;
}

export type ConfiguredScene = SettleScene & { readonly market: MarketSettings };

export function isConfigured(scene: SettleScene): scene is ConfiguredScene {
  return scene.market !== undefined;
}

/** The distance as a number; null when there is none or it is unknown. */
export function distanceNumber(position: ReadPosition | undefined): number | null {
  return typeof position?.distance === 'number' ? position.distance : null;
}

/** Fixes the position as it was when the intent fired. */
export function withBasis(intent: Intent, position: ReadPosition, scene: SettleScene): Intent {
  if (intent.basis !== null) return intent;
  const sizeBase = sizeAtFiring(intent, position, scene);
  const { markPrice, positionSide, openDate, direction } = position;
  const seen = { sizeBase, markPrice, distance: distanceNumber(position), positionSide, openDate, direction };
  const own: IntentBasis = { ...seen, growthBoundBase: sizeBase };
  if (intent.source !== 'rule') return { ...intent, basis: own };
  // All stages of an episode share the basis of its first one: `by: 75%` after `by: 50%` leaves a quarter.
  const { intents, past = [] } = scene.state;
  const mostWay = isAtMarginCall(position) ? scene.market?.maintenanceMargin : undefined;
  const first = [...intents, ...past].find(
    (other) =>
      other.source === 'rule' &&
      other.positionId === intent.positionId &&
      other.basis !== null &&
      other.basis.openDate === position.openDate &&
      isSameHolding(other.basis, position) &&
      (other.episodeKey === intent.episodeKey ||
        continues(intent, { ...other, basis: other.basis }, position, mostWay)),
  )?.basis;
  if (first === null || first === undefined) return { ...intent, basis: own };
  const growthBound = maxDecimal(toDecimal(first.sizeBase), toDecimal(position.sizeBase));
  return { ...intent, basis: { ...first, growthBoundBase: formatDecimal(growthBound) } };
}

/**
 * Part of the way to liquidation as it was when a rule fired: a mark that has gone it since is another danger. At a
 * margin call that way is at most the maintenance margin: one position of many shows a liquidation price far away.
 */
const ANOTHER_DANGER = 0.5;

/**
 * Whether an intent's episode replaces an earlier one of its rule or follows it at once: a condition that flaps at its
 * threshold must not take its share again and again. A distance is not undercut however often it is asked for.
 */
function continues(
  { ruleId, target, openedMs, continuesForMs = 0 }: Intent,
  earlier: Intent & { readonly basis: IntentBasis },
  position: ReadPosition,
  most = Infinity,
): boolean {
  if (earlier.ruleId !== ruleId || target.kind === 'untilDistance' || isAccountTarget(target)) return false;
  const sinceMs = openedMs - (earlier.endedMs ?? openedMs);
  const { sizeBase, markPrice, distance, direction } = earlier.basis;
  if (sinceMs > 0 && sinceMs >= continuesForMs) return false;
  if (toDecimal(position.sizeBase).gt(toDecimal(sizeBase))) return false;
  const moved = 1 - Number(position.markPrice ?? markPrice) / Number(markPrice);
  return !((direction === 'short' ? -moved : moved) > Math.min(distance ?? Infinity, most) * ANOTHER_DANGER);
}

/** How long a target that was reached explains a fall. */
const EXPLAINS_MS = 60_000;

/**
 * Returns the size at firing. What other processes reduced a moment ago counts as there: two processes that each halve
 * what they see would leave a quarter. A fall caused by another action of this lane is excluded, down to that action's
 * target.
 */
function sizeAtFiring(intent: Intent, position: ReadPosition, scene: SettleScene): DecimalString {
  const { sizeBase, sizeBeforeBase } = position;
  if (intent.source !== 'rule' || sizeBeforeBase === undefined) return sizeBase;
  const targets = scene.before.intents.flatMap((other) => {
    const isAnother = other.episodeKey !== intent.episodeKey && other.positionId === intent.positionId;
    if (!isAnother || other.targetBase === null || !mayHaveReduced(other, scene.nowMs)) return [];
    return [toDecimal(other.targetBase)];
  });
  const unexplained = targets.reduce(minDecimal, toDecimal(sizeBeforeBase));
  return formatDecimal(maxDecimal(toDecimal(sizeBase), unexplained));
}

function mayHaveReduced({ mode, refusedBy, end, endedMs }: Intent, nowMs: number): boolean {
  if (mode === 'observe') return false;
  if (end === null) return refusedBy === null;
  return end.how === 'reached' && nowMs - (endedMs ?? 0) < EXPLAINS_MS;
}

/** Fixes the target, or updates it where it depends on the distance or the account's plan. */
export function withTarget(intent: Intent, position: ReadPosition, scene: ConfiguredScene): Intent {
  const { basis } = intent;
  if (basis === null) return intent;
  if (intent.target.kind === 'untilDistance') {
    // If the distance was unknown at firing, the first known one counts.
    const distance = basis.distance ?? distanceNumber(position);
    return followDistance(
      { ...intent, basis: { ...basis, distance } },
      intent.target.distance,
      position,
      scene,
    );
  }
  if (isAccountTarget(intent.target)) {
    const planned = plannedTarget(intent, position, scene);
    if (planned === undefined) return intent;
    const isLess = intent.targetBase === null && Number(intent.plannedBase) < Number(position.sizeBase);
    return setTarget(intent, planned, isLess ? position : undefined, scene);
  }
  if (intent.targetBase !== null) return intent;
  const target = fixedTarget(intent.target, basis);
  if (target === undefined) {
    // Priced at firing; if the mark was unknown then, at the first known one.
    if (position.markPrice === null) return block(intent, 'markUnknown', scene);
    return withTarget({ ...intent, basis: { ...basis, markPrice: position.markPrice } }, position, scene);
  }
  const isLess = target.lt(toDecimal(position.sizeBase));
  const rounded = clampTarget(target, toDecimal(basis.sizeBase), scene.market);
  return setTarget(intent, rounded, isLess ? position : undefined, scene);
}

/** The size that the account's newest plan leaves of a position; undefined without one. */
export function plannedTarget(
  { target, plannedBase, basis }: Intent,
  position: ReadPosition,
  { state, settings, market }: ConfiguredScene,
): Decimal | undefined {
  if (plannedBase === undefined || plannedBase === null) return undefined;
  const size = toDecimal(position.sizeBase);
  const planned = clampTarget(toDecimal(plannedBase), toDecimal((basis ?? position).sizeBase), market);
  // The account's plan may not know what this lane has learned.
  const isInVain = target.kind === 'untilJointDistance' && hasOwnMargin(position, state, settings);
  return isInVain && planned.lt(size) ? ZERO : planned;
}

/** Follows the distance, never upwards. An order in doubt is ignored: size and distance are of one moment. */
function followDistance(
  intent: Intent,
  wanted: number,
  position: ReadPosition,
  scene: ConfiguredScene,
): Intent {
  if (position.disagreement) return block(intent, 'disagreement', scene);
  // At a margin call an unknown direction blocks nothing: liquidation counts as reached.
  const isTried = position.direction === null && isAtMarginCall(position);
  const judged: ReadPosition = isTried ? { ...position, direction: 'long', distance: 0 } : position;
  if (judged.direction === null) return block(intent, 'directionUnknown', scene);
  if (judged.distance === null) return block(intent, 'liquidationPriceUnknown', scene);
  const target = targetForDistance(judged, wanted, scene);
  if (target === undefined) {
    // The other side is in danger: reducing this one would bring liquidation nearer.
    return endIntent(intent, { how: 'failed', why: 'hedged' }, scene, distanceNumber(position));
  }
  const unblocked = isHeldByFigures(intent) ? { ...intent, blockedBy: null } : intent;
  return setTarget(unblocked, target, isMuchNearer(intent, wanted, judged) ? position : undefined, scene);
}

/** Whether a read held an intent back, and only another read ends that. */
export function isHeldByFigures({ blockedBy }: Intent): boolean {
  return (
    blockedBy === 'disagreement' ||
    blockedBy === 'directionUnknown' ||
    blockedBy === 'liquidationPriceUnknown'
  );
}

/** Whether the distance is less than half of the way from where its rule fired to where it is wanted. */
export function isMuchNearer({ basis }: Intent, wanted: number, { distance }: ReadPosition): boolean {
  const start = Math.min(basis?.distance ?? wanted, wanted);
  return typeof distance === 'number' && distance < wanted && distance <= (start + wanted) / 2;
}

/** Returns the size at which a position is `wanted` away from liquidation; `undefined` if none is, or if unknown. */
export function targetForDistance(
  position: ReadPosition,
  wanted: number,
  { state, exposure, settings, market }: ConfiguredScene,
): Decimal | undefined {
  const sizeBase = toDecimal(position.sizeBase);
  const { direction, distance } = position;
  if (direction === null || distance === null) return undefined;
  if (distance === 'none') return sizeBase;
  if (hasOwnMargin(position, state, settings)) return distance >= wanted ? sizeBase : ZERO;
  const otherSideBase = exposure.positions
    .filter((other) => other.direction !== null && other.direction !== direction)
    .reduce((sum, other) => sum.plus(toDecimal(other.sizeBase)), ZERO);
  return distanceTarget({ sizeBase, otherSideBase, direction, distance, wanted }, market);
}

/** `reduced`: a position that its rule wants less of. No rounding leaves all of it: rather more is closed. */
function setTarget(
  intent: Intent,
  asked: Decimal,
  reduced: ReadPosition | undefined,
  { settings, market, audit }: ConfiguredScene,
): Intent {
  const { basis, targetBase } = intent;
  if (basis === null) return intent;
  const size = reduced && toDecimal(reduced.sizeBase);
  const isLost =
    size !== undefined && intent.source === 'rule' && reachedBy(size, asked, market) !== undefined;
  const wanted = isLost ? minDecimal(asked, sizeBelow(size, market)) : asked;
  const bounded =
    intent.source === 'rule' ? boundedTarget(wanted, basis, settings.largestReduction, market) : wanted;
  if (targetBase !== null && bounded.gte(toDecimal(targetBase))) return intent;
  const text = formatDecimal(bounded);
  if (bounded.gt(wanted) && targetBase === null) {
    audit.emit({
      kind: 'refused',
      ...about(intent),
      reason: 'largestReduction',
      words: `asked for ${formatDecimal(wanted)}, bounded to ${text} by the largest single reduction`,
      alarm: true,
    });
  }
  audit.emit({
    kind: 'targetSet',
    ...about(intent),
    reason: intent.target.kind,
    words: `at most ${text} of ${basis.sizeBase} at firing`,
    targetBase: text,
    sizeBase: basis.sizeBase,
  });
  return { ...intent, targetBase: text };
}

function block(intent: Intent, why: BlockReason, scene: SettleScene): Intent {
  if (intent.blockedBy === why) return intent;
  scene.audit.emit({
    kind: 'blocked',
    ...about(intent),
    reason: why,
    words: BLOCK_WORDS[why],
    // With both sides of a market open, one of them is always past its liquidation price.
    alarm: why !== 'disagreement' || !isHedged(scene.read),
  });
  return { ...intent, blockedBy: why };
}

import type { BlockReason } from '../audit/audit-event.ts';
import { type Intent, type IntentBasis, type ReadPosition } from '../lanes/lane-state.ts';
import { isSameHolding } from '../lanes/market-read.ts';
import { isHedged } from '../orders/net-exposure.ts';
import {
  type Decimal,
  formatDecimal,
  maxDecimal,
  minDecimal,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import { isAccountTarget } from './account-plan.ts';
import { endIntent } from './end-intent.ts';
import { BLOCK_WORDS } from './intent.ts';
import { hasOwnMargin } from './own-margin.ts';
import type { SettleScene } from './settle-scene.ts';
import { boundedTarget, clampTarget, distanceTarget, fixedTarget } from './targets.ts';

/** The distance as a number; null when there is none or it is unknown. */
export function distanceNumber(position: ReadPosition | undefined): number | null {
  return typeof position?.distance === 'number' ? position.distance : null;
}

/** Fixes what the position was when the intent fired; the stages of an episode share one basis. */
export function withBasis(intent: Intent, position: ReadPosition, scene: SettleScene): Intent {
  if (intent.basis !== null) return intent;
  const own: IntentBasis = {
    sizeBase: position.sizeBase,
    markPrice: position.markPrice,
    distance: distanceNumber(position),
    positionSide: position.positionSide,
    openDate: position.openDate,
    direction: position.direction,
    growthBoundBase: position.sizeBase,
  };
  // All stages of an episode share the basis of its first one: `by: 75%` after `by: 50%` leaves a quarter.
  const first = scene.state.intents.find(
    (other) =>
      other.source === 'rule' &&
      other.episodeKey === intent.episodeKey &&
      other.positionId === intent.positionId &&
      other.basis !== null &&
      other.basis.openDate === position.openDate &&
      isSameHolding(other.basis, position),
  )?.basis;
  const isShared = first !== null && first !== undefined && intent.source === 'rule';
  const basis = isShared ? { ...first, growthBoundBase: maxText(first.sizeBase, position.sizeBase) } : own;
  return { ...intent, basis };
}

function maxText(a: IntentBasis['sizeBase'], b: IntentBasis['sizeBase']): IntentBasis['sizeBase'] {
  return formatDecimal(maxDecimal(toDecimal(a), toDecimal(b)));
}

/** Fixes the target, or follows it where it depends on the distance. */
export function withTarget(
  intent: Intent,
  position: ReadPosition,
  market: MarketSettings,
  scene: SettleScene,
): Intent {
  const { basis } = intent;
  if (basis === null) return intent;
  if (intent.target.kind === 'untilDistance') {
    const started = basis.distance === null ? withDistance(intent, basis, position) : intent;
    return followDistance(started, intent.target.distance, position, market, scene);
  }
  if (isAccountTarget(intent.target)) return followPlan(intent, position, market, scene);
  if (intent.targetBase !== null) return intent;
  const target = fixedTarget(intent.target, basis, market);
  if (target === undefined) {
    // Priced at firing; when the mark was unknown then, at the first one that is known.
    if (position.markPrice === null) return block(intent, 'markUnknown', scene);
    const priced = { ...intent, basis: { ...basis, markPrice: position.markPrice } };
    return withTarget(priced, position, market, scene);
  }
  return setTarget(intent, target, market, scene);
}

/** What the account's newest plan leaves of it; it may only fall. */
function followPlan(
  intent: Intent,
  position: ReadPosition,
  market: MarketSettings,
  scene: SettleScene,
): Intent {
  const target = plannedTarget(intent, position, market, scene);
  return target === undefined ? intent : setTarget(intent, target, market, scene);
}

/** The size that the account's newest plan leaves of a position; undefined without one. */
export function plannedTarget(
  { target, plannedBase, basis }: Intent,
  position: ReadPosition,
  market: MarketSettings,
  { state, settings }: Pick<SettleScene, 'state' | 'settings'>,
): Decimal | undefined {
  if (plannedBase === undefined || plannedBase === null) return undefined;
  const size = toDecimal(position.sizeBase);
  const planned = clampTarget(toDecimal(plannedBase), toDecimal((basis ?? position).sizeBase), market);
  // The account's plan may not know what this lane has learned.
  const isInVain = target.kind === 'untilJointDistance' && hasOwnMargin(position, state, settings);
  return isInVain && planned.lt(size) ? ZERO : planned;
}

/** Where the distance was unknown at firing, the first one that is known counts. */
function withDistance(intent: Intent, basis: IntentBasis, position: ReadPosition): Intent {
  return { ...intent, basis: { ...basis, distance: distanceNumber(position) } };
}

/**
 * Computed from each read that may be sized by, and may only fall. An order of ours in doubt changes nothing in that: size
 * and distance are of one moment, and what it takes away later leaves the equity, so that the target is the same with it
 * and without it. What it may still fill is counted when orders are sized. A target from before the doubt would call
 * reached what the market has made too large since.
 */
function followDistance(
  intent: Intent,
  wanted: number,
  position: ReadPosition,
  market: MarketSettings,
  scene: SettleScene,
): Intent {
  if (position.disagreement) return block(intent, 'disagreement', scene);
  if (position.direction === null) return block(intent, 'directionUnknown', scene);
  if (position.distance === null) return block(intent, 'liquidationPriceUnknown', scene);
  const target = targetForDistance(position, wanted, market, scene);
  if (target === undefined) {
    // The other side is what is in danger: taking from this one would bring liquidation nearer.
    const { nowMs, audit } = scene;
    return endIntent(intent, { how: 'failed', why: 'hedged' }, distanceNumber(position), nowMs, audit);
  }
  return setTarget(unblock(intent), target, market, scene);
}

/** The size at which a position is that far from liquidation; `undefined` where no size of it is. */
export function targetForDistance(
  position: ReadPosition,
  wanted: number,
  market: MarketSettings,
  { state, exposure, settings }: Pick<SettleScene, 'state' | 'exposure' | 'settings'>,
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

function setTarget(intent: Intent, wanted: Decimal, market: MarketSettings, scene: SettleScene): Intent {
  const { basis, targetBase } = intent;
  if (basis === null) return intent;
  const isBounded = intent.source === 'rule';
  const bounded = isBounded ? boundedTarget(wanted, basis, scene.settings.largestReduction, market) : wanted;
  const target = targetBase === null ? bounded : minDecimal(bounded, toDecimal(targetBase));
  const isNew = targetBase === null || target.lt(toDecimal(targetBase));
  if (!isNew) return intent;
  const common = { key: intent.key, positionId: intent.positionId, ruleId: intent.ruleId };
  const text = formatDecimal(target);
  if (bounded.gt(wanted) && targetBase === null) {
    scene.audit.emit({
      kind: 'refused',
      ...common,
      reason: 'largestReduction',
      words: `asked for ${formatDecimal(wanted)}, bounded to ${text} by the largest single reduction`,
      alarm: true,
    });
  }
  scene.audit.emit({
    kind: 'targetSet',
    ...common,
    reason: intent.target.kind,
    words: `at most ${text} of ${basis.sizeBase} at firing`,
    targetBase: text,
    sizeBase: basis.sizeBase,
  });
  return { ...intent, targetBase: text };
}

export function block(intent: Intent, why: BlockReason, scene: Pick<SettleScene, 'audit' | 'read'>): Intent {
  if (intent.blockedBy === why) return intent;
  scene.audit.emit({
    kind: 'blocked',
    key: intent.key,
    positionId: intent.positionId,
    ruleId: intent.ruleId,
    reason: why,
    words: BLOCK_WORDS[why],
    // With both sides of a market open one of them has always passed its liquidation price.
    alarm: why !== 'disagreement' || !isHedged(scene.read),
  });
  return { ...intent, blockedBy: why };
}

export function unblock(intent: Intent): Intent {
  return intent.blockedBy === null ? intent : { ...intent, blockedBy: null };
}

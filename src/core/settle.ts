import type { BlockReason, ExpiryReason, FailureReason, Recorder } from './audit-event.ts';
import { type Decimal, formatDecimal, maxDecimal, minDecimal, toDecimal, ZERO } from './decimal.ts';
import { liquidationIsLikely } from './fence.ts';
import { BLOCK_WORDS, endIntent, isOpen } from './intent.ts';
import {
  findPosition,
  type Intent,
  type IntentBasis,
  type LaneState,
  type MarketRead,
  type ReadPosition,
} from './lane-state.ts';
import type { AccountSettings, MarketSettings } from './settings.ts';
import { boundedTarget, distanceTarget, fixedTarget, reachedBy } from './targets.ts';

/**
 * What the newest read that may be sized by means for each intent: its target, its blocks and its end. Reads
 * that are not conclusive never get here.
 */
export function settleIntents(
  state: LaneState,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const { read } = state;
  const market = settings.marketSettings(state.market);
  if (read === null) return state;
  let intents = state.intents;
  for (const { key } of state.intents) {
    intents = intents.map((intent) => {
      if (intent.key !== key) return intent;
      const scene: Scene = { state: { ...state, intents }, read, market, settings, nowMs, audit };
      return settleOne(intent, scene);
    });
  }
  return { ...state, intents: supersede(intents, nowMs, audit) };
}

interface Scene {
  readonly state: LaneState;
  readonly read: MarketRead;
  readonly market: MarketSettings | undefined;
  readonly settings: AccountSettings;
  readonly nowMs: number;
  readonly audit: Recorder;
}

function settleOne(intent: Intent, scene: Scene): Intent {
  const position = findPosition(scene.read, intent.positionId);
  if (!isOpen(intent)) return reopenIfWorse(intent, position, scene);
  if (scene.market === undefined) {
    return endIntent(intent, { how: 'failed', why: 'marketNotConfigured' }, null, scene.nowMs, scene.audit);
  }
  if (position === undefined) return endGone(intent, scene);
  return settlePresent(intent, position, scene.market, scene);
}

function endGone(intent: Intent, scene: Scene): Intent {
  const { nowMs, audit } = scene;
  if (intent.basis === null && scene.read.sentAtMs < intent.openedMs) return intent;
  const successor = scene.read.positions.find((other) => other.positionSide === intent.basis?.positionSide);
  return successor === undefined
    ? endIntent(intent, { how: 'reached', why: 'positionGone' }, null, nowMs, audit)
    : endIntent(intent, { how: 'expired', why: 'newPosition' }, null, nowMs, audit);
}

function settlePresent(intent: Intent, position: ReadPosition, market: MarketSettings, scene: Scene): Intent {
  const handled = handledOwnership(intent, position, scene);
  if (!isOpen(handled)) return handled;
  const based = withBasis(handled, position, scene);
  const aimed = withTarget(based, position, market, scene);
  if (aimed.targetBase === null) return aimed;
  return endIfReached(aimed, position, market, scene);
}

/** Rebuilt under the same id, or grown beyond its size at firing: it changed hands. */
function handledOwnership(intent: Intent, position: ReadPosition, scene: Scene): Intent {
  const { basis } = intent;
  if (basis === null) return intent;
  const isRebuilt =
    basis.openDate !== null && position.openDate !== null && basis.openDate !== position.openDate;
  if (isRebuilt) {
    const renewed = renew(intent, 'rebuilt', position, scene);
    return isOpen(renewed) ? { ...renewed, basis: null, targetBase: null } : renewed;
  }
  if (toDecimal(position.sizeBase).gt(toDecimal(basis.growthBoundBase))) {
    const renewed = renew(intent, 'grown', position, scene);
    return { ...renewed, basis: { ...basis, growthBoundBase: position.sizeBase } };
  }
  return intent;
}

/** Ends an intent as expired and, as its rule still fires, opens it again: up to a bound, then it failed. */
export function renew(
  intent: Intent,
  why: ExpiryReason,
  position: ReadPosition | undefined,
  scene: Pick<Scene, 'settings' | 'nowMs' | 'audit'>,
): Intent {
  const { settings, nowMs, audit } = scene;
  const distance = distanceNumber(position);
  const expired = endIntent(intent, { how: 'expired', why }, distance, nowMs, audit);
  if (intent.source === 'operator') return expired;
  if (intent.renewals >= settings.maxRenewals) {
    return endIntent(intent, { how: 'failed', why: renewalFailure(intent) }, distance, nowMs, audit);
  }
  audit.emit({
    kind: 'intentRenewed',
    key: intent.key,
    positionId: intent.positionId,
    ruleId: intent.ruleId,
    reason: why,
    words: `renewal ${intent.renewals + 1} of ${settings.maxRenewals}: the rule still fires`,
  });
  return {
    ...intent,
    renewals: intent.renewals + 1,
    failures: 0,
    deadlineMs: nowMs + settings.intentTtlMs,
  };
}

function renewalFailure(intent: Intent): FailureReason {
  if (intent.refusedBy !== null) return `refused:${intent.refusedBy}`;
  return intent.blockedBy === null ? 'renewals' : `blocked:${intent.blockedBy}`;
}

/** Time alone: an intent older than its time to live expires, whatever was read. */
export function expireIntents(
  state: LaneState,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  if (!state.intents.some((intent) => isOpen(intent) && nowMs >= intent.deadlineMs)) return state;
  const intents = state.intents.map((intent) =>
    isOpen(intent) && nowMs >= intent.deadlineMs
      ? renew(intent, 'ttl', findPosition(state.read, intent.positionId), { settings, nowMs, audit })
      : intent,
  );
  return { ...state, intents };
}

export function distanceNumber(position: ReadPosition | undefined): number | null {
  return typeof position?.distance === 'number' ? position.distance : null;
}

function withBasis(intent: Intent, position: ReadPosition, scene: Scene): Intent {
  if (intent.basis !== null) return intent;
  const own: IntentBasis = {
    sizeBase: position.sizeBase,
    markPrice: position.markPrice,
    distance: distanceNumber(position),
    positionSide: position.positionSide,
    openDate: position.openDate,
    growthBoundBase: position.sizeBase,
  };
  // All stages of an episode share the basis of its first one: `by: 75%` after `by: 50%` leaves a quarter.
  const first = scene.state.intents.find(
    (other) =>
      other.source === 'rule' &&
      other.episodeKey === intent.episodeKey &&
      other.positionId === intent.positionId &&
      other.basis !== null &&
      other.basis.openDate === position.openDate,
  )?.basis;
  const isShared = first !== null && first !== undefined && intent.source === 'rule';
  const basis = isShared ? { ...first, growthBoundBase: maxText(first.sizeBase, position.sizeBase) } : own;
  return { ...intent, basis };
}

function maxText(a: IntentBasis['sizeBase'], b: IntentBasis['sizeBase']): IntentBasis['sizeBase'] {
  return formatDecimal(maxDecimal(toDecimal(a), toDecimal(b)));
}

function withTarget(intent: Intent, position: ReadPosition, market: MarketSettings, scene: Scene): Intent {
  const { basis } = intent;
  if (basis === null) return intent;
  if (intent.target.kind === 'untilDistance') {
    return followDistance(intent, intent.target.distance, position, market, scene);
  }
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

/** Computed from each complete read with no order of ours in doubt, and may only fall. */
function followDistance(
  intent: Intent,
  wanted: number,
  position: ReadPosition,
  market: MarketSettings,
  scene: Scene,
): Intent {
  const inDoubt = scene.state.doubt !== null || scene.state.orders.some((order) => order.status !== 'open');
  const mayStart = intent.targetBase === null && liquidationIsLikely(position);
  if (inDoubt && !mayStart) return intent;
  if (position.disagreement) return block(intent, 'disagreement', scene);
  if (position.direction === null) return block(intent, 'directionUnknown', scene);
  if (position.distance === null) return block(intent, 'liquidationPriceUnknown', scene);
  const target = targetForDistance(position, wanted, market, scene.read);
  if (target === undefined) return block(intent, 'directionUnknown', scene);
  return setTarget(unblock(intent), target, market, scene);
}

function targetForDistance(
  position: ReadPosition,
  wanted: number,
  market: MarketSettings,
  read: MarketRead,
): Decimal | undefined {
  const sizeBase = toDecimal(position.sizeBase);
  const { direction, distance } = position;
  if (direction === null || distance === null) return undefined;
  if (distance === 'none') return sizeBase;
  const otherSideBase = read.positions
    .filter((other) => other.direction !== null && other.direction !== direction)
    .reduce((sum, other) => sum.plus(toDecimal(other.sizeBase)), ZERO);
  return distanceTarget({ sizeBase, otherSideBase, direction, distance, wanted }, market);
}

function setTarget(intent: Intent, wanted: Decimal, market: MarketSettings, scene: Scene): Intent {
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

function endIfReached(intent: Intent, position: ReadPosition, market: MarketSettings, scene: Scene): Intent {
  const { basis, targetBase } = intent;
  if (basis === null || targetBase === null) return intent;
  const size = toDecimal(position.sizeBase);
  const why = reachedBy(size, toDecimal(targetBase), market);
  if (why !== undefined) {
    const hadNothing = reachedBy(toDecimal(basis.sizeBase), toDecimal(targetBase), market) !== undefined;
    const end = { how: 'reached', why: hadNothing ? 'nothingToReduce' : why } as const;
    return endIntent(intent, end, distanceNumber(position), scene.nowMs, scene.audit);
  }
  return judgeSideRefusal(intent, scene);
}

/** After 116 the position was read again: it is there and above target, so the side was refused. */
function judgeSideRefusal(intent: Intent, scene: Scene): Intent {
  if (!intent.sideRefused) return intent;
  scene.audit.emit({
    kind: 'rejected',
    key: intent.key,
    positionId: intent.positionId,
    ruleId: intent.ruleId,
    reason: 'side',
    words: 'the exchange sees nothing to reduce on this side, but the position is open and above its target',
    alarm: true,
  });
  return { ...intent, sideRefused: false, failures: intent.failures + 1 };
}

export function block(intent: Intent, why: BlockReason, scene: Pick<Scene, 'audit'>): Intent {
  if (intent.blockedBy === why) return intent;
  scene.audit.emit({
    kind: 'blocked',
    key: intent.key,
    positionId: intent.positionId,
    ruleId: intent.ruleId,
    reason: why,
    words: BLOCK_WORDS[why],
    alarm: true,
  });
  return { ...intent, blockedBy: why };
}

export function unblock(intent: Intent): Intent {
  return intent.blockedBy === null ? intent : { ...intent, blockedBy: null };
}

/** Within one rule, a later stage with a target that is no higher takes over. */
function supersede(intents: readonly Intent[], nowMs: number, audit: Recorder): readonly Intent[] {
  return intents.map((intent) => {
    if (!isOpen(intent) || intent.source !== 'rule' || intent.targetBase === null) return intent;
    const target = toDecimal(intent.targetBase);
    const isTakenOver = intents.some(
      (later) =>
        isOpen(later) &&
        later.source === 'rule' &&
        later.episodeKey === intent.episodeKey &&
        later.positionId === intent.positionId &&
        later.stage > intent.stage &&
        later.mode === intent.mode &&
        later.targetBase !== null &&
        toDecimal(later.targetBase).lte(target),
    );
    return isTakenOver
      ? endIntent(intent, { how: 'superseded', why: 'laterStage' }, null, nowMs, audit)
      : intent;
  });
}

/** A failed intent is tried again when the distance has shrunk to this share of what it was then. */
const WORSE_SHARE = 0.9;

/**
 * Giving up, or being done, is not final while the rule goes on firing: an intent that failed opens again when
 * its cause is gone or the position is clearly nearer to liquidation than it was then; one until a distance,
 * when half of what was won has been lost again.
 */
function reopenIfWorse(intent: Intent, position: ReadPosition | undefined, scene: Scene): Intent {
  if (position === undefined || intent.source === 'operator' || position.disagreement) return intent;
  const reason = reopenReason(intent, position, scene);
  if (reason === undefined) return intent;
  return reopen(intent, reason, scene);
}

export function reopen(
  intent: Intent,
  reason: 'worse' | 'causeGone' | 'gateOpened',
  scene: Pick<Scene, 'settings' | 'nowMs' | 'audit'>,
): Intent {
  scene.audit.emit({
    kind: 'intentReopened',
    key: intent.key,
    positionId: intent.positionId,
    ruleId: intent.ruleId,
    reason,
    words: 'the rule still fires',
  });
  return {
    ...intent,
    end: null,
    endedMs: null,
    endDistance: null,
    failures: 0,
    renewals: 0,
    blockedBy: null,
    refusedBy: null,
    deadlineMs: scene.nowMs + scene.settings.intentTtlMs,
  };
}

function reopenReason(
  intent: Intent,
  position: ReadPosition,
  scene: Scene,
): 'worse' | 'causeGone' | undefined {
  const distance = distanceNumber(position);
  if (intent.end?.how === 'failed') {
    if (isCauseGone(intent.end.why, position, scene)) return 'causeGone';
    const isWorse =
      distance !== null && intent.endDistance !== null && distance < intent.endDistance * WORSE_SHARE;
    return isWorse ? 'worse' : undefined;
  }
  if (intent.end?.how !== 'reached' || intent.target.kind !== 'untilDistance') return undefined;
  if (distance === null || scene.market === undefined) return undefined;
  const { distance: wanted } = intent.target;
  const start = Math.min(intent.basis?.distance ?? wanted, wanted);
  if (distance > (start + wanted) / 2) return undefined;
  const target = targetForDistance(position, wanted, scene.market, scene.read);
  const isDone =
    target === undefined || reachedBy(toDecimal(position.sizeBase), target, scene.market) !== undefined;
  return isDone ? undefined : 'worse';
}

function isCauseGone(why: FailureReason, position: ReadPosition, scene: Scene): boolean {
  if (why === 'hedged') {
    return !scene.read.positions.some((other) => other.direction !== position.direction);
  }
  return why.startsWith('blocked:') && position.markPrice !== null && position.direction !== null;
}

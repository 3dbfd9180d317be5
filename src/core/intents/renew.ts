import type { ExpiryReason, FailureReason } from '../audit/audit-event.ts';
import { isPresumedClosed } from '../lanes/absence.ts';
import { contestOf } from '../lanes/contest.ts';
import { about, type LaneScene } from '../lanes/lane-change.ts';
import type { Intent, LaneState, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition } from '../lanes/market-read.ts';
import { mayReduce } from '../orders/net-exposure.ts';
import { type Decimal, toDecimal } from '../quantities/decimal.ts';
import { isAccountTarget } from './account-plan.ts';
import { endIntent } from './end-intent.ts';
import { isOpen, UNTRIED } from './intent.ts';
import {
  type ConfiguredScene,
  distanceNumber,
  isConfigured,
  isMuchNearer,
  plannedTarget,
  type SettleScene,
  targetForDistance,
} from './intent-target.ts';
import { distanceReachedBy } from './targets.ts';

/** Ends an intent as expired and opens it again, as its rule still fires. After `maxRenewals` it fails. */
export function renew(
  intent: Intent,
  why: ExpiryReason,
  position: ReadPosition | undefined,
  scene: LaneScene & Pick<SettleScene, 'state'>,
): Intent {
  const { settings, nowMs, audit } = scene;
  const distance = distanceNumber(position);
  const expired = endIntent(intent, { how: 'expired', why }, scene, distance);
  if (intent.source === 'operator') return expired;
  // The stop that triggered belonged to another position.
  if (intent.source === 'cover' && why === 'rebuilt') return expired;
  if (intent.renewals >= settings.maxRenewals) {
    return endIntent(intent, { how: 'failed', why: renewalFailure(intent, scene.state) }, scene, distance);
  }
  const words = `renewal ${intent.renewals + 1} of ${settings.maxRenewals}: the rule still fires`;
  audit.emit({ kind: 'intentRenewed', ...about(intent), reason: why, words });
  return {
    ...intent,
    renewals: intent.renewals + 1,
    failures: 0,
    deadlineMs: nowMs + settings.intentTtlMs,
  };
}

function renewalFailure(intent: Intent, { doubt, refusals }: LaneState): FailureReason {
  if (intent.refusedBy !== null) return `refused:${intent.refusedBy}`;
  if (intent.blockedBy !== null) return `blocked:${intent.blockedBy}`;
  return doubt !== null || refusals > 0 ? 'unanswered' : 'renewals';
}

/** Expires intents by time alone, except those whose position is presumed closed: they end when it is confirmed. */
export function expireIntents(state: LaneState, scene: LaneScene): LaneState {
  const isExpired = (intent: Intent): boolean =>
    isOpen(intent) &&
    scene.nowMs >= intent.deadlineMs &&
    intent.refusedBy !== 'awaitingApproval' &&
    !isPresumedClosed(state, intent.positionId);
  if (!state.intents.some(isExpired)) return state;
  const intents = state.intents.map((intent) =>
    isExpired(intent)
      ? renew(intent, 'ttl', findPosition(state.read, intent.positionId), { ...scene, state })
      : intent,
  );
  return { ...state, intents };
}

/** A failed intent is reopened when the distance has shrunk to this share of what it was at the failure. */
const WORSE_SHARE = 0.9;

/**
 * Reopens an ended intent while its rule fires: a failed one when its cause is gone or liquidation is clearly nearer,
 * one with a distance target when half of the distance won is lost, and one whose position was gone when it is back.
 */
export function reopenIfWorse(
  intent: Intent,
  position: ReadPosition | undefined,
  scene: SettleScene,
): Intent {
  if (position === undefined || intent.source === 'operator' || position.disagreement) return intent;
  const reason = reopenReason(intent, position, scene);
  return reason === undefined ? intent : reopen(intent, reason, scene);
}

type ReopenReason = 'worse' | 'causeGone' | 'gateOpened' | 'backAgain';

export function reopen(intent: Intent, reason: ReopenReason, { settings, nowMs, audit }: LaneScene): Intent {
  audit.emit({ kind: 'intentReopened', ...about(intent), reason, words: 'the rule still fires' });
  return { ...intent, ...UNTRIED, deadlineMs: nowMs + settings.intentTtlMs };
}

function isRefusedByPeople(end: Intent['end']): boolean {
  return end?.how === 'failed' && (end.why === 'refused:vetoed' || end.why === 'refused:notAnswered');
}

function reopenReason(intent: Intent, position: ReadPosition, scene: SettleScene): ReopenReason | undefined {
  const { end } = intent;
  // The answered question decides when people are asked again.
  if (isRefusedByPeople(end)) return undefined;
  if (end?.how === 'failed') {
    if (isCauseGone(intent, end.why, position, scene)) return 'causeGone';
    const distance = distanceNumber(position);
    const isWorse =
      distance !== null && intent.endDistance !== null && distance < intent.endDistance * WORSE_SHARE;
    return isWorse ? 'worse' : undefined;
  }
  if (end?.how !== 'reached') return undefined;
  if (end.why === 'positionGone') return isBackAgain(intent, position) ? 'backAgain' : undefined;
  return isLostAgain(intent, position, scene) ? 'worse' : undefined;
}

/**
 * Whether the same position is back: the read that showed it gone was too early, or lagged. For a position rebuilt
 * under its id the rule has to fire again.
 */
function isBackAgain({ basis }: Intent, position: ReadPosition): boolean {
  return basis === null || (basis.openDate !== null && basis.openDate === position.openDate);
}

/** Whether half of the distance won is lost again and there is something left to reduce. */
function isLostAgain(intent: Intent, position: ReadPosition, scene: SettleScene): boolean {
  if (!isConfigured(scene)) return false;
  if (isAccountTarget(intent.target)) {
    return isAbove(plannedTarget(intent, position, scene), intent, position, scene);
  }
  if (intent.target.kind !== 'untilDistance') return false;
  const { distance: wanted } = intent.target;
  return isMuchNearer(intent, wanted, position) && targetForDistance(position, wanted, scene) !== undefined;
}

function isAbove(
  target: Decimal | undefined,
  { basis }: Intent,
  position: ReadPosition,
  { market, settings }: ConfiguredScene,
): boolean {
  if (target === undefined) return false;
  const given = { basis: basis ?? position, tolerance: settings.distanceTolerance };
  return distanceReachedBy(toDecimal(position.sizeBase), target, given, market) === undefined;
}

function isCauseGone(
  intent: Intent,
  why: FailureReason,
  position: ReadPosition,
  scene: SettleScene,
): boolean {
  if (!isConfigured(scene)) return false;
  const { nowMs, settings, state } = scene;
  switch (why) {
    case 'marketNotConfigured':
    case 'blocked:positionNotSeen':
      return true;
    case 'unanswered':
      // The exchange may answer again after a pause of one time to live.
      return intent.endedMs !== null && nowMs - intent.endedMs >= settings.intentTtlMs;
    case 'priorOrders':
      return !state.priorOrdersPossible;
    case 'hedged': {
      // This side may be reduced now, and that would help.
      const { target } = intent;
      const mayHelp = (): boolean =>
        target.kind !== 'untilDistance' || targetForDistance(position, target.distance, scene) !== undefined;
      return mayReduce(intent, position, scene) && mayHelp();
    }
    case 'blocked:liquidationPriceUnknown':
    case 'blocked:disagreement':
      return position.direction !== null && position.distance !== null;
    case 'blocked:contested':
    case 'blocked:reducedByOthers':
      return contestOf(state, position, nowMs) === undefined;
    case 'blocked:directionUnknown':
      return position.direction !== null;
    case 'blocked:netExposure':
      return mayReduce(intent, position, scene);
    case 'blocked:priceBand':
    case 'blocked:markUnknown':
    case 'blocked:markTooCoarse':
      return position.direction !== null && position.markPrice !== null;
    case 'blocked:stopNotCancellable':
    case 'blocked:cancelForbidden':
      return !state.orders.some((order) => order.positionId === position.positionId);
    default:
      return false;
  }
}

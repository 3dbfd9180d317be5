import { recorder } from '../audit/audit-event.ts';
import { isHeld, withHeld } from '../lanes/absence.ts';
import { about, type LaneScene } from '../lanes/lane-change.ts';
import type { Intent, LaneState, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition, isSameHolding } from '../lanes/market-read.ts';
import { marketOf } from '../orders/market-steps.ts';
import { toDecimal } from '../quantities/decimal.ts';
import { isAccountTarget } from './account-plan.ts';
import { endIntent } from './end-intent.ts';
import { boundByApproval, isOpen } from './intent.ts';
import {
  type ConfiguredScene,
  distanceNumber,
  isConfigured,
  type SettleScene,
  withBasis,
  withTarget,
} from './intent-target.ts';
import { renew, reopenIfWorse } from './renew.ts';
import { distanceReachedBy, reachedBy } from './targets.ts';

/** Applies the newest read to each intent: target, blocks, end. `mayStart`: new intents take their basis from it. */
export function settleIntents(state: LaneState, mayStart: boolean, scene: LaneScene): LaneState {
  const { read } = state;
  if (read === null) return state;
  const common = {
    ...scene,
    before: state,
    read,
    exposure: withHeld(read, state),
    mayStart,
    market: marketOf(state, scene.settings),
  };
  let { intents } = state;
  for (const { key } of state.intents) {
    intents = intents.map((intent) =>
      intent.key === key ? settleOne(intent, { ...common, state: { ...state, intents } }) : intent,
    );
  }
  return { ...state, intents: supersede(intents, scene) };
}

function settleOne(intent: Intent, scene: SettleScene): Intent {
  const position = findPosition(scene.read, intent.positionId);
  if (isOpen(intent)) return settleOpen(intent, position, scene);
  const audit = recorder(scene.state.accountId, scene.state.market, scene.nowMs);
  const tried = { ...scene, audit };
  const reopened = reopenIfWorse(intent, position, tried);
  // Changes of the position since the intent ended come first.
  const settled = isOpen(reopened) ? settleOpen(reopened, position, tried) : reopened;
  // If a bound leaves nothing to do, the intent is not reopened and ended with every read.
  if (intent.end?.how === 'reached' && settled.end?.how === 'reached') return intent;
  if (intent.end?.why === 'belowMinimum' && settled.end?.why === 'belowMinimum') return intent;
  scene.audit.events.push(...audit.events);
  return settled;
}

function settleOpen(intent: Intent, position: ReadPosition | undefined, scene: SettleScene): Intent {
  // The basis needs a new read: an older one may show another size, or another position.
  if (intent.basis === null && !scene.mayStart) return intent;
  if (!isConfigured(scene)) return endIntent(intent, { how: 'failed', why: 'marketNotConfigured' }, scene);
  if (position === undefined) return isHeld(scene.state, intent.positionId) ? intent : endGone(intent, scene);
  const handled = handledOwnership(intent, position, scene);
  if (!isOpen(handled)) return handled;
  return endIfReached(withTarget(withBasis(handled, position, scene), position, scene), position, scene);
}

function endGone(intent: Intent, scene: SettleScene): Intent {
  if (intent.basis === null && scene.read.sentAtMs < intent.openedMs) return intent;
  const hasSuccessor = scene.read.positions.some(
    (other) => other.positionSide === intent.basis?.positionSide,
  );
  const end = hasSuccessor
    ? ({ how: 'expired', why: 'newPosition' } as const)
    : ({ how: 'reached', why: 'positionGone' } as const);
  return endIntent(intent, end, scene);
}

/** Renews an intent whose position changed hands: another one under the same id, or grown beyond its size at firing. */
function handledOwnership(intent: Intent, position: ReadPosition, scene: SettleScene): Intent {
  const { basis } = intent;
  if (basis === null) return intent;
  if (!isSameHolding(basis, position)) {
    const renewed = renew(intent, 'rebuilt', position, scene);
    if (!isOpen(renewed)) return renewed;
    // A plan counts only for the position it was made for.
    const unplanned = renewed.plannedBase === undefined ? {} : { plannedBase: null };
    return { ...renewed, basis: null, targetBase: null, ...unplanned };
  }
  if (toDecimal(position.sizeBase).gt(toDecimal(basis.growthBoundBase))) {
    const renewed = renew(intent, 'grown', position, scene);
    return { ...renewed, basis: { ...basis, growthBoundBase: position.sizeBase } };
  }
  return intent;
}

function endIfReached(intent: Intent, position: ReadPosition, scene: ConfiguredScene): Intent {
  const { basis, targetBase } = intent;
  if (basis === null || targetBase === null) return intent;
  const { market, settings } = scene;
  const size = toDecimal(position.sizeBase);
  const target = toDecimal(targetBase);
  const why =
    intent.target.kind === 'untilDistance' || isAccountTarget(intent.target)
      ? distanceReachedBy(size, target, { basis, tolerance: settings.distanceTolerance }, market)
      : reachedBy(size, target, market);
  if (why !== undefined) {
    const before = toDecimal(basis.sizeBase);
    const hadNothing = reachedBy(before, target, market) !== undefined;
    const configured = settings.marketSettings(scene.state.market) ?? market;
    // The config knows of no such minimum: the exchange has refused.
    const isBarred = hadNothing && reachedBy(before, target, configured) === undefined;
    const end = isBarred
      ? ({ how: 'failed', why: 'belowMinimum' } as const)
      : ({ how: 'reached', why: hadNothing ? 'nothingToReduce' : why } as const);
    return endIntent(intent, end, scene, distanceNumber(position));
  }
  return judgeSideRefusal(intent, scene);
}

/** Judges a refusal (116) after a new read: the position is open and above its target, so the side was refused. */
function judgeSideRefusal(intent: Intent, scene: SettleScene): Intent {
  if (!intent.sideRefused) return intent;
  scene.audit.emit({
    kind: 'rejected',
    ...about(intent),
    reason: 'side',
    words: 'the exchange sees nothing to reduce on this side, but the position is open and above its target',
    alarm: true,
  });
  return { ...intent, sideRefused: false, failures: intent.failures + 1 };
}

/** Within an episode, a later stage whose target is no higher takes over. */
function supersede(intents: readonly Intent[], scene: LaneScene): readonly Intent[] {
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
        later.refusedBy !== 'awaitingApproval' &&
        boundByApproval(later.targetBase, later).lte(target),
    );
    return isTakenOver ? endIntent(intent, { how: 'superseded', why: 'laterStage' }, scene) : intent;
  });
}

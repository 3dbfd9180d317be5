import type { BlockReason, GateReason } from '../../../src/core/audit/audit-event.ts';
import type { GateContext } from '../../../src/core/intents/gate.ts';
import type { Intent, IntentBasis, LaneState } from '../../../src/core/lanes/lane-state.ts';
import type { SetScene } from '../../../src/core/orders/want.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { Mode, ReduceTarget } from '../../../src/core/rules/rule.ts';
import type { Dice } from '../../support/dice.ts';
import { NOW_MS } from '../orders/scenes.ts';

export const size = (dice: Dice): DecimalString => dice.of('1', '2', '3', '4', '6') as DecimalString;

export const TARGETS: readonly [ReduceTarget, ...ReduceTarget[]] = [
  { kind: 'to', fraction: 0 },
  { kind: 'to', fraction: 0.5 },
  { kind: 'by', fraction: 0.5 },
  { kind: 'toNotional', notional: '2000' },
  { kind: 'untilDistance', distance: 0.1 },
  { kind: 'untilDistance', distance: 0.25 },
  { kind: 'untilJointDistance', distance: 0.1 },
  { kind: 'untilMarginUsage', asset: 'USDT', usage: 0.5 },
];

const BLOCKS = [
  'markUnknown',
  'markTooCoarse',
  'directionUnknown',
  'liquidationPriceUnknown',
  'disagreement',
  'marketNotConfigured',
  'priceNotPositive',
  'noRoomForStop',
  'positionNotSeen',
  'contested',
  'reducedByOthers',
  'netExposure',
  'priorOrders',
  'stopNotCancellable',
  'cancelForbidden',
] as const satisfies readonly BlockReason[];

const REFUSALS = [
  'observeMode',
  'paused',
  'sharedAccount',
  'silenced',
  'cooldown',
  'perHour',
  'awaitingApproval',
  'vetoed',
  'notAnswered',
] as const satisfies readonly GateReason[];

/** Half of them are open. */
function endOf(dice: Dice): Intent['end'] {
  if (dice.hits(0.5)) return null;
  const how = dice.of('reached', 'reached', 'failed', 'failed', 'blocked', 'blocked', 'refused', 'other');
  if (how === 'reached') {
    return { how, why: dice.of('target', 'dust', 'tolerance', 'positionGone', 'nothingToReduce') };
  }
  if (how === 'blocked') return { how: 'failed', why: `blocked:${dice.of(...BLOCKS)}` };
  if (how === 'refused') return { how: 'failed', why: `refused:${dice.of(...REFUSALS)}` };
  if (how === 'other') {
    return dice.of<Intent['end']>(
      { how: 'resolved', why: 'ruleResolved' },
      { how: 'superseded', why: 'laterStage' },
      { how: 'expired', why: 'grown' },
    );
  }
  const why = dice.of('attempts', 'hedged', 'renewals', 'unanswered', 'priorOrders', 'marketNotConfigured');
  return { how: 'failed', why };
}

function basisOf(dice: Dice): IntentBasis {
  const sizeBase = size(dice);
  return {
    sizeBase,
    markPrice: dice.of('1000' as DecimalString, '1010' as DecimalString, null),
    distance: dice.of(0.02, 0.04, 0.08, null),
    positionSide: 'BOTH',
    openDate: dice.of(1, 1, 1, null),
    direction: dice.of('long', 'short', null),
    growthBoundBase: dice.of(sizeBase, sizeBase, size(dice)),
  };
}

function intentOf(dice: Dice, intent: Intent, stage: number): Intent {
  const target = dice.of(...TARGETS);
  const isPlanned = target.kind === 'untilJointDistance' || target.kind === 'untilMarginUsage';
  const end = endOf(dice);
  return {
    ...intent,
    target,
    stage,
    episodeKey: dice.of('rule', 'other'),
    mode: dice.of<Mode>('enforce', 'enforce', 'observe', 'approve'),
    targetBase: dice.of<DecimalString | null>(null, null, '0' as DecimalString, size(dice)),
    basis: dice.hits(0.7) ? basisOf(dice) : null,
    end,
    endedMs: end === null ? null : NOW_MS - dice.of(0, 500, 10_000),
    endDistance: dice.of(0.02, 0.04, 0.08, null),
    stageAtMs: NOW_MS - dice.of(0, 500, 10_000),
    openedMs: NOW_MS - dice.of(0, 500, 10_000),
    deadlineMs: NOW_MS + dice.of(-500, 0, 1, 10_000),
    failures: dice.of(0, 1, 4, 5, 6),
    renewals: dice.of(0, 1, 2, 3),
    blockedBy: dice.hits(0.8) ? null : dice.of(...BLOCKS),
    refusedBy: dice.hits(0.7) ? null : dice.of(...REFUSALS),
    ...(isPlanned
      ? { plannedBase: dice.of<DecimalString | null>(null, '0' as DecimalString, size(dice)) }
      : {}),
    ...(dice.hits(0.2) ? { approvedBase: size(dice) } : {}),
  };
}

/** Random intents, in any state, in a market with our orders. */
export function laneOf(dice: Dice, { state }: SetScene): LaneState {
  const intents = state.intents.flatMap((intent, index) => [
    { ...intentOf(dice, intent, 0), key: `rule-${index}` },
    ...(dice.hits(0.3) ? [{ ...intentOf(dice, intent, 1), key: `rule-${index}-1` }] : []),
  ]);
  return {
    ...state,
    intents,
    ...(dice.hits(0.3)
      ? {
          margins: [
            {
              positionId: '41',
              openDate: 1,
              direction: dice.of('long', 'short'),
              margin: dice.of('own', 'shared'),
              from: 'list',
            },
          ],
        }
      : {}),
    change: dice.hits(0.3)
      ? {
          why: 'exceedsTarget',
          phase: dice.of('cancel', 'place'),
          startedMs: NOW_MS - dice.of(500, 59_999, 60_000),
          rounds: dice.of(0, 4, 5),
          admitted: ['rule-0'],
        }
      : null,
  };
}

export function gateOf(dice: Dice, { intents }: LaneState): GateContext {
  const [intent] = intents;
  return {
    paused: dice.hits(0.2),
    ...(dice.hits(0.1) ? { isShared: true } : {}),
    silencedRules: dice.hits(0.2) ? ['rule-0', 'stop-0'] : [],
    limited:
      intent !== undefined && dice.hits(0.2)
        ? { [intent.episodeKey]: dice.of('cooldown' as const, 'perHour' as const) }
        : {},
    modeOf: () => dice.of<Mode>('enforce', 'observe'),
  };
}

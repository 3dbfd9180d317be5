import { type ApprovalQuestion, stageKeyOf } from '../../../src/core/approvals/question.ts';
import type { LaneContext } from '../../../src/core/intents/admission.ts';
import { episodeKeyOf } from '../../../src/core/intents/gate.ts';
import { actionKey, type LaneRequest } from '../../../src/core/intents/intent.ts';
import type {
  Absence,
  CancelTask,
  Contest,
  Cover,
  Intent,
  LaneState,
  ReadPosition,
} from '../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { ActionSpec, Mode } from '../../../src/core/rules/rule.ts';
import type { ActionRequest, Direction } from '../../../src/core/rules/subject.ts';
import type { Dice } from '../../support/dice.ts';
import { gateOf, size, TARGETS, laneOf as withIntents } from '../intents/scenes.ts';
import { sceneOf } from '../orders/scenes.ts';
import { action } from './fixtures.ts';

/**
 * A random lane, possible or not, with requests for it. Times are multiples of half a second and often just at a bound;
 * sizes are whole, and prices lie on steps of 5.
 */

/** Long after the scene of the orders, so that states lasting hours may have begun, and their bounds are met. */
export const LATE_MS = 10_000_000;
const SHIFT_MS = LATE_MS - 200_000;

export interface LaneSceneOf {
  readonly lane: LaneState;
  readonly settings: AccountSettings;
  readonly context: LaneContext;
  readonly requests: readonly LaneRequest[];
}

export function laneScene(dice: Dice): LaneSceneOf {
  const scene = sceneOf(dice);
  const settings: AccountSettings = {
    ...scene.settings,
    readLagMs: dice.of(0, 0, 500, 1_000),
    lateArrivalMs: dice.of(1_000, 5_000),
    intentTtlMs: 10_000,
    maxAttempts: dice.of(2, 5),
    maxRenewals: dice.of(1, 2),
    maxSnapshotAgeMs: dice.of(1_000, 10_000),
    maxOrderReadAgeMs: dice.of(500, 2_000),
    largestReduction: dice.of(1, 1, 0.5),
    marginModel: dice.of('auto', 'auto', 'cross', 'isolated'),
    mode: dice.of('enforce', 'observe', 'approve'),
    ...(dice.hits(0.1) ? { marketSettings: () => undefined } : {}),
  };
  const whole = withIntents(dice, scene);
  const requests = requestsOf(dice, whole);
  const lane = withRest(dice, triggered(dice, ready(dice, withKeys(later(whole), requests))), requests);
  const mode = dice.of<Mode>('enforce', 'enforce', 'enforce', 'observe');
  const gate = {
    paused: dice.hits(0.05),
    isShared: dice.hits(0.03),
    silencedRules: dice.hits(0.05) ? ['near'] : [],
    limited: dice.hits(0.1) ? gateOf(dice, lane).limited : {},
    modeOf: () => mode,
    silencedSubjects: dice.hits(0.1) ? [{ ruleId: 'near', subject: 'position:41' }] : [],
    questions: questionsOf(dice, lane, requests),
  };
  const at = (): number => LATE_MS - dice.of(0, 500, 5_000, 10_000, 10_500);
  const context: LaneContext = {
    settings,
    gate,
    ...(dice.hits(0.5) ? { orders: { acceptedMs: at(), refusedMs: at() } } : {}),
    ...(dice.hits(0.25) ? { standsIn: true as const } : {}),
  };
  return { lane, settings, context, requests };
}

/** Often nothing blocks what is asked for. */
function ready(dice: Dice, state: LaneState): LaneState {
  const intents = state.intents.map(
    (intent): Intent =>
      dice.hits(0.4)
        ? intent
        : {
            ...intent,
            mode: 'enforce',
            refusedBy: null,
            end: null,
            failures: 0,
            deadlineMs: LATE_MS + 10_000,
          },
  );
  return { ...state, intents, change: dice.hits(0.5) ? null : state.change };
}

/** Often a rung of a ladder has triggered and done its part, and the next one is waited for. */
function triggered(dice: Dice, state: LaneState): LaneState {
  const isDone = (key: string): boolean =>
    state.intents.some((intent) => intent.key === key && intent.source === 'cover') && dice.hits(0.6);
  const covers = state.covers.map((cover): Cover => {
    if (!isDone(cover.key)) return cover;
    const of = state.read?.positions.find(({ positionId }) => positionId === cover.positionId);
    const isShort = of?.direction === 'short';
    return {
      ...cover,
      anchor: {
        markPrice: '1000' as DecimalString,
        liquidationPrice: (isShort ? dice.of('1020', '1040') : dice.of('980', '960', '900')) as DecimalString,
        openDate: of?.openDate ?? 1,
        direction: of?.direction ?? null,
        sizeBase: size(dice),
      },
    };
  });
  const laddered = new Set(
    covers.flatMap(({ key, anchor }) => (anchor?.sizeBase === undefined ? [] : [key])),
  );
  const intents = state.intents.map((intent): Intent => {
    if (intent.source !== 'cover' || !laddered.has(intent.key) || dice.hits(0.2)) return intent;
    return { ...intent, end: { how: 'reached', why: 'target' }, endedMs: LATE_MS - 500 };
  });
  return { ...state, covers, intents };
}

/** The same lane with all its times shifted later. */
function later<T>(value: T): T {
  const moved = (one: unknown, name: string): unknown => {
    if (typeof one === 'number') return name.endsWith('Ms') && name !== 'roundTripMs' ? one + SHIFT_MS : one;
    if (Array.isArray(one)) return one.map((entry: unknown) => moved(entry, name));
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(
      Object.entries(one).map(([key, member]) => [key, moved(member, name === 'retryAtMs' ? name : key)]),
    );
  };
  return moved(value, '') as T;
}

const SPECS: readonly [ActionSpec, ...ActionSpec[]] = [
  { kind: 'protect', at: 0.5, slippage: 0.01 },
  {
    kind: 'protect',
    at: 0.4,
    slippage: 0.01,
    ladder: [
      { at: 0.4, leave: 0.5 },
      { at: 0.7, leave: 0 },
    ],
  },
  { kind: 'cancelAll', types: ['futures'], scope: 'market' },
  { kind: 'cancelAll', types: ['spot', 'margin'], scope: 'market' },
  { kind: 'cancelAll', types: ['futures', 'spot'], scope: 'account' },
];

/** Requests for the lane's own intents and covers, so that most exist already, and a few more. */
function requestsOf(dice: Dice, { intents, covers }: LaneState): readonly LaneRequest[] {
  const asks = (spec: ActionSpec, positionId: string, stage: number, actionIndex: number): LaneRequest => ({
    request: action(spec, {
      ...(dice.hits(0.3)
        ? { subjectKind: 'account', subject: 'account' }
        : { subject: `position:${positionId}` }),
      stage,
      actionIndex,
      mode: dice.of<Mode>('enforce', 'enforce', 'observe', 'approve'),
      severity: dice.of('warning', 'critical'),
      atMs: LATE_MS - dice.of(0, 500, 10_000),
      exemptFromLimits: dice.hits(0.1),
      ...(dice.hits(0.2) ? { hasCleared: true } : {}),
    }),
    positionId: spec.kind === 'cancelAll' ? null : positionId,
    ...(spec.kind === 'reduce' && spec.target.kind.startsWith('until') && dice.hits(0.5)
      ? { plannedBase: size(dice) }
      : {}),
  });
  const reductions = [...intents, undefined].map((intent, index) =>
    asks(
      { kind: 'reduce', target: dice.of(...TARGETS), slippageSteps: [0.005, 0.01] },
      intent?.positionId ?? dice.of('41', '42'),
      intent?.stage ?? dice.of(0, 1, 2),
      index,
    ),
  );
  const others = [...covers, undefined, undefined].map((cover, index) =>
    asks(dice.of(...SPECS), cover?.positionId ?? dice.of('41', '42'), cover?.stage ?? 0, 10 + index),
  );
  return [...reductions, ...others];
}

/** Gives the intents and covers of the lane the keys of these requests. */
function withKeys(state: LaneState, requests: readonly LaneRequest[]): LaneState {
  const names = new Map<string, { readonly key: string; readonly request: ActionRequest }>();
  // A triggered stop's intent has the key of the stop.
  const cover = state.intents.length + 1;
  const name = (one: Pick<Intent, 'key'>, entry: LaneRequest | undefined): void => {
    if (entry === undefined) return;
    const { request, positionId } = entry;
    names.set(one.key, { key: actionKey(request, positionId), request });
  };
  state.intents.forEach((one, index) => name(one, requests[one.source === 'cover' ? cover : index]));
  state.covers.forEach((one, index) => name(one, requests[state.intents.length + 1 + index]));
  const first = requests[0]?.request;
  const keyOf = (key: string): string => names.get(key)?.key ?? (first ? actionKey(first, '41') : key);
  const renamed = <T extends Intent | Cover>(one: T): T => {
    const request = names.get(one.key)?.request ?? first;
    return {
      ...one,
      key: keyOf(one.key),
      ruleId: 'near',
      episodeKey: request === undefined ? one.episodeKey : episodeKeyOf(request),
    };
  };
  return {
    ...state,
    intents: state.intents.map(renamed),
    covers: state.covers.map(renamed),
    orders: state.orders.map((order) => ({ ...order, key: keyOf(order.key) })),
    change: state.change && { ...state.change, admitted: state.change.admitted.map(keyOf) },
  };
}

function withRest(dice: Dice, state: LaneState, requests: readonly LaneRequest[]): LaneState {
  const at = (): number => LATE_MS + dice.of(-500, 0, 500, 1_000);
  const ago = (): number => LATE_MS - dice.of(0, 500, 1_000, 5_000, 10_000);
  const pausedUntil = (): number => (dice.hits(0.7) ? 0 : at());
  const doubts = ['newStore', 'unknownOutcome', 'processDied', 'duplicateUnexpected'] as const;
  const { read } = state;
  return {
    ...state,
    generation: dice.of(0, 3),
    attempt: dice.of(0, 7, 999, 1_000),
    cancels: requests.flatMap((entry) => taskOf(dice, entry)),
    readAfterMs: dice.hits(0.7) ? 0 : at(),
    ignoreReadsBeforeMs: dice.hits(0.7) ? 0 : at(),
    latestRead: dice.hits(0.7) || read === null ? read : { ...read, sentAtMs: read.sentAtMs + 500 },
    ...(read !== null && dice.hits(0.1) ? { read: { ...read, partial: dice.of('list', 'market') } } : {}),
    ...(dice.hits(0.3) ? { absent: [absenceOf(dice), ...(dice.hits(0.3) ? [absenceOf(dice)] : [])] } : {}),
    ...(dice.hits(0.25) ? { contests: [contestOf(dice, requests)] } : {}),
    ...(dice.hits(0.2) ? { ended: state.orders.slice(-1) } : {}),
    doubt: dice.hits(0.7)
      ? null
      : { why: dice.of(...doubts), sinceMs: ago(), sentAhead: dice.hits(0.2) ? ['41'] : [] },
    heldBy: dice.hits(0.95) ? null : dice.of('account', 'other'),
    retryAtMs: {
      reduce: pausedUntil(),
      cover: pausedUntil(),
      cancel: pausedUntil(),
      read: pausedUntil(),
      ...(dice.hits(0.2) ? { inFavour: at() } : {}),
    },
    refusals: dice.of(0, 0, 1, 3, 5),
    ...(dice.hits(0.3) ? { cancelRefusals: dice.of(1, 2, 4) } : {}),
    ...(dice.hits(0.2) ? { cancelPendingUntilMs: at() } : {}),
    ...(dice.hits(0.2) ? { orderRefusedMs: ago() } : {}),
    priorOrdersPossible: dice.hits(0.3),
    ...(dice.hits(0.2) ? { rebasedMs: at() } : {}),
    ...(dice.hits(0.3)
      ? {
          learned: {
            ...state.learned,
            maintenance: { low: dice.of(0.01, 0.03), high: dice.of(0.03, 0.2), agreeing: dice.of(1, 2) },
          },
        }
      : {}),
    reported: [
      ...state.orders.flatMap(({ request }) =>
        dice.hits(0.3) ? [`standing:${request.clientOrderId}${dice.of('', ':alarm')}`] : [],
      ),
      ...state.intents.flatMap(({ key, targetBase }) =>
        dice.hits(0.3) ? [`would:${key}:${targetBase ?? '0'}`] : [],
      ),
      ...(dice.hits(0.3) ? ['would:gone:0', 'other'] : []),
    ],
    orders: state.orders.map((order) => ({
      ...order,
      ...(dice.hits(0.2) ? { unwantedSinceMs: LATE_MS - dice.of(0, 59_500, 60_000) } : {}),
      ...(dice.hits(0.1) ? { neverConfirmed: true as const } : {}),
      ...(dice.hits(0.1) ? { wasOpen: true } : {}),
    })),
    ...(dice.hits(0.2)
      ? {
          observed: state.orders.slice(0, 1).map(({ key, role, positionId, request }) => ({
            key,
            role,
            positionId,
            request,
          })),
        }
      : {}),
  };
}

const HELD = ['observeMode', 'awaitingApproval', 'vetoed', 'notAnswered', 'paused', 'cooldown'] as const;

function taskOf(dice: Dice, { request }: LaneRequest): readonly CancelTask[] {
  if (request.action.kind !== 'cancelAll' || dice.hits(0.3)) return [];
  const { mode, exemptFromLimits } = request;
  return [
    {
      key: actionKey(request, null),
      episodeKey: dice.hits(0.5)
        ? episodeKeyOf(request)
        : episodeKeyOf({ ...request, subject: 'position:41', episode: 1 }),
      ruleId: request.ruleId,
      types: request.action.types,
      mode,
      exemptFromLimits,
      failures: dice.of(0, 1, 2, 5),
      refusedBy: dice.hits(0.5) ? null : dice.of(...HELD),
      openedMs: LATE_MS - dice.of(0, 500, 10_000),
      deadlineMs: LATE_MS + dice.of(-500, 0, 500, 10_000),
      state: dice.of('open', 'open', 'done', 'failed'),
    },
  ];
}

function absenceOf(dice: Dice): Absence {
  return {
    positionId: dice.of('41', '42', '43', '44'),
    last: dice.hits(0.3) ? null : readPositionOf(dice, dice.of('42', '43')),
    sinceMs: dice.of(null, LATE_MS - dice.of(0, 29_500, 30_000, 180_000, 179_500)),
    reads: dice.of(0, 1, 2, 3),
    phase: dice.of('held', 'held', 'explained', 'closed'),
    told: dice.hits(0.5),
  };
}

function contestOf(dice: Dice, requests: readonly LaneRequest[]): Contest {
  const ago = (): number => LATE_MS - dice.of(500, 1_000, 3_599_500, 3_600_000, 3_600_500);
  const [first, second] = requests;
  const episodes = [first, second, undefined].map((entry, index) =>
    episodeKeyOf({ ...(entry?.request ?? action(SPECS[0])), episode: 1 + index }),
  );
  return {
    positionId: dice.of('41', '41', '42'),
    isReduced: dice.hits(0.5),
    addsMs: Array.from({ length: dice.of(0, 1, 2, 3) }, ago),
    ...(dice.hits(0.5)
      ? { falls: episodes.slice(0, dice.of(1, 2, 3)).map((episodeKey) => ({ episodeKey, atMs: ago() })) }
      : {}),
  };
}

export function readPositionOf(dice: Dice, positionId: string): ReadPosition {
  const isLong = dice.hits(0.5);
  return {
    positionId,
    positionSide: 'BOTH',
    openDate: dice.of(1, 2, null),
    direction: isLong ? 'long' : 'short',
    sizeBase: size(dice),
    markPrice: '1000' as DecimalString,
    markError: 0,
    liquidationPrice: (isLong ? '900' : '1100') as DecimalString,
    distance: 0.1,
    liquidationState: 'none',
    disagreement: false,
    fenceRisk: 0,
  };
}

/** Answers of people about the lane's own stages. */
function questionsOf(
  dice: Dice,
  { market }: LaneState,
  requests: readonly LaneRequest[],
): ReadonlyMap<string, ApprovalQuestion> {
  const states = ['waiting', 'approved', 'approved', 'vetoed', 'unanswered', 'released'] as const;
  const questions = new Map<string, ApprovalQuestion>();
  for (const { request, positionId } of requests) {
    if (dice.hits(0.4)) continue;
    const stageKey = stageKeyOf(request);
    const state = dice.of(...states);
    const targets =
      positionId === null
        ? []
        : [
            {
              positionId,
              market,
              targetBase: size(dice),
              sizeBase: size(dice),
              ...(dice.hits(0.5)
                ? { openDate: dice.of(1, 2), direction: dice.of<Direction>('long', 'short') }
                : {}),
            },
          ];
    questions.set(stageKey, {
      id: `q${questions.size}`,
      stageKey,
      openedMs: LATE_MS - 1_000,
      untilMs: LATE_MS + dice.of(-500, 0, 500),
      state,
      asked: [{ revision: 1, atMs: LATE_MS - 1_000, targets }],
      ...(state === 'approved' ? { approved: targets } : {}),
    });
  }
  return questions;
}

import { type AskedAll, askQuestions, type WantedStage } from '../../core/approvals/ask.ts';
import { heldOrders } from '../../core/approvals/held-orders.ts';
import {
  type AskingStage,
  type DeliveryState,
  type GivenAnswer,
  type Judged,
  judgeQuestions,
} from '../../core/approvals/judge.ts';
import {
  type ApprovalQuestion,
  type Approvals,
  type AskedTarget,
  NO_QUESTIONS,
  noticeIdOf,
  stageKeyOf,
  stageOf,
} from '../../core/approvals/question.ts';
import { episodeKeyOf, type GateContext, otherRefusal } from '../../core/intents/gate.ts';
import { actionKey, needsApproval } from '../../core/intents/intent.ts';
import { approvalsOnClock } from '../../core/lanes/lane-clock.ts';
import type { Intent, LaneState } from '../../core/lanes/lane-state.ts';
import { findPosition } from '../../core/lanes/market-read.ts';
import type { RouteState } from '../../core/lanes/route-requests.ts';
import { requestOf } from '../../core/orders/order-request.ts';
import type { AccountQuantities } from '../../core/quantities/account.ts';
import { CreditLineQuantities } from '../../core/quantities/credit-line.ts';
import { toDecimal } from '../../core/quantities/decimal.ts';
import { leastJointDistance } from '../../core/quantities/least-joint-distance.ts';
import type { PositionQuantities } from '../../core/quantities/position.ts';
import type { AccountSettings, ApprovalSettings } from '../../core/quantities/settings.ts';
import { type Motion, motionOf } from '../../core/risk/forecast.ts';
import { actingMs, type Margin } from '../../core/risk/time-left.ts';
import { creditLineKey } from '../../core/rules/memory.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import { evaluatedAccount } from '../../core/rules/subjects.ts';
import { orderWords } from '../../core/view/state-of.ts';
import type { Decisions } from './lane-at-rest.ts';

/** The requests that people are asked to approve. */
export function askingOf(acting: readonly ActionRequest[]): readonly ActionRequest[] {
  return acting.filter(
    ({ mode, action }) => mode === 'approve' && (action.kind === 'reduce' || action.kind === 'cancelAll'),
  );
}

/** Used when rules ask for approval but the account's config has no `approval` section. */
const USUAL: ApprovalSettings = { withinMs: 60_000, withoutAnswer: 'act' };

function settingsOf({ approval }: AccountSettings): ApprovalSettings {
  return approval ?? USUAL;
}

export interface JudgeScene {
  readonly asking: readonly ActionRequest[];
  readonly routes: RouteState;
  readonly gate: Omit<GateContext, 'modeOf' | 'questions'>;
  readonly answers: readonly GivenAnswer[];
}

/** Judges the open questions before the lanes run; undefined: nobody is asked anything. */
export function judgeApprovals(decisions: Decisions, scene: JudgeScene): Judged | undefined {
  const { account, stored, moment, conclusive } = decisions;
  const { settings } = account.rules;
  const before = approvalsOnClock(stored.documents.approvals ?? NO_QUESTIONS, moment);
  if (scene.asking.length + before.questions.length + scene.answers.length === 0) return undefined;
  return judgeQuestions(before, {
    accountId: account.id,
    epochId: stored.epoch.id,
    stages: stagesOf(decisions, scene, before),
    conclusive,
    answers: scene.answers,
    deliveryOf: (question) => deliveryOf(question, decisions),
    settings: settingsOf(settings),
    actingMs: actingMs(settings),
    nowMs: moment.nowMs,
  });
}

function stagesOf(decisions: Decisions, scene: JudgeScene, before: Approvals): readonly AskingStage[] {
  const quantities = quantitiesOf(decisions);
  const known = new Set(before.questions.map(({ stageKey }) => stageKey));
  const stages = Map.groupBy(scene.asking, stageKeyOf);
  return [...stages].flatMap(([stageKey, requests]): readonly AskingStage[] => {
    const routed = requests.filter((request) => isRouted(request, scene.routes));
    // No route has begun: its positions are not known yet.
    if (routed.length === 0 && !known.has(stageKey)) return [];
    const isHeld = (request: ActionRequest): boolean =>
      otherRefusal({ ...request, episodeKey: episodeKeyOf(request) }, scene.gate) !== null;
    return [
      {
        stageKey,
        isExempt: requests.some(({ exemptFromLimits }) => exemptFromLimits),
        isHeldBack: requests.every(isHeld),
        margins: marginsOf(requests, scene.routes, decisions, quantities),
      },
    ];
  });
}

function isRouted(request: ActionRequest, { routes }: RouteState): boolean {
  return isAccountWide(request) || routes[actionKey(request, null)] !== undefined;
}

function isAccountWide({ action }: ActionRequest): boolean {
  return action.kind === 'cancelAll' && action.scope === 'account';
}

function quantitiesOf({ account: { rules }, snapshot, evaluation, now }: Decisions): AccountQuantities {
  return evaluatedAccount(snapshot, rules.settings, now, evaluation.state);
}

/** Margins to liquidation of the positions and credit lines of a stage; undefined: one of them is unknown. */
function marginsOf(
  requests: readonly ActionRequest[],
  { routes }: RouteState,
  { evaluation: { state } }: Decisions,
  quantities: AccountQuantities,
): readonly Margin[] | undefined {
  const meant = new Set(
    requests.flatMap((request) => routes[actionKey(request, null)] ?? []).map(({ positionId }) => positionId),
  );
  const isOfAll = requests.some(isAccountWide);
  const joint = leastJointDistance(quantities);
  const margins: Margin[] =
    joint === undefined ? [] : [{ distance: joint, dangerous: 'fall', motion: undefined }];
  for (const position of quantities.positions) {
    if (!isOfAll && !meant.has(position.record.positionId)) continue;
    const { liquidationDistance: distance } = position;
    // One leg of a hedge is always beyond its own liquidation price; only the pool's joint distance counts.
    if (distance.kind === 'unknown' && joint === undefined) return undefined;
    if (distance.kind !== 'value') continue;
    const forecast = state.markets.find(({ market }) => market === position.record.market)?.forecast;
    const motion = known(motionOf(forecast));
    margins.push({ distance: distance.value, dangerous: dangerOf(position), motion });
  }
  const { creditLine } = quantities.snapshot.sources;
  const records = creditLine?.kind === 'read' ? creditLine.value.records : [];
  for (const record of records) {
    const subject = creditLineKey(record);
    if (!requests.some((request) => request.subject === subject)) continue;
    const mayFall = new CreditLineQuantities(record, quantities.settings).collateralMayFall('liquidationLtv');
    if (mayFall.kind === 'unknown') return undefined;
    if (mayFall.kind !== 'value') continue;
    const memory = state.creditLines.find((one) => one.subject === subject);
    margins.push({ distance: mayFall.value, dangerous: 'rise', motion: known(motionOf(memory?.forecast)) });
  }
  return margins;
}

function known(motion: ReturnType<typeof motionOf>): Motion | undefined {
  return motion.kind === 'value' ? motion.value : undefined;
}

function dangerOf({ direction }: PositionQuantities): Margin['dangerous'] {
  return direction.kind === 'value' && direction.value === 'short' ? 'rise' : 'fall';
}

/** The best known delivery state of the notices of the present wait. */
function deliveryOf(question: ApprovalQuestion, { account, deliveries }: Decisions): DeliveryState {
  const states = noticesOf(account.id, question).map((id) => deliveries?.get(id) ?? 'pending');
  if (states.includes('delivered')) return 'delivered';
  return states.length > 0 && states.every((state) => state === 'failed') ? 'failed' : 'pending';
}

/** Ids of the notices that ask people in the present wait. */
export function noticesOf(accountId: string, question: ApprovalQuestion): readonly string[] {
  const { asked, askedMs } = question;
  if (askedMs === undefined) return [];
  return asked
    .filter(({ atMs }) => atMs >= askedMs)
    .map(({ revision }) => noticeIdOf(accountId, question, revision));
}

/** Asks people about what the lanes would do, now that the lanes know their targets. */
export function askPeople(
  { account: { id: accountId, rules }, moment }: Decisions,
  approvals: Approvals,
  asking: readonly ActionRequest[],
  lanes: readonly LaneState[],
): AskedAll {
  const { settings } = rules;
  const { nowMs } = moment;
  const wanted = new Map<string, WantedStage>();
  for (const [stageKey, requests] of Map.groupBy(asking, stageKeyOf)) {
    const held = lanes.flatMap((lane) => {
      const intents = lane.intents.filter((intent) => isAskedAbout(intent, stageKey));
      return intents.length === 0 ? [] : [{ lane, intents }];
    });
    const targets = held.flatMap(({ lane, intents }) => targetsOf(lane, intents));
    const cancels = requests.some(({ action }) => action.kind === 'cancelAll');
    wanted.set(stageKey, {
      targets,
      // Cancels are not asked about while a reduction beside them has no target yet.
      isReady: targets.length > 0 || (cancels && held.length === 0),
      orders: () => [
        ...requests.flatMap(cancelWords),
        ...held.flatMap((one) => ordersOf(one.lane, one.intents, { settings, nowMs })),
      ],
    });
  }
  const { distanceTolerance: tolerance } = settings;
  return askQuestions(approvals, { accountId, wanted, settings: settingsOf(settings), tolerance, nowMs });
}

function isAskedAbout(intent: Intent, stageKey: string): boolean {
  return (
    intent.source === 'rule' &&
    intent.end === null &&
    needsApproval(intent) &&
    stageOf(intent.key) === stageKey
  );
}

/** The lowest target of each position. */
function targetsOf(lane: LaneState, intents: readonly Intent[]): readonly AskedTarget[] {
  const lowest = new Map<string, AskedTarget>();
  for (const { positionId, targetBase } of intents) {
    const position = findPosition(lane.read, positionId);
    if (targetBase === null || position === undefined) continue;
    const { sizeBase, openDate, direction } = position;
    const other = lowest.get(positionId);
    if (other !== undefined && toDecimal(other.targetBase).lte(toDecimal(targetBase))) continue;
    lowest.set(positionId, { positionId, market: lane.market, targetBase, sizeBase, openDate, direction });
  }
  return [...lowest.values()];
}

function cancelWords({ action }: ActionRequest): readonly string[] {
  if (action.kind !== 'cancelAll') return [];
  const where = action.scope === 'account' ? 'of the account' : 'of the market';
  return [`cancel all ${action.types.join(' and ')} orders ${where}`];
}

/** The exact orders, or the target of each position when no order can be shaped now. */
function ordersOf(
  lane: LaneState,
  intents: readonly Intent[],
  scene: Parameters<typeof heldOrders>[2],
): readonly string[] {
  const wants = heldOrders(lane, { intents, covers: [] }, scene) ?? [];
  if (wants.length > 0) return wants.map((want) => orderWords(requestOf(lane, want)));
  return targetsOf(lane, intents).map(
    ({ market, targetBase, sizeBase }) => `reduce ${market} from ${sizeBase} to ${targetBase}`,
  );
}

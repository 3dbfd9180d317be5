import {
  type Approvals,
  askedNow,
  isAnswerable,
  latestOf,
  partsOf,
  referenceOf,
  stageOf,
} from '../approvals/question.ts';
import { BLOCK_WORDS, GATE_WORDS } from '../audit/audit-event.ts';
import type { Intent, LaneState, ObservedOrder } from '../lanes/lane-state.ts';
import type { ReduceTarget } from '../rules/rule.ts';
import type { AccountView, IntentLine, OrderLine, QuestionLine } from './account-view.ts';
import { figure } from './alert-words.ts';

export function intentLines(lanes: readonly LaneState[]): readonly IntentLine[] {
  return lanes.flatMap((lane) => lane.intents.map((intent) => intentLine(lane, intent)));
}

export function orderLines(lanes: readonly LaneState[]): readonly OrderLine[] {
  return [...sentOrders(lanes), ...observedOrders(lanes)];
}

function observedOrders(lanes: readonly LaneState[]): readonly OrderLine[] {
  return lanes.flatMap(({ market, observed = [] }) =>
    observed.map((order) => orderLine(market, order, { amount: order.request.amount, status: 'observed' })),
  );
}

function orderLine(
  market: string,
  { role, positionId, request }: ObservedOrder,
  { amount, status }: Pick<OrderLine, 'amount' | 'status'>,
): OrderLine {
  const { side, activationPrice, price, inFavour, clientOrderId } = request;
  const marked = inFavour === true ? { inFavour } : {};
  return { market, role, positionId, side, amount, activationPrice, price, ...marked, status, clientOrderId };
}

function isAsked(intents: readonly Intent[], key: string): boolean {
  return intents.some((intent) => intent.key === key && intent.refusedBy === 'awaitingApproval');
}

function questionOrders(lanes: readonly LaneState[], stageKey: string): readonly OrderLine[] {
  const own = lanes.map((lane) => ({
    ...lane,
    orders: [],
    observed: (lane.observed ?? []).filter(
      ({ key }) => isAsked(lane.intents, key) && stageOf(key) === stageKey,
    ),
  }));
  return observedOrders(own);
}

export function questionLines(
  { questions }: Approvals,
  lanes: readonly LaneState[],
  withoutAnswer: QuestionLine['withoutAnswer'],
): readonly QuestionLine[] {
  return questions.map((question) => {
    const { ruleId, subject, stage } = partsOf(question);
    const { state, settledBy = null, askedMs = null, untilMs, delivered = false, answer = null } = question;
    const latest = latestOf(question);
    return {
      reference: latest === undefined ? null : referenceOf(question, latest.revision),
      ruleId,
      subject,
      stage,
      state,
      answerable:
        latest !== undefined && askedNow(question, latest.revision) !== undefined && isAnswerable(question),
      settledBy,
      askedMs,
      untilMs,
      withoutAnswer,
      delivered,
      targets: (latest?.targets ?? []).map(({ positionId, market, targetBase, sizeBase }) => ({
        positionId,
        market,
        targetBase,
        sizeBase,
      })),
      orders: questionOrders(lanes, question.stageKey),
      answer,
    };
  });
}

function sentOrders(lanes: readonly LaneState[]): readonly OrderLine[] {
  return lanes.flatMap(({ market, orders }) =>
    orders.map((order) => {
      const { amount, presumedFilled } = order;
      return orderLine(market, order, { amount, status: presumedFilled ? 'presumedFilled' : order.status });
    }),
  );
}

export function doubtLines(lanes: readonly LaneState[]): AccountView['doubts'] {
  return lanes.flatMap(({ market, doubt }) =>
    doubt === null ? [] : [{ market, why: doubt.why, sinceMs: doubt.sinceMs }],
  );
}

function intentLine(lane: LaneState, intent: Intent): IntentLine {
  const { key, positionId, ruleId, mode, targetBase, openedMs, deadlineMs, failures } = intent;
  return {
    key,
    market: lane.market,
    positionId,
    ruleId,
    mode,
    target: targetWords(intent.target, targetBase),
    targetBase,
    openedMs,
    deadlineMs,
    failures,
    state: intentState(intent, lane),
    ended: intent.end !== null,
  };
}

/** `until 15 % away (at most 0.25 left)`. */
export function targetWords(target: ReduceTarget, targetBase: string | null): string {
  const size = targetBase === null ? '' : ` (at most ${targetBase} left)`;
  switch (target.kind) {
    case 'by':
    case 'to':
      return `${target.kind} ${figure(target.fraction, 'ratio')}${size}`;
    case 'toNotional':
      return `to a worth of ${target.notional}${size}`;
    case 'untilJointDistance':
      return `until all markets are ${figure(target.distance, 'ratio')} away${size}`;
    case 'untilMarginUsage':
      return `until ${figure(target.usage, 'ratio')} of ${target.asset} is used as margin${size}`;
    case 'untilDistance':
      return `until ${figure(target.distance, 'ratio')} away${size}`;
  }
}

function intentState(intent: Intent, lane: LaneState): string {
  if (intent.end !== null) return `${intent.end.how} (${intent.end.why})`;
  if (intent.refusedBy !== null) return `held back: ${GATE_WORDS[intent.refusedBy]}`;
  if (intent.blockedBy !== null) return `blocked: ${BLOCK_WORDS[intent.blockedBy]}`;
  const own = lane.orders.filter(({ key, presumedFilled }) => key === intent.key && !presumedFilled).length;
  return own === 0 ? 'open, no order placed' : `open, ${own} ${own === 1 ? 'order' : 'orders'} placed`;
}

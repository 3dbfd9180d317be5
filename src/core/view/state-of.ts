import type { Pause } from '../controls/controls.ts';
import type { Cover, Intent, LaneState } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import { type Mode, SEVERITY_RANKS, type Severity } from '../rules/rule.ts';
import { clockWords, soonWords } from '../text/time-words.ts';
import {
  isHedged,
  type OrderLine,
  type PositionFigures,
  type QuestionLine,
  type RuleLine,
} from './account-view.ts';
import { endingWords } from './action-alarm-words.ts';
import { figure } from './alert-words.ts';
import { blindness, type SightInputs } from './blindness.ts';
import { targetWords } from './lane-lines.ts';
import { type Found, KIND_WORDS, line, type StateLine } from './state-line.ts';

/** Inputs of a state: the stored account, and facts that only the viewing process knows. */
export interface StateInputs extends SightInputs {
  readonly positions: readonly PositionFigures[];
  readonly mode: Mode | null;
  readonly pause: Pause | null;
  readonly rules: readonly Pick<
    RuleLine,
    'ruleId' | 'subject' | 'severity' | 'phase' | 'frozen' | 'sinceMs' | 'reason'
  >[];
  readonly lanes: readonly LaneState[];
  readonly questions: readonly QuestionLine[];
}

/** The state of an account. `acting` and `waiting` require an accepted order. */
export function stateOf(inputs: StateInputs): StateLine {
  const blind = blindness(inputs);
  if (blind !== undefined) return blind;
  const state = hindrance(inputs) ?? asking(inputs) ?? doing(inputs) ?? watching(inputs) ?? calm(inputs);
  const left = leftOrders(inputs);
  const [order] = left;
  const words = [
    state.words,
    ...(order ? [`orders already at the exchange stay: ${left.length} (${orderWords(order.request)})`] : []),
    ...(needsPerson(inputs) ? [REPAY] : []),
  ].join('; ');
  const isUnexpected = order !== undefined && inputs.pause === null;
  return { ...state, words, severity: isUnexpected ? atLeast('warning', state.severity) : state.severity };
}

/** Earlier orders that a pause or observe mode leaves at the exchange, where they can fill. */
function leftOrders({ mode, pause, lanes }: StateInputs): readonly OwnOrder[] {
  if (pause === null && mode !== 'observe') return [];
  return lanes.flatMap(({ orders, intents, covers }) => {
    // Rules may have their own mode.
    const acts = ({ key }: OwnOrder): boolean =>
      intents.some((one) => one.key === key && one.end === null && one.mode !== 'observe') ||
      covers.some((one) => one.key === key && one.mode !== 'observe');
    return orders.filter(
      (order) => order.status === 'open' && !order.presumedFilled && (pause !== null || !acts(order)),
    );
  });
}

/** Orders cannot cure a credit line. */
const REPAY = 'for the credit line a person has to repay or add collateral';

function needsPerson({ rules }: StateInputs): boolean {
  return rules.some(({ phase, subject }) => phase === 'firing' && subject.startsWith('creditLine:'));
}

/** Something is requested and not done. */
function hindrance(inputs: StateInputs): StateLine | undefined {
  const severity = atLeast('warning', worstFiring(inputs.rules));
  const blocked = (found: Omit<Found, 'severity'>): StateLine => line('blocked', { ...found, severity });
  const { pause, lanes } = inputs;
  if (pause !== null) {
    const until = pause.expiresAtMs === null ? 'it is lifted' : soonWords(pause.expiresAtMs, inputs.nowMs);
    const firing = worstFiring(inputs.rules) === null ? '' : '; rules fire, and nothing is done';
    const words = `by ${pause.author} until ${until}: ${pause.reason}${firing}`;
    return {
      ...line('paused', { cause: 'paused', words, severity: worstFiring(inputs.rules) ?? 'info' }),
      words: `paused ${words}`,
      sinceMs: pause.atMs,
    };
  }
  for (const lane of lanes) {
    const where = `in ${lane.market}`;
    for (const intent of lane.intents) {
      if (intent.mode === 'observe') continue;
      const { blockedBy, refusedBy, end } = intent;
      const firing = inputs.rules.some(({ ruleId, phase }) => ruleId === intent.ruleId && phase === 'firing');
      if (end?.how === 'failed' && firing && end.why !== 'hedged') {
        const why = endingWords(`failed:${end.why}`);
        if (end.why === 'refused:vetoed') return blocked({ cause: 'vetoed', ...vetoOf(inputs, intent) });
        return blocked({ cause: 'gaveUp', detail: why ?? where, sinceMs: intent.endedMs });
      }
      if (end !== null || ordersOf(lane, intent).some(isAccepted)) continue;
      if (refusedBy !== null && !TOLD_OTHERWISE.has(refusedBy))
        return blocked({ cause: refusedBy, detail: where, sinceMs: intent.openedMs });
      if (blockedBy !== null && blockedBy !== 'netExposure' && blockedBy !== 'positionNotSeen')
        return blocked({ cause: blockedBy, detail: where, sinceMs: intent.openedMs });
      if (ordersOf(lane, intent).some(({ status }) => status === 'unsure'))
        return blocked({ cause: 'orderUnanswered', detail: where, sinceMs: intent.openedMs });
      if (isRefused(lane))
        return blocked({
          cause: 'orderRefused',
          detail: where,
          sinceMs: lane.orderRefusedMs ?? intent.openedMs,
        });
    }
    const cover = lane.covers.find((one) => isUncovered(one, lane, inputs.positions));
    if (cover !== undefined && cover.blockedBy !== null)
      return blocked({ cause: cover.blockedBy, detail: `the standing stop ${where}` });
  }
  return undefined;
}

/** `refusals` also counts failed reads. */
function isRefused(lane: LaneState): boolean {
  const { refusals, orderRefusedMs = 0, orderAcceptedMs = 0, cancelRefusals = 0 } = lane;
  return refusals > 0 && (orderRefusedMs > orderAcceptedMs || cancelRefusals > 0);
}

const TOLD_OTHERWISE: ReadonlySet<string> = new Set(['observeMode', 'paused', 'awaitingApproval']);

function vetoOf({ questions }: StateInputs, intent: Intent): Pick<Found, 'detail' | 'sinceMs'> {
  const answer = questions.find(
    ({ ruleId, stage, state }) => ruleId === intent.ruleId && stage === intent.stage && state === 'vetoed',
  )?.answer;
  if (answer === undefined || answer === null) return { sinceMs: intent.endedMs };
  return { detail: `${answer.author}: ${answer.reason}`, sinceMs: answer.atMs };
}

const ORDINARY: ReadonlySet<string> = new Set(['netExposure', 'positionNotSeen']);

function isUncovered(
  cover: Cover,
  { orders, market }: LaneState,
  positions: readonly PositionFigures[],
): boolean {
  if (cover.mode === 'observe' || cover.blockedBy === null || ORDINARY.has(cover.blockedBy)) return false;
  if (orders.some((order) => order.key === cover.key && isAccepted(order))) return false;
  const own = positions.filter((position) => position.market === market);
  return !own.some((position) => isHedged(position, own));
}

function ordersOf({ orders }: LaneState, { key }: Pick<Intent, 'key'>): readonly OwnOrder[] {
  return orders.filter((order) => order.key === key);
}

function isAccepted({ status, presumedFilled }: OwnOrder): boolean {
  return status === 'open' || presumedFilled;
}

/** Open questions to people, soonest deadline first. */
function asking(inputs: StateInputs): StateLine | undefined {
  const [question, ...others] = inputs.questions
    .filter(({ state, askedMs }) => state === 'waiting' && askedMs !== null)
    .toSorted((a, b) => a.untilMs - b.untilMs);
  if (question === undefined) return undefined;
  const { reference, ruleId, untilMs, withoutAnswer, targets, orders, askedMs } = question;
  const what =
    orders.length > 0
      ? orders.map(orderWords)
      : targets.map(({ market, targetBase }) => `reduce ${market} to ${targetBase}`);
  const then = withoutAnswer === 'act' ? 'then it acts' : 'then it does not act';
  const more = others.length === 0 ? '' : `; and ${others.length} more`;
  const about = [`rule ${ruleId}`, ...what].join(': ');
  return {
    ...line('asking', {
      cause: 'awaitingApproval',
      severity: atLeast('warning', worstFiring(inputs.rules)),
      sinceMs: askedMs,
    }),
    words: `${KIND_WORDS.asking} until ${clockWords(untilMs)}, ${then} (${reference ?? ''}): ${about}${more}`,
  };
}

/** Orders at work or waiting; in observe mode, those it would send. */
function doing(inputs: StateInputs): StateLine | undefined {
  const severity = atLeast('info', worstFiring(inputs.rules));
  const open = inputs.lanes.flatMap((lane) =>
    lane.intents.filter(({ end }) => end === null).map((intent) => ({ lane, intent })),
  );
  const sent = open.filter(({ intent }) => intent.mode !== 'observe');
  const accepted = sent.flatMap(({ lane, intent }) =>
    ordersOf(lane, intent).flatMap((order) => (isAccepted(order) ? [{ lane, intent, order }] : [])),
  );
  const active = accepted.find(({ order }) => order.activatedMs !== null || order.presumedFilled);
  if (active !== undefined) {
    const { intent, lane } = active;
    const words = `reducing ${lane.market} ${targetWords(intent.target, intent.targetBase)}`;
    return line('acting', { cause: 'orderActive', words, severity, sinceMs: intent.openedMs });
  }
  const [waiting] = accepted;
  if (waiting !== undefined) {
    const { lane, order, intent } = waiting;
    const { positionId, request } = order;
    const second = accepted.find(
      (one) => one.order.positionId === positionId && one.order.request.inFavour !== request.inFavour,
    )?.order;
    const or = second === undefined ? '' : `, or ${onceWords(second.request)}${awayWords(lane, second)}`;
    const words = `${orderWords(request)}${awayWords(lane, order)}${or}`;
    return line('waiting', { cause: 'orderWaits', words, severity, sinceMs: intent.openedMs });
  }
  return observing(inputs, open, severity);
}

/** Orders that observe mode holds back; a standing stop that it would keep in place is less important. */
function observing(
  { lanes }: StateInputs,
  open: readonly { readonly lane: LaneState; readonly intent: Intent }[],
  severity: Severity,
): StateLine | undefined {
  const held = open.find(({ intent }) => intent.refusedBy === 'observeMode');
  const seen = lanes.flatMap(({ observed = [] }) => observed);
  const order = seen.find(({ key }) => key === held?.intent.key) ?? seen[0];
  if (held === undefined && order === undefined) return undefined;
  const words =
    order === undefined && held !== undefined
      ? `would reduce ${held.lane.market} ${targetWords(held.intent.target, held.intent.targetBase)}`
      : `would send: ${order === undefined ? '' : orderWords(order.request)}`;
  const sinceMs = held?.intent.openedMs ?? null;
  return line('observing', { cause: 'observeMode', words, severity: held ? severity : 'info', sinceMs });
}

/** `sell 0.25 BTC_PERP once the price is 59940 or less, limit 59600`. */
export function orderWords(order: PricedLine & Pick<OrderLine, 'amount' | 'market'>): string {
  return `${order.side} ${order.amount} ${order.market} ${onceWords(order)}`;
}

type PricedLine = Pick<OrderLine, 'side' | 'activationPrice' | 'price' | 'inFavour'>;

function onceWords({ side, activationPrice, price, inFavour }: PricedLine): string {
  const when = (side === 'sell') !== (inFavour === true) ? 'or less' : 'or more';
  return `once the price is ${activationPrice} ${when}, limit ${price}`;
}

function awayWords({ latestRead, read }: LaneState, { positionId, request }: OwnOrder): string {
  const position = (latestRead ?? read)?.positions.find((one) => one.positionId === positionId);
  const mark = Number(position?.markPrice ?? Number.NaN);
  if (!(mark > 0)) return '';
  const away = Math.abs(mark - Number(request.activationPrice)) / mark;
  return ` (${figure(away, 'ratio')} from the mark ${position?.markPrice ?? ''})`;
}

function watching(inputs: StateInputs): StateLine | undefined {
  const { positions, rules } = inputs;
  const called = positions.find(({ liquidationState }) => CALLS.has(liquidationState ?? ''));
  if (called !== undefined) {
    const words = `the exchange reports ${called.liquidationState ?? ''} in ${called.market}`;
    return line('watching', { cause: 'exchangeCalls', words, severity: 'critical' });
  }
  const worst = worstFiring(inputs.rules);
  const firing = rules.find(
    ({ phase, severity }) => phase === 'firing' && (severity ?? 'critical') === worst,
  );
  const pending = rules.find(({ phase }) => phase === 'pending');
  const frozen = rules.find((rule) => rule.frozen);
  if (firing !== undefined)
    return line('watching', { cause: 'ruleFiring', ...aboutRule(firing, 'fires'), severity: worst });
  if (pending !== undefined)
    return line('watching', { cause: 'rulePending', ...aboutRule(pending, 'is pending'), severity: 'info' });
  if (frozen === undefined) return undefined;
  return line('watching', {
    cause: 'ruleFrozen',
    ...aboutRule(frozen, 'is not evaluated'),
    severity: 'info',
  });
}

const CALLS: ReadonlySet<string> = new Set(['margin_call', 'liquidation', 'unrecognised']);

function aboutRule(
  { ruleId, subject, reason, sinceMs }: StateInputs['rules'][number],
  what: string,
): Pick<Found, 'words' | 'sinceMs'> {
  const why = reason === '' ? '' : `: ${reason}`;
  return { words: `rule ${ruleId} ${what} for ${subject}${why}`, sinceMs };
}

function calm({ positions }: StateInputs): StateLine {
  const nearest = positions
    .filter((position) => typeof position.liquidationDistance === 'number')
    .toSorted((a, b) => Number(a.liquidationDistance) - Number(b.liquidationDistance))[0];
  const words =
    nearest === undefined
      ? 'no position can be liquidated'
      : `${figure(Number(nearest.liquidationDistance), 'ratio')} from liquidation (${nearest.market})`;
  return line('calm', { cause: 'nothing', words, severity: null });
}

/** Highest severity of the firing rules. A rule missing from the config counts as critical. */
export function worstFiring(rules: readonly Pick<RuleLine, 'severity' | 'phase'>[]): Severity | null {
  let worst: Severity | null = null;
  for (const { phase, severity } of rules) {
    if (phase === 'firing') worst = atLeast(severity ?? 'critical', worst);
  }
  return worst;
}

function atLeast(severity: Severity, other: Severity | null): Severity {
  return other !== null && SEVERITY_RANKS[other] > SEVERITY_RANKS[severity] ? other : severity;
}

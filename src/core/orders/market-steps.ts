import type { RejectionReason } from '../audit/audit-event.ts';
import { leastAmount } from '../intents/targets.ts';
import type { LaneState, Learned, MarketRead } from '../lanes/lane-state.ts';
import type { OwnOrder, RefusedQuestion } from '../lanes/own-order.ts';
import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import {
  type Decimal,
  type DecimalString,
  decimalFromNumber,
  divide,
  formatDecimal,
  maxDecimal,
  toDecimal,
  toNumber,
  ZERO,
} from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { waitsForFall } from './outstanding.ts';
import { type Bound, boundsIn, isAboutStep, isForRoom, type RefusedOrder } from './rejection.ts';
import { adverseSpeed, SHORT_HORIZON_MS } from './way-to-liquidation.ts';

/** Returns the configured settings with what the lane has learned, where coarser, higher or narrower. */
export function marketOf(
  { market, read, learned = {} }: Pick<LaneState, 'market' | 'read' | 'learned'>,
  settings: AccountSettings,
): MarketSettings | undefined {
  const configured = settings.marketSettings(market);
  if (configured === undefined) return undefined;
  const taught: MarketSettings = {
    ...configured,
    amountStep: larger(configured.amountStep, learned.amountStep),
    priceStep: larger(configured.priceStep, learned.priceStep),
    minAmount: larger(configured.minAmount, learned.minAmount),
    maintenanceMargin: worseRate(configured.maintenanceMargin, learned.maintenance),
    bounds: learned,
  };
  const mark = markOf(read);
  if (learned.minTotal === undefined || mark === undefined) return taught;
  const price = decimalFromNumber(mark * (learned.totalAt ?? 1));
  return { ...taught, minAmount: formatDecimal(leastAmount(taught, price)) };
}

function markOf(read: MarketRead | null): number | undefined {
  const mark = Number(read?.positions.find(({ markPrice }) => markPrice !== null)?.markPrice);
  return mark > 0 ? mark : undefined;
}

export function learn(state: LaneState, news: Learned): LaneState {
  return { ...state, learned: { ...state.learned, ...news } };
}

/** The settings of an account with what its lanes have learned of their markets. */
export function settingsWith(
  lanes: ReadonlyMap<string, LaneState>,
  settings: AccountSettings,
): AccountSettings {
  return {
    ...settings,
    marketSettings: (market) => marketOf(lanes.get(market) ?? { market, read: null }, settings),
  };
}

/** Two pairs of liquidation prices must agree: a deposit may lie between those of one pair. */
function worseRate(configured: number, learned: Learned['maintenance']): number {
  if (learned === undefined || learned.agreeing < 2 || learned.low <= configured) return configured;
  return (learned.low + learned.high) / 2;
}

const larger = (one: DecimalString, other = one): DecimalString =>
  formatDecimal(maxDecimal(toDecimal(one), toDecimal(other)));

const TIMES_COARSER = toDecimal('10' as DecimalString);
/** Three decimal places: a refusal beyond them has another cause. */
const MOST_TIMES_COARSER = toDecimal('1000' as DecimalString);
/** Largest price step, a fraction of the price: a coarser one would cost more than it saves. */
const LARGEST_PRICE_STEP = decimalFromNumber(0.01);

export interface Lesson {
  readonly learned: Learned;
  /** What happens next, for people. */
  readonly words: string;
}

type Refused = Pick<OwnOrder, 'role' | 'request' | 'trial' | 'sentMs'>;

/** Returns what a refusal teaches, so that the order is tried again at once; `undefined`: nothing. */
export function lessonOf(
  reason: RejectionReason,
  { error, order }: { readonly error: RefusedOrder; readonly order: Refused },
  state: LaneState,
  settings: AccountSettings,
): Lesson | undefined {
  for (const bound of boundsIn(error)) {
    const learned = boundLesson(bound, reason, order, state);
    if (learned === undefined) continue;
    if (isUseless(learned, order)) return undefined;
    if (learned.mostAmount !== undefined && isLeast(order, state, settings)) return undefined;
    const what = `${BOUND_WORDS[bound.kind]} ${formatDecimal(bound.value)}`;
    const cure = learned.mostAmount === undefined ? ' (see `markets` in the config)' : ', in parts';
    return { learned, words: `obeyed from now on: ${what}${cure}` };
  }
  if (reason === 'hedgeSide' && state.learned?.otherSide === undefined)
    return { learned: { otherSide: true }, words: 'tried again with the other form of positionSide' };
  if (reason === 'activationPassed' && order.role === 'reduce' && (state.learned?.basis ?? 0) < LARGEST_BASIS)
    return { learned: {}, words: 'tried again farther from the market' };
  if (reason !== 'priceBand') return coarserStep(reason, order.request, state, settings);
  const { activationPrice, price } = order.request;
  const mostSlippage = Math.abs(1 - Number(price) / Number(activationPrice)) / 2;
  return order.role === 'reduce' && mostSlippage >= LEAST_SLIPPAGE
    ? { learned: { mostSlippage }, words: 'tried again with half the slippage' }
    : undefined;
}

/** Whether a band leaves no price beyond the mark: it was another mark that it was for. */
function isUseless(
  { lowestPart = 0, highestPart = Number.POSITIVE_INFINITY }: Learned,
  { request }: Refused,
) {
  return request.side === 'sell' ? lowestPart >= 1 : highestPart <= 1;
}

/**
 * Returns what the refusal of a question says: the price band that its words name; if the last price has passed the
 * activation, that the mark has to go back; or that other orders leave no room. Undefined: nothing of these.
 */
export function refusedQuestion(
  reason: RejectionReason,
  { error, order }: { readonly error: RefusedOrder; readonly order: Refused },
  state: LaneState,
  atMs: number,
): RefusedQuestion | undefined {
  if (reason === 'side') return isForRoom(error) ? { why: 'noRoom' } : undefined;
  if (reason === 'activationPassed') return bandBack(order.request, markOf(state.read), atMs);
  if (reason !== 'priceBand') return undefined;
  for (const bound of boundsIn(error)) {
    const { lowestPart, highestPart } = boundLesson(bound, reason, order, state) ?? {};
    if (lowestPart === undefined && highestPart === undefined) continue;
    return { why: reason, lowestPart: lowestPart ?? 0, highestPart: highestPart ?? MAX_PART, atMs };
  }
  return undefined;
}

function bandBack(
  request: Refused['request'],
  mark: number | undefined,
  atMs: number,
): RefusedQuestion | undefined {
  if (mark === undefined) return undefined;
  const part = Number(request.price) / mark;
  const why = 'activationPassed';
  return waitsForFall(request)
    ? { why, lowestPart: 0, highestPart: part * A_STEP_LOWER, atMs }
    : { why, lowestPart: part / A_STEP_LOWER, highestPart: MAX_PART, atMs };
}

const MAX_PART = 1_000_000;

/** Whether an order could be no smaller: a largest total then teaches nothing that could be obeyed. */
function isLeast({ request }: Refused, state: LaneState, settings: AccountSettings): boolean {
  const market = marketOf(state, settings);
  return market !== undefined && toDecimal(request.amount).lte(leastAmount(market));
}

const BOUND_WORDS = { step: 'a step of', least: 'at least', most: 'at most' } as const;
/** Largest allowance between mark and last price that is learned. */
export const LARGEST_BASIS = 0.1;
/** With less, a limit price is no nearer to the market. */
const LEAST_SLIPPAGE = 0.0002;
/** The next price at the same part of the mark may be a step lower. */
const A_STEP_LOWER = 0.999;

/** Learns a bound only if the refused order breaks it: words can be misread. */
function boundLesson(
  { kind, value }: Bound,
  reason: RejectionReason,
  { request, trial, sentMs }: Refused,
  { learned: { totalAt = 1 } = {}, read, marks = [] }: LaneState,
): Learned | undefined {
  const breaks = (asked: Decimal): boolean =>
    kind === 'step' ? !asked.mod(value).eq(ZERO) : kind === 'least' ? asked.lt(value) : asked.gt(value);
  if (value.lte(ZERO)) return undefined;
  const [amount, price] = [toDecimal(request.amount), toDecimal(request.price)];
  const text = formatDecimal(value);
  const mark = markOf(read);
  const part = (one: number) => (mark === undefined ? 1 : one / mark);
  if (reason === 'minTotal') {
    if (kind === 'most') return mostBelow(value, { amount, price });
    const at = trial === true ? totalAt : Math.min(totalAt, part(toNumber(price)) * A_STEP_LOWER);
    return breaks(amount.times(price)) ? { minTotal: text, totalAt: at } : undefined;
  }
  if (reason === 'amountStep' || reason === 'minAmount') {
    if (kind === 'most' || !breaks(amount)) return undefined;
    return kind === 'step' ? { amountStep: text } : { minAmount: text };
  }
  const isPrice = reason === 'priceStep' || reason === 'priceBand';
  if (!isPrice || !(breaks(price) || breaks(toDecimal(request.activationPrice)))) return undefined;
  if (kind === 'step') return { priceStep: text };
  if (mark === undefined) return undefined;
  // Nobody knows at which mark the exchange judged. A refusal corrects a band that is too wide, nothing one too tight.
  const seen = [mark, ...marks.filter(({ atMs }) => atMs >= sentMs).map((one) => one.mark)];
  return kind === 'least'
    ? { lowestPart: toNumber(value) / Math.max(...seen) }
    : { highestPart: toNumber(value) / Math.min(...seen) };
}

/**
 * Whether a refusal shows that an order can never have waited at the exchange: it breaks a bound that the refusal
 * names, for a price band wherever the market was since it was first sent.
 */
export function wasNeverTaken(
  reason: RejectionReason,
  { error, order }: { readonly error: RefusedOrder; readonly order: Refused },
  state: LaneState,
): boolean {
  if (reason === 'priceBand' && moveWithin(ANSWERED_WITHIN_MS, state) > BETWEEN_READS / 2) return false;
  const price = Number(order.request.price);
  const mark = nearestMark(order, state);
  return boundsIn(error).some((bound) => {
    const learned = boundLesson(bound, reason, order, state);
    if (learned === undefined || reason !== 'priceBand') return learned !== undefined;
    const { lowestPart = 0, highestPart = Number.POSITIVE_INFINITY } = learned;
    return price < lowestPart * mark || price > highestPart * mark;
  });
}

/** The age of the mark when a question is answered, at most. */
const ANSWERED_WITHIN_MS = 5_000;

function moveWithin(ms: number, { marks = [] }: LaneState): number {
  return (
    ms * Math.max(...(['long', 'short'] as const).map((one) => adverseSpeed(marks, one, SHORT_HORIZON_MS)))
  );
}

/** How far the market may have gone between two reads, or mark and last price apart, a fraction. */
const BETWEEN_READS = 0.01;

/** The mark that was nearest to a waiting order since it was first sent; if that is not known, its activation. */
function nearestMark({ request }: Refused, { marks = [], unclosed = [] }: LaneState): number {
  const activation = Number(request.activationPrice);
  const sent = unclosed.find(({ clientOrderId }) => clientOrderId === request.clientOrderId);
  const before = sent && marks.findLast(({ atMs }) => atMs <= sent.sentMs);
  const seen = marks.filter(({ atMs }) => atMs >= (before?.atMs ?? Infinity)).map(({ mark }) => mark);
  return request.side === 'sell'
    ? Math.max(activation, before ? Math.min(...seen) : 0) * (1 - BETWEEN_READS)
    : Math.min(activation, before ? Math.max(...seen) : Infinity) * (1 + BETWEEN_READS);
}

/** Part of the largest total that is used: at a higher price the same amount is worth more. */
const TOTAL_SHARE = decimalFromNumber(0.98);
const AMOUNT_PLACES = 30;

/** Amounts far below what was asked for are no bound, but misread words. */
const LEAST_PART = decimalFromNumber(0.000_001);

function mostBelow(
  total: Decimal,
  { amount, price }: { readonly amount: Decimal; readonly price: Decimal },
): Learned | undefined {
  const most = divide(total.times(TOTAL_SHARE), price, AMOUNT_PLACES, 'down');
  if (amount.times(price).lte(total) || most.lt(amount.times(LEAST_PART))) return undefined;
  return { mostAmount: formatDecimal(most) };
}

/** Returns a coarser step to try after a refusal; `undefined` if it had another cause or no step makes sense. */
export function coarserStep(
  reason: RejectionReason,
  { amount, activationPrice }: Pick<ReduceOnlyStopRequest, 'amount' | 'activationPrice'>,
  state: LaneState,
  settings: AccountSettings,
): Lesson | undefined {
  const configured = settings.marketSettings(state.market);
  const now = marketOf(state, settings);
  if (!isAboutStep(reason) || configured === undefined || now === undefined) return undefined;
  const next = toDecimal(now[reason]).times(TIMES_COARSER);
  const most = toDecimal(configured[reason]).times(MOST_TIMES_COARSER);
  const largest =
    reason === 'amountStep' ? toDecimal(amount) : toDecimal(activationPrice).times(LARGEST_PRICE_STEP);
  if (next.gt(most) || next.gt(largest)) return undefined;
  const step = formatDecimal(next);
  const what = reason === 'amountStep' ? 'an amount step' : 'a price step';
  return {
    learned: { [reason]: step },
    words: `tried again with ${what} of ${step} instead of ${now[reason]}; correct \`markets\` in the config`,
  };
}

/** Forgets what was tried, as it does not explain the refusal. */
export function unlearn(state: LaneState, reason: RejectionReason): LaneState {
  const tried = reason === 'hedgeSide' ? 'otherSide' : isAboutStep(reason) ? reason : undefined;
  return tried === undefined || state.learned?.[tried] === undefined
    ? state
    : learn(state, { [tried]: undefined });
}

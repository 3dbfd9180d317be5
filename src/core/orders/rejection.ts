import type { RejectionReason } from '../audit/audit-event.ts';
import type { ExchangeError } from '../ports/exchange.ts';
import { type Decimal, parseDecimal } from '../quantities/decimal.ts';

/** By the names of the client's error catalogue: numbers and fields differ in meaning between endpoints. */
const REASONS: ReadonlyMap<string, RejectionReason> = new Map([
  ['reduceOnlyRefused', 'side'],
  ['duplicateClientOrderId', 'duplicateId'],
  ['cancelledOnCreation', 'cancelledAtCreation'],
  ['rateLimited', 'rateLimited'],
  ['rateBudgetSpent', 'rateLimited'],
  ['nonceRefused', 'notProcessed'],
  ['connectFailed', 'notProcessed'],
  ['nameNotResolved', 'notProcessed'],
  ['certificateRefused', 'notProcessed'],
  ['connectionRefused', 'notProcessed'],
  ['connectTimeout', 'notProcessed'],
  ['gatewayRefused', 'notProcessed'],
  ['addressNotAllowed', 'notProcessed'],
  ['clientClosed', 'notProcessed'],
  // Without effect these were never sent: no turn in time, or the lane's lease did not cover the request.
  ['timeout', 'notProcessed'],
  ['aborted', 'notProcessed'],
  ['marketInvalid', 'marketClosed'],
  ['notAvailable', 'marketClosed'],
  ['hedgeSideMismatch', 'hedgeSide'],
  ['priceBand', 'priceBand'],
  ['pendingValueLimit', 'noRoom'],
  ['insufficientBalance', 'noRoom'],
]);

/** Returns what a refusal without effect means for the lane. */
export function classifyRejection(error: RefusedOrder): RejectionReason {
  return REASONS.get(error.name) ?? reasonInWords(error) ?? 'other';
}

export type RefusedOrder = Pick<ExchangeError, 'name' | 'fields'> & Partial<Pick<ExchangeError, 'message'>>;

/** Refused for its amount or price: the step used for rounding may no longer be the market's. */
export type StepReason = Extract<RejectionReason, 'amountStep' | 'priceStep'>;

export const isAboutStep = (reason: RejectionReason): reason is StepReason =>
  reason === 'amountStep' || reason === 'priceStep';

/** Errors whose words tell more, with the value that their code blames; `undefined`: the one named field. */
const BLAMED: ReadonlyMap<string, string | undefined> = new Map([
  ['validationFailed', undefined],
  ['invalidRequest', undefined],
  ['amountInvalid', 'amount'],
  ['priceInvalid', 'price'],
]);

/** By the field that is blamed: what words about a step and about a bound mean, and what no such words mean. */
const BY_FIELD: readonly (readonly [RegExp, Record<'step' | 'bound' | 'else', RejectionReason>])[] = [
  [/^(price|activation.*)$/i, { step: 'priceStep', bound: 'priceBand', else: 'priceStep' }],
  [/^amount$/i, { step: 'amountStep', bound: 'minAmount', else: 'amountStep' }],
  [/^total$/i, { step: 'other', bound: 'minTotal', else: 'minTotal' }],
  [/^position_?side$/i, { step: 'hedgeSide', bound: 'hedgeSide', else: 'hedgeSide' }],
  [/^(market|order_?type)$/i, { step: 'marketClosed', bound: 'marketClosed', else: 'marketClosed' }],
];
const STEP_WORDS = /\bstep\b|\bmultiple of\b|\bprecision\b|\bdecimal places\b|\btick\b/i;
const BOUND_WORDS =
  /\bthan\b|\bat (least|most)\b|\bmin(imum|imal)?\b|\bmax(imum|imal)?\b|\btoo (small|large|low|high)\b/i;
/** Words of a refusal that say where the market is, not which prices it takes: it has passed the activation. */
const PASSED_WORDS =
  /\balready\b|\bbeen passed\b|\bimmediately\b|\bwrong side\b|\b(last|mark|market|current) price\b/i;

const ROOM_WORDS = /(?<!\bno )\b(open|existing|other) (reduce.?only )?orders\b/i;

/** Whether the words of code 116 say that orders leave no room, not that the position is gone or the side is wrong. */
export const isForRoom = (error: RefusedOrder): boolean => ROOM_WORDS.test(wordsOf(error));

/** The exchange has one code for every fault (30), and one for several faults of a value (32, 33). */
function reasonInWords({ name, fields = {}, message = '' }: RefusedOrder): RejectionReason | undefined {
  const [named, ...others] = Object.keys(fields);
  if (!BLAMED.has(name)) return undefined;
  const words = wordsOf({ fields, message });
  const only = others.length === 0 ? named : undefined;
  const [spoken] = /\btotal\b|\bactivation/i.exec(`${only ?? ''}; ${words}`) ?? [];
  const field = spoken ?? BLAMED.get(name) ?? only ?? '';
  const [, reasons] = BY_FIELD.find(([blamed]) => blamed.test(field)) ?? [];
  if (/^activation/i.test(field) && !STEP_WORDS.test(words) && PASSED_WORDS.test(words))
    return 'activationPassed';
  return reasons?.[STEP_WORDS.test(words) ? 'step' : BOUND_WORDS.test(words) ? 'bound' : 'else'];
}

const wordsOf = ({ message = '', fields = {} }: Partial<RefusedOrder>): string =>
  [message, ...Object.values(fields).flat()].join('; ');

/** What a value must obey: be a multiple of, be at least, or be at most. */
export interface Bound {
  readonly kind: 'step' | 'least' | 'most';
  readonly value: Decimal;
}

const NUMBER = String.raw`\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?`;
const LOWER = '(?:less|lower|smaller|below|under)';
const HIGHER = '(?:more|greater|higher|larger|above|over)';
const NOT = "(?:not|no|cannot|can't)(?: be)?";
const DEMAND = String.raw`\b(?:should|must|has to|needs to)\b[^\d;]*?\b`;
/** What the words before a number say. "Is less than 5" tells what was wrong, "should be less than 5" what is right. */
const BOUNDS = (
  [
    [String.raw`\b(?:step|tick|multiple of)\b`, 'step'],
    [String.raw`\b(?:at least|min(?:imum|imal)?|between|${NOT} ${LOWER})\b`, 'least'],
    [
      String.raw`\b(?:at most|max(?:imum|imal)?|exceeds?|between[^\d;]+[\d.]+ and|${NOT} ${HIGHER})\b`,
      'most',
    ],
    [String.raw`(?:${DEMAND}${LOWER}|\b${LOWER} than or equal)\b`, 'most'],
    [String.raw`(?:${DEMAND}${HIGHER}|\b${HIGHER} than or equal)\b`, 'least'],
    [String.raw`\b${LOWER}\b`, 'least'],
    [String.raw`\b${HIGHER}\b`, 'most'],
  ] as const
).map(([words, kind]) => [new RegExp(String.raw`${words}[^\d;]*?(${NUMBER})`, 'dgi'), kind] as const);

/** The bounds that the words of a refusal name; each number counts once, by the first that fits. */
export function boundsIn(refusal: Partial<RefusedOrder>): readonly Bound[] {
  const found = new Map<number, Bound>();
  for (const [phrase, kind] of BOUNDS) {
    for (const { 1: text = '', indices } of wordsOf(refusal).matchAll(phrase)) {
      const at = indices?.[1]?.[0] ?? 0;
      const value = parseDecimal(text.replaceAll(',', ''));
      if (value !== undefined && !found.has(at)) found.set(at, { kind, value });
    }
  }
  return [...found.values()];
}

/** Whether the exchange never judged the request or accepts none now: repeated after a pause, not a failed attempt. */
export function isPassing(reason: RejectionReason): boolean {
  return reason === 'rateLimited' || reason === 'notProcessed' || reason === 'marketClosed';
}

/** Passing refusals in a row before a person must know: a pause of some seconds is ordinary. */
const PASSING_REFUSALS = 5;

/** Whether a refusal must reach a person; of a closed market, or without room, only the first. */
export function isAlarming(reason: RejectionReason, refusals: number): boolean {
  if (reason === 'marketClosed' || reason === 'noRoom') return refusals === 0;
  return !isPassing(reason) || refusals === PASSING_REFUSALS;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** After a rate limit: a retry each second, ever rarer after the third refusal, up to what the reply asks for. */
const LIMIT_PAUSE_MS = 1_000;
const STEADY_REFUSALS = 3;
/** A longer pause in a reply is not obeyed: a position may need its order before. */
const LONGEST_RETRY_AFTER_MS = 30_000;

/** @param refusals number in a row, before the one that the pause follows */
export function retryPauseMs(refusals: number, error?: Pick<ExchangeError, 'retryAfterMs'>): number {
  const { retryAfterMs } = error ?? {};
  if (retryAfterMs === undefined) {
    return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(refusals, 10), LONGEST_PAUSE_MS);
  }
  const longestMs = Math.max(FIRST_PAUSE_MS, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
  return Math.min(LIMIT_PAUSE_MS * 2 ** Math.max(0, refusals + 1 - STEADY_REFUSALS), longestMs);
}

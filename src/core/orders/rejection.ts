import type { RejectionReason } from '../audit/audit-event.ts';
import type { ExchangeError } from '../ports/exchange.ts';

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
  ['amountInvalid', 'amountStep'],
  ['priceInvalid', 'priceStep'],
]);

/** Returns what a refusal without effect means for the lane. */
export function classifyRejection(error: Pick<ExchangeError, 'name' | 'fields'>): RejectionReason {
  return REASONS.get(error.name) ?? fieldReason(error) ?? 'other';
}

/** Refused for its amount or price: the step used for rounding may no longer be the market's. */
export type StepReason = Extract<RejectionReason, 'amountStep' | 'priceStep'>;

export const isAboutStep = (reason: RejectionReason): reason is StepReason =>
  reason === 'amountStep' || reason === 'priceStep';

/** Returns the reason that the blamed field gives, where the exchange has one code for every fault (30). */
function fieldReason({
  name,
  fields = {},
}: Pick<ExchangeError, 'name' | 'fields'>): RejectionReason | undefined {
  const [field, ...others] = name === 'validationFailed' ? Object.keys(fields) : [];
  if (field === undefined || others.length > 0) return undefined;
  if (field === 'market') return 'marketClosed';
  if (field === 'amount') return 'amountStep';
  return /^(price|activation_?price)$/i.test(field) ? 'priceStep' : undefined;
}

/** Whether the exchange never judged the request or accepts none now: repeated after a pause, not a failed attempt. */
export function isPassing(reason: RejectionReason): boolean {
  return reason === 'rateLimited' || reason === 'notProcessed' || reason === 'marketClosed';
}

/** Whether a refusal must reach a person; of a closed market, only the first. */
export function isAlarming(reason: RejectionReason, refusals: number): boolean {
  return reason === 'marketClosed' ? refusals === 0 : !isPassing(reason);
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

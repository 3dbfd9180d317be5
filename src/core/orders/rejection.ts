import type { RejectionReason } from '../audit/audit-event.ts';
import type { ExchangeError } from '../ports/exchange.ts';

/**
 * By the stable names of the client's error catalogue: numbers and fields mean different things on different
 * endpoints, and an id that breaks a rule must not pass for one that was accepted before.
 */
const REASONS: ReadonlyMap<string, RejectionReason> = new Map([
  ['reduceOnlyRefused', 'side'],
  ['duplicateClientOrderId', 'duplicateId'],
  ['cancelledOnCreation', 'cancelledAtCreation'],
  ['rateLimited', 'rateLimited'],
  ['rateBudgetSpent', 'rateLimited'],
  ['nonceRefused', 'notProcessed'],
  ['connectFailed', 'notProcessed'],
  ['clientClosed', 'notProcessed'],
]);

/** What a request that was refused without effect means for whoever wanted it. */
export function classifyRejection(error: Pick<ExchangeError, 'name'>): RejectionReason {
  return REASONS.get(error.name) ?? 'other';
}

/**
 * Whether the exchange never judged the request: it is sent again as it was, after a pause, and is no failed
 * attempt. What bounds the tries is the intent's time to live.
 */
export function isPassing(reason: RejectionReason): boolean {
  return reason === 'rateLimited' || reason === 'notProcessed';
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** A reply that asks for more is not obeyed to the letter: a position may need its order before. */
const LONGEST_RETRY_AFTER_MS = 30_000;

/** Pause before the next try after so many refusals in a row. */
export function retryPauseMs(refusals: number, error?: Pick<ExchangeError, 'retryAfterMs'>): number {
  const doubled = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(refusals, 10), LONGEST_PAUSE_MS);
  return Math.max(doubled, Math.min(error?.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS));
}

import type { RejectionReason } from './audit-event.ts';
import type { ExchangeError } from './ports/exchange.ts';

/** Reduce-only with no open position, or the order's side is the position's (specification section 7). */
const CODE_NOTHING_TO_REDUCE = 116;
/** Live notes: client order id. */
const CODE_CLIENT_ORDER_ID = 36;
const ID_FIELDS = ['client_order_id', 'clientOrderId'];

/** What a refused order means for its intent. Our ids are always well-formed, so a refused id is a taken one. */
export function classifyRejection(error: ExchangeError): RejectionReason {
  if (error.code === CODE_NOTHING_TO_REDUCE) return 'side';
  const namesId = ID_FIELDS.some((field) => error.fields?.[field] !== undefined);
  if (error.code === CODE_CLIENT_ORDER_ID || namesId) return 'duplicateId';
  if (error.retryAfterMs !== undefined || error.httpStatus === 429) return 'rateLimited';
  return 'other';
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Pause before the next try after so many refusals in a row. */
export function retryPauseMs(refusals: number, error?: ExchangeError): number {
  const doubled = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(refusals, 10), LONGEST_PAUSE_MS);
  return Math.max(doubled, error?.retryAfterMs ?? 0);
}

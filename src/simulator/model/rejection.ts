import type { Readings } from './readings.ts';
import type { Rejection } from './types.ts';

/** Codes of orders and balances: those of specification 7 and of the live service. */
export const CODES = {
  invalid: 0,
  nothingToCancel: 2,
  noBalance: 10,
  validation: 30,
  market: 31,
  amount: 32,
  price: 33,
  clientOrderId: 36,
  positionLimit: 111,
  pendingLimit: 112,
  sideLocked: 113,
  hedgeSide: 114,
  oppositeDirection: 115,
  reduceOnly: 116,
  priceBand: 250,
} as const;

const GENERIC: ReadonlySet<number> = new Set([CODES.market, CODES.amount, CODES.price, CODES.clientOrderId]);

export function reject(code: number, field: string, text: string): Rejection {
  const isOfField = GENERIC.has(code) || code === CODES.validation || code === CODES.invalid;
  return { ok: false, code, message: isOfField ? 'Validation failed' : text, errors: { [field]: [text] } };
}

/** Like `reject`, outside of orders, where there is only one code. */
export function invalid(field: string, text: string): Rejection {
  return reject(CODES.invalid, field, text);
}

/** Applies the readings `errorWords` and `orderErrorCodes`: `generic` has one code for all refused order parameters. */
export function worded(readings: Readings, rejection: Rejection): Rejection {
  if (rejection.code === CODES.noBalance && readings.errorWords === 'live')
    return worded(readings, reject(CODES.amount, 'amount', 'Not enough balance.'));
  return readings.orderErrorCodes === 'generic' && GENERIC.has(rejection.code)
    ? { ...rejection, code: CODES.validation }
    : rejection;
}

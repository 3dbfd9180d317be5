import type { PlaceStep } from '../../../../src/core/lanes/lane-state.ts';
import type { ExchangeError, PlacedOrder } from '../../../../src/core/ports/exchange.ts';
import type { ModelRequest } from './terms.ts';
import { lotsOf, lotsText, ticksOf } from './views.ts';

/** Faults of a request, or of the process that sends it. */
export type Fault =
  | 'none'
  | 'lostBefore'
  | 'lostAfter'
  | 'late'
  | 'crashBefore'
  | 'crashAfter'
  | 'refused'
  | 'limited'
  | 'duplicateReport';

/** Time until the reply, and until the sender gives up on it. */
export const LATENCY_MS = 20;
export const TIMEOUT_MS = 100;

/** Names as in the error catalogue. */
export const REFUSALS = {
  116: 'reduceOnlyRefused',
  36: 'duplicateClientOrderId',
  429: 'rateLimited',
} as const;

export function failure(name: string, effect: 'none' | 'possible', code?: number): ExchangeError {
  return { name, endpoint: 'stopLimit', message: name, effect, ...(code === undefined ? {} : { code }) };
}

export function modelRequest(step: PlaceStep): ModelRequest {
  const { request } = step;
  return {
    clientOrderId: request.clientOrderId,
    side: request.side,
    positionSide: request.positionSide,
    lots: lotsOf(request.amount),
    activation: ticksOf(request.activationPrice),
    limit: ticksOf(request.price),
  };
}

export function placed(
  step: PlaceStep,
  reply: { readonly lots: number; readonly status: 'NEW' | 'FILLED' | 'PARTIALLY_FILLED' },
): PlacedOrder {
  const { request } = step;
  const amount = lotsText(reply.lots);
  const isAdjusted = reply.lots !== lotsOf(request.amount);
  return {
    orderId: '1',
    clientOrderId: request.clientOrderId,
    clientOrderIdEchoed: true,
    market: request.market,
    side: request.side,
    status: { known: true, value: reply.status },
    amount,
    ...(isAdjusted ? { adjustedFrom: request.amount } : {}),
  };
}

import type { ServedEndpoint } from '../http/dispatch.ts';
import type { Reply } from '../http/reply.ts';
import type { OrderClass } from '../model/types.ts';
import { ParamReader } from './params.ts';
import { commandReply, type EndpointParts, invalidParams, optionalMarket, rejected } from './parts.ts';

const ORDER_CLASSES: readonly unknown[] = ['spot', 'margin', 'futures'] satisfies OrderClass[];

/** Specification 4.6. */
export function cancelAllEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'cancelAll',
    httpMethod: 'POST',
    path: '/api/v4/order/cancel/all',
    permission: 'trading',
    isCommand: true,
    handle: ({ accountId, params }): Reply => {
      const reader = new ParamReader(params);
      const market = optionalMarket(reader, parts.model);
      const types = reader.optionalList('type', ORDER_CLASSES.length, isOrderClass);
      if (reader.hasProblems) return invalidParams(parts.model, reader.problems);
      const outcome = parts.model.cancelAll(accountId, {
        ...(market === undefined ? {} : { market }),
        ...(types === undefined ? {} : { types }),
      });
      return outcome.ok ? commandReply(parts.model, []) : rejected(parts.model, outcome);
    },
  };
}

function isOrderClass(value: unknown): value is OrderClass {
  return ORDER_CLASSES.includes(value);
}

import type { FullExchange, GuardedExchange } from '../core/ports/exchange.ts';

/**
 * What the daemon holds of a client: the reads and the two tools that cannot make things worse. A new
 * frozen object without a prototype, whose methods are bound to the client but do not lead to it.
 */
export function guard(client: FullExchange): GuardedExchange {
  const guarded: GuardedExchange = {
    ping: (options) => client.ping(options),
    openPositions: (query, options) => client.openPositions(query, options),
    creditLines: (options) => client.creditLines(options),
    mainBalance: (options) => client.mainBalance(options),
    transfers: (query, options) => client.transfers(query, options),
    spotOrders: (query, options) => client.spotOrders(query, options),
    cancelAll: (request, options) => client.cancelAll(request, options),
    reduceOnlyStop: (request, options) => client.reduceOnlyStop(request, options),
  };
  for (const method of Object.values(guarded)) Object.freeze(method);
  return Object.freeze(Object.assign(Object.create(null) as object, guarded));
}

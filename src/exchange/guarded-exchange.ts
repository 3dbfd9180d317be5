import type { FiatDeposit, FullExchange, GuardedExchange } from '../core/ports/exchange.ts';

/**
 * Restricts a client to what the daemon may use: the reads, and the two commands that cannot open a position. Returns a
 * new frozen object without a prototype. Its methods call the client but do not expose it.
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

/** Access to deposit links only; separate from the guarded exchange, which does not need them. */
export function fiatDeposit(client: FullExchange): FiatDeposit {
  return Object.freeze({
    link: (...[request, options]: Parameters<FiatDeposit['link']>) =>
      client.fiatDepositLink(request, options),
  });
}

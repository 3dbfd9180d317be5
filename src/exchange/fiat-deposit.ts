import type { FiatDeposit, FullExchange } from '../core/ports/exchange.ts';

/** The one thing that concerns money coming in; apart from the guarded exchange, which has no need of it. */
export function fiatDeposit(client: FullExchange): FiatDeposit {
  return Object.freeze({
    link: (...[request, options]: Parameters<FiatDeposit['link']>) =>
      client.fiatDepositLink(request, options),
  });
}

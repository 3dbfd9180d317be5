import type { FiatDeposit, FullExchange } from '../core/ports/exchange.ts';

/** Access to deposit links only; separate from the guarded exchange, which does not need them. */
export function fiatDeposit(client: FullExchange): FiatDeposit {
  return Object.freeze({
    link: (...[request, options]: Parameters<FiatDeposit['link']>) =>
      client.fiatDepositLink(request, options),
  });
}

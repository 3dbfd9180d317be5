import type { ServedEndpoint } from '../http/dispatch.ts';
import { cancelAllEndpoint } from './cancel-all.ts';
import { creditLineEndpoint } from './credit-line.ts';
import { fiatDepositEndpoint } from './fiat-deposit.ts';
import { hedgeModeEndpoint } from './hedge-mode.ts';
import { mainBalanceEndpoint } from './main-balance.ts';
import { openPositionsEndpoint } from './open-positions.ts';
import { orderHistoryEndpoint } from './order-history.ts';
import type { EndpointParts } from './parts.ts';
import { assetsEndpoint, pingEndpoint } from './public.ts';
import { stopLimitEndpoint } from './stop-limit.ts';
import { transferHistoryEndpoint } from './transfer-history.ts';

/** Everything the exchange answers, by path. */
export function allEndpoints(parts: EndpointParts): ReadonlyMap<string, ServedEndpoint> {
  const endpoints = [
    pingEndpoint(),
    assetsEndpoint(parts),
    fiatDepositEndpoint(parts),
    transferHistoryEndpoint(parts),
    openPositionsEndpoint(parts),
    stopLimitEndpoint(parts),
    orderHistoryEndpoint(parts),
    cancelAllEndpoint(parts),
    hedgeModeEndpoint(parts),
    creditLineEndpoint(parts),
    mainBalanceEndpoint(parts),
  ];
  return new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]));
}

import { formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { success } from '../http/reply.ts';
import type { AssetStatus } from '../model/types.ts';
import type { EndpointParts } from './parts.ts';

/** Specification 1: the liveness check. */
export function pingEndpoint(): ServedEndpoint {
  const reply = success(['pong']);
  return { name: 'ping', httpMethod: 'GET', path: '/api/v4/public/ping', handle: () => reply };
}

/**
 * The asset status listing that fiat deposits rely on. Specification 2.7 names it and does not show its shape;
 * here it is an object keyed by ticker with `can_deposit`, `can_withdraw` and the providers and networks per
 * direction.
 */
export function assetsEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'assets',
    httpMethod: 'GET',
    path: '/api/v4/public/assets',
    handle: () =>
      success(Object.fromEntries(parts.model.assets().map((asset) => [asset.ticker, assetRecord(asset)]))),
  };
}

function assetRecord(asset: AssetStatus): object {
  return {
    name: asset.name,
    can_deposit: asset.canDeposit,
    can_withdraw: asset.canWithdraw,
    min_deposit: formatDecimal(asset.minDeposit),
    providers: { deposits: asset.providers },
    networks: { deposits: asset.networks, withdraws: asset.networks },
    confirmations: { required: asset.confirmationsRequired },
  };
}

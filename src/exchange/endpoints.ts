/** Prefix of all endpoint paths. */
export const API_ROOT = '/api/v4';

/** The endpoints of specification 4, and of its section 1 the liveness check and market data: kind, path, section. */
const ROWS = {
  ping: ['read', 'public/ping', '1'],
  lastPrices: ['read', 'public/futures', '1'],
  fiatDeposit: ['command', 'main-account/fiat-deposit-url', '4.1'],
  transfers: ['read', 'main-account/history', '4.2'],
  openPositions: ['read', 'collateral-account/positions/open', '4.3'],
  stopLimit: ['command', 'order/collateral/stop-limit', '4.4'],
  spotOrders: ['read', 'trade-account/order/history', '4.5'],
  cancelAll: ['command', 'order/cancel/all', '4.6'],
  creditLines: ['read', 'credit-line/loans/info', '4.6b'],
  hedgeMode: ['command', 'collateral-account/hedge-mode/update', '4.7'],
  mainBalance: ['read', 'main-account/balance', '4.8'],
} as const;

export type EndpointId = keyof typeof ROWS;

export interface Endpoint {
  readonly id: EndpointId;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** A read may be repeated and preempted; a command is sent once, or again after a refused nonce. */
  readonly kind: 'read' | 'command';
  readonly section: string;
}

export const ENDPOINTS = Object.fromEntries(
  Object.entries(ROWS).map(([id, [kind, path, section]]) => [
    id,
    { id, method: path.startsWith('public/') ? 'GET' : 'POST', path: `${API_ROOT}/${path}`, kind, section },
  ]),
) as Readonly<Record<EndpointId, Endpoint>>;

/** Whether the text can be a base URL: http or https, without user, query or fragment. */
export function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === '';
}

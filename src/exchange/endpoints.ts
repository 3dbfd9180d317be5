/** The endpoints of specification 4 and the public liveness check of specification 1. */
export type EndpointId =
  | 'ping'
  | 'openPositions'
  | 'creditLines'
  | 'mainBalance'
  | 'transfers'
  | 'spotOrders'
  | 'cancelAll'
  | 'stopLimit'
  | 'hedgeMode'
  | 'fiatDeposit';

export interface Endpoint {
  readonly id: EndpointId;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** A read may be repeated and given up; a command is sent once. */
  readonly kind: 'read' | 'command';
  readonly section: string;
}

const endpoint = (id: EndpointId, kind: Endpoint['kind'], path: string, section: string): Endpoint => ({
  id,
  method: id === 'ping' ? 'GET' : 'POST',
  path: `/api/v4/${path}`,
  kind,
  section,
});

export const ENDPOINTS: Readonly<Record<EndpointId, Endpoint>> = {
  ping: endpoint('ping', 'read', 'public/ping', '1'),
  fiatDeposit: endpoint('fiatDeposit', 'command', 'main-account/fiat-deposit-url', '4.1'),
  transfers: endpoint('transfers', 'read', 'main-account/history', '4.2'),
  openPositions: endpoint('openPositions', 'read', 'collateral-account/positions/open', '4.3'),
  stopLimit: endpoint('stopLimit', 'command', 'order/collateral/stop-limit', '4.4'),
  spotOrders: endpoint('spotOrders', 'read', 'trade-account/order/history', '4.5'),
  cancelAll: endpoint('cancelAll', 'command', 'order/cancel/all', '4.6'),
  creditLines: endpoint('creditLines', 'read', 'credit-line/loans/info', '4.6b'),
  hedgeMode: endpoint('hedgeMode', 'command', 'collateral-account/hedge-mode/update', '4.7'),
  mainBalance: endpoint('mainBalance', 'read', 'main-account/balance', '4.8'),
};

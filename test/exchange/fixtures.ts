import type { ReduceOnlyStopRequest } from '../../src/core/ports/exchange.ts';
import { type DecimalString, isDecimalString } from '../../src/core/quantities/decimal.ts';
import {
  createExchangeClient,
  type ExchangeClient,
  type ExchangeClientOptions,
} from '../../src/exchange/client.ts';
import type { NonceMode } from '../../src/exchange/nonce/nonce-modes.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';

export const API_KEY = 'planted-api-key-7f3a';
export const API_SECRET = 'planted-api-secret-9c1e';

export function decimalText(text: string): DecimalString {
  if (!isDecimalString(text)) throw new TypeError(text);
  return text;
}

export function openClient(
  baseUrls: readonly string[],
  changes: Partial<ExchangeClientOptions> = {},
): ExchangeClient {
  const store = createMemoryRateLimitStore(systemClock);
  return createExchangeClient({
    baseUrls,
    credentials: { apiKey: API_KEY, apiSecret: API_SECRET },
    nonce: { mode: 'unique', store: createMemoryNonceStore(systemClock) },
    limiter: { store, fallback: store },
    retry: { firstBackoffMs: 5, maxBackoffMs: 20 },
    ...changes,
  });
}

/** Specification 2.4. */
export const POSITION = {
  positionId: 191_823,
  market: 'BTC_PERP',
  openDate: 1_660_340_344.027_163,
  modifyDate: 1_660_340_344.027_163,
  amount: '0.075',
  basePrice: '24149.24512',
  liquidationPrice: '7059.02',
  liquidationState: 'margin_call',
  pnl: '0',
  pnlPercent: '-0.08',
  margin: '4.86',
  freeMargin: '9.1571',
  funding: '0',
  unrealizedFunding: '0.0019142920201966',
  unrealizedPnl: '-0.10815',
  tpsl: { takeProfitId: 123_456, takeProfit: '50000.10', stopLossId: 123_457, stopLoss: '20000' },
  positionSide: 'LONG',
};

/** Specification 2.5. */
export const CREDIT_LINE = {
  asset: 'BTC',
  amount: '1000.00',
  totalFunding: '3.5',
  currentLtv: '61.2',
  initialLtv: '60',
  marginCallLtv: '75',
  liquidationLtv: '85',
  createdAt: 1_700_000_000,
};

/** Specification 2.3. */
export const TRANSFER = {
  address: '3ApEASLcrQtZpg1TsssFgYF5V5YQJAKvuE',
  unique_id: null,
  createdAt: 1_593_437_922,
  currency: 'Bitcoin',
  ticker: 'BTC',
  method: 1,
  amount: '0.0006',
  description: '',
  memo: '',
  fee: '0',
  status: 15,
  network: null,
  transactionHash: 'a275a514013e4e0f927fd0d1bed215e7f6f2c4c6ce762836fe135ec22529d886',
  transaction_id: '5e112b38-9652-11ed-a1eb-0242ac120002',
  details: {
    partial: {
      requestAmount: '50000',
      processedAmount: '39000',
      processedFee: '273',
      normalizeTransaction: '',
    },
  },
  confirmations: { actual: 1, required: 2 },
};

/** Specification 2.1. */
export const SPOT_ORDER = {
  id: 4_986_126_152,
  client_order_id: 'customId11',
  amount: '0.0009',
  price: '40000',
  type: 'limit',
  side: 'sell',
  ctime: 1_597_486_960.311_311,
  ftime: 1_597_486_960.311_332,
  takerFee: '0.001',
  makerFee: '0.001',
  deal_fee: '0.041258268',
  deal_stock: '0.0009',
  deal_money: '41.258268',
  postOnly: false,
  ioc: false,
  status: 'CANCELED',
  feeAsset: 'USDT',
  stp: 'no',
  rpi: true,
  reduceOnly: false,
};

/** Specification 2.2. */
export const PLACED_ORDER = {
  order_id: 4_180_284_841,
  client_order_id: 'bw.1-a_2',
  market: 'BTC_PERP',
  side: 'sell',
  type: 'stop limit',
  timestamp: 1_595_792_396.165_973,
  deal_money: '0',
  deal_stock: '0',
  amount: '0.05',
  left: '0.05',
  deal_fee: '0',
  price: '39000',
  activation_price: '40000',
  status: 'NEW',
  stp: 'no',
  positionSide: 'LONG',
  reduceOnly: true,
};

export const STOP: ReduceOnlyStopRequest = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: decimalText('0.05'),
  price: decimalText('39000'),
  activationPrice: decimalText('40000'),
  clientOrderId: 'bw.1-a_2',
  positionSide: 'LONG',
};

/** Client options for a nonce mode, with a store of its own. */
export const nonceSettings = (mode: NonceMode): Pick<ExchangeClientOptions, 'nonce'> => ({
  nonce: { mode, store: createMemoryNonceStore(systemClock) },
});

import type { Dispatcher } from 'undici';
import type { CommandOutcome, FullExchange, ReadOutcome } from '../../src/core/ports/exchange.ts';
import { Connections } from '../../src/exchange/call/transport.ts';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';
import { CREDIT_LINE, decimalText, openClient, POSITION, TRANSFER } from '../exchange/fixtures.ts';
import { below, type Draw, mutatedJson, mutatedText, oneOf, serialized } from './mutate.ts';
import type { Boundary } from './target.ts';

type Call = (exchange: FullExchange) => Promise<ReadOutcome<unknown> | CommandOutcome<unknown>>;

interface Endpoint {
  readonly valid: readonly unknown[];
  readonly call: Call;
}

const ORDER = {
  orderId: 25_179_745,
  clientOrderId: 'bw-1',
  market: 'BTC_PERP',
  side: 'sell',
  type: 'futures stop limit',
  status: 'NEW',
  timestamp: 1_592_838_875.01,
  amount: '0.05',
  left: '0.05',
  price: '9800',
  activation_price: '9850',
  deal_stock: '0',
  deal_money: '0',
  deal_fee: '0',
  positionSide: 'LONG',
  reduceOnly: true,
  oto: null,
};
const SPOT_ORDER = {
  id: 123,
  client_order_id: 'x',
  side: 'buy',
  type: 'limit',
  status: 'FILLED',
  amount: '1',
  price: '10',
  ctime: 1_700_000_000.5,
  ftime: 1_700_000_001,
  deal_stock: '1',
  deal_money: '10',
  deal_fee: '0.01',
  postOnly: false,
};
const STOP = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: decimalText('0.05'),
  price: decimalText('9800'),
  activationPrice: decimalText('9850'),
  clientOrderId: 'bw-1',
  positionSide: 'LONG',
} as const;

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  openPositions: {
    valid: [[POSITION, { ...POSITION, positionId: 2, market: 'ETH_PERP', amount: '-1' }], [], {}],
    call: (exchange) => exchange.openPositions(),
  },
  creditLines: {
    valid: [[CREDIT_LINE], CREDIT_LINE, [], { loans: [CREDIT_LINE] }],
    call: (exchange) => exchange.creditLines(),
  },
  mainBalance: {
    valid: [{ BTC: { main_balance: '0.5' }, USDT: { main_balance: '100' } }, {}],
    call: (exchange) => exchange.mainBalance(),
  },
  transfers: {
    valid: [{ limit: 100, offset: 0, total: 1, records: [TRANSFER] }],
    call: (exchange) => exchange.transfers(),
  },
  spotOrders: {
    valid: [{ BTC_USDT: [SPOT_ORDER] }, [], {}],
    call: (exchange) => exchange.spotOrders(),
  },
  reduceOnlyStop: { valid: [ORDER], call: (exchange) => exchange.reduceOnlyStop(STOP) },
  cancelAll: { valid: [{}, [], [ORDER]], call: (exchange) => exchange.cancelAll({ market: 'BTC_PERP' }) },
  setHedgeMode: { valid: [{ hedgeMode: true }, {}], call: (exchange) => exchange.setHedgeMode(true) },
  fiatDepositLink: {
    valid: [{ url: 'https://pay.example/1' }],
    call: (exchange) =>
      exchange.fiatDepositLink({ ticker: 'UAH', provider: 'X', amount: decimalText('100'), uniqueId: 'u1' }),
  },
};

const ERRORS: readonly unknown[] = [
  { code: 30, message: 'Validation failed', errors: { market: ['Market is not available'] } },
  { code: 116, message: 'No active loan', errors: { loan: ['x'] } },
  { code: 10, message: 'Inner validation failed', errors: { amount: ['Not enough balance'] } },
  { success: false, message: 'Too many requests', params: [], result: null },
];
const STATUSES = [200, 200, 200, 200, 201, 204, 302, 400, 401, 403, 404, 422, 429, 429, 500, 502, 503, 999];
const ENCODINGS = ['identity', 'gzip', 'br', 'deflate', 'gzip, br', 'zstd', 'x'.repeat(500)];

const HOUR_MS = 3_600_000;

interface Wire {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function wireOf(draw: Draw, { valid }: Endpoint): Wire {
  const status = oneOf(draw, STATUSES);
  const value = status < 300 || draw() < 0.2 ? oneOf(draw, valid) : oneOf(draw, ERRORS);
  const kind = below(draw, 10);
  const text =
    kind < 7
      ? mutatedJson(draw, value)
      : kind < 9
        ? mutatedText(draw, serialized(value), '{}[]":,0123456789eE+-. \\u\u0000ntf')
        : many(draw, value);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (draw() < 0.05) headers['content-encoding'] = oneOf(draw, ENCODINGS);
  if (draw() < 0.1)
    headers['retry-after'] = oneOf(draw, ['1e9', '-1', 'x', '0', '5', 'Thu, 01 Jan 2099 00:00:00 GMT']);
  if (draw() < 0.3)
    headers['date'] = oneOf(draw, ['', 'x', 'Thu, 01 Jan 1970 00:00:00 GMT', new Date(0).toUTCString()]);
  return { status, headers, body: Buffer.from(text) };
}

/** Long lists and long records, up to beyond every bound. */
function many(draw: Draw, value: unknown): string {
  const one = serialized(Array.isArray(value) ? (value[0] ?? 0) : value);
  const count = oneOf(draw, [10, 300, 3_000, 20_000]);
  const list = Array.from({ length: Math.min(count, Math.ceil(3_000_000 / one.length)) }, () => one);
  return `[${list.join(',')}]`;
}

const CONTROLLER = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
} satisfies Dispatcher.DispatchController;

/** The whole client, with replies that come at once, from below HTTP. */
export const REPLIES: Boundary = {
  name: 'replies',
  async open() {
    let wire: Wire = { status: 200, headers: {}, body: Buffer.from('[]') };
    const sharedConnections = new Connections({
      timers: systemTimers,
      open: () => ({
        dispatch: (_options, handler) => {
          const { status, headers, body } = wire;
          handler.onRequestStart?.(CONTROLLER, undefined);
          handler.onResponseStart?.(CONTROLLER, status, { ...headers });
          handler.onResponseData?.(CONTROLLER, body);
          handler.onResponseEnd?.(CONTROLLER, {});
          return true;
        },
        close: () => Promise.resolve(),
      }),
    });
    // What one reply dictates (a pause, a block) is over when the next one comes.
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const client = openClient(['http://127.0.0.1:1'], {
      clock,
      sharedConnections,
      retry: { maxAttempts: 1 },
      limiter: unlimited(),
    });
    const names = Object.keys(ENDPOINTS);
    return {
      make(draw) {
        const name = oneOf(draw, names);
        const endpoint = ENDPOINTS[name] ?? never();
        const next = wireOf(draw, endpoint);
        return {
          text: `${name} ${next.status} ${JSON.stringify(next.headers)} ${next.body.toString().slice(0, 2_000)}`,
          async run() {
            wire = next;
            aheadMs += HOUR_MS;
            const outcome = await endpoint.call(client);
            if (!['ok', 'failed', 'accepted', 'rejected', 'unknown'].includes(outcome.kind)) {
              throw new Error(`no outcome: ${JSON.stringify(outcome)}`);
            }
          },
        };
      },
      close: () => client.close(),
    };
  },
};

function unlimited() {
  const store = {
    take: async ({ count }: { readonly count: number }) => ({ granted: count, retryInMs: 0 }),
    penalize: async () => undefined,
  };
  return { store, fallback: store };
}

function never(): never {
  throw new TypeError('an endpoint that is not listed');
}

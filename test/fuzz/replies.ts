import type { Dispatcher } from 'undici';
import type { CommandOutcome, FullExchange, ReadOutcome } from '../../src/core/ports/exchange.ts';
import { REPLY_BOUNDS, type ReplyBounds } from '../../src/exchange/call/reply-bounds.ts';
import { Connections } from '../../src/exchange/call/transport.ts';
import type { EndpointId } from '../../src/exchange/endpoints.ts';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';
import { generateAccount } from '../accounts/generate.ts';
import { listOf } from '../accounts/lists.ts';
import { CREDIT_LINE, decimalText, openClient, POSITION, TRANSFER } from '../exchange/fixtures.ts';
import { below, type Draw, mutatedJson, mutatedText, oneOf, serialized } from './mutate.ts';
import type { Boundary } from './target.ts';

type Call = (exchange: FullExchange) => Promise<ReadOutcome<unknown> | CommandOutcome<unknown>>;

interface Endpoint {
  readonly id: EndpointId;
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
    id: 'openPositions',
    valid: [[POSITION, { ...POSITION, positionId: 2, market: 'ETH_PERP', amount: '-1' }], [], {}],
    call: (exchange) => exchange.openPositions(),
  },
  lastPrices: {
    id: 'lastPrices',
    valid: [{ success: true, message: null, result: [{ ticker_id: 'BTC_PERP', last_price: '10000' }] }],
    call: (exchange) => exchange.lastPrices(),
  },
  creditLines: {
    id: 'creditLines',
    valid: [[CREDIT_LINE], CREDIT_LINE, [], { loans: [CREDIT_LINE] }],
    call: (exchange) => exchange.creditLines(),
  },
  mainBalance: {
    id: 'mainBalance',
    valid: [{ BTC: { main_balance: '0.5' }, USDT: { main_balance: '100' } }, {}],
    call: (exchange) => exchange.mainBalance(),
  },
  transfers: {
    id: 'transfers',
    valid: [{ limit: 100, offset: 0, total: 1, records: [TRANSFER] }],
    call: (exchange) => exchange.transfers(),
  },
  spotOrders: {
    id: 'spotOrders',
    valid: [{ BTC_USDT: [SPOT_ORDER] }, [], {}],
    call: (exchange) => exchange.spotOrders(),
  },
  reduceOnlyStop: { id: 'stopLimit', valid: [ORDER], call: (exchange) => exchange.reduceOnlyStop(STOP) },
  cancelAll: {
    id: 'cancelAll',
    valid: [{}, [], [ORDER]],
    call: (exchange) => exchange.cancelAll({ market: 'BTC_PERP' }),
  },
  setHedgeMode: {
    id: 'hedgeMode',
    valid: [{ hedgeMode: true }, {}],
    call: (exchange) => exchange.setHedgeMode(true),
  },
  fiatDepositLink: {
    id: 'fiatDeposit',
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

/** Their lists of positions are the valid ones beside those written here. */
const DRAWN_ACCOUNTS = [1, 2, 3, 5, 8, 13];

const HOUR_MS = 3_600_000;

interface Wire {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function wireOf(draw: Draw, { id, valid }: Endpoint): Wire {
  const status = oneOf(draw, STATUSES);
  const value = status < 300 || draw() < 0.2 ? oneOf(draw, valid) : oneOf(draw, ERRORS);
  const kind = below(draw, 10);
  const text =
    kind < 7
      ? mutatedJson(draw, value)
      : kind < 9
        ? mutatedText(draw, serialized(value), '{}[]":,0123456789eE+-. \\u\u0000ntf')
        : many(draw, value, REPLY_BOUNDS[id]);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (draw() < 0.05) headers['content-encoding'] = oneOf(draw, ENCODINGS);
  if (draw() < 0.1)
    headers['retry-after'] = oneOf(draw, ['1e9', '-1', 'x', '0', '5', 'Thu, 01 Jan 2099 00:00:00 GMT']);
  if (draw() < 0.3)
    headers['date'] = oneOf(draw, ['', 'x', 'Thu, 01 Jan 1970 00:00:00 GMT', new Date(0).toUTCString()]);
  return { status, headers, body: Buffer.from(text) };
}

/** Long lists, at each limit of the endpoint and slightly beyond. */
function many(draw: Draw, value: unknown, { bytes, members }: ReplyBounds): string {
  const [key, list] = listIn(value) ?? [];
  const record: unknown = list?.[0] ?? Object.values(value as object)[0] ?? 0;
  const one = draw() < 0.2 ? mutatedJson(draw, record) : padded(draw, record, bytes / members);
  const fitting = Math.floor(bytes / (one.length + 1));
  const count = Math.min(oneOf(draw, [10, 300, members, members + 1, fitting, fitting + 2]), fitting + 2);
  const isKeyed = list === undefined && draw() < 0.9;
  const text = Array.from({ length: count }, (_, index) => (isKeyed ? `"K${index}":${one}` : one)).join(',');
  if (isKeyed) return `{${text}}`;
  if (key === undefined) return `[${text}]`;
  return serialized({ ...(value as object), [key]: 0 }).replace(`"${key}":0`, () => `"${key}":[${text}]`);
}

/** The list of a reply, and its key if it is nested: a page of a history, orders of one market. */
function listIn(value: unknown): readonly [key: string | undefined, list: readonly unknown[]] | undefined {
  if (Array.isArray(value)) return [undefined, value];
  return Object.entries(value as object).find((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  );
}

/** The record itself, or padded so that both limits meet. */
function padded(draw: Draw, record: unknown, length: number): string {
  const text = serialized(record);
  if (draw() < 0.5 || !text.endsWith('}')) return text;
  return `${text.slice(0, -1)},"padding":"${'x'.repeat(Math.max(0, length - text.length - 15))}"}`;
}

/** Allocations of two maximal pages: a history is read until a page brings nothing new. */
const MOST_BYTES = 160 * 2 ** 20;

const CONTROLLER = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
} satisfies Dispatcher.DispatchController;

function answer(handler: Dispatcher.DispatchHandler, { status, headers, body }: Wire): void {
  handler.onRequestStart?.(CONTROLLER, undefined);
  handler.onResponseStart?.(CONTROLLER, status, { ...headers });
  handler.onResponseData?.(CONTROLLER, body);
  handler.onResponseEnd?.(CONTROLLER, {});
}

/** The whole client, with immediate replies injected below HTTP. */
export const REPLIES: Boundary = {
  name: 'replies',
  async open() {
    const lists = await Promise.all(DRAWN_ACCOUNTS.map((seed) => listOf(generateAccount(seed))));
    let wire: Wire = { status: 200, headers: {}, body: Buffer.from('[]') };
    const sharedConnections = new Connections({
      timers: systemTimers,
      open: () => ({
        dispatch: (_options, handler) => {
          // In a separate turn, as from a socket: each page of a history holds the loop for itself.
          setImmediate(() => answer(handler, wire));
          return true;
        },
        close: () => Promise.resolve(),
      }),
    });
    // Effects of one reply (a pause, a block) are over when the next one comes.
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
        const { id, valid } = endpoint;
        const next = wireOf(draw, {
          ...endpoint,
          valid: id === 'openPositions' ? [...valid, ...lists] : valid,
        });
        return {
          text: `${name} ${next.status} ${JSON.stringify(next.headers)} ${next.body.toString().slice(0, 2_000)}`,
          mostBytes: MOST_BYTES,
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
    take: async ({ count }: { readonly count: number }) => ({ granted: count, retryInMs: 0, isPause: false }),
    penalize: async () => undefined,
  };
  return { store, fallback: store };
}

function never(): never {
  throw new TypeError('an endpoint that is not listed');
}

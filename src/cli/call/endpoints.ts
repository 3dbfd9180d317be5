import { randomUUID } from 'node:crypto';
import { ENDPOINTS, type exchangeRequests, meantOr } from '../../app.ts';
import type { CallOptions, CommandOutcome, FullExchange, ReadOutcome } from '../../core/ports/exchange.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../table.ts';
import { named, optional, type ParametersOf, repeatable, required, type Values } from './parameters.ts';
import { listView, recordView, type Shown } from './views.ts';

type EndpointId = keyof typeof ENDPOINTS;
type Requests = Awaited<ReturnType<typeof exchangeRequests>>;
type RequestOf<Id> = Id extends keyof Requests ? Parameters<Requests[Id]>[0] : object;
type Method<Id> = Id extends 'hedgeMode' ? 'setHedgeMode' : Id extends 'fiatDeposit' ? 'fiatDepositLink' : Id;
type Call<Id> = Method<Id> extends keyof FullExchange ? FullExchange[Method<Id>] : never;
type ReplyOf<Id> = Extract<Awaited<ReturnType<Call<Id>>>, { readonly value: unknown }>['value'];
export type AnyOutcome<T> = ReadOutcome<T> | CommandOutcome<T>;

/** One endpoint of `breakwater call`: `Q` is the client's request, `T` its reply. */
interface Endpoint<Q, T> {
  readonly name: string;
  readonly summary: string;
  /** What a call changes at the exchange; absent for a read. */
  readonly changes?: string;
  /** Excludes customer data, which come from a file, not from parameters. */
  readonly parameters: ParametersOf<Omit<Q, 'customer'>>;
  readonly takesCustomer?: true;
  /** Values of absent parameters. */
  readonly defaults?: (given: Partial<Q>) => Partial<Q>;
  /** Why a request could open exposure, judged by the body to be sent; `undefined` if it cannot. */
  readonly exposure?: (body: Values) => string | undefined;
  /** Note before the confirmation; absent if the risk already says it. */
  readonly caution?: (request: Q) => string;
  /** What to do if nobody knows whether the call took effect. */
  readonly afterUnknown?: (request: Q) => string;
  readonly send: (exchange: FullExchange, request: Q, options: CallOptions) => Promise<AnyOutcome<T>>;
  readonly view: (value: T) => Shown;
}

/** One page of a history, so that a quick look costs one request; with `since` all pages back to that time are read. */
const ONE_PAGE = 500;

const BOUNDS = {
  since: optional('Unix seconds or date', 'read back to this moment; without it, the newest maxRecords'),
  maxRecords: optional('whole number', `at most so many records; ${ONE_PAGE} unless since is given`, 'limit'),
};
const onePage = ({ since }: { since?: number }) => (since === undefined ? { maxRecords: ONE_PAGE } : {});

/** By the client's names, in the order of the listing: reads first. */
const TABLE: { readonly [Id in EndpointId]: Endpoint<RequestOf<Id>, ReplyOf<Id>> } = {
  ping: {
    name: 'ping',
    summary: 'whether the exchange answers; needs no credentials',
    parameters: {},
    send: (exchange, _none, options) => exchange.ping(options),
    view: () => ({ lines: () => ['pong'] }),
  },
  lastPrices: {
    name: 'last-prices',
    summary: 'last price of each perpetual market; needs no credentials',
    parameters: {},
    send: (exchange, _none, options) => exchange.lastPrices(options),
    view: (prices) => {
      const records = Object.entries(prices).map(([market, lastPrice]) => ({ market, lastPrice }));
      const list = { records, setAside: [], complete: true };
      return { ...listView(list, 'No markets.', ['market >lastPrice']), json: { prices } };
    },
  },
  openPositions: {
    name: 'positions',
    summary: 'open collateral positions; amounts in the base currency, pnl and margin in the quote currency',
    parameters: { market: optional('text', 'only this market, e.g. BTC_PERP') },
    send: (exchange, query, options) => exchange.openPositions(query, options),
    view: (list) =>
      listView(list, 'No open positions.', [
        'market positionSide >amount >basePrice >liquidationPrice liquidationState >unrealizedPnl >pnlPercent',
        '>margin >freeMargin >stopLoss >takeProfit openDate positionId',
      ]),
  },
  creditLines: {
    name: 'credit-lines',
    summary: 'open credit lines; LTVs in the unit of the exchange, percent or fraction',
    parameters: {},
    send: (exchange, _none, options) => exchange.creditLines(options),
    view: (list) =>
      listView(list, 'No credit lines.', [
        'asset >amount >totalFunding >currentLtv >initialLtv >marginCallLtv >liquidationLtv createdAt',
      ]),
  },
  mainBalance: {
    name: 'balance',
    summary: 'main balance per asset; an asset that is missing has zero',
    parameters: {},
    send: (exchange, _none, options) => exchange.mainBalance(options),
    view: (balance) => {
      const records = Object.entries(balance).map(([asset, available]) => ({ asset, available }));
      const list = { records, setAside: [], complete: true };
      return { ...listView(list, 'The main balance is empty.', ['asset >available']), json: { balance } };
    },
  },
  transfers: {
    name: 'transfers',
    summary: 'deposits and withdrawals, newest first',
    parameters: {
      method: optional(
        'deposit|withdrawal',
        'only deposits (also 1) or withdrawals (also 2)',
        'transactionMethod',
      ),
      ticker: optional('text', 'only this currency, e.g. USDT'),
      addresses: repeatable('text', 'only to or from these addresses, at most 20', 'address'),
      uniqueId: optional('text', 'only the one with this id'),
      status: repeatable('whole number', 'only with these codes; give method too'),
      ...BOUNDS,
    },
    defaults: onePage,
    send: (exchange, query, options) => exchange.transfers(query, options),
    view: (list) =>
      listView(list, 'No deposits or withdrawals.', [
        'createdAt method ticker >amount >fee >status network address uniqueId transactionId',
      ]),
  },
  spotOrders: {
    name: 'spot-orders',
    summary: 'spot order history, newest first within each market',
    parameters: { market: optional('text', 'only this market, e.g. BTC_USDT'), ...BOUNDS },
    defaults: onePage,
    send: (exchange, query, options) => exchange.spotOrders(query, options),
    view: (list) =>
      listView(list, 'No orders.', [
        'ctime market side type status >amount >price >dealStock >dealMoney >dealFee ftime',
        'clientOrderId orderId',
      ]),
  },
  cancelAll: {
    name: 'cancel-all',
    summary: 'cancel open orders, all of them or by market and type',
    changes: 'cancels orders, protective stops among them',
    parameters: {
      market: optional('text', 'only in this market'),
      types: repeatable('spot|margin|futures', 'only these types; without it all of them', 'type'),
    },
    caution: ({ market, types }) =>
      `It cancels every ${types?.join(' and ') ?? 'open'} order ` +
      `${market === undefined ? 'of the account' : 'in that market'}, protective stops among them.`,
    afterUnknown: () =>
      'Cancelling once more is safe as long as no order has been placed since; a late arrival would cancel it.',
    send: (exchange, request, options) => exchange.cancelAll(request, { ...options, priority: 'protective' }),
    view: () => ({ lines: () => ['The exchange accepted the cancellation.'] }),
  },
  stopLimit: {
    name: 'stop-limit',
    summary: 'a collateral stop-limit order; reduce-only unless told otherwise',
    changes: 'places an order',
    parameters: {
      market: required('text', 'BASE_QUOTE, e.g. BTC_PERP'),
      side: required('buy|sell', 'sell reduces a long, buy reduces a short'),
      amount: required('decimal', 'in the base currency of the market'),
      price: required('decimal', 'limit price, in the quote currency'),
      activationPrice: required('decimal', 'trigger price, in the quote currency'),
      reduceOnly: optional('true|false', 'true unless given; false needs --allow-exposure'),
      positionSide: optional('LONG|SHORT|BOTH', 'the position it is for, in hedge mode'),
      clientOrderId: optional('text', 'letters, digits, dashes, dots, underscores; a fresh one unless given'),
      stopLoss: optional('decimal', 'attached order, quote currency; not with reduceOnly=true'),
      takeProfit: optional('decimal', 'attached order, quote currency; not with reduceOnly=true'),
    },
    defaults: () => ({ reduceOnly: true, clientOrderId: `call-${randomUUID()}` }),
    exposure: ({ reduceOnly }) =>
      reduceOnly === true ? undefined : 'an order without reduceOnly=true can open or grow a position',
    caution: ({ reduceOnly }) =>
      reduceOnly === true
        ? 'It can reduce or close a position, never open or grow one.'
        : 'It CAN OPEN OR GROW a position.',
    afterUnknown: ({ clientOrderId }) =>
      'Read first: breakwater call positions. The order may be waiting all the same: an exchange that has it ' +
      `refuses a second one if you keep --param clientOrderId=${clientOrderId}.`,
    // Orders that reduce may use the share of the request budget that is reserved for protection.
    send: (exchange, request, options) =>
      exchange.stopLimit(request, request.reduceOnly ? { ...options, priority: 'protective' } : options),
    view: (order) => ({
      json: { order },
      ...recordView(order, [
        'orderId clientOrderId market side type status amount left price activationPrice positionSide',
        'reduceOnly stp stopLoss takeProfit timestamp',
      ]),
      notes:
        order.adjustedFrom === undefined
          ? []
          : [`The exchange adjusted the amount from ${order.adjustedFrom} to ${order.amount}.`],
    }),
  },
  hedgeMode: {
    name: 'hedge-mode',
    summary: 'hedge mode (long and short at once) or one-way mode; needs --allow-exposure',
    changes: 'changes what every later order of the account means',
    parameters: {
      hedgeMode: required('true|false', 'true for long and short positions at once, false for one-way mode'),
    },
    exposure: ({ hedgeMode }) =>
      hedgeMode === true
        ? 'in hedge mode an order of the other side opens a second position instead of reducing the first'
        : 'in one-way mode an order meant for one side of a market can turn the position around',
    afterUnknown: () => 'Setting the same mode again is safe; place no order before that is accepted.',
    send: (exchange, { hedgeMode }, options) => exchange.setHedgeMode(hedgeMode, options),
    view: () => ({ lines: () => ['The exchange accepted the mode.'] }),
  },
  fiatDeposit: {
    name: 'fiat-deposit-link',
    summary: 'an address at which a person pays in fiat money',
    changes: 'makes a deposit link and spends its unique id',
    takesCustomer: true,
    parameters: {
      ticker: required('text', 'fiat currency, e.g. EUR'),
      provider: required('text', 'from the asset status listing'),
      amount: required('decimal', 'in that currency'),
      uniqueId: optional('text', 'never used before; a fresh one unless given'),
      successLink: optional('text', 'https, of a domain that support has allowed'),
      failureLink: optional('text', 'https, of a domain that support has allowed'),
      returnLink: optional('text', 'without it the result page has no way back'),
    },
    defaults: () => ({ uniqueId: randomUUID() }),
    caution: () => 'It moves no money; a person pays at the address that comes back.',
    afterUnknown: () =>
      'The unique id may be spent: repeat with another one, or without uniqueId for a fresh one.',
    send: (exchange, request, options) => exchange.fiatDepositLink(request, options),
    view: ({ url }) => ({
      json: { url },
      lines: () => [printable(url)],
      notes: [
        'The link is for one person and one use. With the card provider open it from a page that sends a ' +
          'Referer header, or the browser lands on the home page of the exchange.',
      ],
    }),
  },
};

/** From here on, requests are values read from parameters. */
const ANY = TABLE as object as Readonly<Record<EndpointId, Endpoint<Values, unknown>>>;

export type CallEndpoint = (typeof CALL_ENDPOINTS)[number];
export const CALL_ENDPOINTS = Object.entries(ANY).map(([id, { parameters, ...one }]) =>
  Object.assign(one, ENDPOINTS[id as EndpointId], { parameters: named(parameters) }),
);

/** Finds an endpoint by its name, the client's name, or its path with or without the prefix. @throws UsageError */
export function findEndpoint(written: string): CallEndpoint {
  const inFull = written.replace(/^\/?(?:api\/v4\/)?/, '/api/v4/').replace(/\/$/, '');
  const found = CALL_ENDPOINTS.find(({ name, id, path }) => [name, id].includes(written) || path === inFull);
  if (found !== undefined) return found;
  const names = CALL_ENDPOINTS.map(({ name }) => name);
  const paths = CALL_ENDPOINTS.map(({ path }) => path);
  const cure = meantOr(written, [...names, ...paths], `There are ${names.join(', ')}.`);
  throw new UsageError(`no endpoint ${JSON.stringify(written.slice(0, 100))}.`, cure);
}

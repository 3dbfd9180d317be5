import { type Dialect, ENDPOINTS, type ExchangeRequests, type Prepared, suggest } from '../../app.ts';
import type { CallOptions, CommandOutcome, FullExchange, ReadOutcome } from '../../core/ports/exchange.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../table.ts';
import {
  BOOLEAN,
  choice,
  DECIMAL,
  INTEGER,
  optional,
  type ParameterTable,
  repeatable,
  required,
  TEXT,
  TIME,
  type Values,
  type ValuesOf,
  withDefault,
} from './parameters.ts';
import {
  balanceReply,
  creditLinesReply,
  orderReply,
  positionsReply,
  type ShownReply,
  spotOrdersReply,
  textReply,
  transfersReply,
} from './replies.ts';

/** One endpoint as `breakwater call` offers it: with the parameters `P`, answered by a `T`. */
interface Endpoint<P extends ParameterTable, T> {
  readonly name: string;
  /** As the client names it. */
  readonly id: keyof typeof ENDPOINTS;
  readonly summary: string;
  /** What a call changes at the exchange; absent for a read. */
  readonly changes?: string;
  /** The file's content is one more value, `customer`. */
  readonly takesCustomer?: true;
  readonly parameters: P;
  /** Names of parameters that people will try, and what to say instead. */
  readonly hints?: Readonly<Record<string, string>>;
  /** Why a request could open exposure, judged by the body as it will be sent; `undefined` when it cannot. */
  readonly exposure?: (body: Values) => string | undefined;
  /** What else whoever confirms should know. */
  caution?(values: ValuesOf<P>): string;
  /** What to do when nobody knows whether it took effect. */
  afterUnknown?(values: ValuesOf<P>): string;
  /** The body, checked by the client's own rules; without it there are no fields. */
  prepare?(requests: ExchangeRequests, values: ValuesOf<P>, dialect: Dialect): Prepared;
  send(
    exchange: FullExchange,
    values: ValuesOf<P>,
    options: CallOptions,
  ): Promise<ReadOutcome<T> | CommandOutcome<T>>;
  reply(value: T): ShownReply;
}

/** Any endpoint: its methods take what was read by its own parameters, and its own replies. */
export type CallEndpoint = Endpoint<ParameterTable, unknown>;

/** Ties the types of one endpoint together, so that the table of all need not know them. */
function defineEndpoint<const P extends ParameterTable, T>(endpoint: Endpoint<P, T>): CallEndpoint {
  return endpoint;
}

/** One page of a history, so that a glance costs one request; with `since` the reading goes on to there. */
const DEFAULT_RECORDS = 500;

const BOUNDS = {
  since: optional(TIME, 'read back to this moment; without it, the newest maxRecords'),
  maxRecords: optional(INTEGER, `at most so many records; ${DEFAULT_RECORDS} unless since is given`, 'limit'),
};
const PAGED = { offset: 'pages are read one after another; use since or maxRecords' };

function bounded<Q extends { readonly since?: number }>(query: Q): Q & { readonly maxRecords?: number } {
  return 'since' in query ? query : { maxRecords: DEFAULT_RECORDS, ...query };
}

/** In the order of the listing: reads first. */
export const CALL_ENDPOINTS: readonly CallEndpoint[] = [
  defineEndpoint({
    name: 'ping',
    id: 'ping',
    summary: 'whether the exchange answers; needs no credentials',
    parameters: {},
    send: (exchange, _values, options) => exchange.ping(options),
    reply: () => textReply('pong'),
  }),
  defineEndpoint({
    name: 'positions',
    id: 'openPositions',
    summary: 'open collateral positions; amounts in the base currency, pnl and margin in the quote currency',
    parameters: { market: optional(TEXT, 'only this market, e.g. BTC_PERP') },
    prepare: (requests, query) => requests.preparePositions(query),
    send: (exchange, query, options) => exchange.openPositions(query, options),
    reply: positionsReply,
  }),
  defineEndpoint({
    name: 'credit-lines',
    id: 'creditLines',
    summary: 'open credit lines; LTVs in the unit of the exchange, percent or fraction',
    parameters: {},
    send: (exchange, _values, options) => exchange.creditLines(options),
    reply: creditLinesReply,
  }),
  defineEndpoint({
    name: 'balance',
    id: 'mainBalance',
    summary: 'main balance per asset; an asset that is missing has zero',
    parameters: {},
    send: (exchange, _values, options) => exchange.mainBalance(options),
    reply: balanceReply,
  }),
  defineEndpoint({
    name: 'transfers',
    id: 'transfers',
    summary: 'deposits and withdrawals, newest first',
    parameters: {
      method: optional(
        choice(['deposit', 'withdrawal'], { '1': 'deposit', '2': 'withdrawal' }),
        'only deposits (also 1) or withdrawals (also 2)',
        'transactionMethod',
      ),
      ticker: optional(TEXT, 'only this currency, e.g. USDT'),
      addresses: repeatable(TEXT, 'only to or from these addresses, at most 20', 'address'),
      uniqueId: optional(TEXT, 'only the one with this id', 'unique_id'),
      status: repeatable(INTEGER, 'only with these codes; give method too'),
      ...BOUNDS,
    },
    hints: PAGED,
    prepare: (requests, query) => requests.prepareTransfers(query),
    send: (exchange, query, options) => exchange.transfers(bounded(query), options),
    reply: transfersReply,
  }),
  defineEndpoint({
    name: 'spot-orders',
    id: 'spotOrders',
    summary: 'spot order history, newest first within each market',
    parameters: { market: optional(TEXT, 'only this market, e.g. BTC_USDT'), ...BOUNDS },
    hints: PAGED,
    prepare: (requests, query) => requests.prepareSpotOrders(query),
    send: (exchange, query, options) => exchange.spotOrders(bounded(query), options),
    reply: spotOrdersReply,
  }),
  defineEndpoint({
    name: 'cancel-all',
    id: 'cancelAll',
    summary: 'cancel open orders, all of them or by market and type',
    changes: 'cancels orders, protective stops among them',
    parameters: {
      market: optional(TEXT, 'only in this market'),
      types: repeatable(
        choice(['spot', 'margin', 'futures']),
        'only these types; without it all of them',
        'type',
      ),
    },
    caution: ({ market, types }) =>
      `It cancels every ${types?.join(' and ') ?? 'open'} order ` +
      `${market === undefined ? 'of the account' : 'in that market'}, protective stops among them.`,
    afterUnknown: () =>
      'Cancelling once more is safe as long as no order has been placed since; a late arrival would cancel it.',
    prepare: (requests, request) => requests.prepareCancelAll(request),
    send: (exchange, request, options) => exchange.cancelAll(request, { ...options, priority: 'protective' }),
    reply: () => textReply('The exchange accepted the cancellation.'),
  }),
  defineEndpoint({
    name: 'stop-limit',
    id: 'stopLimit',
    summary: 'a collateral stop-limit order; reduce-only unless told otherwise',
    changes: 'places an order',
    parameters: {
      market: required(TEXT, 'BASE_QUOTE, e.g. BTC_PERP'),
      side: required(choice(['buy', 'sell']), 'sell reduces a long, buy reduces a short'),
      amount: required(DECIMAL, 'in the base currency of the market'),
      price: required(DECIMAL, 'limit price, in the quote currency'),
      activationPrice: required(DECIMAL, 'trigger price, in the quote currency', 'activation_price'),
      reduceOnly: withDefault(
        () => true,
        BOOLEAN,
        'true unless given; false needs --allow-exposure',
        'reduce_only',
      ),
      positionSide: optional(
        choice(['LONG', 'SHORT', 'BOTH']),
        'the position it is for, in hedge mode',
        'position_side',
      ),
      clientOrderId: withDefault(
        (uuid) => `call-${uuid}`,
        TEXT,
        'letters, digits, dashes, dots, underscores; a fresh one unless given',
        'client_order_id',
      ),
      stopLoss: optional(DECIMAL, 'attached order, quote currency; not with reduceOnly=true'),
      takeProfit: optional(DECIMAL, 'attached order, quote currency; not with reduceOnly=true'),
    },
    exposure: ({ reduceOnly }) =>
      reduceOnly === true ? undefined : 'an order without reduceOnly=true can open or grow a position',
    caution: ({ reduceOnly }) =>
      reduceOnly
        ? 'It can reduce or close a position, never open or grow one.'
        : 'It CAN OPEN OR GROW a position.',
    afterUnknown: ({ clientOrderId }) =>
      'Read first: breakwater call positions. The order may be waiting all the same: an exchange that has it ' +
      `refuses a second one if you keep --param clientOrderId=${clientOrderId}.`,
    prepare: (requests, request, dialect) => requests.prepareStopLimit(request, dialect),
    // Orders that reduce may use the share of the request budget that is kept for protection.
    send: (exchange, request, options) =>
      exchange.stopLimit(request, request.reduceOnly ? { ...options, priority: 'protective' } : options),
    reply: orderReply,
  }),
  defineEndpoint({
    name: 'hedge-mode',
    id: 'hedgeMode',
    summary: 'hedge mode (long and short at once) or one-way mode; needs --allow-exposure',
    changes: 'changes what every later order of the account means',
    parameters: {
      hedgeMode: required(
        BOOLEAN,
        'true for long and short positions at once, false for one-way mode',
        'hedge_mode',
      ),
    },
    exposure: ({ hedgeMode }) =>
      hedgeMode === true
        ? 'in hedge mode an order of the other side opens a second position instead of reducing the first'
        : 'in one-way mode an order meant for one side of a market can turn the position around',
    caution: ({ hedgeMode }) =>
      hedgeMode
        ? 'Orders of the other side will open a second position instead of reducing the first.'
        : 'Orders meant for one side of a market will be able to turn its position around.',
    afterUnknown: () => 'Setting the same mode again is safe; place no order before that is accepted.',
    prepare: (requests, { hedgeMode }) => requests.prepareHedgeMode(hedgeMode),
    send: (exchange, { hedgeMode }, options) => exchange.setHedgeMode(hedgeMode, options),
    reply: () => textReply('The exchange accepted the mode.'),
  }),
  defineEndpoint({
    name: 'fiat-deposit-link',
    id: 'fiatDeposit',
    summary: 'an address at which a person pays in fiat money',
    changes: 'makes a deposit link and spends its unique id',
    takesCustomer: true,
    parameters: {
      ticker: required(TEXT, 'fiat currency, e.g. EUR'),
      provider: required(TEXT, 'from the asset status listing'),
      amount: required(DECIMAL, 'in that currency'),
      uniqueId: withDefault((uuid) => uuid, TEXT, 'never used before; a fresh one unless given', 'unique_id'),
      successLink: optional(TEXT, 'https, of a domain that support has allowed'),
      failureLink: optional(TEXT, 'https, of a domain that support has allowed'),
      returnLink: optional(TEXT, 'without it the result page has no way back'),
    },
    hints: { customer: 'customer data comes from --customer-file only' },
    caution: () => 'It moves no money; a person pays at the address that comes back.',
    afterUnknown: () =>
      'The unique id may be spent: repeat with another one, or without uniqueId for a fresh one.',
    prepare: (requests, request, dialect) =>
      requests.prepareFiatDeposit(request, { dialect, cardProviders: [] }),
    send: (exchange, request, options) => exchange.fiatDepositLink(request, options),
    reply: ({ url }) =>
      textReply(printable(url), { url }, [
        'The link is for one person and one use. With the card provider open it from a page that sends a ' +
          'Referer header, or the browser lands on the home page of the exchange.',
      ]),
  }),
];

/** By name, by the client's name for it, or by its path with or without the prefix. @throws UsageError */
export function findEndpoint(written: string): CallEndpoint {
  const path = written.replace(/^\/?(?:api\/v4\/)?/, '').replace(/\/$/, '');
  const found = CALL_ENDPOINTS.find(
    ({ name, id }) => name === written || id === written || ENDPOINTS[id].path === `/api/v4/${path}`,
  );
  if (found !== undefined) return found;
  const spellings = CALL_ENDPOINTS.flatMap(({ name, id }) => [name, ENDPOINTS[id].path]);
  const meant = suggest(written, spellings);
  throw new UsageError(
    `no endpoint ${JSON.stringify(written.slice(0, 100))}.`,
    meant === undefined
      ? `There are ${CALL_ENDPOINTS.map(({ name }) => name).join(', ')}.`
      : `Did you mean ${meant}?`,
  );
}

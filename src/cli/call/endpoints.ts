import { ENDPOINTS, suggest } from '../../app.ts';
import type {
  CancelAllRequest,
  DepositCustomer,
  FiatDepositRequest,
  SpotOrderQuery,
  StopLimitRequest,
  TransferQuery,
} from '../../core/ports/exchange.ts';
import { UsageError } from '../errors.ts';
import { type CallEndpoint, defineEndpoint } from './endpoint.ts';
import { BOOLEAN, choice, DECIMAL, INTEGER, type Parameter, TEXT, TIME, type Values } from './parameters.ts';
import {
  balanceView,
  creditLinesView,
  linkView,
  orderView,
  positionsView,
  spotOrdersView,
  transfersView,
} from './views.ts';

/** One page of a history, so that a glance costs one request; with `since` the reading goes on to there. */
const DEFAULT_RECORDS = 500;

const market = (note: string): Parameter => ({ name: 'market', type: TEXT, note });

const BOUNDS: readonly Parameter[] = [
  { name: 'since', type: TIME, note: 'read back to this moment; without it, the newest maxRecords' },
  {
    name: 'maxRecords',
    aliases: ['limit'],
    type: INTEGER,
    note: `at most so many records; ${DEFAULT_RECORDS} unless since is given`,
  },
];
const PAGED = { offset: 'pages are read one after another; use since or maxRecords' };

function bounded(values: Values): Values {
  return 'since' in values ? values : { maxRecords: DEFAULT_RECORDS, ...values };
}

const READS: readonly CallEndpoint[] = [
  defineEndpoint({
    name: 'ping',
    id: 'ping',
    summary: 'whether the exchange answers; needs no credentials',
    parameters: [],
    request: () => undefined,
    prepare: () => ({ ok: true, params: {} }),
    send: (exchange, _request, options) => exchange.ping(options),
    json: () => ({}),
    view: () => ({ text: 'pong' }),
  }),
  defineEndpoint({
    name: 'positions',
    id: 'openPositions',
    summary: 'open collateral positions; amounts in the base currency, pnl and margin in the quote currency',
    parameters: [market('only this market, e.g. BTC_PERP')],
    request: (values) => values as { market?: string },
    prepare: (requests, query) => requests.preparePositions(query),
    send: (exchange, query, options) => exchange.openPositions(query, options),
    json: (list) => list,
    view: positionsView,
  }),
  defineEndpoint({
    name: 'credit-lines',
    id: 'creditLines',
    summary: 'open credit lines; LTVs in the unit of the exchange, percent or fraction',
    parameters: [],
    request: () => undefined,
    prepare: () => ({ ok: true, params: {} }),
    send: (exchange, _request, options) => exchange.creditLines(options),
    json: (list) => list,
    view: creditLinesView,
  }),
  defineEndpoint({
    name: 'balance',
    id: 'mainBalance',
    summary: 'main balance per asset; an asset that is missing has zero',
    parameters: [],
    request: () => undefined,
    prepare: () => ({ ok: true, params: {} }),
    send: (exchange, _request, options) => exchange.mainBalance(options),
    json: (balance) => ({ balance }),
    view: balanceView,
  }),
  defineEndpoint({
    name: 'transfers',
    id: 'transfers',
    summary: 'deposits and withdrawals, newest first',
    parameters: [
      {
        name: 'method',
        aliases: ['transactionMethod'],
        type: choice(['deposit', 'withdrawal'], { '1': 'deposit', '2': 'withdrawal' }),
        note: 'only deposits (also 1) or withdrawals (also 2)',
      },
      { name: 'ticker', type: TEXT, note: 'only this currency, e.g. USDT' },
      {
        name: 'addresses',
        aliases: ['address'],
        type: TEXT,
        repeatable: true,
        note: 'only to or from these addresses, at most 20',
      },
      { name: 'uniqueId', aliases: ['unique_id'], type: TEXT, note: 'only the one with this id' },
      { name: 'status', type: INTEGER, repeatable: true, note: 'only with these codes; give method too' },
      ...BOUNDS,
    ],
    hints: PAGED,
    complete: bounded,
    request: (values) => values as TransferQuery,
    prepare: (requests, query) => requests.prepareTransfers(query),
    send: (exchange, query, options) => exchange.transfers(query, options),
    json: (list) => list,
    view: transfersView,
  }),
  defineEndpoint({
    name: 'spot-orders',
    id: 'spotOrders',
    summary: 'spot order history, newest first within each market',
    parameters: [market('only this market, e.g. BTC_USDT'), ...BOUNDS],
    hints: PAGED,
    complete: bounded,
    request: (values) => values as SpotOrderQuery,
    prepare: (requests, query) => requests.prepareSpotOrders(query),
    send: (exchange, query, options) => exchange.spotOrders(query, options),
    json: (list) => list,
    view: spotOrdersView,
  }),
];

const STOP_LIMIT = defineEndpoint({
  name: 'stop-limit',
  id: 'stopLimit',
  summary: 'a collateral stop-limit order; reduce-only unless told otherwise',
  changes: 'places an order',
  parameters: [
    { ...market('BASE_QUOTE, e.g. BTC_PERP'), required: true },
    {
      name: 'side',
      type: choice(['buy', 'sell']),
      required: true,
      note: 'sell reduces a long, buy reduces a short',
    },
    { name: 'amount', type: DECIMAL, required: true, note: 'in the base currency of the market' },
    { name: 'price', type: DECIMAL, required: true, note: 'limit price, in the quote currency' },
    {
      name: 'activationPrice',
      aliases: ['activation_price'],
      type: DECIMAL,
      required: true,
      note: 'trigger price, in the quote currency',
    },
    {
      name: 'reduceOnly',
      aliases: ['reduce_only'],
      type: BOOLEAN,
      note: 'true unless given; false needs --allow-exposure',
    },
    {
      name: 'positionSide',
      aliases: ['position_side'],
      type: choice(['LONG', 'SHORT', 'BOTH']),
      note: 'the position it is for, in hedge mode',
    },
    {
      name: 'clientOrderId',
      aliases: ['client_order_id'],
      type: TEXT,
      note: 'letters, digits, dashes, dots, underscores; a fresh one unless given',
    },
    { name: 'stopLoss', type: DECIMAL, note: 'attached order, quote currency; not with reduceOnly=true' },
    { name: 'takeProfit', type: DECIMAL, note: 'attached order, quote currency; not with reduceOnly=true' },
  ],
  complete: (values, uuid) => ({ reduceOnly: true, clientOrderId: `call-${uuid}`, ...values }),
  exposure: ({ reduceOnly }) =>
    reduceOnly === true ? undefined : 'an order without reduceOnly=true can open or grow a position',
  caution: ({ reduceOnly }) =>
    reduceOnly === true
      ? 'It can reduce or close a position, never open or grow one.'
      : 'It CAN OPEN OR GROW a position.',
  afterUnknown: ({ clientOrderId }) =>
    'Read first: breakwater call positions. The order may be waiting all the same: an exchange that has it ' +
    `refuses a second one if you keep --param clientOrderId=${String(clientOrderId)}.`,
  request: (values) => values as unknown as StopLimitRequest,
  prepare: (requests, request, dialect) => requests.prepareStopLimit(request, dialect),
  // Orders that reduce may use the share of the request budget that is kept for protection.
  send: (exchange, request, options) =>
    exchange.stopLimit(
      request,
      request.reduceOnly === true ? { ...options, priority: 'protective' } : options,
    ),
  json: (order) => ({ order }),
  view: orderView,
});

const COMMANDS: readonly CallEndpoint[] = [
  defineEndpoint({
    name: 'cancel-all',
    id: 'cancelAll',
    summary: 'cancel open orders, all of them or by market and type',
    changes: 'cancels orders, protective stops among them',
    parameters: [
      market('only in this market'),
      {
        name: 'types',
        aliases: ['type'],
        type: choice(['spot', 'margin', 'futures']),
        repeatable: true,
        note: 'only these types; without it all of them',
      },
    ],
    caution: ({ market: only, types }) =>
      `It cancels every ${Array.isArray(types) ? types.join(' and ') : 'open'} order ` +
      `${only === undefined ? 'of the account' : 'in that market'}, protective stops among them.`,
    afterUnknown: () =>
      'Cancelling once more is safe as long as no order has been placed since; a late arrival would cancel it.',
    request: (values) => values as CancelAllRequest,
    prepare: (requests, request) => requests.prepareCancelAll(request),
    send: (exchange, request, options) => exchange.cancelAll(request, { ...options, priority: 'protective' }),
    json: () => ({}),
    view: () => ({ text: 'The exchange accepted the cancellation.' }),
  }),
  STOP_LIMIT,
  defineEndpoint({
    name: 'hedge-mode',
    id: 'hedgeMode',
    summary: 'hedge mode (long and short at once) or one-way mode; needs --allow-exposure',
    changes: 'changes what every later order of the account means',
    parameters: [
      {
        name: 'hedgeMode',
        aliases: ['hedge_mode'],
        type: BOOLEAN,
        required: true,
        note: 'true for long and short positions at once, false for one-way mode',
      },
    ],
    exposure: ({ hedgeMode }) =>
      hedgeMode === true
        ? 'in hedge mode an order of the other side opens a second position instead of reducing the first'
        : 'in one-way mode an order meant for one side of a market can turn the position around',
    caution: ({ hedgeMode }) =>
      hedgeMode === true
        ? 'Orders of the other side will open a second position instead of reducing the first.'
        : 'Orders meant for one side of a market will be able to turn its position around.',
    afterUnknown: () => 'Setting the same mode again is safe; place no order before that is accepted.',
    request: ({ hedgeMode }) => hedgeMode as boolean,
    prepare: (requests, hedgeMode) => requests.prepareHedgeMode(hedgeMode),
    send: (exchange, hedgeMode, options) => exchange.setHedgeMode(hedgeMode, options),
    json: () => ({}),
    view: () => ({ text: 'The exchange accepted the mode.' }),
  }),
  defineEndpoint({
    name: 'fiat-deposit-link',
    id: 'fiatDeposit',
    summary: 'an address at which a person pays in fiat money',
    changes: 'makes a deposit link and spends its unique id',
    takesCustomer: true,
    parameters: [
      { name: 'ticker', type: TEXT, required: true, note: 'fiat currency, e.g. EUR' },
      { name: 'provider', type: TEXT, required: true, note: 'from the asset status listing' },
      { name: 'amount', type: DECIMAL, required: true, note: 'in that currency' },
      {
        name: 'uniqueId',
        aliases: ['unique_id'],
        type: TEXT,
        note: 'never used before; a fresh one unless given',
      },
      { name: 'successLink', type: TEXT, note: 'https, of a domain that support has allowed' },
      { name: 'failureLink', type: TEXT, note: 'https, of a domain that support has allowed' },
      { name: 'returnLink', type: TEXT, note: 'without it the result page has no way back' },
    ],
    hints: { customer: 'customer data comes from --customer-file only' },
    complete: (values, uuid) => ({ uniqueId: uuid, ...values }),
    caution: () => 'It moves no money; a person pays at the address that comes back.',
    afterUnknown: () =>
      'The unique id may be spent: repeat with another one, or without uniqueId for a fresh one.',
    request: (values) => values as unknown as FiatDepositRequest & { customer?: DepositCustomer },
    prepare: (requests, request, dialect) =>
      requests.prepareFiatDeposit(request, { dialect, cardProviders: [] }),
    send: (exchange, request, options) => exchange.fiatDepositLink(request, options),
    json: ({ url }) => ({ url }),
    view: linkView,
  }),
];

/** In the order of the listing: reads first. */
export const CALL_ENDPOINTS: readonly CallEndpoint[] = [...READS, ...COMMANDS];

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

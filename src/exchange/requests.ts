import type {
  CancelAllRequest,
  DepositCustomer,
  ExchangeError,
  FiatDepositRequest,
  SpotOrderQuery,
  StopLimitRequest,
  TransferQuery,
} from '../core/ports/exchange.ts';
import { type DecimalString, formatDecimal, parseDecimal, ZERO } from '../core/quantities/decimal.ts';
import { finding } from './call/errors.ts';
import { isObject } from './call/parse-json.ts';
import type { EndpointId } from './endpoints.ts';

/** How requests spell the client order id and the unique id of a deposit link; other fields have one spelling. */
export type Dialect = 'spec' | 'camel';

/** A checked request body, or what is wrong with it. */
export type Prepared =
  | { readonly ok: true; readonly params: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly error: ExchangeError };

/** Specification 4.4: letters, digits, dashes, dots, underscores. */
const CLIENT_ORDER_ID = /^[A-Za-z0-9._-]{1,255}$/;
const MARKET = /^[^\s_"\\]{1,50}[_-][^\s"\\]{1,50}$/;
const TICKER = /^[^\s"\\]{1,50}$/;
const MAX_ADDRESSES = 20;

/** Collects all faults of a request, without its values. */
class Check {
  readonly #endpoint: EndpointId;
  readonly #faults: Record<string, string[]> = {};

  constructor(endpoint: EndpointId) {
    this.#endpoint = endpoint;
  }

  that(field: string, holds: boolean, rule: string): void {
    if (!holds) (this.#faults[field] ??= []).push(rule);
  }

  text(field: string, value: unknown, pattern: RegExp, rule: string): void {
    this.that(field, typeof value === 'string' && pattern.test(value), rule);
  }

  /** A positive decimal in plain notation. */
  positive(field: string, value: unknown): DecimalString {
    const parsed = typeof value === 'string' ? parseDecimal(value) : undefined;
    const positive = parsed?.gt(ZERO) === true;
    this.that(field, positive, 'must be a decimal string greater than zero');
    if (parsed === undefined || !positive) return formatDecimal(ZERO);
    return /[eE]/.test(value as string) ? formatDecimal(parsed) : (value as DecimalString);
  }

  market(value: unknown): void {
    this.text('market', value, MARKET, 'must be a market name, BASE_QUOTE');
  }

  done(params: Readonly<Record<string, unknown>>): Prepared {
    const names = Object.keys(this.#faults);
    if (names.length === 0) return { ok: true, params };
    const texts = names.map((name) => `${name} ${(this.#faults[name] ?? []).join(', ')}`);
    const error = finding('requestRejected', this.#endpoint, { message: `not sent: ${texts.join('; ')}` });
    return { ok: false, error: { ...error, fields: this.#faults } };
  }
}

/** Body of specification 4.4. */
function prepareStopLimit(
  request: StopLimitRequest,
  { dialect }: Pick<RequestSettings, 'dialect'>,
): Prepared {
  const check = new Check('stopLimit');
  const { market, side, clientOrderId, positionSide, stopLoss, takeProfit, reduceOnly } = request;
  check.market(market);
  check.that('side', side === 'buy' || side === 'sell', 'must be buy or sell');
  const amount = check.positive('amount', request.amount);
  const price = check.positive('price', request.price);
  const activationPrice = check.positive('activationPrice', request.activationPrice);
  if (clientOrderId !== undefined) {
    const rule = 'must consist of letters, digits, dashes, dots and underscores';
    check.text('clientOrderId', clientOrderId, CLIENT_ORDER_ID, rule);
  }
  if (positionSide !== undefined) {
    const known = ['LONG', 'SHORT', 'BOTH'].includes(positionSide);
    check.that('positionSide', known, 'must be LONG, SHORT or BOTH');
  }
  if (reduceOnly === true) {
    check.that('stopLoss', stopLoss === undefined, 'cannot be combined with reduceOnly');
    check.that('takeProfit', takeProfit === undefined, 'cannot be combined with reduceOnly');
  }
  const idField = dialect === 'spec' ? 'client_order_id' : 'clientOrderId';
  return check.done({
    market,
    side,
    amount,
    price,
    activation_price: activationPrice,
    ...(stopLoss === undefined ? {} : { stopLoss: check.positive('stopLoss', stopLoss) }),
    ...(takeProfit === undefined ? {} : { takeProfit: check.positive('takeProfit', takeProfit) }),
    ...(clientOrderId === undefined ? {} : { [idField]: clientOrderId }),
    ...(positionSide === undefined ? {} : { positionSide }),
    reduceOnly: reduceOnly === true,
  });
}

/** Body of specification 4.6. */
function prepareCancelAll(request: CancelAllRequest): Prepared {
  const check = new Check('cancelAll');
  const { market, types } = request;
  if (market !== undefined) check.market(market);
  if (types !== undefined) {
    const known =
      types.length > 0 && [...types].every((type) => ['spot', 'margin', 'futures'].includes(type));
    check.that('types', known, 'must name at least one of spot, margin, futures (leave out for all)');
  }
  return check.done({
    ...(market === undefined ? {} : { market }),
    // A copy: if the caller emptied its list while the call waits, the request would cancel all types.
    ...(types === undefined ? {} : { type: [...types] }),
  });
}

function prepareHedgeMode({ hedgeMode }: { readonly hedgeMode: boolean }): Prepared {
  const check = new Check('hedgeMode');
  check.that('hedgeMode', typeof hedgeMode === 'boolean', 'must be true or false');
  return check.done({ hedgeMode });
}

function preparePositions({ market }: { readonly market?: string }): Prepared {
  const check = new Check('openPositions');
  if (market !== undefined) check.market(market);
  return check.done(market === undefined ? {} : { market });
}

/** Filters of specification 4.2; one address uses the field `address` from there, several the live `addresses`. */
function prepareTransfers(query: TransferQuery): Prepared {
  const check = new Check('transfers');
  const { method, ticker, addresses, uniqueId, status } = query;
  const methods = { deposit: 1, withdrawal: 2 };
  const isMethod = method === undefined || Object.hasOwn(methods, method);
  check.that('method', isMethod, 'must be deposit or withdrawal');
  if (ticker !== undefined) check.text('ticker', ticker, TICKER, 'must be a ticker');
  if (addresses !== undefined) {
    const bounded = addresses.length > 0 && addresses.length <= MAX_ADDRESSES;
    check.that('addresses', bounded, `must name 1 to ${MAX_ADDRESSES} addresses`);
  }
  if (uniqueId !== undefined) check.that('uniqueId', uniqueId.length > 0, 'must not be empty');
  if (status !== undefined) {
    const codes = status.length > 0 && status.every((code) => Number.isSafeInteger(code) && code >= 0);
    check.that('status', codes, 'must name at least one whole number');
    check.that('status', method !== undefined, 'needs a method, whose codes they are');
  }
  checkPaging(check, query);
  const [address] = addresses ?? [];
  return check.done({
    ...(method === undefined ? {} : { transactionMethod: methods[method] }),
    ...(ticker === undefined ? {} : { ticker }),
    ...(addresses === undefined ? {} : addresses.length === 1 ? { address } : { addresses }),
    ...(uniqueId === undefined ? {} : { unique_id: uniqueId }),
    ...(status === undefined ? {} : { status }),
  });
}

function prepareSpotOrders(query: SpotOrderQuery): Prepared {
  const check = new Check('spotOrders');
  const { market } = query;
  if (market !== undefined) check.market(market);
  checkPaging(check, query);
  return check.done(market === undefined ? {} : { market });
}

function checkPaging(check: Check, { since = 0, maxRecords = 1 }: SpotOrderQuery): void {
  const isCount = Number.isSafeInteger(maxRecords) && maxRecords > 0;
  check.that('maxRecords', isCount, 'must be a whole number greater than zero');
  check.that('since', Number.isFinite(since) && since >= 0, 'must be a Unix time in seconds');
}

/** Specification 4.1: the exchange requires https for the first two only. */
const LINKS = [
  ['successLink', ['https:'], 'must be an https address'],
  ['failureLink', ['https:'], 'must be an https address'],
  ['returnLink', ['https:', 'http:'], 'must be a web address'],
] as const;
const CUSTOMER_TEXTS = ['firstName', 'lastName', 'email', 'birthDate'] as const;
const ADDRESS_TEXTS = ['line1', 'city', 'zipCode', 'countryCode'] as const;
const CUSTOMER_FORM =
  `must be an object with ${CUSTOMER_TEXTS.join(', ')}, address and nothing else; address is an object with ` +
  `${ADDRESS_TEXTS.join(', ')} and perhaps line2; all of them texts`;

export interface RequestSettings {
  readonly dialect: Dialect;
  /** Providers whose USD and EUR deposits need customer data. */
  readonly cardProviders: readonly string[];
}

/** Body of specification 4.1. */
function prepareFiatDeposit(
  request: FiatDepositRequest,
  { dialect, cardProviders }: RequestSettings,
): Prepared {
  const check = new Check('fiatDeposit');
  const { ticker, provider, uniqueId, customer } = request;
  check.text('ticker', ticker, TICKER, 'must be a ticker');
  check.text('provider', provider, /\S/, 'must name a provider of the asset status listing');
  check.text('uniqueId', uniqueId, /\S/, 'must not be empty');
  const amount = check.positive('amount', request.amount);
  const links: Record<string, string> = {};
  for (const [name, schemes, rule] of LINKS) {
    const link = request[name];
    if (link === undefined) continue;
    const usable = URL.canParse(link) && schemes.some((scheme) => scheme === new URL(link).protocol);
    check.that(name, usable, rule);
    links[name] = link;
  }
  const needed = (ticker === 'USD' || ticker === 'EUR') && cardProviders.includes(provider);
  check.that('customer', customer !== undefined || !needed, 'is required for USD and EUR by card');
  if (customer !== undefined) checkCustomer(check, customer, needed);
  return check.done({
    ticker,
    provider,
    amount,
    [dialect === 'spec' ? 'unique_id' : 'uniqueId']: uniqueId,
    ...(customer === undefined ? {} : { customer }),
    ...links,
  });
}

type PartialCustomer = Partial<Omit<DepositCustomer, 'address'>> & {
  readonly address?: Partial<DepositCustomer['address']>;
};

/** Checks the fields given; all of them are required only for USD and EUR by card. */
function checkCustomer(check: Check, customer: unknown, needed: boolean): void {
  if (!isCustomer(customer)) return check.that('customer', false, CUSTOMER_FORM);
  const { address = {}, ...person } = customer;
  const text = (name: string, value: unknown, form: RegExp, words: string): void => {
    if (needed || value !== undefined) check.text(`customer.${name}`, value, form, words);
  };
  for (const name of CUSTOMER_TEXTS) text(name, person[name], /\S/, 'is required');
  text('birthDate', person.birthDate, /^\d{4}-\d{2}-\d{2}$/, 'must be YYYY-MM-DD');
  for (const name of ADDRESS_TEXTS) text(`address.${name}`, address[name], /\S/, 'is required');
}

function isCustomer(value: unknown): value is PartialCustomer {
  if (!isObject(value)) return false;
  const { address = {}, ...person } = value;
  return areTexts(person, CUSTOMER_TEXTS) && areTexts(address, [...ADDRESS_TEXTS, 'line2']);
}

function areTexts(value: unknown, names: readonly string[]): boolean {
  const isText = (text: unknown) => text === undefined || typeof text === 'string';
  return (
    isObject(value) && Object.entries(value).every(([name, text]) => names.includes(name) && isText(text))
  );
}

/** All texts of the customer, to be removed from messages of the exchange. */
export function personalTexts(request: FiatDepositRequest): string[] {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value, ...value.split(/[\s,;@]+/));
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
  };
  collect(request.customer);
  return texts.filter((text) => text.length > 1);
}

/** For each endpoint with fields: checks a request and builds its body. */
export const PREPARE = {
  openPositions: preparePositions,
  transfers: prepareTransfers,
  spotOrders: prepareSpotOrders,
  cancelAll: prepareCancelAll,
  stopLimit: prepareStopLimit,
  hedgeMode: prepareHedgeMode,
  fiatDeposit: prepareFiatDeposit,
};

/** One open reading of the specification as a switch. `live`: as documented of the live service, else the default. */
function choice<const T extends string>(
  values: readonly [T, ...T[]],
  note: string,
  live: NoInfer<T> = values[0],
): { values: typeof values; default: T; live: T; note: string } {
  return { values, default: values[0], live, note };
}

/** Switches with a closed list of values; the first value of each list is the default. */
export const READING_CHOICES = {
  profile: choice(
    ['specification', 'live'],
    'live: all readings as the live service is documented, but for those set beside it',
    'live',
  ),
  marginModel: choice(['cross', 'isolated'], 'one collateral pool per account, or margin per position'),
  clientOrderIdUniqueness: choice(
    ['forever', 'openOrders'],
    'a client order id is refused when ever used, or only while an order with it is open in the market',
    'openOrders',
  ),
  cancelCoversStops: choice(['yes', 'no'], 'whether cancel-all reaches stops that are not yet activated'),
  stopTriggerSource: choice(['last', 'mark'], 'the price that activates stops'),
  stopTriggersAtEquality: choice(['yes', 'no'], 'whether a price equal to the activation price activates'),
  wrongSideActivation: choice(
    ['opposite', 'atOnce', 'refused'],
    'a stop whose activation price the market has passed already waits for the way back, triggers at once, or is refused (code 33)',
  ),
  reduceOnlyRoom: choice(
    ['position', 'trimmed', 'refused'],
    'a reduce-only order has to fit the position alone, or what the other open ones leave of it: trimmed to that, or refused (code 116); code 116 where they leave nothing',
  ),
  reduceOnlyAfterClose: choice(
    ['cancelled', 'kept'],
    'what happens to reduce-only orders when their position is gone; kept ones are trimmed when they would fill',
  ),
  liquidation: choice(
    ['inParts', 'atOnce'],
    'a liquidation closes parts until the margin suffices again, or everything at once and keeps the remaining margin',
  ),
  positionIds: choice(['fresh', 'reused'], 'whether a position rebuilt in a market gets a new id'),
  orderErrorCodes: choice(
    ['specific', 'generic'],
    'refused order parameters as codes 31, 32, 33, 36, or all of them as code 30',
  ),
  openingPositions: choice(
    ['hidden', 'listed'],
    'whether a position that an open order is about to open is listed, with its numbers null',
    'listed',
  ),
  noLiquidationState: choice(['null', 'empty'], 'liquidationState of a safe position: null or ""'),
  positionLeverage: choice(['absent', 'present'], 'whether positions have a field leverage', 'present'),
  shortAmount: choice(['signed', 'unsigned'], 'sign of a short in one-way mode'),
  loanReply: choice(
    ['object', 'array', 'error', 'absent'],
    'credit line info: one object, so that a second credit line is not seen, or an array; "error": no loan is HTTP 400 code 0; "absent": HTTP 404',
    'error',
  ),
  ltvUnit: choice(['percent', 'fraction'], 'unit of the LTV fields'),
  orderFieldSpelling: choice(['snake', 'camel'], 'order_id or orderId in order replies', 'camel'),
  unknownFields: choice(
    ['read', 'ignored'],
    'client_order_id and clientOrderId in a request: both are read, or only the spelling of orderFieldSpelling; the other is dropped, and an empty id echoed',
    'ignored',
  ),
  restingStatus: choice(['NEW', 'OPEN', 'FILLED', 'absent'], 'status of an order that rests', 'FILLED'),
  priceBand: choice(['none', '10%', '3%'], 'how far a price may be from the last (code 250)', '10%'),
  minTotal: choice(['none', '5.05', '250'], 'least amount times price (code 30, total)', '5.05'),
  maxTotal: choice(['none', '10000000', '20000'], 'most amount times price (code 30, total)', '10000000'),
  activationAtLast: choice(['accepted', 'refused'], 'an activation at the last price (code 30)', 'refused'),
  oneWaySide: choice(['ignored', 'refused'], 'LONG and SHORT in one-way mode (code 114)', 'refused'),
  stopLimitOrders: choice(['open', 'closed'], 'the order type; closed: HTTP 453, code 30, orderType'),
  deleverageOrders: choice(['kept', 'cancelled'], 'orders in an auto-deleveraged market', 'cancelled'),
  historyOrders: choice(
    ['spot', 'all'],
    'order history: spot orders; or all orders that ended, with what the exchange closed itself (client order ids adl_... and liquidation_...), those of a liquidation as AUTO_CANCELED_LIQUIDATION',
    'all',
  ),
  cancelWithoutOrders: choice(['success', 'refused'], 'cancel-all without orders (code 2)', 'refused'),
  errorWords: choice(
    ['specification', 'live'],
    'refused steps as "Min price step = 0.1" or "Should be a multiple of 100000."; too little balance as code 32, amount; "Unauthorized request." as code 10',
    'live',
  ),
  errorForm: choice(['fields', 'message', 'texts'], 'a refused parameter in errors or message, or as texts'),
  emptyResult: choice(['object', 'array'], 'an empty order history or balance as {} or []', 'array'),
  validationStatus: choice(['400', '422'], 'HTTP status of a refused parameter', '422'),
  validationCode: choice(
    ['30', '0'],
    'code of a refused parameter on order, history, cancel and hedge endpoints',
  ),
  successBody: choice(
    ['documented', 'emptyArray', 'emptyObject', 'nothing'],
    'body of a successful cancel-all and hedge mode update; "nothing" is an empty body',
  ),
  permissionRefusal: choice(['403', '400', '200'], 'HTTP status of a call that the key is not enabled for'),
  nonceRule: choice(
    ['unique', 'increasing'],
    'nonces unique per key, or each larger than before',
    'increasing',
  ),
  nonceType: choice(['string', 'stringOrNumber'], 'whether a nonce may be a JSON number', 'stringOrNumber'),
  payloadMatch: choice(['bytes', 'value'], 'what of body and signed payload must be equal', 'value'),
  uniqueIdSpelling: choice(
    ['snake', 'camel', 'either'],
    'unique_id or uniqueId in a request for a deposit link; the other one is taken for missing',
    'camel',
  ),
  unknownMarketCode: choice(
    ['validation', '31', '10'],
    'code of a market that does not exist, on history, positions and cancel: as of any parameter, 31, or 10 "Market not found or disabled"',
    '31',
  ),
  orderHistoryReach: choice(
    ['all', 'month'],
    'order history: everything; or the last month, else startDate to endDate: at most 31 days, six months back',
    'month',
  ),
  publicPrices: choice(
    ['absent', 'shown'],
    'GET /api/v4/public/futures, with the last price of each perpetual market, up to a second old',
    'shown',
  ),
  rateLimitReply: choice(
    ['json', 'html', 'empty'],
    'body of HTTP 429 above a rate limit: of the API, or of a gateway before it',
    'html',
  ),
  compression: choice(['none', 'gzip', 'br'], 'encoding of replies to requests that name no Accept-Encoding'),
  userAgent: choice(
    ['optional', 'demanded'],
    'a request without User-Agent: served, or HTTP 403 of the gateway',
    'demanded',
  ),
} as const;

type ChoiceName = keyof typeof READING_CHOICES;

/** Switches with a time in milliseconds, 0 by default. */
export const READING_DURATIONS = {
  lateArrivalMs: 'how long after its lost reply a request still takes effect',
  readLagMs: 'age of the state that reads show',
} as const;

type DurationName = keyof typeof READING_DURATIONS;

export type Readings = {
  readonly [K in ChoiceName]: (typeof READING_CHOICES)[K]['values'][number];
} & { readonly [K in DurationName]: number };

const choicesBy = (which: 'default' | 'live') =>
  Object.fromEntries(Object.entries(READING_CHOICES).map(([name, reading]) => [name, reading[which]])) as {
    readonly [K in ChoiceName]: Readings[K];
  };

export const DEFAULT_READINGS: Readings = { ...choicesBy('default'), lateArrivalMs: 0, readLagMs: 0 };

export type ReadingsResult =
  | { readonly ok: true; readonly readings: Readings }
  | { readonly ok: false; readonly errors: readonly string[] };

function readOne(name: string, value: unknown): string | undefined {
  if (Object.hasOwn(READING_CHOICES, name)) {
    const { values } = READING_CHOICES[name as ChoiceName];
    return (values as readonly unknown[]).includes(value)
      ? undefined
      : `reading ${name}: ${JSON.stringify(value)} is not one of ${values.join(', ')}`;
  }
  if (Object.hasOwn(READING_DURATIONS, name)) {
    return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 3_600_000
      ? undefined
      : `reading ${name}: ${JSON.stringify(value)} is not a whole number of milliseconds from 0 to 3600000`;
  }
  const known = [...Object.keys(READING_CHOICES), ...Object.keys(READING_DURATIONS)].join(', ');
  return `unknown reading ${JSON.stringify(name)}; known: ${known}`;
}

/** Applies changes from outside (command line, control API) to readings; returns all errors at once. */
export function changeReadings(base: Readings, changes: Readonly<Record<string, unknown>>): ReadingsResult {
  const errors = Object.entries(changes).flatMap(([name, value]) => readOne(name, value) ?? []);
  if (errors.length > 0) return { ok: false, errors };
  const start = changes['profile'] === 'live' ? { ...base, ...choicesBy('live') } : base;
  return { ok: true, readings: { ...start, ...(changes as Partial<Readings>) } };
}

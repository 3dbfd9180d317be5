/** One open reading of the specification as a switch: its values, default and explanation. */
interface ReadingChoice<T extends string> {
  readonly values: readonly [T, ...T[]];
  readonly default: T;
  readonly note: string;
}

function choice<const T extends string>(values: readonly [T, ...T[]], note: string): ReadingChoice<T> {
  return { values, default: values[0], note };
}

/** Switches with a closed list of values; the first value of each list is the default. */
export const READING_CHOICES = {
  marginModel: choice(['cross', 'isolated'], 'one collateral pool per account, or margin per position'),
  clientOrderIdUniqueness: choice(
    ['forever', 'openOrders'],
    'a client order id is refused when ever used, or only while an order with it is open in the market',
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
  positionIds: choice(['fresh', 'reused'], 'whether a position rebuilt in a market gets a new id'),
  orderErrorCodes: choice(
    ['specific', 'generic'],
    'refused order parameters as codes 31, 32, 33, 36, or all of them as code 30',
  ),
  openingPositions: choice(
    ['hidden', 'listed'],
    'whether a position that an open order is about to open is listed, with its numbers null',
  ),
  noLiquidationState: choice(['null', 'empty'], 'liquidationState of a safe position: null or ""'),
  positionLeverage: choice(['absent', 'present'], 'whether positions have a field leverage'),
  shortAmount: choice(['signed', 'unsigned'], 'sign of a short in one-way mode'),
  loanReply: choice(
    ['object', 'array', 'error', 'absent'],
    'credit line info: one object, so that a second credit line is not seen, or an array; "error": no loan is HTTP 400 code 0; "absent": HTTP 404',
  ),
  ltvUnit: choice(['percent', 'fraction'], 'unit of the LTV fields'),
  orderFieldSpelling: choice(['snake', 'camel'], 'order_id or orderId in order replies'),
  emptyResult: choice(['object', 'array'], 'an empty order history or balance as {} or []'),
  validationStatus: choice(['400', '422'], 'HTTP status of a refused parameter'),
  validationCode: choice(
    ['30', '0'],
    'code of a refused parameter on order, history, cancel and hedge endpoints',
  ),
  successBody: choice(
    ['documented', 'emptyArray', 'emptyObject', 'nothing'],
    'body of a successful cancel-all and hedge mode update; "nothing" is an empty body',
  ),
  permissionRefusal: choice(['403', '400', '200'], 'HTTP status of a call that the key is not enabled for'),
  nonceRule: choice(['unique', 'increasing'], 'nonces unique per key, or each larger than all before'),
  nonceType: choice(['string', 'stringOrNumber'], 'whether a nonce may also be a JSON number'),
  uniqueIdSpelling: choice(
    ['snake', 'camel', 'either'],
    'unique_id or uniqueId in a request for a deposit link; the other one is taken for missing',
  ),
  unknownMarketCode: choice(
    ['validation', '31'],
    'code of a market that does not exist, on history, positions and cancel: as of any parameter, or 31',
  ),
  orderHistoryReach: choice(
    ['all', 'month'],
    'order history: everything; or the last month, else startDate to endDate: at most 31 days, six months back',
  ),
  rateLimitReply: choice(
    ['json', 'html', 'empty'],
    'body of HTTP 429 above a rate limit: of the API, or of a gateway before it',
  ),
  compression: choice(['none', 'gzip', 'br'], 'encoding of replies to requests that name no Accept-Encoding'),
  userAgent: choice(
    ['optional', 'demanded'],
    'a request without User-Agent: served, or HTTP 403 of the gateway',
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

const CHOICE_DEFAULTS = Object.fromEntries(
  Object.entries(READING_CHOICES).map(([name, reading]) => [name, reading.default]),
) as { readonly [K in ChoiceName]: Readings[K] };

export const DEFAULT_READINGS: Readings = { ...CHOICE_DEFAULTS, lateArrivalMs: 0, readLagMs: 0 };

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
  return errors.length > 0
    ? { ok: false, errors }
    : { ok: true, readings: { ...base, ...(changes as Partial<Readings>) } };
}

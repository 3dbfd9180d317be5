import type { PossibleEffect } from '../../core/ports/exchange.ts';
import type { EndpointId } from '../endpoints.ts';

/**
 * A failure that the client knows, by a stable name for rules, metrics and texts. Codes are matched together with the
 * endpoint, because 0 and 10 differ in meaning between endpoints (specification 7).
 */
export interface CatalogueEntry {
  readonly name: string;
  /** Endpoints on which `code` has this meaning; `*` for all without an entry that names them. */
  readonly endpoints: readonly EndpointId[] | '*';
  /** The exchange's code; absent for failures known by HTTP status or found by the client. */
  readonly code?: number;
  readonly httpStatuses: readonly number[];
  /** Whether a request that failed this way may have changed anything. */
  readonly effect: PossibleEffect;
  readonly meaning: string;
}

const ORDER: readonly EndpointId[] = ['stopLimit'];

const byCode = (
  code: number,
  name: string,
  endpoints: CatalogueEntry['endpoints'],
  meaning: string,
): CatalogueEntry => ({ name, endpoints, code, httpStatuses: [400, 422], effect: 'none', meaning });

const entry = (
  name: string,
  httpStatuses: readonly number[],
  effect: PossibleEffect,
  meaning: string,
): CatalogueEntry => ({ name, endpoints: '*', httpStatuses, effect, meaning });

/** Meanings of the exchange's codes, the more specific ones first. */
export const CODES: readonly CatalogueEntry[] = [
  byCode(10, 'depositLinkFailed', ['fiatDeposit'], 'the deposit link could not be made'),
  byCode(10, 'insufficientBalance', ORDER, 'not enough balance for the order'),
  byCode(31, 'marketInvalid', '*', 'the market is not known or not open'),
  byCode(32, 'amountInvalid', ORDER, 'the amount breaks a rule of the market'),
  byCode(33, 'priceInvalid', ORDER, 'the price breaks a rule of the market'),
  byCode(36, 'duplicateClientOrderId', ORDER, 'an order with this client order id was accepted before'),
  byCode(36, 'clientOrderIdInvalid', ORDER, 'the client order id breaks a rule; it was not used before'),
  byCode(111, 'positionLimit', ORDER, 'the position would be too large'),
  byCode(112, 'pendingValueLimit', ORDER, 'the open orders would be worth too much'),
  byCode(113, 'sideLocked', ORDER, 'the position side cannot change while orders are open'),
  byCode(
    113,
    'hedgeModeLocked',
    ['hedgeMode'],
    'hedge mode cannot change while positions or orders are open',
  ),
  byCode(114, 'hedgeSideMismatch', ORDER, 'the position side does not fit the hedge mode of the account'),
  byCode(115, 'oppositeDirection', ORDER, 'a position of the opposite direction is in the way'),
  byCode(250, 'priceBand', ORDER, 'the price is outside the band around the market'),
  byCode(116, 'reduceOnlyRefused', ORDER, 'no open position, or the order side equals its direction'),
  ...[2, 4, 9, 10].map((code) => byCode(code, 'unauthenticated', '*', 'key or nonce was not accepted')),
  byCode(30, 'validationFailed', '*', 'the request broke a rule; the fields say which'),
  byCode(0, 'validationFailed', '*', 'the request broke a rule; the fields say which'),
];

/** Messages about the address of the request rather than the key, such as "IP address is not in the whitelist". */
const ADDRESS_REFUSED =
  /\bip\b.*\b(not|white-?list(ed)?|restricted|forbidden|denied|blocked|untrusted)\b|\baddress (is )?(not (allowed|permitted|trusted)|forbidden|blocked)\b/i;

/** Causes that the words name, under any code: the exchange uses one code for several. The first match counts. */
const WORDS: readonly (readonly [RegExp, string, CatalogueEntry['endpoints']])[] = [
  [ADDRESS_REFUSED, 'addressNotAllowed', '*'],
  [/^(?!.*(not provided|missing|required)).*\bnonce\b/i, 'nonceRefused', '*'],
  [/\bno active loan\b/i, 'noActiveLoan', ['creditLines']],
  [/\borders? (was |were )?not found\b|\bno (open|active) orders?\b/i, 'nothingToCancel', ['cancelAll']],
  [/\b(not enough|insufficient) (balance|funds|margin)\b/i, 'insufficientBalance', '*'],
  [
    /\bmarket\b.*\b(not found|disabled|not available|unavailable|closed|suspended|delisted)\b/i,
    'marketInvalid',
    '*',
  ],
  [/\breduce[-_ ]?only\b.*\b(position|orders)\b/i, 'reduceOnlyRefused', ORDER],
  [/\bpermissions?\b/i, 'permissionDenied', '*'],
  [/\bunauthori[sz]ed\b|\binvalid (payload|signature|api key)\b/i, 'unauthenticated', '*'],
  [/\binternal (server )?error\b|\bempty history\b/i, 'internalError', '*'],
];

/** Failures known by HTTP status, when no code says more. */
export const STATUSES: readonly CatalogueEntry[] = [
  entry('invalidRequest', [400, 422], 'none', 'refused without a reason that the client knows'),
  entry('unauthenticated', [401], 'none', 'key, signature or payload missing or invalid'),
  entry('permissionDenied', [403], 'none', 'the key lacks a permission'),
  entry('endpointNotFound', [404], 'none', 'the endpoint does not exist at this address'),
  entry('notAvailable', [451, 453], 'none', 'the market or order type is not available here'),
  entry('rateLimited', [429], 'none', 'a request limit was reached'),
  entry('internalError', [500], 'possible', 'the exchange failed inside'),
  entry('temporarilyUnavailable', [503], 'possible', 'the exchange is not available at the moment'),
];

/** Failures found by the client, and those read from more of a reply than its code. */
const FOUND = {
  nonceRefused: ['none', 'the nonce was refused although it was new'],
  addressNotAllowed: ['none', 'the key may not be used from the address that the request came from'],
  gatewayRefused: ['none', 'refused in front of the exchange, which has not seen the request'],
  gatewayFailed: ['possible', 'something in front of the exchange failed'],
  loansNotAvailable: ['none', 'credit lines are not enabled for the key'],
  nothingToCancel: ['none', 'no order stood that could be cancelled'],
  noActiveLoan: ['none', 'the account has no loan'],
  cancelledOnCreation: ['none', 'the exchange cancelled the order as it was created'],
  cancelledPartlyFilled: ['possible', 'cancelled as it was created, after a fill'],
  replyInvalid: ['possible', 'the reply was not as documented'],
  replyNotJson: ['possible', 'the reply was not JSON'],
  replyTooLarge: ['possible', 'the reply was larger than allowed'],
  replyUndecodable: ['possible', 'the reply was compressed in a way that cannot be read'],
  unexpectedStatus: ['possible', 'an HTTP status that the specification does not name'],
  requestRejected: ['none', 'the request breaks a rule of the specification; not sent'],
  timeout: ['possible', 'no reply in time'],
  aborted: ['possible', 'given up by the caller'],
  connectionLost: ['possible', 'the connection broke before the reply was complete'],
  nameNotResolved: ['none', 'the name of the exchange could not be resolved (DNS)'],
  certificateRefused: ['none', 'the certificate of the exchange is not accepted (TLS)'],
  connectionRefused: ['none', 'the exchange refused the connection'],
  connectTimeout: ['none', 'no connection to the exchange in time'],
  connectFailed: ['none', 'no connection to the exchange'],
  proxyRefused: ['possible', 'the proxy did not pass the request on'],
  rateBudgetSpent: ['none', 'own request budget spent; not sent'],
  clientClosed: ['none', 'the client is closed; not sent'],
} as const satisfies Record<string, readonly [PossibleEffect, string]>;

export type FindingName = keyof typeof FOUND;

export const FINDINGS = Object.fromEntries(
  Object.entries(FOUND).map(([name, [effect, meaning]]) => [name, entry(name, [], effect, meaning)]),
) as Readonly<Record<FindingName, CatalogueEntry>>;

/** Failures on the way to the exchange, before it has judged a request. */
const ON_THE_WAY: ReadonlySet<string> = new Set<FindingName>([
  'nameNotResolved',
  'certificateRefused',
  'connectionRefused',
  'connectTimeout',
  'connectFailed',
  'proxyRefused',
  'gatewayRefused',
  'addressNotAllowed',
]);

export const isOnTheWay = (name: string): boolean => ON_THE_WAY.has(name);

export function entryForCode(endpoint: EndpointId, code: number): CatalogueEntry | undefined {
  const entries = CODES.filter((entry) => entry.code === code);
  return (
    entries.find((entry) => entry.endpoints !== '*' && entry.endpoints.includes(endpoint)) ??
    entries.find((entry) => entry.endpoints === '*')
  );
}

export function entryForWords(endpoint: EndpointId, words: string): CatalogueEntry | undefined {
  const [, name] =
    WORDS.find(
      ([pattern, , endpoints]) => (endpoints === '*' || endpoints.includes(endpoint)) && pattern.test(words),
    ) ?? [];
  return [...CODES, ...STATUSES, ...Object.values(FINDINGS)].find((known) => known.name === name);
}

export function entryForStatus(status: number): CatalogueEntry | undefined {
  return STATUSES.find((entry) => entry.httpStatuses.includes(status));
}

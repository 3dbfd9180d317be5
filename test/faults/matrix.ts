import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import { READING_CHOICES } from '../../src/simulator/model/readings.ts';
import { LIVE_READINGS } from '../support/live-readings.ts';

/** The dimensions of the fault matrix: faults of the exchange, kinds of requests, and readings of the specification. */

/** No part of a request arrives later than this; the daemons' config says so too. */
export const LATE_ARRIVAL_MS = 3_000;
/** Reads are never older than this; the config says so in worlds with such a fault or reading. */
export const READ_LAG_MS = 700;
/** The longest `Retry-After` of a server: longer ones leave no time to see the recovery. */
const LONGEST_RETRY_AFTER_MS = 4_000;

/** Ways in which the simulated exchange can fail a request, by the name used in tables. */
export const FAULTS: Readonly<Record<string, FaultEffect>> = {
  'slow request': { kind: 'latency', delayMs: 900, jitterMs: 1_500 },
  'slow reply': { kind: 'latency', delayMs: 1_200, sigma: 0.8, maxMs: LATE_ARRIVAL_MS, at: 'reply' },
  reset: { kind: 'reset' },
  hang: { kind: 'hang' },
  'reply lost': { kind: 'lostReply' },
  'reply never comes': { kind: 'lostReply', connection: 'hang' },
  'applied late': { kind: 'appliedLate', delayMs: 1_700, connection: 'reset' },
  'applied late, hangs': { kind: 'appliedLate', delayMs: 2_600, connection: 'hang' },
  'status 500': { kind: 'status', status: 500 },
  'status 500, applied': { kind: 'status', status: 500, applied: true },
  'status 503': { kind: 'status', status: 503, retryAfterMs: 1_000 },
  'status 429': {
    kind: 'status',
    status: 429,
    retryAfterMs: LONGEST_RETRY_AFTER_MS,
    retryAfterAs: 'decimals',
  },
  'status 401': { kind: 'status', status: 401, code: 0, message: 'Unauthorized request.' },
  'status 200, error code': { kind: 'status', status: 200, code: 30, message: 'Validation failed' },
  'gateway 403': { kind: 'gatewayStatus', status: 403 },
  'gateway 429': { kind: 'gatewayStatus', status: 429, retryAfterMs: 2_000 },
  'gateway 502': { kind: 'gatewayStatus', status: 502 },
  'gateway 502, applied': { kind: 'gatewayStatus', status: 502, applied: true },
  'gateway 404, empty': { kind: 'gatewayStatus', status: 404, body: 'empty' },
  'unavailable, executed': { kind: 'unavailable', meaning: 'executed' },
  'unavailable, failed': { kind: 'unavailable', meaning: 'failed' },
  'unavailable, overloaded': { kind: 'unavailable', meaning: 'overloaded', retryAfterMs: 500 },
  'orders refused': { kind: 'refusal', of: 'orders' },
  'reduce-only orders refused': { kind: 'refusal', of: 'reduceOnlyOrders', status: 400, code: 0 },
  'cancels refused': { kind: 'refusal', of: 'cancels' },
  'order cancelled at once': { kind: 'orderCancelled' },
  'truncated JSON': { kind: 'truncatedJson' },
  'body cut': { kind: 'cutBody' },
  'malformed JSON': { kind: 'malformedJson' },
  'page of a proxy': { kind: 'malformedJson', body: '<html><body>Bad gateway</body></html>' },
  stale: { kind: 'stale', ageMs: READ_LAG_MS },
  'wrong types': { kind: 'wrongTypes' },
  'missing field': { kind: 'missingField' },
  'bad record': { kind: 'badRecord' },
  compressed: { kind: 'compressed' },
  'empty list': { kind: 'emptyList' },
  'zero balance': { kind: 'zeroBalance' },
  'record of nulls': { kind: 'nullRecord' },
  'record nulled': { kind: 'nullRecord', inPlace: true },
  'empty strings': { kind: 'emptyString' },
};

/** Faults that hit only one kind of request. */
const ONLY_FOR: Readonly<Record<string, readonly string[]>> = {
  'orders refused': ['stopLimit'],
  'reduce-only orders refused': ['stopLimit'],
  'order cancelled at once': ['stopLimit'],
  'cancels refused': ['cancelAll'],
};

/** Endpoints that the daemon calls by itself, as the request log names them. */
export const REQUESTS = [
  'openPositions',
  'stopLimit',
  'cancelAll',
  'creditLine',
  'mainBalance',
  'transferHistory',
  'orderHistory',
] as const;

/** Readings that worlds of the matrix leave at their default: the daemons do not use what they change. */
const UNUSED_READINGS: ReadonlySet<string> = new Set([
  'uniqueIdSpelling',
  'userAgent',
  'nonceType',
  'payloadMatch',
]);

/** Every non-default value of every reading, as `name=value`. */
export const READING_VALUES: readonly string[] = [
  ...Object.entries(READING_CHOICES).flatMap(([name, { values }]) =>
    UNUSED_READINGS.has(name) ? [] : values.slice(1).map((value) => `${name}=${value}`),
  ),
  `lateArrivalMs=${LATE_ARRIVAL_MS - 500}`,
  `readLagMs=${READ_LAG_MS}`,
];

/** Readings that worlds of small seeds do not have. */
const NEWER_READINGS: ReadonlySet<string | undefined> = new Set([
  'profile',
  'publicPrices',
  ...LIVE_READINGS,
]);

export const OLDER_READING_VALUES = READING_VALUES.filter(
  (reading) => !NEWER_READINGS.has(reading.split('=')[0]) && reading !== 'unknownMarketCode=10',
);

export function requestsOf(fault: string): readonly string[] {
  return ONLY_FOR[fault] ?? REQUESTS;
}

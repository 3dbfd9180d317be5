import { z } from 'zod';
import { milliseconds, unixMilliseconds } from '../schemas.ts';

/** Faults on demand: effect, target and time. Same seed and same requests give the same faults. */

const LOST_CONNECTION = z.enum(['reset', 'hang']);
const REFUSED_COMMANDS = z.enum(['orders', 'openingOrders', 'reduceOnlyOrders', 'cancels']);
const OPTIONAL_TEXT = z.string().exactOptional();
const OPTIONAL_FLAG = z.boolean().exactOptional();
const OPTIONAL_MS = milliseconds.exactOptional();
const OPTIONAL_CODE = z.number().int().exactOptional();
const ERROR_STATUS = z.number().int().min(400).max(599);

/** A Retry-After header: whole seconds (rounded up), seconds with decimals, or a date. */
const RETRY_AFTER = {
  retryAfterMs: OPTIONAL_MS,
  retryAfterAs: z.enum(['seconds', 'decimals', 'date']).exactOptional(),
};

function effect<const Kind extends string, Fields extends z.ZodRawShape>(kind: Kind, fields: Fields) {
  return z.strictObject({ kind: z.literal(kind), ...fields });
}

/** `FAULT_KINDS` explains each kind. */
const EFFECT = z.discriminatedUnion('kind', [
  effect('latency', {
    delayMs: milliseconds,
    jitterMs: OPTIONAL_MS,
    /** Lognormal around `delayMs` as the median: standard deviation of the logarithm. */
    sigma: z.number().min(0).max(5).exactOptional(),
    maxMs: OPTIONAL_MS,
    at: z.enum(['request', 'reply']).exactOptional(),
  }),
  effect('reset', {}),
  effect('hang', {}),
  effect('lostReply', { connection: LOST_CONNECTION.exactOptional() }),
  effect('appliedLate', {
    /** Without it the request waits for `release`. The request is checked only when it arrives. */
    delayMs: OPTIONAL_MS,
    connection: LOST_CONNECTION.exactOptional(),
  }),
  effect('status', {
    status: z.number().int().min(200).max(599),
    applied: OPTIONAL_FLAG,
    code: OPTIONAL_CODE,
    message: OPTIONAL_TEXT,
    errors: z.record(z.string(), z.array(z.string())).exactOptional(),
    ...RETRY_AFTER,
  }),
  /** A gateway reply: it says nothing about key, order or loan. */
  effect('gatewayStatus', {
    status: ERROR_STATUS,
    body: z.enum(['html', 'empty']).exactOptional(),
    applied: OPTIONAL_FLAG,
    ...RETRY_AFTER,
  }),
  effect('unavailable', {
    meaning: z.enum(['executed', 'failed', 'overloaded']),
    ...RETRY_AFTER,
  }),
  effect('refusal', {
    of: REFUSED_COMMANDS,
    /** 503 if absent. */
    status: ERROR_STATUS.exactOptional(),
    code: OPTIONAL_CODE,
    message: OPTIONAL_TEXT,
    ...RETRY_AFTER,
  }),
  effect('orderCancelled', { status: OPTIONAL_TEXT }),
  effect('truncatedJson', {}),
  effect('cutBody', {}),
  /** Damaged at a random place, or `body` verbatim, such as an HTML page of a proxy. */
  effect('malformedJson', { body: OPTIONAL_TEXT }),
  /** Exchange time; all other times of effects are real time. */
  effect('stale', { ageMs: milliseconds.min(1) }),
  effect('wrongTypes', {}),
  effect('missingField', { field: OPTIONAL_TEXT }),
  effect('badRecord', { market: OPTIONAL_TEXT }),
  effect('compressed', { encoding: z.enum(['gzip', 'br']).exactOptional() }),
  effect('emptyList', {}),
  effect('zeroBalance', {}),
  effect('nullRecord', { market: OPTIONAL_TEXT, inPlace: OPTIONAL_FLAG }),
  effect('emptyString', { field: OPTIONAL_TEXT }),
]);

/** Schema of a fault on the control API and on the command line. */
export const FAULT = z
  .strictObject({
    effect: EFFECT,
    /** Requests to hit; an absent field matches all. */
    target: z
      .strictObject({
        /** Endpoint name as in the request log; `*` or absent for all. */
        endpoint: OPTIONAL_TEXT,
        account: OPTIONAL_TEXT,
        /** Index of the base address. */
        region: z.number().int().min(0).exactOptional(),
      })
      .exactOptional(),
    /** Probability per matching request; 1 if absent. */
    probability: z.number().min(0).max(1).exactOptional(),
    /** The fault ends after this many hits; unlimited if absent. */
    count: z.number().int().min(1).exactOptional(),
    /** Number of matching requests that pass first. */
    skip: z.number().int().min(0).exactOptional(),
    /** In force from `fromMs` (inclusive) to `untilMs` (exclusive), exchange time. */
    fromMs: unixMilliseconds.exactOptional(),
    untilMs: unixMilliseconds.exactOptional(),
    /** The same, counted from the injection (`afterMs`) and from the start (`forMs`). */
    afterMs: OPTIONAL_MS,
    forMs: milliseconds.min(1).exactOptional(),
    /** Period of a repeated fault; each time it lasts for `forMs`. */
    everyMs: milliseconds.min(1).exactOptional(),
  })
  .refine(
    ({ fromMs, afterMs }) => fromMs === undefined || afterMs === undefined,
    'give fromMs or afterMs, not both',
  )
  .refine(
    ({ forMs, untilMs, everyMs }) => forMs === undefined || untilMs === undefined || everyMs !== undefined,
    'give untilMs or forMs, not both, unless everyMs repeats it',
  )
  .refine(
    ({ forMs, everyMs }) => everyMs === undefined || (forMs !== undefined && forMs <= everyMs),
    'everyMs needs a forMs that is not longer',
  );

export type FaultSpec = Readonly<z.infer<typeof FAULT>>;
export type FaultEffect = Readonly<z.infer<typeof EFFECT>>;
export type RetryAfter = Pick<Extract<FaultEffect, { kind: 'status' }>, keyof typeof RETRY_AFTER>;
type RefusedCommands = z.infer<typeof REFUSED_COMMANDS>;
/** Whether a client that loses its reply sees a reset or nothing. */
export type LostConnection = z.infer<typeof LOST_CONNECTION>;

export const FAULT_KINDS: Readonly<Record<FaultEffect['kind'], string>> = {
  latency:
    'the request (or with at=reply the reply) waits delayMs, plus up to jitterMs; with sigma lognormal around delayMs; at most maxMs',
  reset: 'the connection is reset before the exchange looked at the request; no effect',
  hang: 'the request is never looked at and never answered; no effect',
  lostReply: 'the request has its effect, then the reply is lost (connection=reset or hang)',
  appliedLate: 'the client loses the connection; the request arrives and is applied delayMs later',
  status:
    'the given HTTP status (429, 500, 503, ...) with the body of the API; with applied=true after the effect; retryAfterMs and retryAfterAs (seconds, decimals, date) add Retry-After',
  gatewayStatus:
    'the given HTTP status (403, 404, 429, 502, 503) of a gateway before the API: body=html or empty; also applied, retryAfterMs, retryAfterAs',
  unavailable: 'HTTP 503 in one meaning: meaning=executed (all the same), failed or overloaded (shed)',
  refusal:
    'commands of one sort are refused, others go on: of=orders, openingOrders, reduceOnlyOrders or cancels; status (503), code, message',
  orderCancelled:
    'an order is accepted and cancelled at once; status (CANCELED_TAKER_BAND) is what its reply says',
  truncatedJson: 'a complete HTTP reply whose JSON ends in the middle',
  cutBody: 'the connection breaks in the middle of the body',
  malformedJson: 'a damaged body, or the text given as body',
  stale: 'reads show the state of ageMs ago, at the earliest of the moment of injection',
  wrongTypes: 'one field of every record has another type',
  missingField: 'one field of every record is missing (field=NAME to choose it)',
  badRecord: 'one record of a list is broken (market=NAME: those of that market)',
  compressed: 'the body is compressed although nobody asked: encoding=gzip or br',
  emptyList: 'a list is valid and empty',
  zeroBalance: 'every main balance, and the free margin of every position, is 0',
  nullRecord:
    'one more position with nulls, as of one being opened (market=NAME); with inPlace=true one of those there are',
  emptyString: 'field=NAME of every record is an empty text; without field, every null',
};

export interface FaultedRequest {
  readonly endpoint: string;
  /** `undefined` if the request names no known key. */
  readonly account: string | undefined;
  readonly region: number;
  /** Exchange time of arrival. */
  readonly atMs: number;
  /** Whether an order is reduce-only; evaluated only if a fault needs it. */
  readonly isReduceOnly: () => boolean;
}

interface Entry {
  readonly id: number;
  readonly spec: FaultSpec;
  hits: number;
  skipped: number;
}

/** The injected faults. Random draws happen in order of arrival, then of injection. */
export class FaultBook {
  /** Also for the choices of a fault, from the same seeded sequence. */
  readonly random: () => number;
  readonly #entries = new Map<number, Entry>();
  #nextId = 1;

  constructor(random: () => number) {
    this.random = random;
  }

  /** @param nowMs exchange time @returns the id of the fault */
  inject(spec: FaultSpec, nowMs: number): number {
    const id = this.#nextId++;
    this.#entries.set(id, { id, spec: dated(spec, nowMs), hits: 0, skipped: 0 });
    return id;
  }

  /** `remaining` is `null` if unlimited. */
  list() {
    return [...this.#entries.values()].map(({ id, spec, hits }) => {
      const remaining = spec.count === undefined ? null : spec.count - hits;
      return Object.assign({ id, hits, remaining }, spec);
    });
  }

  /** Removes one fault, or all; returns how many. */
  clear(id?: number): number {
    if (id !== undefined) return this.#entries.delete(id) ? 1 : 0;
    const removed = this.#entries.size;
    this.#entries.clear();
    return removed;
  }

  /** Draws the effects that hit this request; counts hits and removes ended faults. */
  draw(request: FaultedRequest): readonly FaultEffect[] {
    const hit: FaultEffect[] = [];
    for (const entry of this.#entries.values()) {
      if (request.atMs >= (entry.spec.untilMs ?? Number.POSITIVE_INFINITY)) this.#entries.delete(entry.id);
      else if (!isFor(entry.spec, request) || !this.#strikes(entry)) continue;
      else {
        hit.push(entry.spec.effect);
        entry.hits += 1;
        if (entry.hits === entry.spec.count) this.#entries.delete(entry.id);
      }
    }
    return hit;
  }

  #strikes(entry: Entry): boolean {
    if (entry.skipped < (entry.spec.skip ?? 0)) {
      entry.skipped += 1;
      return false;
    }
    const probability = entry.spec.probability ?? 1;
    return probability >= 1 || this.random() < probability;
  }
}

/** Converts times counted from the injection to exchange time. */
function dated(spec: FaultSpec, nowMs: number): FaultSpec {
  const { afterMs, ...rest } = spec;
  if (afterMs === undefined && spec.forMs === undefined) return spec;
  const fromMs = spec.fromMs ?? nowMs + (afterMs ?? 0);
  const isOnce = spec.forMs !== undefined && spec.everyMs === undefined;
  const untilMs = isOnce ? fromMs + (spec.forMs ?? 0) : spec.untilMs;
  return { ...rest, fromMs, ...(untilMs === undefined ? {} : { untilMs }) };
}

function isInForce({ fromMs = 0, forMs, everyMs }: FaultSpec, atMs: number): boolean {
  if (atMs < fromMs) return false;
  return everyMs === undefined || forMs === undefined || (atMs - fromMs) % everyMs < forMs;
}

function isFor(spec: FaultSpec, request: FaultedRequest): boolean {
  const { endpoint, account, region } = spec.target ?? {};
  return (
    isInForce(spec, request.atMs) &&
    (endpoint === undefined || endpoint === '*' || endpoint === request.endpoint) &&
    (account === undefined || account === request.account) &&
    (region === undefined || region === request.region) &&
    (spec.effect.kind !== 'refusal' || isOfSort(spec.effect.of, request))
  );
}

function isOfSort(sort: RefusedCommands, { endpoint, isReduceOnly }: FaultedRequest): boolean {
  if (sort === 'cancels') return endpoint === 'cancelAll';
  if (endpoint !== 'stopLimit') return false;
  return sort === 'orders' || isReduceOnly() === (sort === 'reduceOnlyOrders');
}

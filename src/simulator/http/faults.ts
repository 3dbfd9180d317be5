import type { ContentEncoding } from './reply.ts';

/**
 * Everything that can go wrong between a client and the exchange, on demand. A fault says what goes wrong, for
 * which requests, how often and with which probability; the same seed and the same requests give the same faults.
 */

/** What goes wrong. Times in milliseconds of real time, except `ageMs`, which is exchange time. */
export type FaultEffect =
  /** The request waits before the exchange looks at it, or the finished reply waits before it leaves. */
  | {
      readonly kind: 'latency';
      readonly delayMs: number;
      readonly jitterMs?: number;
      /** Lognormal around `delayMs` as the median: standard deviation of the logarithm. */
      readonly sigma?: number;
      /** No wait is longer. */
      readonly maxMs?: number;
      readonly at?: 'request' | 'reply';
    }
  /** The connection is reset before the exchange looked at the request: no effect. */
  | { readonly kind: 'reset' }
  /** The request is never looked at and never answered: no effect. */
  | { readonly kind: 'hang' }
  /** The request has its effect, then the reply is lost: the connection is reset, or stays silent. */
  | { readonly kind: 'lostReply'; readonly connection?: LostConnection }
  /**
   * The client loses the connection at once, or sees silence; the request reaches the exchange `delayMs`
   * later, is checked only then, and has its effect. Without `delayMs` it waits for `release`.
   */
  | { readonly kind: 'appliedLate'; readonly delayMs?: number; readonly connection?: LostConnection }
  /** An error status instead of the reply; with `applied` the request has had its effect all the same. */
  | ({
      readonly kind: 'status';
      readonly status: number;
      readonly applied?: boolean;
      readonly code?: number;
      readonly message?: string;
      readonly errors?: Readonly<Record<string, readonly string[]>>;
    } & RetryAfter)
  /** What stands before the API answers by itself: HTML, or no body; says nothing about key, order or loan. */
  | ({
      readonly kind: 'gatewayStatus';
      readonly status: number;
      readonly body?: 'html' | 'empty';
      readonly applied?: boolean;
    } & RetryAfter)
  /** HTTP 503 in one of its three meanings: executed all the same, failed, or shed for overload. */
  | ({ readonly kind: 'unavailable'; readonly meaning: 'executed' | 'failed' | 'overloaded' } & RetryAfter)
  /** Commands of one sort are refused before they have an effect, all others go on. */
  | ({
      readonly kind: 'refusal';
      readonly of: RefusedCommands;
      /** 503 when absent. */
      readonly status?: number;
      readonly code?: number;
      readonly message?: string;
    } & RetryAfter)
  /** An order is accepted and cancelled at once by the exchange, with the status that its reply has. */
  | { readonly kind: 'orderCancelled'; readonly status?: string }
  /** A complete HTTP reply whose JSON ends in the middle. */
  | { readonly kind: 'truncatedJson' }
  /** The connection breaks in the middle of the body. */
  | { readonly kind: 'cutBody' }
  /** A body that is not JSON: damaged at a random place, or `body` verbatim (an HTML page of a proxy, say). */
  | { readonly kind: 'malformedJson'; readonly body?: string }
  /** Reads are answered from the state of `ageMs` ago, at the earliest of the moment of injection. */
  | { readonly kind: 'stale'; readonly ageMs: number }
  /** One field of every record changes its type. */
  | { readonly kind: 'wrongTypes' }
  /** One field of every record is missing. */
  | { readonly kind: 'missingField'; readonly field?: string }
  /** One record of a list is broken, the others are whole; with `market`: those of that market. */
  | { readonly kind: 'badRecord'; readonly market?: string }
  /** The body is compressed, whatever the request asked for. */
  | { readonly kind: 'compressed'; readonly encoding?: ContentEncoding }
  /** A list is valid and empty. */
  | { readonly kind: 'emptyList' }
  /** Every main balance, and the free margin of every position, is 0. */
  | { readonly kind: 'zeroBalance' }
  /** One more record with nulls, as of a position being opened; `inPlace`: one of those there are. */
  | { readonly kind: 'nullRecord'; readonly market?: string; readonly inPlace?: boolean }
  /** The field of every record, or every null, is the empty text. */
  | { readonly kind: 'emptyString'; readonly field?: string };

/** A Retry-After header: whole seconds (rounded up), seconds with decimals, or a date. */
export interface RetryAfter {
  readonly retryAfterMs?: number;
  readonly retryAfterAs?: 'seconds' | 'decimals' | 'date';
}

export type RefusedCommands = 'orders' | 'openingOrders' | 'reduceOnlyOrders' | 'cancels';

/** Whether a client that loses its reply sees a reset or nothing at all. */
export type LostConnection = 'reset' | 'hang';

export type FaultKind = FaultEffect['kind'];

export const FAULT_KINDS: Readonly<Record<FaultKind, string>> = {
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

/** Which requests a fault is for; what is left out matches everything. */
interface FaultTarget {
  /** Endpoint name, as in the request log, `*` or absent for all. */
  readonly endpoint?: string;
  readonly account?: string;
  /** Index of the base address. */
  readonly region?: number;
}

export interface FaultSpec {
  readonly effect: FaultEffect;
  readonly target?: FaultTarget;
  /** Chance per matching request, 0 to 1; 1 when absent. */
  readonly probability?: number;
  /** So many requests are hit, then the fault is spent; unlimited when absent. */
  readonly count?: number;
  /** So many matching requests go by first. */
  readonly skip?: number;
  /** In force from then on and before then, Unix milliseconds of exchange time. */
  readonly fromMs?: number;
  readonly untilMs?: number;
  /** The same, counted from the injection and from its beginning. */
  readonly afterMs?: number;
  readonly forMs?: number;
  /** Begins again and again, each time for `forMs`. */
  readonly everyMs?: number;
}

export interface InjectedFault extends FaultSpec {
  readonly id: number;
  readonly hits: number;
  /** `null`: unlimited. */
  readonly remaining: number | null;
}

export interface FaultedRequest {
  readonly endpoint: string;
  /** `undefined` when the request names no known key. */
  readonly account: string | undefined;
  readonly region: number;
  /** Exchange time of its arrival. */
  readonly atMs: number;
  /** Of an order; read only where a fault asks. */
  readonly isReduceOnly: () => boolean;
}

interface Entry {
  readonly id: number;
  readonly spec: FaultSpec;
  hits: number;
  skipped: number;
}

/** The faults in force. Draws happen in the order of arrival and of injection. */
export class FaultBook {
  readonly #random: () => number;
  readonly #entries = new Map<number, Entry>();
  #nextId = 1;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** `nowMs`: exchange time. */
  inject(spec: FaultSpec, nowMs: number): number {
    const id = this.#nextId++;
    this.#entries.set(id, { id, spec: dated(spec, nowMs), hits: 0, skipped: 0 });
    return id;
  }

  list(): InjectedFault[] {
    return [...this.#entries.values()].map(({ id, spec, hits }) => {
      const remaining = spec.count === undefined ? null : spec.count - hits;
      return Object.assign({ id, hits, remaining }, spec);
    });
  }

  /** Removes one fault, or all; says how many there were. */
  clear(id?: number): number {
    if (id !== undefined) return this.#entries.delete(id) ? 1 : 0;
    const removed = this.#entries.size;
    this.#entries.clear();
    return removed;
  }

  get active(): boolean {
    return this.#entries.size > 0;
  }

  /** The effects that hit this request. */
  draw(request: FaultedRequest): readonly FaultEffect[] {
    if (this.#entries.size === 0) return NO_EFFECTS;
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
    return probability >= 1 || this.#random() < probability;
  }

  /** A random number for the faults' own choices, from the same seeded sequence. */
  random(): number {
    return this.#random();
  }
}

const NO_EFFECTS: readonly FaultEffect[] = [];

/** What is counted from the injection becomes exchange time. */
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

import type { Clock } from '../../core/ports/clock.ts';
import type { ExchangeError, SetAsideRecord } from '../../core/ports/exchange.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import type { Endpoint } from '../endpoints.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { NonceSource } from '../nonce/nonce-modes.ts';
import { readReply } from '../schemas/replies.ts';
import type { BaseUrls } from './base-urls.ts';
import type { CallPlan } from './call-plan.ts';
import type { CallScope } from './call-scope.ts';
import { errorOfReply, finding, readRetryAfter } from './errors.ts';
import { type ExchangeObserver, safely } from './observer.ts';
import { parseJson } from './parse-json.ts';
import { excessOf, REPLY_BOUNDS } from './reply-bounds.ts';
import type { WireFailure, WireReply } from './transport.ts';

export type Attempt<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly reply: WireReply }
  | { readonly kind: 'error'; readonly error: ExchangeError; readonly after: After };

/** Most repeats in a row after a refused nonce; the next 429 counts as a rate limit. */
const MAX_NONCE_REPEATS = 2;
/** If this client has used less of the tightest limit than this, a 429 alone does not count as a rate limit. */
const NEAR_LIMIT = 0.5;

/** Counts of one call, for the observer. */
export type Progress = ReturnType<typeof newProgress>;

export const newProgress = () => ({
  attempts: 0,
  noncesRefused: 0,
  nonceRepeats: 0,
  limitsHit: 0,
  budgetWaitMs: 0,
  baseUrlIndex: undefined as number | undefined,
});

type After = 'stop' | 'backoff' | 'nonce' | 'preempted';

export const stop = (error: ExchangeError): Attempt<never> => ({ kind: 'error', error, after: 'stop' });

const repeated = (error: ExchangeError, after: After = 'backoff'): Attempt<never> => ({
  kind: 'error',
  error,
  after,
});

const NONCE_CURE = 'another program may use the key with larger nonces: give this one a key of its own';

/** Passing trouble of the exchange, whatever the HTTP status. */
const PASSING: ReadonlySet<string> = new Set(['internalError', 'temporarilyUnavailable']);

const TOO_MANY = /^too many requests\b/i;

/** Whether the error concerns the request's route; another base URL may accept the request. */
export const isAboutAddress = ({ name }: ExchangeError): boolean =>
  name === 'gatewayRefused' || name === 'addressNotAllowed';

export interface JudgeParts {
  readonly baseUrls: BaseUrls;
  readonly limiter: Limiter;
  readonly nonces: NonceSource;
  readonly clock: Clock;
  readonly observer: ExchangeObserver;
  readonly redact: Conceal;
}

/** Decides the result of an attempt, and updates nonces, limits and base URLs accordingly. */
export class Judge {
  readonly #parts: JudgeParts;
  #dateText = '';
  #dateMs = Number.NaN;

  constructor(parts: JudgeParts) {
    this.#parts = parts;
  }

  failure<T>(
    plan: CallPlan<T>,
    scope: CallScope,
    failure: WireFailure,
    baseUrlIndex: number,
  ): Attempt<never> {
    const { id } = plan.endpoint;
    const { reason, left } = failure;
    const effect = left ? 'possible' : 'none';
    if (reason === 'preempted') return repeated(finding('aborted', id, { effect }), 'preempted');
    if (reason === 'replyTooLarge' || reason === 'replyUndecodable') {
      return stop(finding(reason, id, { effect }));
    }
    if (reason !== 'cancelled' || scope.cancelled === 'timeout') this.#parts.baseUrls.failed(baseUrlIndex);
    if (reason === 'cancelled') return stop(finding(scope.cancelled ?? 'aborted', id, { effect }));
    return repeated(finding(reason === 'attemptTimeout' ? 'timeout' : reason, id, { effect }));
  }

  reply<T>(plan: CallPlan<T>, reply: WireReply, progress: Progress): Attempt<T> {
    const { endpoint } = plan;
    const { id } = endpoint;
    const dateMs = this.date(reply.date);
    if (dateMs !== undefined) this.#parts.nonces.observeDate(dateMs, reply.sentAtMs, reply.receivedAtMs);
    const empty = plan.emptyAllowed === true && reply.body.trim() === '';
    const success = reply.status >= 200 && reply.status < 300;
    const excess = empty ? undefined : excessOf(reply.body, REPLY_BOUNDS[id]);
    if (excess !== undefined && success) {
      const problem = { path: '', expected: 'a reply within its bounds', got: excess };
      this.drift(endpoint, 'reply', [problem]);
      return stop(finding('replyTooLarge', id, { message: excess, httpStatus: reply.status }));
    }
    const json = excess !== undefined ? undefined : empty ? { value: undefined } : parseJson(reply.body);
    if (json === undefined && success) {
      return repeated(finding('replyNotJson', id, { httpStatus: reply.status }));
    }
    const retryAfterMs = readRetryAfter(reply.retryAfter, dateMs ?? this.#parts.clock.nowMs());
    const context = { endpoint: id, redact: plan.redact ?? this.#parts.redact };
    const error = errorOfReply(context, reply.status, json?.value, retryAfterMs);
    if (error?.gateway !== true || reply.status !== 429) this.#parts.limiter.passedGateway(reply.sentAtMs);
    if (reply.status !== 429) this.#parts.limiter.passed(endpoint.path);
    if (error !== undefined) return this.#error(plan, error, reply, progress);
    const parsed = readReply(reply.body, json?.value, plan.read);
    if (parsed.ok) {
      this.drift(endpoint, 'record', [...(plan.setAside?.(parsed.value) ?? []), ...(parsed.flaws ?? [])]);
      return { kind: 'ok', value: parsed.value, reply };
    }
    this.drift(endpoint, 'reply', parsed.problems);
    const [problem] = parsed.problems;
    const details = { httpStatus: reply.status };
    if (problem === undefined) return stop(finding('replyInvalid', id, details));
    const { path, expected, got } = problem;
    const message = `${path === '' ? 'the reply' : path}: expected ${expected}, got ${got}`;
    return stop(finding('replyInvalid', id, { message, ...details }));
  }

  #error<T>(plan: CallPlan<T>, error: ExchangeError, reply: WireReply, progress: Progress): Attempt<T> {
    const recovered = plan.recover?.(error);
    if (recovered !== undefined) return { kind: 'ok', value: recovered.value, reply };
    const { path } = plan.endpoint;
    if (this.#isNonceRefusal(error, path, progress)) {
      progress.noncesRefused += 1;
      progress.nonceRepeats += 1;
      const message = `${error.message} (taken for a refused nonce; ${NONCE_CURE})`;
      const refused = { ...error, name: 'nonceRefused', message };
      if (progress.nonceRepeats > MAX_NONCE_REPEATS) return stop(refused);
      this.#parts.nonces.refused(progress.nonceRepeats);
      return repeated(refused, 'nonce');
    }
    if (error.name === 'rateLimited') {
      progress.limitsHit += 1;
      if (error.gateway === true) this.#parts.limiter.refusedByGateway(error.retryAfterMs, reply.sentAtMs);
      else {
        this.#parts.limiter.refused(path, error.retryAfterMs);
        this.#parts.nonces.doubted();
      }
      return repeated(error);
    }
    if (isAboutAddress(error)) {
      const elsewhere = this.#parts.baseUrls.hasOther(progress.baseUrlIndex ?? 0);
      return repeated(error, elsewhere ? 'backoff' : 'stop');
    }
    const repeatable = (error.httpStatus ?? 0) >= 500 || error.httpStatus === 408 || PASSING.has(error.name);
    return repeated(error, repeatable ? 'backoff' : 'stop');
  }

  /**
   * The exchange answers a stale nonce with 429 "Too many requests." in JSON, exactly like a rate limit. A 429 counts
   * as a refused nonce if it comes from the exchange itself without a Retry-After, and if this client has used less
   * than half of the budget and has not already repeated twice. Other errors count if their message names the nonce.
   */
  #isNonceRefusal(error: ExchangeError, path: string, progress: Progress): boolean {
    if (error.effect !== 'none') return false;
    if (error.name === 'nonceRefused') return true;
    const { nonces, limiter } = this.#parts;
    return (
      error.name === 'rateLimited' &&
      error.gateway !== true &&
      (nonces.mode !== 'unique' || TOO_MANY.test(error.message)) &&
      error.retryAfterMs === undefined &&
      progress.nonceRepeats < MAX_NONCE_REPEATS &&
      limiter.ownUse(path) < NEAR_LIMIT
    );
  }

  /** Parses a Date header; cached, because replies within a second carry the same text. */
  date(text: string | undefined): number | undefined {
    if (text === undefined) return undefined;
    if (text !== this.#dateText) {
      this.#dateText = text;
      this.#dateMs = Date.parse(text);
    }
    return Number.isNaN(this.#dateMs) ? undefined : this.#dateMs;
  }

  /** Reports a reply that was not as documented. */
  drift(endpoint: Endpoint, kind: 'record' | 'reply' | 'echo', problems: readonly SetAsideRecord[]): void {
    const { observer } = this.#parts;
    for (const { path, expected, got } of problems) {
      safely(() => observer.onDrift?.({ endpoint: endpoint.id, kind, path, expected, got }));
    }
  }
}

import type { KeyObject } from 'node:crypto';
import type { Endpoint } from '../endpoints.ts';
import type { NonceSource } from '../nonce/nonce-modes.ts';
import type { NonceTicket } from '../nonce/nonce-mutex.ts';
import type { BaseUrls } from './base-urls.ts';
import type { CallPlan } from './call-plan.ts';
import type { CallScope } from './call-scope.ts';
import { type Attempt, isAboutAddress, type Judge, type Progress } from './judge.ts';
import { REPLY_BOUNDS } from './reply-bounds.ts';
import { sign } from './signer.ts';
import type { HttpFlight, Transport, WireResult } from './transport.ts';

export interface SenderParts {
  readonly apiKey: string;
  readonly userAgent: string;
  readonly signingKey: KeyObject;
  readonly transport: Transport;
  readonly baseUrls: BaseUrls;
  readonly nonces: NonceSource;
  readonly attemptTimeoutMs: number;
}

/** Sends the request of an attempt, signed, to a base URL that works, and has the reply judged. */
export class Sender {
  readonly #parts: SenderParts;
  readonly #judge: Judge;
  readonly #unsigned: { readonly headers: string[]; readonly body: null };
  /** Headers that all signed requests share. */
  readonly #common: readonly string[];

  constructor(parts: SenderParts, judge: Judge) {
    this.#parts = parts;
    this.#judge = judge;
    // Some gateways challenge a client without a User-Agent, and may compress unless told "identity".
    const headers = ['Accept', 'application/json', 'Accept-Encoding', 'identity'];
    headers.push('User-Agent', parts.userAgent);
    this.#unsigned = { headers, body: null };
    this.#common = [...headers, 'Content-Type', 'application/json', 'X-TXC-APIKEY', parts.apiKey];
  }

  /** How long the next request of the call may take. */
  timeoutMs<T>({ options }: CallPlan<T>, scope: CallScope): number {
    const { answerWithinMs = Number.POSITIVE_INFINITY } = options ?? {};
    return Math.min(this.#parts.attemptTimeoutMs, answerWithinMs, Math.max(1, scope.remainingMs()));
  }

  depart<T>(
    ticket: NonceTicket | undefined,
    plan: CallPlan<T>,
    scope: CallScope,
    progress: Progress,
  ): HttpFlight {
    const { transport, baseUrls } = this.#parts;
    const { id, method, path, kind } = plan.endpoint;
    const baseUrlIndex = baseUrls.pick(kind);
    progress.attempts += 1;
    progress.baseUrlIndex = baseUrlIndex;
    const { headers, body } = ticket === undefined ? this.#unsigned : this.#signed(plan, ticket.nonce);
    const timeoutMs = this.timeoutMs(plan, scope);
    return transport.send(
      { baseUrlIndex, method, path, headers, body, timeoutMs, maxReplyBytes: REPLY_BOUNDS[id].bytes },
      scope,
    );
  }

  /** @param progress of the attempt that the result belongs to */
  arrive<T>(result: WireResult, plan: CallPlan<T>, scope: CallScope, progress: Progress): Attempt<T> {
    const { baseUrls } = this.#parts;
    const { baseUrlIndex = 0 } = progress;
    if (result.kind === 'failure') return this.#judge.failure(plan, scope, result, baseUrlIndex);
    const attempt = this.#judge.reply(plan, result, progress);
    if (isIll(plan.endpoint, result.status, attempt)) baseUrls.failed(baseUrlIndex);
    else baseUrls.succeeded(baseUrlIndex);
    return attempt;
  }

  #signed<T>(plan: CallPlan<T>, nonce: string): { headers: string[]; body: Buffer } {
    const { signingKey, nonces } = this.#parts;
    const params = JSON.stringify(plan.params);
    const rest = params === '{}' ? '}' : `,${params.slice(1)}`;
    const window = nonces.mode === 'window' ? ',"nonceWindow":true' : '';
    const body = Buffer.from(`{"request":"${plan.endpoint.path}","nonce":"${nonce}"${window}${rest}`);
    const { payload, signature } = sign(body, signingKey);
    return {
      body,
      headers: [...this.#common, 'X-TXC-PAYLOAD', payload, 'X-TXC-SIGNATURE', signature],
    };
  }
}

/**
 * Whether a reply shows that its base URL does not work: a server error, or an answer from something other than the
 * exchange (a redirect, a maintenance page). A 503 of a deposit provider says nothing about the base URL.
 */
function isIll({ id }: Endpoint, status: number, attempt: Attempt<unknown>): boolean {
  const error = attempt.kind === 'error' ? attempt.error : undefined;
  if (error !== undefined && (error.name === 'replyNotJson' || isAboutAddress(error))) return true;
  if (id === 'fiatDeposit' && status === 503 && error?.gateway !== true) return false;
  return status >= 500 || (status >= 300 && status < 400);
}

import type { KeyObject } from 'node:crypto';
import type { Endpoint } from '../endpoints.ts';
import type { NonceSource } from '../nonce/nonce-modes.ts';
import type { NonceTicket } from '../nonce/nonce-ticket.ts';
import type { BaseUrls } from './base-urls.ts';
import type { CallPlan } from './call-plan.ts';
import type { CallScope } from './call-scope.ts';
import type { Attempt, Judge, Progress } from './judge.ts';
import { sign } from './signer.ts';
import type { Flight, Transport, WireResult } from './transport.ts';

export interface SenderParts {
  readonly apiKey: string;
  readonly signingKey: KeyObject;
  readonly transport: Transport;
  readonly baseUrls: BaseUrls;
  readonly nonces: NonceSource;
  readonly attemptTimeoutMs: number;
}

/** Sends the one request of an attempt, signed and to the base URL that works, and has its reply judged. */
export class Sender {
  readonly #parts: SenderParts;
  readonly #judge: Judge;

  constructor(parts: SenderParts, judge: Judge) {
    this.#parts = parts;
    this.#judge = judge;
  }

  depart<T>(
    ticket: NonceTicket | undefined,
    plan: CallPlan<T>,
    scope: CallScope,
    progress: Progress,
  ): Flight {
    const { transport, baseUrls, attemptTimeoutMs } = this.#parts;
    const { method, path, kind } = plan.endpoint;
    const baseUrlIndex = baseUrls.pick(kind);
    progress.attempts += 1;
    progress.baseUrlIndex = baseUrlIndex;
    const { headers, body } = ticket === undefined ? UNSIGNED : this.#signed(plan, ticket.nonce);
    const timeoutMs = Math.min(attemptTimeoutMs, Math.max(1, scope.remainingMs()));
    return transport.send({ baseUrlIndex, method, path, headers, body, timeoutMs }, scope);
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
    const { apiKey, signingKey, nonces } = this.#parts;
    const params = JSON.stringify(plan.params);
    const rest = params === '{}' ? '}' : `,${params.slice(1)}`;
    const window = nonces.mode === 'window' ? ',"nonceWindow":true' : '';
    const body = Buffer.from(`{"request":"${plan.endpoint.path}","nonce":"${nonce}"${window}${rest}`);
    const { payload, signature } = sign(body, signingKey);
    return {
      body,
      headers: [
        'Content-Type',
        'application/json',
        'X-TXC-APIKEY',
        apiKey,
        'X-TXC-PAYLOAD',
        payload,
        'X-TXC-SIGNATURE',
        signature,
      ],
    };
  }
}

/**
 * Whether a reply shows that its base URL does not work: it failed, or something else than the exchange
 * answered (a redirect, a maintenance page). A deposit provider that is away says nothing of the address.
 */
function isIll({ id }: Endpoint, status: number, attempt: Attempt<unknown>): boolean {
  if (id === 'fiatDeposit' && status === 503) return false;
  const notJson = attempt.kind === 'error' && attempt.error.name === 'replyNotJson';
  return notJson || status >= 500 || (status >= 300 && status < 400);
}

const UNSIGNED = { headers: ['Accept', 'application/json'], body: null };

import type { KeyObject } from 'node:crypto';
import type { Clock, Random } from '../core/ports/clock.ts';
import type {
  CallOptions,
  CommandOutcome,
  ExchangeError,
  ReadOutcome,
  ReplyTiming,
  SetAsideRecord,
} from '../core/ports/exchange.ts';
import type { BaseUrls } from './base-urls.ts';
import { CallScope } from './call-scope.ts';
import type { Endpoint } from './endpoints.ts';
import { finding, type Redact } from './errors.ts';
import { type Attempt, Judge, newProgress, type Progress, stop } from './judge.ts';
import type { Limiter } from './limiter.ts';
import type { NonceSource, NonceTicket } from './nonce.ts';
import { type ExchangeObserver, safely } from './observer.ts';
import type { Parsed } from './schemas/replies.ts';
import { sign } from './signer.ts';
import type { Slots } from './slots.ts';
import type { Transport, WireReply } from './transport.ts';

export interface RetrySettings {
  /** Requests sent for one read at most; those that gave way to an urgent one do not count. */
  readonly maxAttempts: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

export interface CallerParts {
  readonly apiKey: string;
  readonly signingKey: KeyObject;
  readonly transport: Transport;
  readonly baseUrls: BaseUrls;
  readonly limiter: Limiter;
  readonly nonces: NonceSource;
  readonly slots: Slots;
  readonly clock: Clock;
  readonly random: Random;
  readonly attemptTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly retry: RetrySettings;
  readonly observer: ExchangeObserver;
  readonly redact: Redact;
}

/** One request as an endpoint wants it. */
export interface CallPlan<T> {
  readonly endpoint: Endpoint;
  /** The body's fields besides `request` and `nonce`. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly options: CallOptions | undefined;
  /** Reads a successful reply. `undefined` stands for an empty body. */
  readonly read: (body: unknown) => Parsed<T>;
  /** Turns an error that is a normal result of this endpoint into its value. */
  readonly recover?: (error: ExchangeError) => { readonly value: T } | undefined;
  /** The error that a valid reply under a success status tells: a command it answers is rejected. */
  readonly refusal?: (value: T) => ExchangeError | undefined;
  /** Sent once even where the nonce was refused: were that a mistake, nothing would stop a second effect. */
  readonly sendOnce?: true;
  /** An empty body under a 2xx status is a success. */
  readonly emptyAllowed?: boolean;
  /** Takes out more than the client's secrets. */
  readonly redact?: Redact;
}

/** A slot, and the nonce where one is needed. */
interface Turn {
  readonly ticket: NonceTicket | undefined;
}

/** Leave to send: a turn and a permit; or why nothing is sent. */
type Admission = Turn | { readonly error: Attempt<never> };

/**
 * Makes calls: waits for nonce and budget, signs, sends, judges the reply. Reads are repeated with jittered
 * exponential backoff until their time is over. A command is sent once; it is sent again only after the
 * exchange refused its nonce, because a refused request has had no effect - and not even then if only the
 * refusal would stand between it and a second effect.
 */
export class Caller {
  readonly #parts: CallerParts;
  readonly #judge: Judge;
  #closed = false;

  constructor(parts: CallerParts) {
    this.#parts = parts;
    this.#judge = new Judge(parts);
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  get callTimeoutMs(): number {
    return this.#parts.callTimeoutMs;
  }

  close(): void {
    this.#closed = true;
  }

  async read<T>(plan: CallPlan<T>): Promise<ReadOutcome<T>> {
    const startedMs = this.#parts.clock.monotonicMs();
    const progress = newProgress();
    const scope = this.#scope(plan);
    let outcome: ReadOutcome<T>;
    try {
      outcome = await this.#readWithin(plan, scope, progress);
    } finally {
      scope.end();
    }
    this.#observe(
      plan,
      progress,
      startedMs,
      outcome.kind,
      outcome.kind === 'failed' ? outcome.error : undefined,
    );
    return outcome;
  }

  async command<T>(plan: CallPlan<T>): Promise<CommandOutcome<T>> {
    const startedMs = this.#parts.clock.monotonicMs();
    const progress = newProgress();
    const scope = this.#scope(plan);
    let outcome: CommandOutcome<T>;
    try {
      let attempt = await this.#attempt(plan, scope, progress);
      while (attempt.kind === 'error' && attempt.after === 'nonce' && plan.sendOnce !== true) {
        attempt = await this.#attempt(plan, scope, progress);
      }
      outcome = this.#commandOutcome(plan, attempt, progress);
    } finally {
      scope.end();
    }
    this.#observe(
      plan,
      progress,
      startedMs,
      outcome.kind,
      outcome.kind === 'accepted' ? undefined : outcome.error,
    );
    return outcome;
  }

  /** Reports a reply that was not as documented. */
  drift(endpoint: Endpoint, kind: 'record' | 'reply' | 'echo', problems: readonly SetAsideRecord[]): void {
    this.#judge.drift(endpoint, kind, problems);
  }

  async #readWithin<T>(plan: CallPlan<T>, scope: CallScope, progress: Progress): Promise<ReadOutcome<T>> {
    const { retry } = this.#parts;
    for (let failures = 0; ; ) {
      const attempt = await this.#attempt(plan, scope, progress);
      if (attempt.kind === 'ok') {
        return { kind: 'ok', value: attempt.value, timing: this.#timing(attempt.reply, progress) };
      }
      const { error, after } = attempt;
      if (after === 'nonce' || after === 'preempted') continue;
      failures += 1;
      const failed: ReadOutcome<T> = { kind: 'failed', error, attempts: progress.attempts };
      if (after === 'stop' || failures >= retry.maxAttempts) return failed;
      const delayMs = Math.max(this.#backoffMs(failures), error.retryAfterMs ?? 0);
      if (delayMs >= scope.remainingMs()) return failed;
      await scope.sleep(delayMs);
    }
  }

  #commandOutcome<T>(plan: CallPlan<T>, attempt: Attempt<T>, progress: Progress): CommandOutcome<T> {
    if (attempt.kind === 'ok') {
      const refusal = plan.refusal?.(attempt.value);
      if (refusal !== undefined) return { kind: 'rejected', error: refusal };
      return { kind: 'accepted', value: attempt.value, timing: this.#timing(attempt.reply, progress) };
    }
    return { kind: attempt.error.effect === 'none' ? 'rejected' : 'unknown', error: attempt.error };
  }

  async #attempt<T>(plan: CallPlan<T>, scope: CallScope, progress: Progress): Promise<Attempt<T>> {
    const admitted = this.#admitAtOnce(plan, scope) ?? (await this.#admit(plan, scope, progress));
    if ('error' in admitted) return admitted.error;
    try {
      return await this.#sendWith(admitted.ticket, plan, scope, progress);
    } finally {
      admitted.ticket?.release();
      this.#parts.slots.release();
    }
  }

  /** Admission without waiting, the usual case: nonce and budget are at hand. */
  #admitAtOnce<T>(plan: CallPlan<T>, scope: CallScope): Admission | undefined {
    const { limiter, nonces, slots } = this.#parts;
    const { endpoint } = plan;
    if (this.#closed || scope.isOver() || nonces.mode === 'increasing') return undefined;
    const protective = plan.options?.priority === 'protective';
    if (!slots.takeAtOnce(protective)) return undefined;
    const ticket = endpoint.method === 'POST' ? nonces.takeAtOnce() : undefined;
    const hasNonce = ticket !== undefined || endpoint.method === 'GET';
    // A nonce that is not used after all is no loss; a permit would be.
    if (hasNonce && limiter.acquireAtOnce(endpoint.path, protective)) return { ticket };
    slots.release();
    return undefined;
  }

  /**
   * Waits for a nonce (and with it the lane), a slot and budget. The lane comes before the slot: one request
   * of it is in flight at a time, and those that wait for it must not keep slots. Nothing is held while
   * budget is waited for.
   */
  async #admit<T>(plan: CallPlan<T>, scope: CallScope, progress: Progress): Promise<Admission> {
    const { limiter, slots } = this.#parts;
    const { endpoint } = plan;
    const protective = plan.options?.priority === 'protective';
    for (;;) {
      const stopped = this.#unsent(plan, scope);
      if (stopped !== undefined) return { error: stopped };
      const turn = await this.#turn(endpoint, protective, scope);
      if (turn === undefined) continue;
      const permission = await scope.within(limiter.acquire(endpoint.path, protective));
      const granted = permission?.kind === 'granted';
      if (granted && !this.#closed && !scope.isOver() && turn.ticket?.isCurrent() !== false) return turn;
      turn.ticket?.release();
      slots.release();
      if (permission === undefined || granted) continue;
      const waitMs = permission.retryInMs * (1 + this.#parts.random() * 0.1);
      if (waitMs >= scope.remainingMs()) return { error: stop(finding('rateBudgetSpent', endpoint.id)) };
      progress.budgetWaitMs += waitMs;
      await scope.sleep(waitMs);
    }
  }

  /** Takes a slot and the nonce, if one is needed; neither when the call is over first. */
  async #turn(endpoint: Endpoint, protective: boolean, scope: CallScope): Promise<Turn | undefined> {
    const { nonces, slots } = this.#parts;
    const isPost = endpoint.method === 'POST';
    const laneFirst = nonces.mode === 'increasing';
    if (!laneFirst && !(await slots.take(protective, scope))) return undefined;
    const ticket = isPost ? await nonces.take({ kind: endpoint.kind, protective, scope }) : undefined;
    const hasNonce = !isPost || ticket !== undefined;
    if (hasNonce && (!laneFirst || (await slots.take(protective, scope)))) return { ticket };
    ticket?.release();
    if (!laneFirst) slots.release();
    return undefined;
  }

  /** A call that ends before anything was sent. */
  #unsent<T>(plan: CallPlan<T>, scope: CallScope): Attempt<never> | undefined {
    const { id } = plan.endpoint;
    if (this.#closed) return stop(finding('clientClosed', id));
    if (!scope.isOver()) return undefined;
    return stop(finding(scope.cancelled ?? 'timeout', id, { effect: 'none' }));
  }

  async #sendWith<T>(
    ticket: NonceTicket | undefined,
    plan: CallPlan<T>,
    scope: CallScope,
    progress: Progress,
  ): Promise<Attempt<T>> {
    const { transport, baseUrls } = this.#parts;
    const { endpoint } = plan;
    const baseUrlIndex = baseUrls.pick(endpoint.kind);
    const timeoutMs = Math.min(this.#parts.attemptTimeoutMs, Math.max(1, scope.remainingMs()));
    progress.attempts += 1;
    progress.baseUrlIndex = baseUrlIndex;
    const { method, path } = endpoint;
    const signed = ticket === undefined ? UNSIGNED : this.#signed(plan, ticket.nonce);
    const flight = transport.send({ baseUrlIndex, method, path, ...signed, timeoutMs }, scope);
    if (endpoint.kind === 'read') ticket?.onPreempt(() => flight.end('preempted'));
    const result = await flight.result;
    ticket?.onPreempt(undefined);
    if (result.kind === 'failure') return this.#judge.failure(plan, scope, result, baseUrlIndex);
    const attempt = this.#judge.reply(plan, result, progress);
    if (isIll(endpoint, result.status, attempt)) baseUrls.failed(baseUrlIndex);
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

  #backoffMs(failures: number): number {
    const { retry, random } = this.#parts;
    const ceiling = Math.min(retry.maxBackoffMs, retry.firstBackoffMs * 2 ** (failures - 1));
    return ceiling / 2 + (random() * ceiling) / 2;
  }

  #timing(reply: WireReply, progress: Progress): ReplyTiming {
    const serverDateMs = this.#judge.date(reply.date);
    return {
      sentAtMs: reply.sentAtMs,
      receivedAtMs: reply.receivedAtMs,
      ...(serverDateMs === undefined ? {} : { serverDateMs }),
      attempts: progress.attempts,
    };
  }

  #scope<T>(plan: CallPlan<T>): CallScope {
    const { clock, callTimeoutMs } = this.#parts;
    return new CallScope(clock, plan.options?.timeoutMs ?? callTimeoutMs, plan.options?.signal);
  }

  #observe<T>(
    plan: CallPlan<T>,
    progress: Progress,
    startedMs: number,
    outcome: 'ok' | 'failed' | 'accepted' | 'rejected' | 'unknown',
    error: ExchangeError | undefined,
  ): void {
    const { observer, clock } = this.#parts;
    if (observer.onCall === undefined) return;
    const { nonceRepeats: _, baseUrlIndex, ...counts } = progress;
    const event = {
      endpoint: plan.endpoint.id,
      outcome,
      durationMs: clock.monotonicMs() - startedMs,
      ...counts,
      ...(baseUrlIndex === undefined ? {} : { baseUrlIndex }),
      ...(error === undefined ? {} : { error: error.name }),
    };
    safely(() => observer.onCall?.(event));
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

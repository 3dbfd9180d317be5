import type { Clock, Random, Timers } from '../../core/ports/clock.ts';
import type {
  CommandOutcome,
  ExchangeError,
  ReadOutcome,
  ReplyTiming,
  SetAsideRecord,
} from '../../core/ports/exchange.ts';
import type { Endpoint } from '../endpoints.ts';
import { blockMsOf } from '../limits/limiter.ts';
import type { Slots } from '../limits/slots.ts';
import type { NonceTicket } from '../nonce/nonce-mutex.ts';
import type { CallPlan } from './call-plan.ts';
import { CallScope } from './call-scope.ts';
import { isOnTheWay } from './error-catalogue.ts';
import { finding } from './errors.ts';
import { type Attempt, Judge, type JudgeParts, newProgress, type Progress, stop } from './judge.ts';
import { safely } from './observer.ts';
import { Sender, type SenderParts } from './sender.ts';
import type { WireReply } from './transport.ts';

export interface RetrySettings {
  /** Most failed attempts of one read; a refused nonce or preemption by an urgent request does not count. Default 5. */
  readonly maxAttempts: number;
  /** Wait before the first retry; it doubles. Default 100. */
  readonly firstBackoffMs: number;
  /** Longest wait between two attempts; default 5000. */
  readonly maxBackoffMs: number;
}

export interface CallerParts extends SenderParts, JudgeParts {
  readonly slots: Slots;
  readonly random: Random;
  readonly timers: Timers;
  readonly callTimeoutMs: number;
  readonly retry: RetrySettings;
}

/** A slot, and a nonce if the endpoint needs one. */
interface Turn {
  readonly ticket: NonceTicket | undefined;
}

/** Admitted to send, with turn and permit, or why nothing is sent. */
type Admission = Turn | { readonly error: Attempt<never> };

/** Waits for budget are longer by up to this share, so that callers do not all return at once. */
const WAIT_JITTER = 0.1;

const spent = ({ id }: Endpoint): Admission => ({ error: stop(finding('rateBudgetSpent', id)) });

/**
 * Makes calls: waits for nonce and budget, signs, sends, judges the reply. Reads are repeated with jittered exponential
 * backoff until their time is over. A command is repeated only after a refused nonce, which has no effect, and only if
 * something other than that refusal prevents a second effect (`CallPlan.sendOnce`).
 */
export class Caller {
  readonly #parts: CallerParts;
  readonly #judge: Judge;
  readonly #sender: Sender;
  /** By path: when this client may ask again after the exchange rate-limited one of its calls. */
  readonly #lastInLine = new Map<string, number>();
  #closed = false;

  constructor(parts: CallerParts) {
    this.#parts = parts;
    this.#judge = new Judge(parts);
    this.#sender = new Sender(parts, this.#judge);
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

  /** Fetches nonces and a permit before a protective call needs them; in `increasing` mode only the permit. */
  prefetch({ path }: Endpoint): void {
    if (this.#closed) return;
    const { limiter, nonces } = this.#parts;
    nonces.prefetch();
    limiter.prefetch(path);
  }

  async read<T>(plan: CallPlan<T>): Promise<ReadOutcome<T>> {
    const startedMs = this.#parts.clock.monotonicMs();
    const progress = newProgress();
    const scope = this.#scope(plan, startedMs);
    let outcome: ReadOutcome<T>;
    try {
      outcome = await this.#readUntil(plan, scope, progress);
    } finally {
      scope.end();
    }
    this.#observe(plan, progress, startedMs, outcome);
    return outcome;
  }

  async command<T>(plan: CallPlan<T>): Promise<CommandOutcome<T>> {
    const startedMs = this.#parts.clock.monotonicMs();
    const progress = newProgress();
    const scope = this.#scope(plan, startedMs);
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
    this.#observe(plan, progress, startedMs, outcome);
    return outcome;
  }

  drift(endpoint: Endpoint, kind: 'record' | 'reply' | 'echo', problems: readonly SetAsideRecord[]): void {
    this.#judge.drift(endpoint, kind, problems);
  }

  /** Repeats the read until it succeeds, or until time or attempts run out. */
  async #readUntil<T>(plan: CallPlan<T>, scope: CallScope, progress: Progress): Promise<ReadOutcome<T>> {
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
      // Urgent calls may go on before a gateway's Retry-After is over, at the limiter's pace.
      const isUrgent = (plan.options?.priority ?? 'normal') !== 'normal';
      const askedMs = error.gateway === true && isUrgent ? 0 : (error.retryAfterMs ?? 0);
      const delayMs = Math.max(this.#backoffMs(failures), askedMs);
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
    const admitted = await this.#admit(plan, scope, progress);
    if ('error' in admitted) return admitted.error;
    const attempt = await this.#send(admitted, plan, scope, progress);
    if (attempt.kind === 'error') this.#standBack(plan.endpoint, attempt.error);
    return attempt;
  }

  /**
   * Makes this client wait longer than the others after its call was rate-limited. The limit blocks every client of
   * the address. The others wait up to `WAIT_JITTER` longer than they must, and must get their turn before this client
   * can cause the next refusal.
   */
  #standBack({ path }: Endpoint, { name, gateway, retryAfterMs }: ExchangeError): void {
    if (name !== 'rateLimited' || gateway === true) return;
    const { clock } = this.#parts;
    this.#lastInLine.set(path, clock.monotonicMs() + blockMsOf(retryAfterMs) * (1 + 2 * WAIT_JITTER));
  }

  /**
   * Waits for a nonce (with its mutex), a slot and budget. The mutex comes before the slot, so that calls that wait for
   * it hold no slot. A call that waits for budget holds nothing.
   */
  async #admit<T>(plan: CallPlan<T>, scope: CallScope, progress: Progress): Promise<Admission> {
    const { limiter, slots } = this.#parts;
    const { endpoint } = plan;
    const { priority = 'normal' } = plan.options ?? {};
    const protective = priority === 'protective';
    for (;;) {
      const stopped = this.#unsent(plan, scope);
      if (stopped !== undefined) return { error: stopped };
      const lastMs = protective ? 0 : (this.#lastInLine.get(endpoint.path) ?? 0);
      // Rounded up: an inexact clock may never reach the last fraction.
      const behindMs = Math.ceil(lastMs - this.#parts.clock.monotonicMs());
      if (behindMs > 0) {
        if (behindMs >= scope.remainingMs()) return spent(endpoint);
        progress.budgetWaitMs += behindMs;
        await scope.sleep(behindMs);
        continue;
      }
      const turn = await this.#turn(endpoint, protective, scope);
      if (turn === undefined) continue;
      const permission = await scope.within(limiter.acquire(endpoint.path, priority));
      const granted = permission?.kind === 'granted';
      if (granted && !this.#closed && !scope.isOver() && turn.ticket?.isCurrent() !== false) return turn;
      turn.ticket?.release();
      slots.release();
      if (permission === undefined || granted) continue;
      const waitMs = permission.retryInMs * (1 + this.#parts.random() * WAIT_JITTER);
      if (waitMs >= scope.remainingMs()) return spent(endpoint);
      progress.budgetWaitMs += waitMs;
      await scope.sleep(waitMs);
    }
  }

  /** Takes a slot and, if needed, a nonce; takes neither if the call is over first. */
  async #turn(endpoint: Endpoint, protective: boolean, scope: CallScope): Promise<Turn | undefined> {
    const { nonces, slots } = this.#parts;
    const isPost = endpoint.method === 'POST';
    const mutexFirst = nonces.mode === 'increasing';
    if (!mutexFirst && !(await slots.take(protective, scope))) return undefined;
    const ticket = isPost ? await nonces.take({ kind: endpoint.kind, protective, scope }) : undefined;
    const hasNonce = !isPost || ticket !== undefined;
    if (hasNonce && (!mutexFirst || (await slots.take(protective, scope)))) return { ticket };
    ticket?.release();
    if (!mutexFirst) slots.release();
    return undefined;
  }

  /** The result of a call that ends before anything is sent; `undefined` while it may go on. */
  #unsent<T>(plan: CallPlan<T>, scope: CallScope): Attempt<never> | undefined {
    const { id } = plan.endpoint;
    if (this.#closed) return stop(finding('clientClosed', id));
    if (!scope.isOver()) return undefined;
    return stop(finding(scope.cancelled ?? 'timeout', id, { effect: 'none' }));
  }

  /** Sends one request, judges its reply and releases the turn. */
  async #send<T>(turn: Turn, plan: CallPlan<T>, scope: CallScope, progress: Progress): Promise<Attempt<T>> {
    try {
      const { ticket } = turn;
      if (plan.options?.mayLeave?.(this.#sender.timeoutMs(plan, scope)) === false) {
        return stop(finding('aborted', plan.endpoint.id, { effect: 'none' }));
      }
      const flight = this.#sender.depart(ticket, plan, scope, progress);
      if (plan.endpoint.kind === 'read') ticket?.onPreempt(() => flight.end('preempted'));
      const result = await flight.result;
      ticket?.onPreempt(undefined);
      const attempt = this.#sender.arrive(result, plan, scope, progress);
      if (attempt.kind === 'error' && isOnTheWay(attempt.error.name)) this.#notePath(attempt.error, progress);
      return attempt;
    } finally {
      turn.ticket?.release();
      this.#parts.slots.release();
    }
  }

  #notePath({ name: error, message }: ExchangeError, { baseUrlIndex = 0 }: Progress): void {
    const { observer } = this.#parts;
    safely(() => observer.onPathFailure?.({ baseUrlIndex, error, message }));
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

  #scope<T>(plan: CallPlan<T>, startedMs: number): CallScope {
    const { timeoutMs = this.#parts.callTimeoutMs, signal } = plan.options ?? {};
    return new CallScope(this.#parts, { startedMs, timeoutMs, signal });
  }

  #observe<T>(
    plan: CallPlan<T>,
    progress: Progress,
    startedMs: number,
    outcome: ReadOutcome<T> | CommandOutcome<T>,
  ): void {
    const { observer, clock } = this.#parts;
    if (observer.onCall === undefined) return;
    const { nonceRepeats: _, baseUrlIndex, ...counts } = progress;
    const event = {
      endpoint: plan.endpoint.id,
      outcome: outcome.kind,
      durationMs: clock.monotonicMs() - startedMs,
      ...counts,
      ...(baseUrlIndex === undefined ? {} : { baseUrlIndex }),
      ...('error' in outcome ? { error: outcome.error.name } : {}),
    };
    safely(() => observer.onCall?.(event));
  }
}

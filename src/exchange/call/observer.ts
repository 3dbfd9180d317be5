import type { SetAsideRecord } from '../../core/ports/exchange.ts';
import type { EndpointId } from '../endpoints.ts';

export interface CallEvent {
  readonly endpoint: EndpointId;
  readonly outcome: 'ok' | 'failed' | 'accepted' | 'rejected' | 'unknown';
  /** Name from the error catalogue. */
  readonly error?: string;
  readonly durationMs: number;
  /** Requests sent. */
  readonly attempts: number;
  /** The base URL of the last attempt: its place in the list. */
  readonly baseUrlIndex?: number;
  readonly noncesRefused: number;
  /** Requests answered 429 because of a limit. */
  readonly limitsHit: number;
  /** How long the call waited for its own request budget. */
  readonly budgetWaitMs: number;
}

/** A reply that was not as documented: where and what shape, never a value. */
export interface DriftEvent extends SetAsideRecord {
  readonly endpoint: EndpointId;
  readonly kind: 'record' | 'reply' | 'echo';
}

/** A request that did not reach the exchange's judgement: name, certificate, connection, proxy, gateway, own address. */
export interface PathFailure {
  /** The place of the base URL in the list. */
  readonly baseUrlIndex: number;
  /** Name from the error catalogue. */
  readonly error: string;
  /** In words, without secrets. */
  readonly message: string;
}

/** Nothing in an event is secret or personal. What an observer throws is ignored: it must not change a request. */
export interface ExchangeObserver {
  onCall?(event: CallEvent): void;
  onDrift?(event: DriftEvent): void;
  onPathFailure?(event: PathFailure): void;
  /** The shared store of nonces or limits was lost or came back; meanwhile this process goes by itself. */
  onStore?(event: { readonly store: 'nonce' | 'limiter'; readonly available: boolean }): void;
}

export function safely(notify: () => void): void {
  try {
    notify();
  } catch {
    // See ExchangeObserver.
  }
}

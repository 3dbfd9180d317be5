import type { SetAsideRecord } from '../../core/ports/exchange.ts';
import type { ExchangeCall } from '../../core/ports/telemetry.ts';
import type { EndpointId } from '../endpoints.ts';

/**
 * One call. `error`: name from the error catalogue. `attempts`: requests sent. `baseUrlIndex`: list index of the base
 * URL of the last request. `limitsHit`: requests answered 429 because of a limit. `budgetWaitMs`: how long the call
 * waited for its own request budget.
 */
export interface CallEvent extends ExchangeCall {
  readonly endpoint: EndpointId;
}

/** A reply that was not as documented: place and shape, never a value. */
export interface DriftEvent extends SetAsideRecord {
  readonly endpoint: EndpointId;
  readonly kind: 'record' | 'reply' | 'echo';
}

/** A request that the exchange did not process: name, certificate, connection, proxy, gateway or own address. */
export interface PathFailure {
  /** Index of the base URL in the list. */
  readonly baseUrlIndex: number;
  /** Name from the error catalogue. */
  readonly error: string;
  /** Contains no secrets. */
  readonly message: string;
}

/** Events contain nothing secret or personal. Errors of an observer are ignored: they must not affect a request. */
export interface ExchangeObserver {
  onCall?(event: CallEvent): void;
  onDrift?(event: DriftEvent): void;
  onPathFailure?(event: PathFailure): void;
  /** The shared store of nonces or limits was lost or came back; while it is lost, this process works alone. */
  onStore?(event: { readonly store: 'nonce' | 'limiter'; readonly available: boolean }): void;
}

export function safely(notify: () => void): void {
  try {
    notify();
  } catch {
    // See ExchangeObserver.
  }
}

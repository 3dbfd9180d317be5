import type { SetAsideRecord } from '../../core/ports/exchange.ts';
import type { ExchangeCall } from '../../core/ports/telemetry.ts';
import type { EndpointId } from '../endpoints.ts';

/**
 * One call. `error`: name from the error catalogue; `attempts`: requests sent; `baseUrlIndex`: the place in the list of the
 * base URL of the last one; `limitsHit`: those answered 429 because of a limit; `budgetWaitMs`: how long the call waited
 * for its own request budget.
 */
export interface CallEvent extends ExchangeCall {
  readonly endpoint: EndpointId;
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

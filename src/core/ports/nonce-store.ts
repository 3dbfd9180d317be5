/**
 * Nonces of a key and the mutex of its requests, in memory or in Redis; both pass one conformance suite. A rejection
 * means that the store is lost.
 */

/** Sequence values per millisecond: more nonces per ms run ahead of the clock. */
export const SEQUENCES_PER_MS = 10;
/**
 * In a store that others can write to, a value this far ahead of both the caller's floor and the store's clock
 * (milliseconds) is foreign and is overwritten.
 */
export const MOST_AHEAD_MS = 600_000;

/** `count` consecutive values from `first`, never handed out before for the key. */
export interface ReservedBlock {
  readonly first: number;
  readonly count: number;
}

export interface ReservedSequence extends ReservedBlock {
  /** The highest value reserved before, 0 for none; differs from the caller's own last one if others reserved since. */
  readonly previous: number;
}

export type WindowReservation =
  | ({ readonly kind: 'reserved' } & ReservedBlock)
  /** Every millisecond between the bounds is taken; the next one becomes free in `waitMs`. */
  | { readonly kind: 'exhausted'; readonly waitMs: number };

export type MutexEntry =
  | {
      readonly kind: 'granted';
      /** Larger than every sequence value handed out before for the key. */
      readonly sequence: number;
      /** Another client waits for the mutex: leave it soon. */
      readonly contended: boolean;
    }
  /** Another client holds or urgently wants it, for `retryInMs` unless renewed. A holder that gets this has lost it. */
  | { readonly kind: 'busy'; readonly retryInMs: number };

export type MutexRenewal = 'held' | 'urgentWaiting' | 'lost';

export interface MutexRequest {
  /** Unique per waiting process and client, so that no two share the mutex. */
  readonly owner: string;
  /** The sequence value is at least this. */
  readonly floor: number;
  /** A holder that neither renews nor leaves loses the mutex after this time, milliseconds. */
  readonly leaseMs: number;
  /** Goes ahead of all that are not urgent, and asks the holder to abandon a read in flight. */
  readonly urgent: boolean;
}

export interface MutexSignal {
  readonly key: string;
  readonly kind: 'free' | 'urgent';
}

export interface NonceStore {
  /** Reserves `count` values from max(`floor`, last reserved + 1): they always rise, even if the clock steps back. */
  reserve(key: string, floor: number, count: number): Promise<ReservedSequence>;
  /** Reserves up to `count` unused milliseconds within the inclusive bounds as one block; none twice. */
  reserveWindow(key: string, fromMs: number, toMs: number, count: number): Promise<WindowReservation>;
  /** Enters the mutex, or stays in it as its holder, and reserves one sequence value. */
  enterMutex(key: string, request: MutexRequest): Promise<MutexEntry>;
  /** Renews the holder's lease; `lost` if another owner has the mutex. */
  renewMutex(key: string, owner: string, leaseMs: number): Promise<MutexRenewal>;
  /** Leaves the mutex and withdraws an urgent request of the owner; no effect for other owners. */
  leaveMutex(key: string, owner: string): Promise<void>;
  /** Signals that a mutex became free or is wanted urgently; signals may get lost. Returns the unsubscribe function. */
  onMutexSignal(listener: (signal: MutexSignal) => void): () => void;
}

/**
 * Nonces of a key and the mutex of its requests: in memory or in Redis, with one conformance suite. A rejected promise
 * means that the store is lost.
 */

/** Sequence values per millisecond: so many nonces each ms before they run ahead of the clock. */
export const SEQUENCES_PER_MS = 10;
/**
 * In a store that others can write to, a value this far ahead of both the caller's floor and the store's clock,
 * milliseconds, was written by somebody else, and is overwritten.
 */
export const MOST_AHEAD_MS = 600_000;

/** `count` consecutive values starting at `first`, never handed out before for the key. */
export interface ReservedBlock {
  readonly first: number;
  readonly count: number;
}

export interface ReservedSequence extends ReservedBlock {
  /** The highest value reserved before, 0 for none: other than the caller's own last one where others have reserved. */
  readonly previous: number;
}

export type WindowReservation =
  | ({ readonly kind: 'reserved' } & ReservedBlock)
  /** Every millisecond between the bounds is taken; the next one comes free in `waitMs`. */
  | { readonly kind: 'exhausted'; readonly waitMs: number };

export type MutexEntry =
  | {
      readonly kind: 'granted';
      /** Larger than every sequence value handed out before for the key. */
      readonly sequence: number;
      /** Somebody else waits for the mutex: leave it soon. */
      readonly contended: boolean;
    }
  /**
   * Held or urgently wanted by somebody else, until `retryInMs` unless renewed. A holder told so has lost the mutex.
   */
  | { readonly kind: 'busy'; readonly retryInMs: number };

export type MutexRenewal = 'held' | 'urgentWaiting' | 'lost';

export interface MutexRequest {
  /** Who asks: unique per waiting process and client, so that two never share the mutex. */
  readonly owner: string;
  /** The sequence value is at least this. */
  readonly floor: number;
  /** A holder that neither renews nor leaves loses the mutex after this time. */
  readonly leaseMs: number;
  /** Goes ahead of everything that is not urgent, and asks the holder to give up a read in flight. */
  readonly urgent: boolean;
}

export interface MutexSignal {
  readonly key: string;
  readonly kind: 'free' | 'urgent';
}

export interface NonceStore {
  /** Reserves `count` values from max(`floor`, last reserved + 1) on: they rise for ever, whatever the clock does. */
  reserve(key: string, floor: number, count: number): Promise<ReservedSequence>;
  /** Reserves up to `count` unused milliseconds within the bounds, both inclusive, as one block; none twice. */
  reserveWindow(key: string, fromMs: number, toMs: number, count: number): Promise<WindowReservation>;
  /** Enters the mutex, or stays in it as its holder, and reserves one sequence value. */
  enterMutex(key: string, request: MutexRequest): Promise<MutexEntry>;
  /** Prolongs the lease of the holder; `lost` when the mutex is somebody else's by now. */
  renewMutex(key: string, owner: string, leaseMs: number): Promise<MutexRenewal>;
  /** Gives the mutex up, and withdraws an urgent request of the owner; no effect for anybody else. */
  leaveMutex(key: string, owner: string): Promise<void>;
  /** Hints that a mutex came free or is wanted urgently; they may get lost. Returns the way to stop. */
  onMutexSignal(listener: (signal: MutexSignal) => void): () => void;
}

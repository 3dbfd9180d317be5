/**
 * Where nonces of a key are reserved, and the lane in which requests of a key go one after another. One
 * implementation lives in the memory of a process, one in Redis; both pass the same conformance suite.
 * A rejected promise means that the store is lost; expected refusals are data.
 */

/** `count` consecutive values starting at `first`, never handed out before for the key. */
export interface ReservedBlock {
  readonly first: number;
  readonly count: number;
}

export interface ReservedSequence extends ReservedBlock {
  /**
   * The highest value that was reserved before, 0 where the store knows of none: the end of the caller's own last
   * block unless somebody else has reserved since, or the store has lost something.
   */
  readonly previous: number;
}

export type WindowReservation =
  | ({ readonly kind: 'reserved' } & ReservedBlock)
  /** Every millisecond between the bounds is taken; the next one comes free in `waitMs`. */
  | { readonly kind: 'exhausted'; readonly waitMs: number };

export type LaneEntry =
  | {
      readonly kind: 'granted';
      /** Larger than every sequence value handed out before for the key. */
      readonly sequence: number;
      /** Somebody else waits for the lane: leave it soon. */
      readonly contended: boolean;
    }
  /**
   * Held by somebody else or wanted urgently by somebody else, at the latest until `retryInMs` has passed
   * unless it is renewed. A holder that is told so has lost the lane.
   */
  | { readonly kind: 'busy'; readonly retryInMs: number };

export type LaneRenewal = 'held' | 'urgentWaiting' | 'lost';

export interface LaneRequest {
  /** Who asks: unique per waiting process and client, so that two never share the lane. */
  readonly owner: string;
  /** The sequence value is at least this. */
  readonly floor: number;
  /** A holder that neither renews nor leaves loses the lane after this time. */
  readonly leaseMs: number;
  /** Goes ahead of everything that is not urgent, and asks the holder to give up a read in flight. */
  readonly urgent: boolean;
}

export interface LaneSignal {
  readonly key: string;
  readonly kind: 'free' | 'urgent';
}

export interface NonceStore {
  /**
   * Reserves `count` sequence values: the first is max(`floor`, last reserved + 1), so that they rise for
   * ever, also when the caller's clock stepped back.
   */
  reserve(key: string, floor: number, count: number): Promise<ReservedSequence>;
  /**
   * Reserves up to `count` unused milliseconds within `fromMs`..`toMs`, both inclusive, as one block. A
   * value reserved once is not reserved again, also when the bounds move backwards.
   */
  reserveWindow(key: string, fromMs: number, toMs: number, count: number): Promise<WindowReservation>;
  /** Enters the lane, or stays in it as its holder, and reserves one sequence value. */
  enterLane(key: string, request: LaneRequest): Promise<LaneEntry>;
  /** Prolongs the lease of the holder; `lost` when the lane is somebody else's by now. */
  renewLane(key: string, owner: string, leaseMs: number): Promise<LaneRenewal>;
  /** Gives the lane up, and withdraws an urgent wish of the owner; no effect for anybody else. */
  leaveLane(key: string, owner: string): Promise<void>;
  /** Hints that a lane came free or is wanted urgently; they may get lost. Returns the way to stop. */
  onLaneSignal(listener: (signal: LaneSignal) => void): () => void;
}

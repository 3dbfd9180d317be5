import type {
  CreditLineRecord,
  MainBalance,
  PositionList,
  RecordList,
  SpotOrderRecord,
} from '../ports/exchange.ts';
import type { DecimalString } from './decimal.ts';
import type { KnownTransfer } from './transfer.ts';

/** Only `monotonicMs` measures, against the same `clockId`; `wallMs` labels, and bounds times across processes. */
export interface Instant {
  readonly wallMs: number;
  /** From an arbitrary origin; never steps back. */
  readonly monotonicMs: number;
  /** Names the origin of `monotonicMs`: one per process. */
  readonly clockId: string;
}

/**
 * One part of an account. `ageMs`: at the snapshot's `at`, since the last good read was sent, or since watching began.
 */
export type SourceReading<T> =
  | {
      readonly kind: 'read';
      readonly value: T;
      readonly ageMs: number;
      /** Clock of the exchange at the reply (HTTP Date), Unix milliseconds; absent when it sent none. */
      readonly serverDateMs?: number;
      /** For histories: the list is complete back to here, Unix milliseconds of the exchange; absent: for ever. */
      readonly reachesBackToMs?: number;
    }
  | { readonly kind: 'notRead'; readonly ageMs: number };

/** How many records a reply had that failed validation. */
export function countSetAside({
  setAside,
  furtherSetAside = 0,
}: Pick<RecordList<unknown>, 'setAside' | 'furtherSetAside'>): number {
  return setAside.length + furtherSetAside;
}

/** A protective stop of ours, from the daemon's own state. */
export interface OwnStop {
  readonly positionId: string;
  readonly activationPrice: DecimalString;
  readonly amount: DecimalString;
  /** Whether it certainly stands; false while its placement is in doubt. */
  readonly confirmed: boolean;
}

/** One account at one time, plain JSON. No key: not watched. One that cannot be read keeps its last good reading. */
export interface Snapshot {
  readonly version: 1;
  readonly accountId: string;
  readonly at: Instant;
  readonly sources: SnapshotSources;
  readonly ownStops: readonly OwnStop[];
  /** Ids of positions that orders of ours may have closed: they need not be confirmed to be. Absent: none. */
  readonly closedByUs?: readonly string[];
}

export interface SnapshotSources {
  readonly positions?: SourceReading<PositionList>;
  readonly creditLine?: SourceReading<RecordList<CreditLineRecord>>;
  readonly mainBalance?: SourceReading<MainBalance>;
  readonly transfers?: SourceReading<RecordList<KnownTransfer>>;
  readonly spotOrders?: SourceReading<RecordList<SpotOrderRecord>>;
}

/** Milliseconds from one moment to a later one; across processes by the wall clocks, and never negative. */
export function elapsedMs(from: Instant, to: Instant): number {
  const elapsed = from.clockId === to.clockId ? to.monotonicMs - from.monotonicMs : to.wallMs - from.wallMs;
  return Math.max(0, elapsed);
}

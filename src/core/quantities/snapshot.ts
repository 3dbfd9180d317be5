import type {
  CreditLineRecord,
  MainBalance,
  PositionList,
  RecordList,
  SpotOrderRecord,
} from '../ports/exchange.ts';
import type { DecimalString } from './decimal.ts';
import type { KnownTransfer } from './transfer.ts';

/** Only `monotonicMs` measures durations, within one `clockId`; `wallMs` labels, and limits times across processes. */
export interface Instant {
  readonly wallMs: number;
  /** From an arbitrary origin; never steps back. */
  readonly monotonicMs: number;
  /** Identifies the origin of `monotonicMs`: one per process. */
  readonly clockId: string;
}

/** One part of an account. `ageMs`: at the snapshot's `at`, since the last good read was sent or watching began. */
export type SourceReading<T> =
  | {
      readonly kind: 'read';
      readonly value: T;
      readonly ageMs: number;
      /** The exchange's clock at the reply (HTTP Date), Unix milliseconds; absent if it sent none. */
      readonly serverDateMs?: number;
      /** For histories: the list is complete back to this time, Unix milliseconds of the exchange; absent: no limit. */
      readonly reachesBackToMs?: number;
    }
  | { readonly kind: 'notRead'; readonly ageMs: number };

/** Number of records of a reply that failed validation. */
export function countSetAside({
  setAside,
  furtherSetAside = 0,
}: Pick<RecordList<unknown>, 'setAside' | 'furtherSetAside'>): number {
  return setAside.length + furtherSetAside;
}

/** One of our protective stops, from the daemon's own state. */
export interface OwnStop {
  readonly positionId: string;
  readonly activationPrice: DecimalString;
  readonly amount: DecimalString;
  /** True if it certainly stands; false while its placement is in doubt. */
  readonly confirmed: boolean;
}

/** One account at one time, plain JSON. A missing key: not watched. A failed read keeps the last good reading. */
export interface Snapshot {
  readonly version: 1;
  readonly accountId: string;
  readonly at: Instant;
  readonly sources: SnapshotSources;
  readonly ownStops: readonly OwnStop[];
  /** Ids of positions that our orders may have closed; their closure needs no confirmation. Absent: none. */
  readonly closedByUs?: readonly string[];
}

export interface SnapshotSources {
  readonly positions?: SourceReading<PositionList>;
  readonly creditLine?: SourceReading<RecordList<CreditLineRecord>>;
  readonly mainBalance?: SourceReading<MainBalance>;
  readonly transfers?: SourceReading<RecordList<KnownTransfer>>;
  readonly spotOrders?: SourceReading<RecordList<SpotOrderRecord>>;
}

/** Milliseconds from one moment to a later one, never negative; across processes by the wall clocks. */
export function elapsedMs(from: Instant, to: Instant): number {
  const elapsed = from.clockId === to.clockId ? to.monotonicMs - from.monotonicMs : to.wallMs - from.wallMs;
  return Math.max(0, elapsed);
}

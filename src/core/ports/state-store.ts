import type { AuditDraft } from '../audit/audit-record.ts';
import type { Controls, Inbox } from '../controls/controls.ts';
import type { LimitLedger } from '../intents/gate.ts';
import type { AccountLane } from '../lanes/account-lane.ts';
import type { LaneState } from '../lanes/lane-state.ts';
import type { RouteState } from '../lanes/route-requests.ts';
import type { Instant, SnapshotSources } from '../quantities/snapshot.ts';
import type { AccountState } from '../rules/account-state.ts';
import type { ActionRequest } from '../rules/subject.ts';
import type { StoredFigures } from '../view/stored-figures.ts';
import type { HistorySample } from './history-reader.ts';

/**
 * Where everything that has to outlive a process is kept. Accounts fall into fixed buckets, so that an edit of
 * the config moves none of them; a bucket is read with one call and committed with one call that answers per
 * account. One implementation keeps it in Redis, one in the memory of a process; both pass one conformance suite.
 * A rejected promise means that the store is lost (StoreLostError); expected refusals are data.
 */

export const BUCKETS = 64;

/** The bucket of an account, 0 to 63: a function of the id's code units alone, the same for ever. */
export function bucketOf(accountId: string): number {
  // FNV-1a; the last step spreads ids that differ in their last character only.
  let hash = 0x811c9dc5;
  for (let index = 0; index < accountId.length; index++) {
    hash = Math.imul(hash ^ accountId.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) >>> 0) % BUCKETS;
}

/**
 * One uninterrupted history of a bucket. A new one begins when the store is empty, its server was started again
 * or replaced, or it has forgotten a commit of this process (design: store epochs).
 */
export interface StoreEpoch {
  /** Letters and digits, never used twice: part of client order ids. */
  readonly id: string;
  readonly why: EpochStart;
  /** Unix milliseconds of the process that noticed. */
  readonly sinceMs: number;
}

export type EpochStart = 'empty' | 'serverChanged' | 'rolledBack';

/** The parts of an account's state besides its lanes; absent until first committed. */
export interface AccountDocuments {
  readonly evaluation?: AccountState;
  readonly limits?: LimitLedger;
  readonly readings?: StoredReadings;
  readonly requests?: StoredRequests;
  readonly alerts?: StoredAlerts;
  readonly inbox?: Inbox;
  /** Which positions each action concerns. */
  readonly routes?: RouteState;
  /** What concerns all lanes at once. */
  readonly accountLane?: AccountLane;
  /** What people are shown. Nothing is decided by it, and what cannot be read of it is as if it were not there. */
  readonly figures?: StoredFigures;
}

export type DocumentName = keyof AccountDocuments;

/** Readings that are carried over to the next snapshot: what has a slower cadence than the poll. */
export interface StoredReadings {
  readonly version: 2;
  readonly at: Instant;
  readonly sources: SnapshotSources;
}

/** What the last evaluation asked for, for whoever carries it out. */
export interface StoredRequests {
  readonly version: 1;
  readonly active: readonly ActionRequest[];
  /** Whether what is absent has ended. */
  readonly conclusive: boolean;
  readonly atMs: number;
  /** The account of the config that acts in place of this one: both are one account of the exchange. */
  readonly sharedWith?: string;
}

/** What has been said about which episode; the form of an entry is the notifier's. */
export interface StoredAlerts {
  readonly version: 1;
  readonly entries: Readonly<Record<string, unknown>>;
}

/** One account as last read or committed. Immutable: change it by a commit that is based on it. */
export interface StoredAccount {
  readonly accountId: string;
  /** Rises by one with every commit but those of lanes alone; 0: never committed. */
  readonly version: number;
  readonly epoch: StoreEpoch;
  /**
   * True: last committed in an earlier store epoch. A lane whose own `epoch` is not `epoch.id` needs `startEpoch` before
   * anything else.
   */
  readonly isNewEpoch: boolean;
  readonly documents: AccountDocuments;
  /** By market. */
  readonly lanes: ReadonlyMap<string, LaneState>;
  /** As given with the last commit that set it. */
  readonly danger: number;
  /** Opaque to everybody but the store. */
  readonly revision: string;
}

/** An account whose stored state this program must not touch; nothing of it was changed. */
export interface RefusedAccount {
  readonly accountId: string;
  readonly version: number;
  /** `evaluation`, `lane:BTC_PERP`, ... or `header`. */
  readonly document: string;
  readonly code: 'DOCUMENT_NEWER' | 'DOCUMENT_UNREADABLE' | 'DOCUMENT_UNKNOWN' | 'AUDIT_CONTRADICTS';
  /** Names place and cure. */
  readonly message: string;
}

export type AccountLoad =
  | { readonly kind: 'loaded'; readonly account: StoredAccount }
  | { readonly kind: 'refused'; readonly problem: RefusedAccount };

/** A bucket as read at one moment. */
export interface BucketView {
  readonly bucket: number;
  readonly epoch: StoreEpoch;
  /** Every control that concerns the bucket; see `controlsInForce`. */
  readonly controls: Controls;
  /** Most endangered first. */
  readonly accounts: readonly AccountLoad[];
}

export interface TakeDueRequest {
  /** Of this bucket, as configured; others are left alone, and one that was never committed is due. */
  readonly accountIds: readonly string[];
  /**
   * Whatever is handed out is due again after this time unless committed before: long enough for a poll, short
   * enough for the account not to be left alone when the process dies.
   */
  readonly claimMs: number;
  /**
   * An account due later than this from now is due: the clock that set it was wrong. At least the calm cadence. All
   * are due when the store's clock has stepped back since it was last asked.
   */
  readonly maxAheadMs: number;
}

export interface DueView extends BucketView {
  /** Until the next account of the request becomes due, claimed ones included; null: there is none. */
  readonly nextDueInMs: number | null;
  /** The store's clock when it answered, Unix milliseconds. */
  readonly storeMs: number;
}

/**
 * A change of one account, all of it or nothing. It is refused when somebody else has changed what it changes: each lane
 * has a version, and so has the rest of the account. One under the lease of all lanes takes the versions of all of them.
 */
export interface AccountCommit {
  /** What the change was computed from. */
  readonly base: StoredAccount;
  /** Absent: unchanged. `null`: removed. What is identical is not written again. */
  readonly documents?: { readonly [K in DocumentName]?: NonNullable<AccountDocuments[K]> | null };
  readonly lanes?: ReadonlyMap<string, LaneState | null>;
  /** Lanes of `lanes` that are left out, with their events, where somebody else has changed them: the rest is made. */
  readonly separable?: ReadonlySet<string>;
  /** Events of a lane in `lanes` go into its chain, all others into the account's. */
  readonly audit?: readonly AuditDraft[];
  /** Evaluations whose decisions only repeated: counted until the next record is chained. */
  readonly quiet?: number;
  /** When the account is due next; absent: as it was (a claim stands). */
  readonly due?: { readonly inMs: number; readonly danger: number };
  /** Written at the store's own rate, for all subjects of the account at once; dropped in between. */
  readonly history?: readonly HistorySample[];
  /** Refused as `leaseLost` unless this lease is still held: whoever writes about a step holds its lane. */
  readonly lease?: LaneLease;
  /** Refused as `controlsChanged` unless these are still the controls (by `stamp`). */
  readonly controls?: Controls;
}

/** For everything but `committed` nothing was changed: load again and compute again. */
export type CommitResult =
  | {
      readonly kind: 'committed';
      /** With the newest of everything else that this process knows of it. */
      readonly account: StoredAccount;
      /** Markets of separable lanes that stayed as somebody else has left them. */
      readonly leftOut: readonly string[];
    }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'epochChanged' }
  | { readonly kind: 'controlsChanged'; readonly controls: Controls }
  | { readonly kind: 'leaseLost' }
  /** What is stored contradicts itself; the account stays as it is until a person has looked. */
  | { readonly kind: 'refused'; readonly problem: RefusedAccount };

/** The right to act in one market of an account, or (`market: null`) in all of them. */
export interface LaneLease {
  readonly accountId: string;
  readonly market: string | null;
  readonly owner: string;
  /** Larger than that of every lease of this account before. */
  readonly token: number;
}

export type LeaseReply =
  | { readonly kind: 'held'; readonly lease: LaneLease }
  /** Held by somebody else, or promised to a holder of all lanes; at the latest until `retryInMs` unless renewed. */
  | { readonly kind: 'busy'; readonly by: string; readonly retryInMs: number };

/** `wanted`: held, but an account-wide action waits for it: finish the step and release. */
export type LeaseRenewal = 'held' | 'wanted' | 'lost';

/**
 * One lane per account and market at a time, across processes. A holder that stops renewing loses the lane when
 * its lease ends; a commit that names a lost lease is refused, so it cannot go on unknowingly.
 */
export interface LaneLeases {
  /**
   * `market: null` takes all lanes: while it waits for their holders, nobody gets another one. `owner` names one
   * undertaking (process and job): the same owner gets the lease it holds again.
   */
  acquire(accountId: string, market: string | null, owner: string, leaseMs: number): Promise<LeaseReply>;
  renew(lease: LaneLease, leaseMs: number): Promise<LeaseRenewal>;
  /** Also withdraws a wait for all lanes. No effect for anybody but its holder. */
  release(lease: Pick<LaneLease, 'accountId' | 'market' | 'owner'>): Promise<void>;
}

export interface DiscardRequest {
  /** As in `RefusedAccount.document`; not the header. */
  readonly document: string;
  readonly author: string;
  readonly reason: string;
  readonly atMs: number;
}

export interface ReadOptions {
  /**
   * False: nothing is kept of what is read, so nothing can be committed that is based on it. For whoever only looks,
   * at all accounts one after another.
   */
  readonly remember?: boolean;
}

export interface StateStore {
  readonly leases: LaneLeases;
  /** Takes the accounts of a bucket that are due, claiming them for this caller. One call to the store. */
  takeDue(bucket: number, request: TakeDueRequest): Promise<DueView>;
  /**
   * Claims accounts that this caller has taken for `claimMs` from now on; what has become due meanwhile stays due.
   * Only while nothing of them has been committed since: a commit says itself when they are due.
   */
  holdClaims(bucket: number, accountIds: readonly string[], claimMs: number): Promise<void>;
  /** Reads accounts of one bucket, due or not, without claiming them. One call to the store. */
  readBucket(bucket: number, accountIds: readonly string[], options?: ReadOptions): Promise<BucketView>;
  /** Reads one account, with the controls that concern it. */
  read(accountId: string): Promise<{ readonly load: AccountLoad; readonly controls: Controls }>;
  /** Commits each account by itself, in the order given; one call per bucket concerned. */
  commit(changes: readonly AccountCommit[]): Promise<readonly CommitResult[]>;
  /** Makes accounts due at once (or later), e.g. because somebody wants to be heard. */
  makeDue(accountId: string, inMs: number): Promise<void>;
  /** What this process last saw of an account, without asking: all there is while the store is lost. */
  remembered(accountId: string): StoredAccount | undefined;
  /** Removes one document that this program cannot read; its text goes to the audit. Resolves to false if absent. */
  discard(accountId: string, request: DiscardRequest): Promise<boolean>;
  /** Removes everything about an account, its audit included: for accounts that are gone for good. */
  forget(accountId: string): Promise<void>;
}

/** The store cannot be reached or does not answer; a commit may or may not have been made: read again. */
export class StoreLostError extends Error {
  readonly code = 'STORE_LOST';
  constructor(doing: string, cause: unknown) {
    super(`the state store did not answer while ${doing}`, { cause });
    this.name = 'StoreLostError';
  }
}

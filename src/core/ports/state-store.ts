import type { Approvals } from '../approvals/question.ts';
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
 * What has to outlive a process. Accounts fall into fixed buckets, each read and committed with one call: in Redis or
 * in memory, with one conformance suite. A rejection means that the store is lost (StoreLostError).
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

/** One uninterrupted history of a bucket; a new one begins when the store is empty, replaced, or has forgotten. */
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
  readonly accountLane?: AccountLane;
  /** What people are asked before it is done. */
  readonly approvals?: Approvals;
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
  /** Last committed in an earlier store epoch. A lane with another `epoch` needs `startEpoch` before anything else. */
  readonly isNewEpoch: boolean;
  readonly documents: AccountDocuments;
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
  /** What is handed out is due again after this time unless committed: a process may die. */
  readonly claimMs: number;
  /**
   * An account due later than this is due: the clock that set it was wrong. All are when the store's clock stepped
   * back.
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
 * All of it or nothing; refused when somebody else has changed the same: each lane has a version, the rest another one.
 * The lease of all lanes takes all versions.
 */
export interface AccountCommit {
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

/** One lane per account and market at a time, across processes. A commit that names a lost lease is refused. */
export interface LaneLeases {
  /**
   * `market: null` takes all lanes: meanwhile nobody gets another one. The same owner gets the lease it holds again.
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
  /** False: nothing is remembered, so nothing can be committed on it; for looking at all accounts. */
  readonly remember?: boolean;
}

export interface StateStore {
  readonly leases: LaneLeases;
  /** Takes the accounts of a bucket that are due, claiming them for this caller. One call to the store. */
  takeDue(bucket: number, request: TakeDueRequest): Promise<DueView>;
  /** Claims accounts for `claimMs` from now on, unless something of them has been committed since. */
  holdClaims(bucket: number, accountIds: readonly string[], claimMs: number): Promise<void>;
  /** Reads accounts of one bucket, due or not, without claiming them. One call to the store. */
  readBucket(bucket: number, accountIds: readonly string[], options?: ReadOptions): Promise<BucketView>;
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

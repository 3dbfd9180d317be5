import { z } from 'zod';
import type { Approvals } from '../approvals/question.ts';
import type { AuditEvent } from '../audit/audit-event.ts';
import type { AuditDraft } from '../audit/audit-record.ts';
import type { Controls, Inbox } from '../controls/controls.ts';
import type { LimitLedger } from '../intents/gate.ts';
import type { AccountLane } from '../lanes/account-lane.ts';
import type { LaneState } from '../lanes/lane-state.ts';
import type { RouteState } from '../lanes/route-requests.ts';
import type { Instant, SnapshotSources } from '../quantities/snapshot.ts';
import type { AccountState } from '../rules/account-state.ts';
import type { ActionRequest } from '../rules/subject.ts';
import { type OutputOf, timeMs } from '../schema/parts.ts';
import type { StoredFigures } from '../view/stored-figures.ts';
import type { HistorySample } from './history-reader.ts';

/**
 * State that outlives a process, in Redis or in memory; both pass one conformance suite. Accounts are spread over fixed
 * buckets; each bucket is read or committed with one call. A rejection means that the store is lost (StoreLostError).
 */

export const BUCKETS = 64;

/** The bucket of an account, 0 to 63. Depends only on the code units of the id and never changes. */
export function bucketOf(accountId: string): number {
  // FNV-1a; the last step spreads ids that differ only in their last character.
  let hash = 0x811c9dc5;
  for (let index = 0; index < accountId.length; index++) {
    hash = Math.imul(hash ^ accountId.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) >>> 0) % BUCKETS;
}

/** One uninterrupted history of a bucket; a new one starts if the store is empty, was replaced, or lost data. */
export const epochSchema = z.strictObject({
  /** Letters and digits, never reused: part of client order ids. */
  id: z.string(),
  why: z.enum(['empty', 'serverChanged', 'rolledBack']),
  /** By the process that noticed. */
  sinceMs: timeMs(),
});
export type StoreEpoch = OutputOf<typeof epochSchema>;
export type EpochStart = StoreEpoch['why'];

/** The parts of an account's state other than its lanes; absent until first committed. */
export interface AccountDocuments {
  readonly evaluation?: AccountState;
  readonly limits?: LimitLedger;
  readonly readings?: StoredReadings;
  readonly requests?: StoredRequests;
  readonly alerts?: StoredAlerts;
  readonly inbox?: Inbox;
  /** The positions that each action concerns. */
  readonly routes?: RouteState;
  readonly accountLane?: AccountLane;
  /** Questions to people about actions that need approval. */
  readonly approvals?: Approvals;
  /** Figures shown to people. Nothing is decided by them, and unreadable parts count as absent. */
  readonly figures?: StoredFigures;
}

export type DocumentName = keyof AccountDocuments;

/** Readings carried over to the next snapshot, of sources that are read less often than polls happen. */
export interface StoredReadings {
  readonly version: 2;
  readonly at: Instant;
  readonly sources: SnapshotSources;
}

/** Actions requested by the last evaluation. */
export interface StoredRequests {
  readonly version: 1;
  readonly active: readonly ActionRequest[];
  /** Whether an action's absence means that it ended. */
  readonly conclusive: boolean;
  readonly atMs: number;
  /** The configured account that acts in place of this one: both are the same account of the exchange. */
  readonly sharedWith?: string;
}

/** Notices already given, by episode; the format of an entry is the notifier's. */
export interface StoredAlerts {
  readonly version: 1;
  readonly entries: Readonly<Record<string, unknown>>;
  /** Alarms that runs of lanes raised since the last poll. Absent: none. */
  readonly raised?: readonly AuditEvent[];
}

/** One account as last read or committed. Immutable; changed by a commit based on it. */
export interface StoredAccount {
  readonly accountId: string;
  /** Incremented by every commit, except of lanes alone; 0: never committed. */
  readonly version: number;
  readonly epoch: StoreEpoch;
  /** Last committed in an earlier store epoch. A lane with another `epoch` needs `startEpoch` before anything else. */
  readonly isNewEpoch: boolean;
  readonly documents: AccountDocuments;
  readonly lanes: ReadonlyMap<string, LaneState>;
  /** From the last commit that set it. */
  readonly danger: number;
  /** Opaque outside of the store. */
  readonly revision: string;
}

/** An account whose stored state this program must not touch; nothing was changed. */
export interface RefusedAccount {
  readonly accountId: string;
  readonly version: number;
  /** `evaluation`, `lane:BTC_PERP`, ... or `header`. */
  readonly document: string;
  readonly code: 'DOCUMENT_NEWER' | 'DOCUMENT_UNREADABLE' | 'DOCUMENT_UNKNOWN' | 'AUDIT_CONTRADICTS';
  /** States where the problem is and how to fix it. */
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
  /** Configured accounts of this bucket; others are ignored. An account that was never committed is due. */
  readonly accountIds: readonly string[];
  /** Accounts taken become due again after this time unless committed, in case the process dies. */
  readonly claimMs: number;
  /**
   * An account due later than this counts as due, because its time was set by a wrong clock. If the store's clock
   * stepped back, all do.
   */
  readonly maxAheadMs: number;
}

export interface DueView extends BucketView {
  /** Time until the next requested account is due, including claimed ones; null: none. */
  readonly nextDueInMs: number | null;
  /** The store's clock when it answered, Unix milliseconds. */
  readonly storeMs: number;
}

/**
 * Atomic. Rejected as a conflict if the same data were changed meanwhile: each lane has its own version, the rest
 * another. A lease on all lanes covers all versions.
 */
export interface AccountCommit {
  readonly base: StoredAccount;
  /** Absent: unchanged. `null`: removed. Identical documents are not written again. */
  readonly documents?: { readonly [K in DocumentName]?: NonNullable<AccountDocuments[K]> | null };
  readonly lanes?: ReadonlyMap<string, LaneState | null>;
  /** Lanes of `lanes` that are left out, with their events, if they were changed meanwhile; the rest is committed. */
  readonly separable?: ReadonlySet<string>;
  /** Events of lanes in `lanes` go to their chains, all others to the account's. */
  readonly audit?: readonly AuditDraft[];
  /** Evaluations that only repeated their decisions; counted until the next record is chained. */
  readonly quiet?: number;
  /** When the account is due next; absent: unchanged (a claim stands). */
  readonly due?: { readonly inMs: number; readonly danger: number };
  /** Stored at the store's own rate, for all subjects at once; samples in between are dropped. */
  readonly history?: readonly HistorySample[];
  /** The commit fails with `leaseLost` unless this lease is still held: who writes about a step must hold its lane. */
  readonly lease?: LaneLease;
  /** The commit fails with `controlsChanged` unless these are still the controls (by `stamp`). */
  readonly controls?: Controls;
}

/** Unless `committed`, nothing was changed: load and compute again. */
export type CommitResult =
  | {
      readonly kind: 'committed';
      /** Includes the newest state of everything else that this process knows of it. */
      readonly account: StoredAccount;
      /** Markets of separable lanes that were left out because they had been changed meanwhile. */
      readonly leftOut: readonly string[];
    }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'epochChanged' }
  | { readonly kind: 'controlsChanged'; readonly controls: Controls }
  | { readonly kind: 'leaseLost' }
  /** The stored state contradicts itself; the account stays unchanged until a person has looked. */
  | { readonly kind: 'refused'; readonly problem: RefusedAccount };

/** The right to act in one market of an account, or (`market: null`) in all of them. */
export interface LaneLease {
  readonly accountId: string;
  readonly market: string | null;
  readonly owner: string;
  /** Larger than the token of every earlier lease of this account. */
  readonly token: number;
}

export type LeaseReply =
  | { readonly kind: 'held'; readonly lease: LaneLease }
  /** Held by another owner, or reserved for a holder of all lanes, until `retryInMs` at the latest unless renewed. */
  | { readonly kind: 'busy'; readonly by: string; readonly retryInMs: number };

/** `wanted`: still held, but an account-wide action waits for it: finish the step and release. */
export type LeaseRenewal = 'held' | 'wanted' | 'lost';

/** Locks lanes across processes, by account and market. A commit that names a lost lease fails. */
export interface LaneLeases {
  /** `market: null` takes all lanes: no other lease is granted meanwhile. An owner that asks again keeps its lease. */
  acquire(accountId: string, market: string | null, owner: string, leaseMs: number): Promise<LeaseReply>;
  renew(lease: LaneLease, leaseMs: number): Promise<LeaseRenewal>;
  /** Also withdraws a wait for all lanes. No effect unless called by its holder. */
  release(lease: Pick<LaneLease, 'accountId' | 'market' | 'owner'>): Promise<void>;
}

export interface DiscardRequest {
  /** As in `RefusedAccount.document`, except the header. */
  readonly document: string;
  readonly author: string;
  readonly reason: string;
  readonly atMs: number;
}

export interface ReadOptions {
  /** False: the process remembers nothing of it, so nothing can be committed on it. For scans of all accounts. */
  readonly remember?: boolean;
}

export interface StateStore {
  readonly leases: LaneLeases;
  /** Takes and claims the due accounts of a bucket for this caller, in one call to the store. */
  takeDue(bucket: number, request: TakeDueRequest): Promise<DueView>;
  /** Extends claims to `claimMs` from now, except of accounts that were committed meanwhile. */
  holdClaims(bucket: number, accountIds: readonly string[], claimMs: number): Promise<void>;
  /** Reads accounts of one bucket, due or not, without claiming them, in one call to the store. */
  readBucket(bucket: number, accountIds: readonly string[], options?: ReadOptions): Promise<BucketView>;
  read(accountId: string): Promise<{ readonly load: AccountLoad; readonly controls: Controls }>;
  /** Commits each account separately, in the given order; one call per bucket. */
  commit(changes: readonly AccountCommit[]): Promise<readonly CommitResult[]>;
  /** Makes an account due after `inMs`, for example at once when an operator order waits. */
  makeDue(accountId: string, inMs: number): Promise<void>;
  /** The last state of an account seen by this process, without a call: all there is while the store is lost. */
  remembered(accountId: string): StoredAccount | undefined;
  /** Removes an unreadable document and stores its text in the audit. Resolves to false if it is absent. */
  discard(accountId: string, request: DiscardRequest): Promise<boolean>;
  /** Removes all data of an account, including its audit; for accounts that are gone for good. */
  forget(accountId: string): Promise<void>;
}

/** The store is unreachable or does not answer. A commit may have been made: read again. */
export class StoreLostError extends Error {
  readonly code = 'STORE_LOST';
  constructor(doing: string, cause: unknown) {
    super(`the state store did not answer while ${doing}`, { cause });
    this.name = 'StoreLostError';
  }
}

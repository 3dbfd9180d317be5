import type { Authored, Control, OperatorOrder } from '../controls/controls.ts';
import type { EvaluateOptions, Evaluation, EvaluationInputs } from '../rules/evaluate.ts';
import type { Kinds } from '../schema/parts.ts';
import type { AuditEvent } from './audit-event.ts';

/**
 * The audit is append-only: each record is written by the commit that it explains. The account and each lane have a
 * hash chain; every poll folds the heads of the lanes' chains into the account's. A hash covers the canonical JSON of
 * its record, which contains the previous hash.
 */

/** Content of a record; plain JSON. Secret values are replaced before hashing. */
export type AuditDraft = DecisionDraft | OtherDraft;
type OtherDraft = Kinds<{
  /** An action of a lane, or its outcome at the exchange. */
  action: { event: AuditEvent };
  notification: { atMs: number; detail: Detail };
  control: { change: 'put' | 'lifted'; control: Control; by: Authored };
  operatorOrder: { order: OperatorOrder };
  /** Anything else to account for: config loaded or changed, process started, document discarded. */
  note: {
    atMs: number;
    /** From a closed list of the caller, e.g. `configChanged`. */
    about: string;
    words: string;
    detail?: Detail;
    attachments?: Attachments;
  };
}>;

export type Detail = Readonly<Record<string, unknown>>;

/** Stored once by hash, however many records refer to them: for large values that seldom change, such as rules. */
export type Attachments = Readonly<Record<string, unknown>>;

/** An evaluation that changed something, with all its inputs: `evaluate` reproduces it from them. */
export interface DecisionDraft extends Pick<Evaluation, 'transitions' | 'decisions' | 'active'> {
  readonly kind: 'decision';
  readonly atMs: number;
  readonly inputs: DecisionInputs;
}

export interface DecisionInputs extends EvaluationInputs {
  readonly options: EvaluateOptions;
  /** Source of the compiled rules as plain JSON (rule specs, settings, market settings); stored once. */
  readonly rules: unknown;
}

/** Records that the store itself writes. */
export type StoreRecord = Kinds<{
  /** The account's first commit in a new store epoch. */
  epochStarted: { atMs: number; epoch: string; previousEpoch: string | null; why: string };
  /** Records up to `lastSeq` were pruned; the next record follows `lastHash`. */
  checkpoint: {
    atMs: number;
    lastSeq: number;
    lastHash: string;
    /** SHA-256 of the exported lines; null: pruned at the size bound without an export. */
    exportSha256: string | null;
    reason: string;
    /** By market: the same for each lane's chain that was pruned. */
    lanes?: Readonly<Record<string, { readonly lastSeq: number; readonly lastHash: string }>>;
  };
  /** By market: heads of the lanes' chains that grew since they were last folded. */
  lanes: { atMs: number; heads: Readonly<Record<string, ChainHead>> };
}>;

/** The last record of a chain. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

/** Stored records replace large inputs by their hash; `AuditReader.inputs` restores them. */
export type AuditContent = OtherDraft | StoredDecision | StoreRecord;

export interface StoredDecision extends Omit<DecisionDraft, 'inputs'> {
  /** JSON text, which keeps the order of keys and so the exact bytes. */
  readonly inputs: string;
}

export interface AuditRecord {
  readonly version: 1;
  readonly accountId: string;
  /** The lane whose chain contains it; absent: the account's chain. */
  readonly market?: string;
  /** Position in its chain, from 1, without gaps. */
  readonly seq: number;
  /** Unix milliseconds, by the clock of the committing process. */
  readonly atMs: number;
  readonly epoch: string;
  /** Hash of the previous record of the chain; `GENESIS_HASH` for the first. */
  readonly previous: string;
  /** Evaluations since the previous record that only repeated their decisions, and the time of the first of them. */
  readonly quiet: { readonly count: number; readonly sinceMs: number } | null;
  readonly content: AuditContent;
  /** Attachment names and their hashes. */
  readonly attachments: Readonly<Record<string, string>>;
  /** Computed with `operators.key` over all other fields; absent: there was no key. */
  readonly seal?: string;
}

/** A record with its hash: SHA-256, in hex, of the record's canonical JSON (keys sorted, no spaces). */
export interface ChainedRecord {
  /** Number among all records of the account, in commit order; identifies the record. */
  readonly number: number;
  readonly record: AuditRecord;
  readonly hash: string;
  /** The canonical text; exports contain exactly this. */
  readonly text: string;
}

export const GENESIS_HASH = '0'.repeat(64);

/** Chain of operator actions that concern all accounts; not a valid account id. */
export const OPERATOR_CHAIN = '@operators';

/** The recorded inputs of a decision are missing or altered. */
export class AuditInputsError extends Error {
  readonly code = 'AUDIT_INPUTS';
  override name = 'AuditInputsError';
}

export class AuditFormatError extends Error {
  readonly code = 'AUDIT_FORMAT';
  constructor(accountId: string, number: number, found: string) {
    super(
      `audit record ${number} of account ${JSON.stringify(accountId)} has form ${found}; this program reads 1: ` +
        'use the version that wrote it, or look who changed it (breakwater audit verify)',
    );
    this.name = 'AuditFormatError';
  }
}

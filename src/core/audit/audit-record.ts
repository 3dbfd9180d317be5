import type { Authored, Control, OperatorOrder } from '../controls/controls.ts';
import type { Decision, Transition } from '../rules/decision.ts';
import type { EvaluateOptions, EvaluationInputs } from '../rules/evaluate.ts';
import type { ActionRequest } from '../rules/subject.ts';
import type { AuditEvent } from './audit-event.ts';

/**
 * Append-only, by the commit that it explains. One hash chain for the account and one for each lane, whose heads every
 * poll folds into the account's. A hash covers the record's canonical JSON, which names the hash before.
 */

/** What goes into a record; plain JSON. Secret values are replaced before a record is hashed. */
export type AuditDraft =
  | DecisionDraft
  /** What a lane did, or an outcome at the exchange. */
  | { readonly kind: 'action'; readonly event: AuditEvent }
  | { readonly kind: 'notification'; readonly atMs: number; readonly detail: Detail }
  | {
      readonly kind: 'control';
      readonly change: 'put' | 'lifted';
      readonly control: Control;
      readonly by: Authored;
    }
  | { readonly kind: 'operatorOrder'; readonly order: OperatorOrder }
  | {
      /** Config loaded or changed, process started, document discarded: whatever else has to be accounted for. */
      readonly kind: 'note';
      readonly atMs: number;
      /** Closed list at the caller's, e.g. `configChanged`. */
      readonly about: string;
      readonly words: string;
      readonly detail?: Detail;
      readonly attachments?: Attachments;
    };

export type Detail = Readonly<Record<string, unknown>>;

/** Kept once by hash, however many records name them: for what is large and seldom changes, such as rules. */
export type Attachments = Readonly<Record<string, unknown>>;

/** An evaluation that changed something, with all that it was computed from: `evaluate` gives the same again. */
export interface DecisionDraft {
  readonly kind: 'decision';
  readonly atMs: number;
  readonly transitions: readonly Transition[];
  readonly decisions: readonly Decision[];
  readonly active: readonly ActionRequest[];
  readonly inputs: DecisionInputs;
}

export interface DecisionInputs extends EvaluationInputs {
  readonly options: EvaluateOptions;
  /** What the rules are compiled from, as plain JSON (rule specs, settings, market settings); kept once. */
  readonly rules: unknown;
}

/** What the store itself writes. */
export type StoreRecord =
  | {
      /** The account's first commit in a new store epoch. */
      readonly kind: 'epochStarted';
      readonly atMs: number;
      readonly epoch: string;
      readonly previousEpoch: string | null;
      readonly why: string;
    }
  | {
      /** Everything up to `lastSeq` was taken away; what comes after it begins with `lastHash`. */
      readonly kind: 'checkpoint';
      readonly atMs: number;
      readonly lastSeq: number;
      readonly lastHash: string;
      /** SHA-256 of the exported lines; null: the bound was reached and nobody had exported them. */
      readonly exportSha256: string | null;
      readonly reason: string;
      /** The same for each lane's chain that does not begin with its first record any more, by market. */
      readonly lanes?: Readonly<Record<string, { readonly lastSeq: number; readonly lastHash: string }>>;
    }
  | {
      /** How far the chains of lanes have come, by market: those that went on since they were last folded. */
      readonly kind: 'lanes';
      readonly atMs: number;
      readonly heads: Readonly<Record<string, ChainHead>>;
    };

/** The last record of a chain. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

/** In a record large parts of the inputs are replaced by their hash; `AuditReader.inputs` puts them back. */
export type AuditContent = Exclude<AuditDraft, DecisionDraft> | StoredDecision | StoreRecord;

export interface StoredDecision extends Omit<DecisionDraft, 'inputs'> {
  /** JSON text, so that keys keep their order and the same bytes can be computed from it. */
  readonly inputs: string;
}

export interface AuditRecord {
  readonly version: 1;
  readonly accountId: string;
  /** The lane whose chain this is in; absent: the account's own. */
  readonly market?: string;
  /** Within its chain, from 1, without gaps. */
  readonly seq: number;
  /** Unix milliseconds at the process that committed it. */
  readonly atMs: number;
  readonly epoch: string;
  /** Hash of the record before in its chain; `GENESIS_HASH` for the first. */
  readonly previous: string;
  /** Evaluations since the record before that only repeated their decisions, and when the first of them was. */
  readonly quiet: { readonly count: number; readonly sinceMs: number } | null;
  readonly content: AuditContent;
  /** Names of attachments and their hashes. */
  readonly attachments: Readonly<Record<string, string>>;
  /** Made with `operators.key` of everything else here; absent: there was no key. */
  readonly seal?: string;
}

/** A record with its hash: SHA-256, in hex, of the record's canonical JSON (keys sorted, no spaces). */
export interface ChainedRecord {
  /** Among all records of the account, in the order of their commits: how a record is found again. */
  readonly number: number;
  readonly record: AuditRecord;
  readonly hash: string;
  /** The canonical text itself, which is what is exported. */
  readonly text: string;
}

export const GENESIS_HASH = '0'.repeat(64);

/** The chain of what operators do to all accounts at once; no configured account can have this id. */
export const OPERATOR_CHAIN = '@operators';

/** What a decision was made with is not there any more, or not as it was. */
export class AuditInputsError extends Error {
  readonly code = 'AUDIT_INPUTS';
  constructor(message: string) {
    super(message);
    this.name = 'AuditInputsError';
  }
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

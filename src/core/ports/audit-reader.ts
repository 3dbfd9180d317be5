import type { AuditRecord, ChainedRecord, ChainHead, DecisionInputs } from '../audit/audit-record.ts';
import type { Kinds } from '../schema/parts.ts';

/** `intact` describes the account's own chain; its `firstSeq` is 0 if that is empty. */
export type ChainVerdict = Kinds<{
  intact: Omit<LaneChain, 'market'> & {
    /** Records before `firstSeq` were pruned, and a checkpoint says so. */
    prunedTo: number;
    /** Chains of the lanes, by market. */
    lanes: readonly LaneChain[];
  };
  broken: {
    /** The first wrong record of its chain. */
    seq: number;
    /** `ChainedRecord.number` of that record; absent: it is missing, or in an export. */
    number?: number;
    /** The lane whose chain it is; absent: the account's own. */
    market?: string;
    why:
      | 'hash'
      | 'link'
      | 'gap'
      | 'form'
      | 'account'
      /** Records are missing at the start, and no checkpoint says so. */
      | 'beginning'
      /** The chain does not end where the account's state says. */
      | 'head'
      /** A lane's chain contradicts what the account's chain says of it. */
      | 'fold'
      /** The seal of `operators.key` is missing although earlier records have it, or it was made with another key. */
      | 'seal'
      /** No record of the chain has a seal, although there is a key: a forged chain would look the same. */
      | 'unproven'
      | 'attachment';
    words: string;
  };
}>;

export interface LaneChain {
  readonly market: string;
  /** 0 if all its records were pruned. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly headHash: string;
}

/** Range of record numbers, both inclusive. */
export interface AuditQuery {
  readonly from?: number;
  readonly to?: number;
  /** Maximum number of records; default 100. Without bounds: the newest. */
  readonly limit?: number;
}

export interface PruneRequest {
  /** Keeps this many of the newest records. */
  readonly keepRecords: number;
  /** Beyond those, prunes only records older than this, Unix milliseconds; default: all. */
  readonly olderThanMs?: number;
  readonly reason: string;
  readonly atMs: number;
  /** Gets every line to be pruned, then the attachments; durable when `end` resolves. A rejection prunes nothing. */
  readonly exporter: AuditExporter;
}

export interface AuditExporter {
  write(line: string): Promise<void>;
  end(): Promise<void>;
}

export interface PruneResult {
  readonly pruned: number;
  /** Number of the last pruned record. */
  readonly lastNumber: number;
  readonly exportSha256: string | null;
}

/** A rejected promise means that the store is lost. */
export interface AuditReader {
  /** Oldest first. Rejects with an AuditFormatError for records of an unknown form. */
  read(accountId: string, query?: AuditQuery): Promise<readonly ChainedRecord[]>;
  /** The newest `count`, oldest first. */
  tail(accountId: string, count: number): Promise<readonly ChainedRecord[]>;
  show(accountId: string, number: number): Promise<ChainedRecord | undefined>;
  /** The original inputs of a decision, with large parts restored; `undefined` if the record is no decision. */
  inputs(record: AuditRecord): Promise<DecisionInputs | undefined>;
  attachment(accountId: string, hash: string): Promise<string | undefined>;
  /**
   * End of the account's own chain, from its state. Its hash covers all earlier records, and the lanes' chains as last
   * folded in.
   */
  head(accountId: string): Promise<ChainHead | undefined>;
  /** `kept`: a head recorded elsewhere, which the account's own chain must contain. */
  verify(accountId: string, kept?: ChainHead): Promise<ChainVerdict>;
  /** Exports and removes the oldest records; a checkpoint record takes their place in the chain. */
  prune(accountId: string, request: PruneRequest): Promise<PruneResult>;
}

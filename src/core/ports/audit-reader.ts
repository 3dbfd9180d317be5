import type { AuditRecord, ChainedRecord, ChainHead, DecisionInputs } from '../audit/audit-record.ts';

/** What a check of a chain finds. */
export type ChainVerdict =
  | {
      readonly kind: 'intact';
      /** 0 for an empty chain. */
      readonly firstSeq: number;
      readonly lastSeq: number;
      /** Everything before `firstSeq` was pruned, and the chain says so. */
      readonly prunedTo: number;
      readonly headHash: string;
      /** Of the lanes, by market. What is above is of the account's own chain. */
      readonly lanes: readonly LaneChain[];
    }
  | {
      readonly kind: 'broken';
      /** The first record that is wrong, in its chain. */
      readonly seq: number;
      /** The same among all records of the account, as `ChainedRecord` has it; absent: it is not there, or in an export. */
      readonly number?: number;
      /** The lane whose chain that is; absent: the account's own. */
      readonly market?: string;
      readonly why:
        | 'hash'
        | 'link'
        | 'gap'
        | 'form'
        | 'account'
        /** Records are missing at the beginning and no checkpoint says so. */
        | 'beginning'
        /** The chain does not end where the account's state says it does. */
        | 'head'
        /** What the account's chain says of a lane's chain is not so. */
        | 'fold'
        /** It lacks the seal of `operators.key` that records before it have, or has one of another key. */
        | 'seal'
        /** Nothing in the chain has a seal, though there is a key here: made anew or not, it would look like this. */
        | 'unproven'
        | 'attachment';
      readonly words: string;
    };

export interface LaneChain {
  readonly market: string;
  /** 0 where all of its records were pruned. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly headHash: string;
}

/** By numbers of records, both inclusive. */
export interface AuditQuery {
  readonly from?: number;
  readonly to?: number;
  /** At most so many; default 100. With neither bound, the newest. */
  readonly limit?: number;
}

export interface PruneRequest {
  /** Keep the newest so many records. */
  readonly keepRecords: number;
  /** Of those beyond, take away only what is older than this, Unix milliseconds; default: all. */
  readonly olderThanMs?: number;
  readonly reason: string;
  readonly atMs: number;
  /**
   * Gets each line that is about to be taken away, then attachments; durable when `end` resolves. A rejection prunes
   * nothing.
   */
  readonly exporter: AuditExporter;
}

export interface AuditExporter {
  write(line: string): Promise<void>;
  end(): Promise<void>;
}

export interface PruneResult {
  readonly pruned: number;
  /** Number of the last record that was taken away. */
  readonly lastNumber: number;
  readonly exportSha256: string | null;
}

/** A rejected promise means that the store is lost. */
export interface AuditReader {
  /** Oldest first. Records of a form that this program does not know are an AuditFormatError. */
  read(accountId: string, query?: AuditQuery): Promise<readonly ChainedRecord[]>;
  /** The newest `count`, oldest first. */
  tail(accountId: string, count: number): Promise<readonly ChainedRecord[]>;
  show(accountId: string, number: number): Promise<ChainedRecord | undefined>;
  /** The inputs of a decision as they were, large parts put back; `undefined` when it is not one. */
  inputs(record: AuditRecord): Promise<DecisionInputs | undefined>;
  attachment(accountId: string, hash: string): Promise<string | undefined>;
  /** Where the account's own chain ends, by its state; its hash covers all before, the lanes' chains as last folded in. */
  head(accountId: string): Promise<ChainHead | undefined>;
  /** `kept`: a head that was written down elsewhere, which has to be in the account's own chain. */
  verify(accountId: string, kept?: ChainHead): Promise<ChainVerdict>;
  /** Exports and takes away the oldest records; a checkpoint record in the chain stands for them. */
  prune(accountId: string, request: PruneRequest): Promise<PruneResult>;
}

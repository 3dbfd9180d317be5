import { z } from 'zod';
import type { AuditRecord, ChainedRecord, ChainHead, DecisionInputs } from '../audit/audit-record.ts';
import { named, type OutputOf } from '../schema/parts.ts';

const laneSchema = named('LaneChain', () => ({
  market: z.string(),
  firstSeq: z.number().int().describe('0: all its records were pruned.'),
  lastSeq: z.number().int(),
  headHash: z.string(),
}));
export type LaneChain = OutputOf<typeof laneSchema>;

/** `intact` describes the account's own chain; its `firstSeq` is 0 if that is empty. */
export const chainIntact = named('ChainIntact', () => ({
  kind: z.literal('intact'),
  ...laneSchema.omit({ market: true }).shape,
  prunedTo: z
    .number()
    .int()
    .describe('Records before `firstSeq` were pruned, and a checkpoint says so; 0: none were.'),
  lanes: z.array(laneSchema).describe('Chains of the markets.'),
}));

export const chainBroken = named('ChainBroken', () => ({
  kind: z.literal('broken'),
  seq: z.number().int().describe('The first wrong record of its chain.'),
  number: z
    .number()
    .int()
    .exactOptional()
    .describe('Of that record among all of the account; absent: it is missing, or in an export.'),
  market: z.string().exactOptional().describe("Whose chain it is; absent: the account's own."),
  why: z
    .enum([
      'hash',
      'link',
      'gap',
      'form',
      'account',
      'beginning',
      'head',
      'fold',
      'seal',
      'unproven',
      'attachment',
    ])
    .describe(
      '`beginning`: records are missing at the start, and no checkpoint says so. `head`: it does not end where the ' +
        "state of the account says. `fold`: a market's chain contradicts what the account's says of it. `seal`: that of " +
        '`operators.key` is missing although earlier records have it, or was made with another key. `unproven`: no record ' +
        'has a seal, although there is a key; a forged chain would look the same.',
    ),
  words: z.string(),
}));
export type ChainVerdict = OutputOf<typeof chainIntact | typeof chainBroken>;

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

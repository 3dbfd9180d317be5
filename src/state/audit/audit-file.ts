import { z } from 'zod';
import type {
  AuditRecord,
  ChainHead,
  DecisionInputs,
  StoredDecision,
} from '../../core/audit/audit-record.ts';
import { sha256Hex } from '../../core/audit/sha256.ts';
import { type ChainVerdict, type chainBroken, chainIntact } from '../../core/ports/audit-reader.ts';
import { type OperatorTrust, TRUSTING } from '../../core/ports/operator-trust.ts';
import { named, type OutputOf } from '../../core/schema/parts.ts';
import { parsedJson } from '../../core/text/parsed-json.ts';
import { restoreInputs } from './audit-chain.ts';
import { broken, TrailVerifier } from './audit-verify.ts';

/** Verdict on an exported part of a chain by itself; the next part must follow `headHash`. */
export const fileIntact = named('FileIntact', () => {
  const { lanes, prunedTo: _unknown, ...intact } = chainIntact.shape;
  const previousHash = z.string().describe('Of the record before the first one.');
  return {
    ...intact,
    accountId: z.string().describe('Empty for a file without records.'),
    previousHash,
    isSealed: z
      .boolean()
      .exactOptional()
      .describe('Whether its last records have the seal of `operators.key`; absent: there is no key here.'),
    lanes: z
      .array(lanes.element.extend({ previousHash }))
      .describe('Chains of the markets with records in it.'),
  };
});
export type FileVerdict = OutputOf<typeof fileIntact | typeof chainBroken>;

/** The contents of an export, for callers that need more than the verdict. */
interface KeptRecords {
  readonly records: AuditRecord[];
  /** Attachments by hash. */
  readonly files: Map<string, string>;
}

const LINE = /^([0-9a-f]{64}) (.*)$/s;

interface FileCheck {
  readonly kept?: KeptRecords;
  readonly trust?: OperatorTrust;
  /** A head noted elsewhere, which must be among the records of the account's own chain. */
  readonly head?: ChainHead | undefined;
}

/** Checks an export (lines of `hash`, space, text): each hash, link and attachment; not what comes before and after. */
export async function verifyAuditFile(
  lines: AsyncIterable<string> | Iterable<string>,
  { kept, trust = TRUSTING, head }: FileCheck = {},
): Promise<FileVerdict> {
  let verifier: TrailVerifier | undefined;
  let accountId = '';
  const files = new Set<string>();
  for await (const line of lines) {
    const [, hash, text] = LINE.exec(line) ?? [];
    if (hash === undefined || text === undefined) {
      return broken((verifier?.own.lastSeq ?? 0) + 1, 'form', 'its line is not a hash, a space and a text');
    }
    const record = files.size === 0 ? recordOf(text) : undefined;
    if (record === undefined) {
      const isChanged = sha256Hex(text) !== hash;
      if (isChanged)
        return broken(verifier?.own.lastSeq ?? 0, 'attachment', `attachment ${hash} was changed`);
      files.add(hash);
      kept?.files.set(hash, text);
      continue;
    }
    kept?.records.push(record);
    accountId ||= record.accountId;
    verifier ??= new TrailVerifier(accountId, trust, head);
    const wrong = verifier.add({ text, hash });
    if (wrong !== undefined) return wrong;
  }
  for (const [hash, seq] of verifier?.attachments ?? []) {
    if (!files.has(hash)) return broken(seq, 'attachment', `its attachment ${hash} is missing`);
  }
  const { own, lanes, isSealed } = verifier ?? new TrailVerifier(accountId);
  if (head !== undefined && (head.seq < own.firstSeq || head.seq > own.lastSeq)) {
    const what = own.lastSeq === 0 ? 'none' : `${own.firstSeq} to ${own.lastSeq}`;
    return broken(head.seq, 'head', `it was written down, and the file has ${what} of its chain`);
  }
  return { kind: 'intact', accountId, ...own, lanes, ...(isSealed !== undefined && { isSealed }) };
}

/** The line as a record; undefined: it is an attachment, which is other JSON (readings and rules). */
function recordOf(text: string): AuditRecord | undefined {
  const value = parsedJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const isRecord = ['seq', 'previous', 'accountId', 'content', 'epoch'].every((name) => name in value);
  return isRecord ? (value as AuditRecord) : undefined;
}

/** A decision of an export, with all that it was computed from. */
export interface ExportedDecision {
  /** Place in its chain. */
  readonly seq: number;
  readonly recorded: StoredDecision;
  readonly inputs: DecisionInputs;
}

export type ExportedDecisions =
  | { readonly kind: 'read'; readonly decisions: readonly ExportedDecision[] }
  | Extract<ChainVerdict, { kind: 'broken' }>;

/** The decisions of an export, oldest first; `broken` if the file was changed or is not complete. */
export async function decisionsOfAuditFile(lines: AsyncIterable<string>): Promise<ExportedDecisions> {
  const kept: KeptRecords = { records: [], files: new Map() };
  const verdict = await verifyAuditFile(lines, { kept });
  if (verdict.kind === 'broken') return verdict;
  const decisions: ExportedDecision[] = [];
  for (const record of kept.records) {
    const { content, seq } = record;
    const inputs = await restoreInputs(record, async (hash) => kept.files.get(hash));
    if (content.kind === 'decision' && inputs !== undefined)
      decisions.push({ seq, recorded: content, inputs });
  }
  return { kind: 'read', decisions };
}

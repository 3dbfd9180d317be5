import {
  type AuditContent,
  type AuditDraft,
  AuditFormatError,
  AuditInputsError,
  type AuditRecord,
  type ChainedRecord,
  type DecisionInputs,
  type StoreRecord,
} from '../../core/audit/audit-record.ts';
import { sha256Hex } from '../../core/audit/sha256.ts';
import type { TransferRecord } from '../../core/ports/exchange.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import { canonicalJson, orderedJson } from '../../core/text/canonical-json.ts';
import { parsedJson } from '../../core/text/parsed-json.ts';
import type { RawRecord, RawText } from '../account/account-backend.ts';
import type { Header } from '../account/header.ts';

/** The end of a chain, and the quiet evaluations counted since. */
export type ChainEnd = Pick<Header, 'seq' | 'head' | 'quiet' | 'quietSinceMs'>;

export interface AppendContext {
  readonly nowMs: number;
  readonly redact: Conceal;
  readonly trust: OperatorTrust;
}

export type Draft = AuditDraft | StoreRecord;

/**
 * The records that continue a chain, with their attachments by hash. The chain is that of a lane or, if `market` is
 * undefined, the account's own.
 */
export function appendRecords(
  { accountId, epoch }: StoredAccount,
  market: string | undefined,
  chain: { readonly end: ChainEnd; readonly drafts: readonly Draft[] },
  { nowMs: atMs, redact, trust }: AppendContext,
) {
  const { end, drafts } = chain;
  const files = new Map<string, string>();
  const records: RawText[] = [];
  if (drafts.length === 0) return { end, records, files };
  let { seq, head } = end;
  let quiet = end.quiet === 0 ? null : { count: end.quiet, sinceMs: end.quietSinceMs };
  for (const draft of drafts) {
    const attachments: Record<string, string> = {};
    const attach = (name: string, value: unknown): void => {
      const text = orderedJson(value, redact);
      const hash = sha256Hex(text);
      files.set(hash, text);
      attachments[name] = hash;
    };
    const content = contentOf(draft, attach);
    seq += 1;
    const record: AuditRecord = {
      version: 1,
      accountId,
      ...(market === undefined ? {} : { market }),
      seq,
      atMs,
      epoch: epoch.id,
      previous: head,
      quiet,
      content,
      attachments,
    };
    // Names say whose record it is, and are not redacted.
    const isName = (value: string): boolean => value === accountId || value === market;
    const bare = canonicalJson(record, (value) => (isName(value) ? value : redact(value)));
    const seal = trust.recordSeal(bare);
    const text = seal === undefined ? bare : canonicalJson({ ...(JSON.parse(bare) as object), seal });
    head = sha256Hex(text);
    records.push({ text, hash: head });
    quiet = null;
  }
  return { end: { seq, head, quiet: 0, quietSinceMs: 0 }, records, files };
}

type Attach = (name: string, value: unknown) => void;

/** Longer readings are stored once, by their hash: histories hardly change from one decision to the next. */
const LONG_READING = 1_000;
const RULES = 'rules';
const SOURCE = 'source:';

type Sources = Record<string, { readonly kind: string; readonly value?: unknown }>;

function contentOf(draft: Draft, attach: Attach): AuditContent {
  if (draft.kind === 'note') {
    const { attachments = {}, ...content } = draft;
    for (const [name, value] of Object.entries(attachments)) attach(name, value);
    return content;
  }
  if (draft.kind !== 'decision') return draft;
  const { snapshot, rules, ...inputs } = draft.inputs;
  attach(RULES, rules);
  const sources: Sources = {};
  for (const [name, full] of Object.entries(snapshot.sources as Sources)) {
    const reading = name === 'transfers' ? withoutRemarks(full) : full;
    if (reading.kind === 'read' && JSON.stringify(reading.value).length > LONG_READING) {
      attach(SOURCE + name, reading.value);
      sources[name] = { ...reading, value: null };
    } else sources[name] = reading;
  }
  return { ...draft, inputs: orderedJson({ ...inputs, snapshot: { ...snapshot, sources } }) };
}

/** Drops what people write beside a transfer: it decides nothing, may be personal, and stays out of the audit. */
function withoutRemarks(reading: Sources[string]): Sources[string] {
  const list = reading.value as { readonly records?: readonly TransferRecord[] } | undefined;
  if (list?.records === undefined) return reading;
  const records = list.records.map(({ memo: _memo, description: _description, ...record }) => record);
  return { ...reading, value: { ...list, records } };
}

/**
 * Restores the inputs of a decision from its attachments; undefined: the record is not a decision.
 * @throws AuditInputsError for a missing or changed attachment
 */
export async function restoreInputs(
  record: AuditRecord,
  fileOf: (hash: string) => Promise<string | undefined>,
): Promise<DecisionInputs | undefined> {
  if (record.content.kind !== 'decision') return undefined;
  const { snapshot, ...inputs } = inputsOf(record.content.inputs, record.seq);
  const sources: Sources = { ...(snapshot.sources as Sources) };
  let rules: unknown;
  for (const [name, hash] of Object.entries(record.attachments)) {
    const text = await fileOf(hash);
    if (text === undefined || sha256Hex(text) !== hash) {
      const found = text === undefined ? 'is missing' : 'was changed';
      throw new AuditInputsError(`attachment ${hash} of audit record ${record.seq} ${found}`);
    }
    const value: unknown = JSON.parse(text);
    if (name === RULES) rules = value;
    else if (name.startsWith(SOURCE)) {
      const source = name.slice(SOURCE.length);
      sources[source] = { ...sources[source]!, value };
    }
  }
  return { ...inputs, rules, snapshot: { ...snapshot, sources } };
}

function inputsOf(text: string, seq: number): DecisionInputs {
  const inputs = parsedJson(text) as DecisionInputs | null | undefined;
  const snapshot = inputs?.snapshot as Partial<DecisionInputs['snapshot']> | null | undefined;
  if (inputs && typeof snapshot?.sources === 'object') return inputs;
  throw new AuditInputsError(`the inputs of audit record ${seq} cannot be read`);
}

/** Parses a stored record. @throws AuditFormatError for a form that this program does not know */
export function readRecord(accountId: string, { number, text, hash }: RawRecord): ChainedRecord {
  const record = parsedJson(text) as AuditRecord | undefined;
  if (record === undefined) throw new AuditFormatError(accountId, number, 'unknown (not JSON)');
  const form = strangeForm(record);
  if (form !== undefined) throw new AuditFormatError(accountId, number, form);
  return { number, record, hash, text };
}

/** What is wrong with a record's form, in a few words; undefined: it has the parts that every reader uses. */
export function strangeForm(record: AuditRecord): string | undefined {
  const { version, accountId, seq, atMs, previous, content, attachments } = (record ??
    {}) as Partial<AuditRecord>;
  if (version !== 1) return (JSON.stringify(version) ?? 'unknown').slice(0, 100);
  if (!Number.isSafeInteger(seq) || typeof atMs !== 'number' || typeof previous !== 'string')
    return '1, but no place in the chain';
  if (typeof accountId !== 'string') return '1, but of no account';
  if (typeof content?.kind !== 'string') return '1, but no content';
  const named: unknown = attachments;
  const isNamed = typeof named === 'object' && named !== null && !Array.isArray(named);
  const areHashes = isNamed && Object.values(named).every((hash) => typeof hash === 'string');
  return areHashes ? undefined : '1, but its attachments are no hashes';
}

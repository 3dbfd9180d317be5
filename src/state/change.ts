import type { AccountState } from '../core/account-state.ts';
import type { AuditDraft, StoreRecord } from '../core/ports/audit.ts';
import { GENESIS_HASH } from '../core/ports/audit.ts';
import type {
  AccountCommit,
  AccountDocuments,
  DocumentName,
  Life,
  StoredAccount,
} from '../core/ports/state-store.ts';
import { appendRecords } from './audit-chain.ts';
import type { RawChange } from './backend.ts';
import type { Redact } from './canonical.ts';
import { documentField, HEADER_FIELD, laneField, MOVING_FIELD } from './documents.ts';
import { isRestingText, movingText, restingText, restsAlike } from './evaluation-document.ts';
import { type Header, writeHeader } from './header.ts';

/** What a store knows of an account besides what it shows. */
export interface Entry {
  readonly account: StoredAccount;
  /** Empty: never committed. */
  readonly headerText: string;
  readonly header: Header | undefined;
  /** Texts of the documents, by field. */
  readonly texts: ReadonlyMap<string, string>;
  /** Hashes of attachments that are certainly stored, under this `sweep` of the header. */
  readonly files: ReadonlySet<string>;
}

/** What only the store's own parts may ask for. */
export interface InternalCommit extends AccountCommit {
  readonly storeRecords?: readonly StoreRecord[];
  readonly removeFields?: readonly string[];
  readonly trimBefore?: number;
  readonly removeFiles?: readonly string[];
}

export interface ChangeContext {
  readonly writer: string;
  readonly nowMs: number;
  readonly historyEveryMs: number;
  readonly redact: Redact;
}

export interface PreparedChange {
  readonly raw: RawChange;
  /** The account once the change is made. */
  readonly next: Entry;
}

/** Everything that a commit writes, and nothing that is there already. */
export function prepareChange(entry: Entry, commit: InternalCommit, context: ChangeContext): PreparedChange {
  const { account, header } = entry;
  const { nowMs } = context;
  const written = changedTexts(entry, commit);
  const appended = appendRecords({
    accountId: account.accountId,
    life: account.life.id,
    atMs: nowMs,
    end: chainEnd(header, commit.quiet ?? 0, nowMs),
    drafts: draftsOf(entry, commit, nowMs),
    redact: context.redact,
  });
  const history = historyOf(header, commit, context);
  const removeFiles = commit.removeFiles ?? [];
  const nextHeader: Header = {
    writer: context.writer,
    version: account.version + 1,
    life: account.life.id,
    danger: commit.due?.danger ?? account.danger,
    seq: appended.end.seq,
    head: appended.end.head,
    firstSeq: commit.trimBefore ?? header?.firstSeq ?? 1,
    sweep: (header?.sweep ?? 0) + (removeFiles.length > 0 ? 1 : 0),
    quiet: appended.end.quiet,
    quietSinceMs: appended.end.quietSinceMs,
    historyMs: history.length > 0 ? nowMs : (header?.historyMs ?? 0),
  };
  const headerText = writeHeader(nextHeader);
  const newFiles = [...appended.files].filter(([hash]) => !entry.files.has(hash));
  const raw: RawChange = {
    accountId: account.accountId,
    expected: entry.headerText,
    set: [HEADER_FIELD, headerText, ...[...written.set].flat()],
    remove: written.remove,
    dueInMs: commit.due === undefined ? null : Math.max(0, Math.round(commit.due.inMs)),
    records: appended.records,
    files: newFiles.flat(),
    removeFiles,
    trimBefore: commit.trimBefore ?? 0,
    history,
    lease: commit.lease ?? null,
    stamp: commit.controls?.stamp ?? null,
  };
  const files = removeFiles.length > 0 ? [] : [...entry.files, ...appended.files.keys()];
  return { raw, next: nextEntry(entry, commit, { header: nextHeader, headerText, files, written }) };
}

interface Written {
  readonly set: ReadonlyMap<string, string>;
  readonly remove: readonly string[];
}

/** Documents that differ from what is stored; a rewrite of the same text costs more than the comparison. */
function changedTexts(entry: Entry, commit: InternalCommit): Written {
  const set = new Map<string, string>();
  const remove: string[] = [...(commit.removeFields ?? [])];
  const drop = (field: string): void => {
    if (entry.texts.has(field)) remove.push(field);
  };
  const write = (field: string, text: string): void => {
    if (text !== entry.texts.get(field)) set.set(field, text);
  };
  const offer = (field: string, value: unknown, before: unknown): void => {
    if (value === before || value === undefined) return;
    if (value === null) drop(field);
    else write(field, JSON.stringify(value));
  };
  const { documents, lanes } = entry.account;
  const { evaluation, ...others } = commit.documents ?? {};
  if (evaluation === null) drop(MOVING_FIELD);
  if (evaluation === null || evaluation === undefined) offer(EVALUATION_FIELD, evaluation, undefined);
  else offerEvaluation(entry, evaluation, write);
  for (const name of Object.keys(others) as (keyof typeof others)[]) {
    offer(documentField(name), others[name], documents[name]);
  }
  for (const [market, lane] of commit.lanes ?? []) offer(laneField(market), lane, lanes.get(market));
  return { set, remove };
}

const EVALUATION_FIELD = documentField('evaluation');

/** Of an account in which nothing happens only the figures move. */
function offerEvaluation(
  { texts, account: { documents } }: Entry,
  evaluation: AccountState,
  write: (field: string, text: string) => void,
): void {
  const before = documents.evaluation;
  if (evaluation === before) return;
  const rests =
    before !== undefined && isRestingText(texts.get(EVALUATION_FIELD)) && restsAlike(before, evaluation);
  if (!rests) write(EVALUATION_FIELD, restingText(evaluation));
  write(MOVING_FIELD, movingText(evaluation));
}

function chainEnd(header: Header | undefined, quiet: number, nowMs: number) {
  const count = (header?.quiet ?? 0) + quiet;
  const sinceMs = header === undefined || header.quiet === 0 ? nowMs : header.quietSinceMs;
  return {
    seq: header?.seq ?? 0,
    head: header?.head ?? GENESIS_HASH,
    quiet: count,
    quietSinceMs: count === 0 ? 0 : sinceMs,
  };
}

function draftsOf(
  entry: Entry,
  commit: InternalCommit,
  nowMs: number,
): readonly (AuditDraft | StoreRecord)[] {
  const { account, header } = entry;
  const drafts = [...(commit.audit ?? []), ...(commit.storeRecords ?? [])];
  if (header?.life === account.life.id) return drafts;
  const { id, why } = account.life;
  return [{ kind: 'lifeStarted', atMs: nowMs, life: id, previousLife: header?.life ?? null, why }, ...drafts];
}

/** A sample of all subjects, if the last one is old enough; a clock that stepped back does not stop them. */
function historyOf(header: Header | undefined, commit: AccountCommit, context: ChangeContext): string[] {
  const samples = commit.history ?? [];
  const sinceLast = context.nowMs - (header?.historyMs ?? 0);
  if (samples.length === 0 || (sinceLast >= 0 && sinceLast < context.historyEveryMs)) return [];
  return samples.flatMap(({ subject, values }) => [subject, JSON.stringify(values)]);
}

interface NextParts {
  readonly header: Header;
  readonly headerText: string;
  readonly files: readonly string[];
  readonly written: Written;
}

function nextEntry(entry: Entry, commit: InternalCommit, parts: NextParts): Entry {
  const { header, headerText, files, written } = parts;
  const texts = new Map(entry.texts);
  for (const field of written.remove) texts.delete(field);
  for (const [field, text] of written.set) texts.set(field, text);
  const account: StoredAccount = {
    accountId: entry.account.accountId,
    version: header.version,
    life: entry.account.life,
    isNewLife: false,
    documents: nextDocuments(entry.account.documents, commit),
    lanes: nextLanes(entry.account.lanes, commit),
    danger: header.danger,
    revision: headerText,
  };
  return { account, header, headerText, texts, files: new Set(files) };
}

function nextDocuments(before: AccountDocuments, commit: AccountCommit): AccountDocuments {
  if (commit.documents === undefined) return before;
  const next: Partial<Record<DocumentName, unknown>> = { ...before };
  for (const [name, value] of Object.entries(commit.documents) as [DocumentName, unknown][]) {
    if (value === null) delete next[name];
    else if (value !== undefined) next[name] = value;
  }
  return next as AccountDocuments;
}

function nextLanes(before: StoredAccount['lanes'], commit: AccountCommit): StoredAccount['lanes'] {
  if (commit.lanes === undefined || commit.lanes.size === 0) return before;
  const next = new Map(before);
  for (const [market, lane] of commit.lanes) {
    if (lane === null) next.delete(market);
    else next.set(market, lane);
  }
  return next;
}

/** An account that was never committed. */
export function emptyEntry(accountId: string, life: Life): Entry {
  const account: StoredAccount = {
    accountId,
    version: 0,
    life,
    isNewLife: false,
    documents: {},
    lanes: new Map(),
    danger: 0,
    revision: '',
  };
  return { account, headerText: '', header: undefined, texts: new Map(), files: new Set() };
}

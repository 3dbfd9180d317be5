import { type AuditDraft, GENESIS_HASH, type StoreRecord } from '../../core/audit/audit-record.ts';
import type {
  AccountCommit,
  AccountDocuments,
  DocumentName,
  StoredAccount,
  StoreEpoch,
} from '../../core/ports/state-store.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import type { AccountState } from '../../core/rules/account-state.ts';
import { type Appended, appendRecords } from '../audit/audit-chain.ts';
import type { RawChange } from './account-backend.ts';
import { documentField, laneField, MOVING_FIELD, type StoredTexts } from './documents.ts';
import { isRestingText, movingText, restingText, restsAlike } from './evaluation-document.ts';
import { type Header, writeHeader } from './header.ts';

/** What a store knows of an account besides what it shows. */
export interface Entry extends StoredTexts {
  readonly account: StoredAccount;
  /** Empty: never committed. */
  readonly headerText: string;
  readonly header: Header | undefined;
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
  readonly redact: Conceal;
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
    epoch: account.epoch.id,
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
    epoch: account.epoch.id,
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
  const raw: RawChange = {
    accountId: account.accountId,
    expected: entry.headerText,
    header: headerText,
    set: written.set,
    remove: written.remove,
    dueInMs: commit.due === undefined ? null : Math.max(0, Math.round(commit.due.inMs)),
    records: appended.records,
    files: newFiles(entry, appended),
    removeFiles,
    trimBefore: commit.trimBefore ?? 0,
    history,
    lease: commit.lease ?? null,
    stamp: commit.controls?.stamp ?? null,
  };
  const next = nextAccount(entry.account, commit, nextHeader, headerText);
  const { texts, moving } = written;
  const files = removeFiles.length > 0 ? NO_FILES : filesAfter(entry, appended);
  return { raw, next: { account: next, header: nextHeader, headerText, texts, moving, files } };
}

const NO_FILES: ReadonlySet<string> = new Set();

function newFiles(entry: Entry, { files }: Appended): readonly string[] {
  if (files.size === 0) return [];
  return [...files].filter(([hash]) => !entry.files.has(hash)).flat();
}

function filesAfter(entry: Entry, { files }: Appended): Entry['files'] {
  return files.size === 0 ? entry.files : new Set([...entry.files, ...files.keys()]);
}

/** What is written, and the texts as they are then. */
interface Written extends StoredTexts {
  /** Fields and texts by turns. */
  readonly set: readonly string[];
  readonly remove: readonly string[];
}

/** Documents that differ from what is stored; a rewrite of the same text costs more than the comparison. */
function changedTexts(entry: Entry, commit: InternalCommit): Written {
  const { texts, account } = entry;
  const set: string[] = [];
  const remove: string[] = [...(commit.removeFields ?? [])];
  const write = (field: string, text: string): void => {
    if (text !== texts.get(field)) set.push(field, text);
  };
  const offer = (field: string, value: unknown): void => {
    if (value !== null) write(field, JSON.stringify(value));
    else if (texts.has(field)) remove.push(field);
  };
  const { documents = {} } = commit;
  const { evaluation } = documents;
  if (evaluation && !restsIn(entry, evaluation)) write(EVALUATION_FIELD, restingText(evaluation));
  for (const name of Object.keys(documents) as DocumentName[]) {
    const value = documents[name];
    if (value === undefined || value === account.documents[name]) continue;
    if (name !== 'evaluation' || value === null) offer(documentField(name), value);
  }
  for (const [market, lane] of commit.lanes ?? []) {
    if (lane !== account.lanes.get(market)) offer(laneField(market), lane);
  }
  const after = nextTexts(texts, set, remove);
  const moving = movingAfter(entry, commit);
  if (moving === undefined) {
    if (entry.moving !== undefined && !remove.includes(MOVING_FIELD)) remove.push(MOVING_FIELD);
  } else if (moving !== entry.moving) set.push(MOVING_FIELD, moving);
  return { set, remove, texts: after, moving };
}

const EVALUATION_FIELD = documentField('evaluation');

/** Of an account in which nothing happens only the figures move. */
function restsIn({ texts, account }: Entry, evaluation: AccountState): boolean {
  const before = account.documents.evaluation;
  if (before === evaluation) return true;
  return before !== undefined && isRestingText(texts.get(EVALUATION_FIELD)) && restsAlike(before, evaluation);
}

function movingAfter(entry: Entry, { documents, removeFields }: InternalCommit): string | undefined {
  const evaluation = documents?.evaluation;
  if (evaluation === null || removeFields?.includes(MOVING_FIELD)) return undefined;
  const isSame = evaluation === undefined || evaluation === entry.account.documents.evaluation;
  return isSame ? entry.moving : movingText(evaluation);
}

function nextTexts(
  before: Entry['texts'],
  set: readonly string[],
  remove: readonly string[],
): Entry['texts'] {
  if (set.length === 0 && remove.length === 0) return before;
  const texts = new Map(before);
  for (const field of remove) texts.delete(field);
  for (let index = 0; index < set.length; index += 2) texts.set(set[index]!, set[index + 1]!);
  return texts;
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
  const { audit = [], storeRecords = [] } = commit;
  const drafts = storeRecords.length === 0 ? audit : [...audit, ...storeRecords];
  if (header?.epoch === account.epoch.id) return drafts;
  const { id, why } = account.epoch;
  return [
    { kind: 'epochStarted', atMs: nowMs, epoch: id, previousEpoch: header?.epoch ?? null, why },
    ...drafts,
  ];
}

/** A sample of all subjects, if the last one is old enough; a clock that stepped back does not stop them. */
function historyOf(header: Header | undefined, commit: AccountCommit, context: ChangeContext): string[] {
  const samples = commit.history ?? [];
  const sinceLast = context.nowMs - (header?.historyMs ?? 0);
  if (samples.length === 0 || (sinceLast >= 0 && sinceLast < context.historyEveryMs)) return [];
  return samples.flatMap(({ subject, values }) => [subject, JSON.stringify(values)]);
}

function nextAccount(
  before: StoredAccount,
  commit: InternalCommit,
  header: Header,
  revision: string,
): StoredAccount {
  return {
    accountId: before.accountId,
    version: header.version,
    epoch: before.epoch,
    isNewEpoch: false,
    documents: nextDocuments(before.documents, commit),
    lanes: nextLanes(before.lanes, commit),
    danger: header.danger,
    revision,
  };
}

function nextDocuments(before: AccountDocuments, { documents }: AccountCommit): AccountDocuments {
  if (documents === undefined) return before;
  const next: Partial<Record<DocumentName, unknown>> = { ...before };
  for (const name of Object.keys(documents) as DocumentName[]) {
    const value = documents[name];
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
export function emptyEntry(accountId: string, epoch: StoreEpoch): Entry {
  const account: StoredAccount = {
    accountId,
    version: 0,
    epoch,
    isNewEpoch: false,
    documents: {},
    lanes: new Map(),
    danger: 0,
    revision: '',
  };
  return {
    account,
    headerText: '',
    header: undefined,
    texts: new Map(),
    moving: undefined,
    files: NO_FILES,
  };
}

import type { ChainHead, StoreRecord } from '../../core/audit/audit-record.ts';
import type { LaneState } from '../../core/lanes/lane-state.ts';
import { type AccountCommit, bucketOf, type DocumentName } from '../../core/ports/state-store.ts';
import type { AccountState } from '../../core/rules/account-state.ts';
import { type AppendContext, appendRecords, type ChainEnd, type Draft } from '../audit/audit-chain.ts';
import { NOTHING_OF_ACCOUNT, type RawChange, type RawLaneChange } from './account-backend.ts';
import {
  documentField,
  FOLDED_FIELD,
  fieldsOf,
  laneField,
  laneHeaderField,
  laneHeadersOf,
  MOVING_FIELD,
} from './documents.ts';
import { type Entry, NO_FILES } from './entry.ts';
import { isRestingText, movingText, restingText, restsAlike } from './evaluation-document.ts';
import { type Header, readLaneHeader, writeHeader, writeLaneHeader } from './header.ts';

/** A commit with parts that only the store itself may use. */
export interface InternalCommit extends AccountCommit {
  readonly storeRecords?: readonly StoreRecord[];
  readonly removeFields?: readonly string[];
  readonly trimBefore?: number;
  readonly removeFiles?: readonly string[];
}

export interface ChangeContext extends AppendContext {
  readonly writer: string;
  readonly historyEveryMs: number;
}

export interface PreparedChange {
  readonly base: Entry;
  readonly commit: InternalCommit;
  readonly raw: RawChange;
  /** Everything but the lanes once the change is made; null: unchanged. */
  readonly rest: PreparedRest | null;
}

export type PreparedRest = Pick<Entry, 'header' | 'files'>;

/** Works out what a commit writes, without what is stored already. */
export function prepareChange(base: Entry, commit: InternalCommit, context: ChangeContext): PreparedChange {
  const drafts = sortDrafts(commit);
  const lanes = lanesOf(base, commit, drafts.byLane, context);
  const others = {
    accountId: base.account.accountId,
    lanes,
    dueInMs: commit.due === undefined ? null : Math.max(0, Math.round(commit.due.inMs)),
    lastNumber: base.header.isOld ? base.header.seq : 0,
    removeFiles: commit.removeFiles ?? [],
    trimBefore: commit.trimBefore ?? 0,
    lease: commit.lease ?? null,
    stamp: commit.controls?.stamp ?? null,
  };
  if (isOfLanesAlone(base, commit, drafts.own)) {
    const raw = { ...NOTHING_OF_ACCOUNT, records: [], files: [], history: [], ...others };
    return { base, commit, raw, rest: null };
  }
  const { rest, ...written } = restOf(base, commit, drafts.own, context);
  return { base, commit, raw: { ...written, ...others, expected: base.headerText }, rest };
}

/** Records by lane; those of the account's own chain are under `undefined`. */
function sortDrafts({ audit = [], storeRecords = [], lanes }: InternalCommit) {
  const byLane = Map.groupBy<string | undefined, Draft>(audit, (draft) => {
    const market = draft.kind === 'action' ? draft.event.market : undefined;
    return market !== undefined && lanes?.has(market) ? market : undefined;
  });
  return { own: [...(byLane.get(undefined) ?? []), ...storeRecords], byLane };
}

/** The first commit in a store epoch always concerns the account itself too, and so does that of an old account. */
function isOfLanesAlone({ account, header }: Entry, commit: InternalCommit, own: readonly Draft[]): boolean {
  const { documents, due, quiet, history, removeFields, trimBefore, removeFiles, lanes } = commit;
  if (lanes === undefined || account.version === 0 || header.isOld || account.isNewEpoch) return false;
  const lists = [own, history ?? [], removeFields ?? [], removeFiles ?? [], Object.keys(documents ?? {})];
  const isOther = due !== undefined || quiet !== undefined || trimBefore !== undefined;
  return !isOther && lists.every(({ length }) => length === 0);
}

function lanesOf(
  base: Entry,
  commit: InternalCommit,
  drafts: ReadonlyMap<string | undefined, readonly Draft[]>,
  context: ChangeContext,
): readonly RawLaneChange[] {
  const { account, texts } = base;
  const all = commit.lease?.market === null ? laneHeadersOf(texts).keys() : [];
  return [...new Set([...(commit.lanes?.keys() ?? []), ...all])].map((market) => {
    const expected = texts.get(laneHeaderField(market)) ?? '';
    const before = readLaneHeader(expected);
    const chain = { end: { ...before, quiet: 0, quietSinceMs: 0 }, drafts: drafts.get(market) ?? [] };
    const { end, records } = appendRecords(account, market, chain, context);
    const text = laneText(base, market, commit.lanes?.get(market));
    const isSame = text === undefined && records.length === 0;
    const header = isSame ? expected : writeLaneHeader({ ...end, version: before.version + 1 });
    return { market, expected, header, text, records, isSeparable: commit.separable?.has(market) ?? false };
  });
}

function laneText(
  { texts, account }: Entry,
  market: string,
  lane: LaneState | null | undefined,
): string | null | undefined {
  const before = texts.get(laneField(market));
  if (lane === undefined || lane === account.lanes.get(market)) return undefined;
  if (lane === null) return before === undefined ? undefined : null;
  const text = JSON.stringify(lane);
  return text === before ? undefined : text;
}

function restOf(base: Entry, commit: InternalCommit, own: readonly Draft[], context: ChangeContext) {
  const { account, header } = base;
  const { nowMs } = context;
  const { set, remove } = changedDocuments(base, commit);
  const fold = commit.due === undefined ? undefined : foldOf(base, nowMs);
  if (fold !== undefined) set.push(FOLDED_FIELD, fold.folded);
  const end = chainEnd(header, commit.quiet ?? 0, nowMs);
  const drafts = [...epochDrafts(base, nowMs), ...own, ...(fold === undefined ? [] : [fold.record])];
  const appended = appendRecords(account, undefined, { end, drafts }, context);
  const history = historyOf(header, commit, context);
  const removesFiles = (commit.removeFiles?.length ?? 0) > 0;
  const next: Header = {
    ...appended.end,
    writer: context.writer,
    version: account.version + 1,
    epoch: account.epoch.id,
    danger: commit.due?.danger ?? account.danger,
    firstNumber: commit.trimBefore ?? header.firstNumber,
    sweep: header.sweep + (removesFiles ? 1 : 0),
    historyMs: history.length > 0 ? nowMs : header.historyMs,
    isOld: false,
  };
  const added = [...appended.files].filter(([hash]) => !base.files.has(hash));
  const kept = added.length > 0 ? new Set([...base.files, ...appended.files.keys()]) : base.files;
  const rest: PreparedRest = { header: next, files: removesFiles ? NO_FILES : kept };
  return {
    header: writeHeader(next),
    set,
    remove,
    records: appended.records,
    files: added.flat(),
    history,
    rest,
  };
}

/** Documents that differ from the stored ones; rewriting the same text costs more than comparing it. */
function changedDocuments(entry: Entry, { documents = {}, removeFields = [] }: InternalCommit) {
  const { texts, account } = entry;
  const set: string[] = [];
  const remove = [...removeFields];
  const write = (field: string, text: string): void => {
    if (text !== texts.get(field)) set.push(field, text);
  };
  const { evaluation } = documents;
  if (evaluation && evaluation !== account.documents.evaluation) {
    if (!restsIn(entry, evaluation)) write(EVALUATION_FIELD, restingText(evaluation));
    write(MOVING_FIELD, movingText(evaluation));
  }
  for (const name of Object.keys(documents) as DocumentName[]) {
    const value = documents[name];
    if (value === undefined || value === account.documents[name]) continue;
    if (value === null) remove.push(...fieldsOf(name).filter((field) => texts.has(field)));
    else if (name !== 'evaluation') write(documentField(name), JSON.stringify(value));
  }
  return { set, remove };
}

const EVALUATION_FIELD = documentField('evaluation');

/** Whether only the moving figures of the evaluation have changed. */
function restsIn({ texts, account }: Entry, evaluation: AccountState): boolean {
  const before = account.documents.evaluation;
  return before !== undefined && isRestingText(texts.get(EVALUATION_FIELD)) && restsAlike(before, evaluation);
}

/** The ends of lanes' chains that went on since the account's chain last recorded them; undefined: none did. */
function foldOf({ texts }: Entry, atMs: number) {
  const known = JSON.parse(texts.get(FOLDED_FIELD) ?? '{}') as Record<string, number>;
  const heads: Record<string, ChainHead> = {};
  for (const [market, { seq, head: hash }] of laneHeadersOf(texts)) {
    if (seq <= (known[market] ?? 0)) continue;
    heads[market] = { seq, hash };
    known[market] = seq;
  }
  if (Object.keys(heads).length === 0) return undefined;
  const record: StoreRecord = { kind: 'lanes', atMs, heads };
  return { record, folded: JSON.stringify(known) };
}

function chainEnd(header: Header, repeated: number, nowMs: number): ChainEnd {
  const { seq, head } = header;
  const quiet = header.quiet + repeated;
  const sinceMs = header.quiet === 0 ? nowMs : header.quietSinceMs;
  return { seq, head, quiet, quietSinceMs: quiet === 0 ? 0 : sinceMs };
}

function epochDrafts({ account, header }: Entry, atMs: number): readonly StoreRecord[] {
  const { id: epoch, why } = account.epoch;
  if (header.epoch === epoch) return [];
  const previousEpoch = header.epoch === '' ? null : header.epoch;
  return [{ kind: 'epochStarted', atMs, epoch, previousEpoch, why }];
}

/** A sample of all subjects, if the last one is old enough; a clock that stepped back does not stop samples. */
function historyOf(
  header: Header,
  { history: samples = [] }: AccountCommit,
  context: ChangeContext,
): string[] {
  const sinceLast = context.nowMs - header.historyMs;
  if (samples.length === 0 || (sinceLast >= 0 && sinceLast < context.historyEveryMs)) return [];
  return samples.flatMap(({ subject, values }) => [subject, JSON.stringify(values)]);
}

/** Commits each bucket's changes separately; resolves to the results in the order of `changes`. */
export async function byBucket<R>(
  changes: readonly InternalCommit[],
  commit: (bucket: number, group: readonly InternalCommit[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const groups = Map.groupBy(changes.keys(), (index) => bucketOf(changes[index]!.base.accountId));
  const results: R[] = [];
  const answered = Array.from(groups, async ([bucket, indices]) => {
    const group = indices.map((index) => changes[index]!);
    const answers = await commit(bucket, group);
    for (const [turn, index] of indices.entries()) results[index] = answers[turn]!;
  });
  await Promise.all(answered);
  return results;
}

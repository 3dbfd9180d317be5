import {
  type AuditDraft,
  type ChainHead,
  GENESIS_HASH,
  type StoreRecord,
} from '../../core/audit/audit-record.ts';
import type { LaneState } from '../../core/lanes/lane-state.ts';
import { type AccountCommit, bucketOf, type DocumentName } from '../../core/ports/state-store.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import type { AccountState } from '../../core/rules/account-state.ts';
import { appendRecords } from '../audit/audit-chain.ts';
import type { RawChange, RawLaneChange } from './account-backend.ts';
import { documentField, FOLDED_FIELD, laneField, MOVING_FIELD } from './documents.ts';
import { type Entry, NO_FILES } from './entry.ts';
import { isRestingText, movingText, restingText, restsAlike } from './evaluation-document.ts';
import { type Header, readLaneHeader, writeHeader, writeLaneHeader } from './header.ts';

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
  readonly base: Entry;
  readonly commit: InternalCommit;
  readonly raw: RawChange;
  /** Everything but the lanes once the change is made; null: it stays as it is. */
  readonly rest: PreparedRest | null;
}

export interface PreparedRest extends Pick<Entry, 'moving' | 'folded' | 'files'> {
  readonly header: Header;
}

type Draft = AuditDraft | StoreRecord;

/** Everything that a commit writes, and nothing that is there already. */
export function prepareChange(base: Entry, commit: InternalCommit, context: ChangeContext): PreparedChange {
  const drafts = sortDrafts(commit);
  const lanes = lanesOf(base, commit, drafts.byLane, context);
  const others = {
    accountId: base.account.accountId,
    lanes,
    dueInMs: commit.due === undefined ? null : Math.max(0, Math.round(commit.due.inMs)),
    lastNumber: base.header?.isOld === true ? base.header.seq : 0,
    removeFiles: commit.removeFiles ?? [],
    trimBefore: commit.trimBefore ?? 0,
    lease: commit.lease ?? null,
    stamp: commit.controls?.stamp ?? null,
  };
  if (isOfLanesAlone(base, commit, drafts.own)) {
    const raw = { ...NOTHING_OF_REST, ...others };
    return { base, commit, raw, rest: null };
  }
  const { rest, ...written } = restOf(base, commit, drafts.own, context);
  return { base, commit, raw: { ...written, ...others, expected: base.headerText }, rest };
}

const NOTHING_OF_REST = {
  expected: null,
  header: '',
  set: [],
  remove: [],
  records: [],
  files: [],
  history: [],
};

/** Records by lane; those of the account's own chain are under `undefined`. */
function sortDrafts({ audit = [], storeRecords = [], lanes }: InternalCommit) {
  const byLane = Map.groupBy<string | undefined, Draft>(audit, (draft) => {
    const market = draft.kind === 'action' ? draft.event.market : undefined;
    return market !== undefined && lanes?.has(market) ? market : undefined;
  });
  return { own: [...(byLane.get(undefined) ?? []), ...storeRecords], byLane };
}

/** The first commit in a store epoch is also one of the account, whatever it changes; so is that of an old account. */
function isOfLanesAlone({ account, header }: Entry, commit: InternalCommit, own: readonly Draft[]): boolean {
  const { documents, due, quiet, history, removeFields, trimBefore, removeFiles, lanes } = commit;
  if (lanes === undefined || header === undefined || header.isOld || account.isNewEpoch) return false;
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
  const { account, laneHeaders } = base;
  const all = commit.lease?.market === null ? laneHeaders.keys() : [];
  return [...new Set([...(commit.lanes?.keys() ?? []), ...all])].map((market) => {
    const expected = laneHeaders.get(market) ?? '';
    const before = readLaneHeader(expected) ?? { version: 0, seq: 0, head: GENESIS_HASH };
    const { end, records } = appendRecords({
      accountId: account.accountId,
      market,
      epoch: account.epoch.id,
      atMs: context.nowMs,
      end: { ...before, quiet: 0, quietSinceMs: 0 },
      drafts: drafts.get(market) ?? [],
      redact: context.redact,
    });
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

type WrittenRest = Pick<RawChange, 'header' | 'set' | 'remove' | 'records' | 'files' | 'history'> & {
  readonly rest: PreparedRest;
};

function restOf(
  base: Entry,
  commit: InternalCommit,
  own: readonly Draft[],
  context: ChangeContext,
): WrittenRest {
  const { account, header } = base;
  const { nowMs } = context;
  const written = changedDocuments(base, commit);
  const fold = commit.due === undefined ? undefined : foldOf(base, nowMs);
  if (fold !== undefined) written.set.push(FOLDED_FIELD, fold.folded);
  const appended = appendRecords({
    accountId: account.accountId,
    epoch: account.epoch.id,
    atMs: nowMs,
    end: chainEnd(header, commit.quiet ?? 0, nowMs),
    drafts: [...epochDrafts(base, nowMs), ...own, ...(fold === undefined ? [] : [fold.record])],
    redact: context.redact,
  });
  const history = historyOf(header, commit, context);
  const removesFiles = (commit.removeFiles?.length ?? 0) > 0;
  const next: Header = {
    ...appended.end,
    writer: context.writer,
    version: account.version + 1,
    epoch: account.epoch.id,
    danger: commit.due?.danger ?? account.danger,
    firstNumber: commit.trimBefore ?? header?.firstNumber ?? 1,
    sweep: (header?.sweep ?? 0) + (removesFiles ? 1 : 0),
    historyMs: history.length > 0 ? nowMs : (header?.historyMs ?? 0),
    isOld: false,
  };
  const hasFiles = appended.files.size > 0;
  const kept = hasFiles ? new Set([...base.files, ...appended.files.keys()]) : base.files;
  const files = removesFiles ? NO_FILES : kept;
  const folded = fold?.folded ?? base.folded;
  return {
    header: writeHeader(next),
    set: written.set,
    remove: written.remove,
    records: appended.records,
    files: [...appended.files].filter(([hash]) => !base.files.has(hash)).flat(),
    history,
    rest: { header: next, moving: written.moving, folded, files },
  };
}

interface WrittenDocuments {
  /** Fields and texts by turns. */
  readonly set: string[];
  readonly remove: string[];
  readonly moving: string | undefined;
}

/** Documents that differ from what is stored; a rewrite of the same text costs more than the comparison. */
function changedDocuments(entry: Entry, commit: InternalCommit): WrittenDocuments {
  const { texts, account } = entry;
  const set: string[] = [];
  const remove: string[] = [...(commit.removeFields ?? [])];
  const write = (field: string, text: string): void => {
    if (text !== texts.get(field)) set.push(field, text);
  };
  const { documents = {} } = commit;
  const { evaluation } = documents;
  if (evaluation && !restsIn(entry, evaluation)) write(EVALUATION_FIELD, restingText(evaluation));
  for (const name of Object.keys(documents) as DocumentName[]) {
    const value = documents[name];
    const field = documentField(name);
    if (value === undefined || value === account.documents[name]) continue;
    if (value === null) {
      if (texts.has(field)) remove.push(field);
    } else if (name !== 'evaluation') write(field, JSON.stringify(value));
  }
  const moving = movingAfter(entry, commit);
  if (moving === undefined) {
    if (entry.moving !== undefined && !remove.includes(MOVING_FIELD)) remove.push(MOVING_FIELD);
  } else if (moving !== entry.moving) set.push(MOVING_FIELD, moving);
  return { set, remove, moving };
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

/** How far the chains of lanes have come, where any went on since the account's chain was last told. */
function foldOf(
  { folded, laneHeaders }: Entry,
  atMs: number,
): { readonly record: StoreRecord; readonly folded: string } | undefined {
  const known = folded === undefined ? {} : (JSON.parse(folded) as Readonly<Record<string, number>>);
  const heads: Record<string, ChainHead> = {};
  for (const [market, text] of laneHeaders) {
    const { seq, head: hash } = readLaneHeader(text) ?? { seq: 0, head: '' };
    if (seq > (known[market] ?? 0)) heads[market] = { seq, hash };
  }
  const moved = Object.entries(heads);
  if (moved.length === 0) return undefined;
  const now = { ...known, ...Object.fromEntries(moved.map(([market, { seq }]) => [market, seq])) };
  return { record: { kind: 'lanes', atMs, heads }, folded: JSON.stringify(now) };
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

function epochDrafts({ account, header }: Entry, nowMs: number): readonly StoreRecord[] {
  if (header?.epoch === account.epoch.id) return [];
  const { id, why } = account.epoch;
  return [{ kind: 'epochStarted', atMs: nowMs, epoch: id, previousEpoch: header?.epoch ?? null, why }];
}

/** A sample of all subjects, if the last one is old enough; a clock that stepped back does not stop them. */
function historyOf(header: Header | undefined, commit: AccountCommit, context: ChangeContext): string[] {
  const samples = commit.history ?? [];
  const sinceLast = context.nowMs - (header?.historyMs ?? 0);
  if (samples.length === 0 || (sinceLast >= 0 && sinceLast < context.historyEveryMs)) return [];
  return samples.flatMap(({ subject, values }) => [subject, JSON.stringify(values)]);
}

/** Each bucket's changes by themselves, answered in the order asked. Nearly always there is one: a poll's. */
export async function byBucket<R>(
  changes: readonly InternalCommit[],
  commit: (bucket: number, group: readonly InternalCommit[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const buckets = changes.map(({ base }) => bucketOf(base.accountId));
  const [first] = buckets;
  if (first === undefined) return [];
  if (buckets.every((bucket) => bucket === first)) return commit(first, changes);
  const results: R[] = [];
  await Promise.all(
    Array.from(new Set(buckets), async (bucket) => {
      const indices = [...buckets.keys()].filter((index) => buckets[index] === bucket);
      const answers = await commit(
        bucket,
        indices.map((index) => changes[index]!),
      );
      for (const [turn, index] of indices.entries()) results[index] = answers[turn]!;
    }),
  );
  return results;
}

import type { AuditKind } from '../../core/audit/audit-event.ts';
import type { AuditRecord } from '../../core/audit/audit-record.ts';
import type { EpochStart } from '../../core/ports/state-store.ts';
import { mergeControls } from '../controls/controls-text.ts';
import {
  type Backend,
  NOTHING_OF_ACCOUNT,
  type RawAccount,
  type RawChange,
  type RawLaneChange,
  type RawRecord,
  type RawView,
  STAMP_LENGTH,
} from './account-backend.ts';
import type { BucketImage, HeldAccount, MemoryBackend } from './backend-memory.ts';
import {
  documentField,
  FOLDED_FIELD,
  HEADER_FIELD,
  laneField,
  laneHeaderField,
  laneHeadersOf,
  TALLY_FIELD,
} from './documents.ts';
import {
  documentsOfBoth,
  INBOX_FIELD,
  inboxOfBoth,
  isDocument,
  isKnownWhole,
  nextEpisodeIn,
  positionsReadMsIn,
} from './documents-of-both.ts';
import {
  isSameChain,
  type LaneHeader,
  readEpoch,
  readHeader,
  readLaneHeader,
  readTally,
  writeEpoch,
  writeHeader,
  writeLaneHeader,
} from './header.ts';

/** Outcome of a hand-back for one account. */
export interface HandedBack {
  readonly accountId: string;
  /**
   * `continued`: the shared state had stood still. `merged`: the state of this process is in force, because the
   * shared store had lost some of it, only people had changed it, or others had decided nothing there that this
   * process does not know. `superseded`: another process went on with the account, and its state is in force.
   */
  readonly how: 'continued' | 'merged' | 'superseded';
  /** Audit records that could not continue their chain; they are to be added to it as a separate segment. */
  readonly segment: readonly RawRecord[];
}

export interface HandBackParts {
  readonly index: number;
  /** The bucket when the shared backend was lost, as far as this process knew it. */
  readonly base: BucketImage;
  readonly alone: MemoryBackend;
  readonly shared: Backend;
  /** Names under which this process has committed, the present one last. */
  readonly writers: readonly string[];
  /** Accounts that were superseded in an earlier attempt, whose commit may have been made. */
  readonly superseded: Set<string>;
  readonly randomText: (length: number) => string;
}

type Fields = ReadonlyMap<string, string>;

const NO_FIELDS: Fields = new Map();
const EPOCH_ID_LENGTH = 10;
/** Attempts to read, compare and write while others interfere. */
const ATTEMPTS = 5;

/** Writes what one bucket holds to the shared backend; see `HandedBack`. Rejects if that is lost again. */
export async function handBackBucket(parts: HandBackParts): Promise<readonly HandedBack[]> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const results = await handBackOnce(parts);
    if (results !== undefined) return results;
  }
  throw new Error(`bucket ${parts.index} changes faster than it can be handed back`);
}

async function handBackOnce(parts: HandBackParts): Promise<readonly HandedBack[] | undefined> {
  const { index, base, alone, shared, superseded } = parts;
  const accountIds = [...base.accounts.keys()];
  const raw = await shared.view(index, { writer: '', stamp: '', accountIds, due: null });
  const merges = raw.accounts.flatMap((account) => {
    const held = alone.held(index, account.accountId);
    const before = base.accounts.get(account.accountId) ?? NO_FIELDS;
    const isNeeded = held !== undefined && (hasChanged(held, before) || isBehind(account, before));
    // A commit of this process whose reply was lost is not work of another.
    const isOurs =
      parts.writers.includes(readTally(account.tally).writer) && !superseded.has(account.accountId);
    return isNeeded ? [merge(account, before, held, isOurs)] : [];
  });
  for (const { accountId, how } of merges) if (how === 'superseded') superseded.add(accountId);
  const isContested = merges.some(({ how, segment }) => how === 'superseded' && segment.some(hasSent));
  const epoch = await settleEpoch(parts, raw, isContested);
  if (!(await settleControls(parts, raw))) return undefined;
  if (merges.length === 0) return [];
  const reply = await shared.commit(index, {
    epoch,
    writer: parts.writers.at(-1) ?? '',
    changes: merges.map(({ change }) => change),
    controls: null,
  });
  const isDone = reply.kind === 'answered' && reply.outcomes.every(({ kind }) => kind === 'committed');
  return isDone ? merges.map(({ accountId, how, segment }) => ({ accountId, how, segment })) : undefined;
}

function hasChanged({ fields }: HeldAccount, before: Fields): boolean {
  return [TALLY_FIELD, HEADER_FIELD].some((field) => fields.get(field) !== before.get(field));
}

/** Recorded before a request leaves that changes orders at the exchange. */
const SENT: ReadonlySet<AuditKind> = new Set(['placing', 'cancelling']);

function hasSent({ text }: RawRecord): boolean {
  const { content } = JSON.parse(text) as AuditRecord;
  return content.kind === 'action' && SENT.has(content.event.kind);
}

/**
 * Keeps the epoch, on another server too, unless others have begun one, or both sides have gone on with an account
 * and requests of this process are missing from the state in force.
 */
async function settleEpoch(
  { index, base, shared, randomText }: HandBackParts,
  raw: RawView,
  isContested: boolean,
): Promise<string> {
  const known = readEpoch(base.epoch);
  const stored = readEpoch(raw.epoch);
  const isOurs = known !== undefined && (stored === undefined || stored.epoch.id === known.epoch.id);
  if (isOurs && !isContested) {
    const next = writeEpoch(known.epoch, raw.run);
    return raw.epoch === next ? next : await shared.startEpoch(index, raw.epoch, next);
  }
  if (!isContested && raw.epoch !== null) return raw.epoch;
  const why: EpochStart = 'rolledBack';
  const sinceMs = known?.epoch.sinceMs ?? 0;
  const next = writeEpoch({ id: randomText(EPOCH_ID_LENGTH), why, sinceMs }, raw.run);
  return await shared.startEpoch(index, raw.epoch, next);
}

/** Merges the controls set here and elsewhere; false: others have just changed them. */
async function settleControls(
  { index, base, alone, shared, randomText }: HandBackParts,
  raw: RawView,
): Promise<boolean> {
  const stored = raw.controls ?? '';
  const said = { base: base.controls, here: alone.stateOf(index).controls, there: stored };
  const merged = mergeControls(said, randomText(STAMP_LENGTH));
  if (merged === stored) return true;
  return (await shared.setControls(index, stored.slice(0, STAMP_LENGTH), merged)) === merged;
}

interface Merge extends HandedBack {
  readonly change: RawChange;
}

/** Merges one account: its own part and each lane separately, as each has its own version. */
function merge(stored: RawAccount, before: Fields, held: HeldAccount, isOurs: boolean): Merge {
  const { accountId } = stored;
  const there = stored.fields ?? NO_FIELDS;
  const isOlder = isBehind(stored, before);
  const knowsMore = !isOlder && !isOurs && hasDecidedAlone(held.fields, there, before);
  const wins = isOlder || isOurs || knowsMore;
  const chains = Map.groupBy(held.records, ({ text }) => (JSON.parse(text) as AuditRecord).market);
  const segment: RawRecord[] = [];
  let isSuperseded = false;
  let isMerged = false;
  const continuing: RawRecord[] = [];
  const settle: Settle = (chain, isSame, isUncontested = false) => {
    const records = chains.get(chain) ?? [];
    (isSame ? continuing : segment).push(...records);
    if (isSame) return 'continues';
    const replaces = wins || isUncontested;
    if (replaces) isMerged = true;
    else isSuperseded = true;
    return replaces ? 'replaces' : 'yields';
  };
  const scene = { there, before, held, settle, isOlder };
  const lanes = lanesPart(scene);
  // The account's own records say how far the chains of lanes had come, which is true only behind those of the lanes.
  const own = ownPart(scene, segment.length === 0);
  const change: RawChange = {
    accountId,
    ...own,
    lanes,
    // In the order in which they were made: some say how far other chains had come.
    records: continuing.toSorted((a, b) => a.number - b.number),
    dueInMs: 0,
    lastNumber: 0,
    files: [...held.files].flat(),
    removeFiles: [],
    trimBefore: 0,
    history: [],
    lease: null,
    stamp: null,
  };
  const how = isSuperseded ? 'superseded' : isMerged ? 'merged' : 'continued';
  return { accountId, how, segment, change };
}

/**
 * Whether others have decided nothing there that this process does not know: no episode has begun, no lane has a new
 * record, nothing was cancelled in the whole account, nobody has answered; and this process has read the positions
 * later.
 */
function hasDecidedAlone(here: Fields, there: Fields, before: Fields): boolean {
  if (!isKnownWhole(before) || nextEpisodeIn(there) > nextEpisodeIn(before)) return false;
  const isSeen = ([market, { seq }]: readonly [string, LaneHeader]): boolean =>
    seq === readLaneHeader(before.get(laneHeaderField(market))).seq;
  if (![...laneHeadersOf(there)].every(isSeen)) return false;
  // A cancel of the whole account leaves no record of a lane.
  if (there.get(ACCOUNT_LANE_FIELD) !== before.get(ACCOUNT_LANE_FIELD)) return false;
  const [ours, theirs, known] = [here, there, before].map((fields) => fields.get(APPROVALS_FIELD));
  return (theirs === known || ours === known) && readsLater(here, there);
}

const APPROVALS_FIELD = documentField('approvals');
const ACCOUNT_LANE_FIELD = documentField('accountLane');

/** Whether this process has read the positions last. Then unseen changes there are from before its read. */
function readsLater(here: Fields, there: Fields): boolean {
  const [ours, theirs] = [positionsReadMsIn(here), positionsReadMsIn(there)];
  return ours !== undefined && theirs !== undefined && ours > theirs;
}

/** Whether the shared store has lost some of what it had. */
function isBehind({ header, tally }: RawAccount, before: Fields): boolean {
  if (header === '') return true;
  const count = readTally(tally).count;
  const known = readTally(before.get(TALLY_FIELD) ?? '').count;
  if (count !== known) return count < known;
  return versionOf(header) < versionOf(before.get(HEADER_FIELD) ?? '');
}

function versionOf(header: string): number {
  const read = readHeader(header);
  return 'writer' in read ? read.version : 0;
}

/** Whether the state of this process continues the stored one, replaces it, or is left out. */
type Way = 'continues' | 'replaces' | 'yields';

/**
 * `isSame`: nobody has changed the part meanwhile. `isUncontested`: it may replace that part if its records cannot
 * follow.
 */
type Settle = (chain: string | undefined, isSame: boolean, isUncontested?: boolean) => Way;

interface PartScene {
  readonly there: Fields;
  readonly before: Fields;
  readonly held: HeldAccount;
  readonly settle: Settle;
  readonly isOlder: boolean;
}

/** The account's own part: its documents under its header. `lanesFollow`: the chains of all lanes continue. */
function ownPart(
  { there, before, held, settle, isOlder }: PartScene,
  lanesFollow: boolean,
): typeof NOTHING_OF_ACCOUNT {
  const stored = there.get(HEADER_FIELD) ?? '';
  const header = held.fields.get(HEADER_FIELD) ?? '';
  if (header === '' || header === stored) return NOTHING_OF_ACCOUNT;
  if (header === before.get(HEADER_FIELD) && !isOlder) return NOTHING_OF_ACCOUNT;
  const isSame = isSameChain(stored, before.get(HEADER_FIELD) ?? '');
  const inbox = isOlder || isSame ? undefined : inboxOfBoth(held.fields, there, before);
  const way = settle(undefined, isSame && lanesFollow, isSame || inbox !== undefined);
  if (way === 'yields') return NOTHING_OF_ACCOUNT;
  // How far lanes were folded belongs to the chain stored there.
  const isTaken = (field: string): boolean =>
    isDocument(field) && (way === 'continues' || field !== FOLDED_FIELD);
  const known =
    way === 'replaces' && !isOlder && isKnownWhole(before)
      ? documentsOfBoth(held.fields, there, before)
      : inbox === undefined
        ? held.fields
        : new Map([...held.fields, [INBOX_FIELD, inbox]]);
  const documents = [...known].filter(([field]) => isTaken(field));
  return {
    expected: stored,
    header: way === 'continues' ? newerThan(stored, header) : headerOver(stored, header),
    set: documents.flat(),
    remove: [...there.keys()].filter((field) => isTaken(field) && !known.has(field)),
  };
}

/** The header with a version above the stored one. */
function newerThan(stored: string, header: string): string {
  const [ours, theirs] = [readHeader(header), readHeader(stored)];
  if (!('writer' in ours) || !('writer' in theirs) || ours.version > theirs.version) return header;
  return writeHeader({ ...ours, version: theirs.version + 1 });
}

/** The header of this process, with the end of the stored audit chain. */
function headerOver(stored: string, header: string): string {
  const ours = readHeader(header);
  const theirs = readHeader(stored === '' ? header : stored);
  if (!('writer' in ours) || !('writer' in theirs)) return header;
  const { seq, head, firstNumber } = stored === '' ? EMPTY_CHAIN : theirs;
  const version = Math.max(ours.version, theirs.version) + 1;
  return writeHeader({ ...ours, version, seq, head, firstNumber });
}

const EMPTY_CHAIN = { seq: 0, head: readLaneHeader('').head, firstNumber: 1 };

function lanesPart({ there, before, held, settle, isOlder }: PartScene): readonly RawLaneChange[] {
  return [...laneHeadersOf(held.fields).keys()].flatMap((market): RawLaneChange[] => {
    const field = laneHeaderField(market);
    const header = held.fields.get(field) ?? '';
    const expected = there.get(field) ?? '';
    if (header === expected || (header === (before.get(field) ?? '') && !isOlder)) return [];
    const way = settle(market, expected === (before.get(field) ?? ''));
    if (way === 'yields') return [];
    const text = held.fields.get(laneField(market)) ?? (there.has(laneField(market)) ? null : undefined);
    const next = way === 'continues' ? header : laneHeaderOver(expected, header);
    return [{ market, expected, header: next, isSeparable: false, text, records: [] }];
  });
}

function laneHeaderOver(stored: string, header: string): string {
  const { version } = readLaneHeader(header);
  const theirs = readLaneHeader(stored);
  return writeLaneHeader({ ...theirs, version: Math.max(version, theirs.version) + 1 });
}

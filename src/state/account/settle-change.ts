import type { AccountDocuments } from '../../core/ports/state-store.ts';
import { pairsOf } from '../redis-scripts.ts';
import type { RawOutcome } from './account-backend.ts';
import type { InternalCommit, PreparedChange } from './change.ts';
import { laneField, laneHeaderField } from './documents.ts';
import { type Entry, type KnownTally, laneVersion, newestOf } from './entry.ts';
import { readTally } from './header.ts';

export type Committed = Extract<RawOutcome, { kind: 'committed' }>;

/** The account after a change: what was written, and the newest of all else, as replies may arrive out of order. */
export function settleChange(
  prepared: PreparedChange,
  outcome: Committed,
  remembered: Entry | undefined,
): Entry {
  const { base } = prepared;
  const isSameEpoch = remembered?.account.epoch === base.account.epoch;
  const known = remembered !== undefined && isSameEpoch ? newestOf(base, remembered) : base;
  const withRest = afterRest(known, prepared);
  const settled = afterLanes(withRest, prepared, new Set(outcome.leftOut));
  const tally = outcome.tally === null ? known.tally : tallyAfter(known.tally, outcome.tally);
  const revision = `${settled.headerText} ${tally.text}`;
  return { ...settled, tally, account: { ...settled.account, revision } };
}

function afterRest(known: Entry, { rest, raw, commit }: PreparedChange): Entry {
  if (rest === null || known.account.version >= rest.header.version) return known;
  const { header, files } = rest;
  return {
    ...known,
    account: {
      ...known.account,
      version: header.version,
      isNewEpoch: false,
      documents: nextDocuments(known.account.documents, commit.documents),
      danger: header.danger,
    },
    header,
    headerText: raw.header,
    texts: nextTexts(known.texts, raw.set, raw.remove),
    files,
  };
}

function afterLanes(
  known: Entry,
  { raw, commit, base }: PreparedChange,
  leftOut: ReadonlySet<string>,
): Entry {
  const written = raw.lanes.filter(
    ({ market, expected, header }) =>
      header !== expected && !leftOut.has(market) && laneVersion(known, market) <= laneVersion(base, market),
  );
  if (written.length === 0) return known;
  const texts = new Map(known.texts);
  const lanes = new Map(known.account.lanes);
  for (const { market, header, text } of written) {
    texts.set(laneHeaderField(market), header);
    const lane = commit.lanes?.get(market);
    if (text === null) {
      texts.delete(laneField(market));
      lanes.delete(market);
    } else if (lane) {
      if (text !== undefined) texts.set(laneField(market), text);
      lanes.set(market, lane);
    }
  }
  return { ...known, texts, account: { ...known.account, lanes } };
}

function tallyAfter(known: KnownTally, { before, after }: NonNullable<Committed['tally']>): KnownTally {
  if (known.text === before) return { text: after, isComplete: known.isComplete };
  const isKnown = readTally(known.text).count >= readTally(after).count;
  return isKnown ? known : { text: after, isComplete: false };
}

function nextTexts(
  before: Entry['texts'],
  set: readonly string[],
  remove: readonly string[],
): Entry['texts'] {
  if (set.length === 0 && remove.length === 0) return before;
  const texts = new Map(before);
  for (const field of remove) texts.delete(field);
  for (const [field, text] of pairsOf(set)) texts.set(field, text);
  return texts;
}

function nextDocuments(before: AccountDocuments, changed: InternalCommit['documents']): AccountDocuments {
  if (changed === undefined) return before;
  const next = { ...before, ...changed };
  const isRemoved = Object.values(changed).includes(null);
  if (!isRemoved) return next as AccountDocuments;
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null));
}

import type { StoredAccount, StoreEpoch } from '../../core/ports/state-store.ts';
import type { RawAccount } from './account-backend.ts';
import { laneField, laneHeaderField, laneHeadersOf, type Texts } from './documents.ts';
import { type Header, NO_HEADER, readLaneHeader, readTally } from './header.ts';

/** What a store knows of an account, including what it does not show. */
export interface Entry {
  readonly account: StoredAccount;
  readonly texts: Texts;
  /** Empty: never committed. */
  readonly headerText: string;
  readonly header: Header;
  readonly tally: KnownTally;
  /** Hashes of attachments that are certainly stored, as of this `sweep` of the header. */
  readonly files: ReadonlySet<string>;
}

export interface KnownTally {
  /** Empty: none yet. */
  readonly text: string;
  /** Whether everything counted is known, not only the newest part. */
  readonly isComplete: boolean;
}

export const NO_FILES: ReadonlySet<string> = new Set();

/** An account that was never committed. */
export function emptyEntry(accountId: string, epoch: StoreEpoch): Entry {
  const nothing = { version: 0, isNewEpoch: false, documents: {}, lanes: new Map(), danger: 0, revision: '' };
  return {
    account: { accountId, epoch, ...nothing },
    headerText: '',
    header: NO_HEADER,
    tally: { text: '', isComplete: true },
    texts: new Map(),
    files: NO_FILES,
  };
}

export function laneVersion(entry: Entry, market: string): number {
  return readLaneHeader(entry.texts.get(laneHeaderField(market))).version;
}

function isLater(one: string, other: string): boolean {
  return one !== other && readTally(one).count > readTally(other).count;
}

/** Whether `known` is everything stored under this header and tally. */
export function isAllOf(
  known: Entry | undefined,
  stored: Pick<RawAccount, 'header' | 'tally'>,
): known is Entry {
  const isSame = known?.headerText === stored.header && known.tally.text === stored.tally;
  return isSame && known.tally.isComplete;
}

/** Whether `other` knows everything that `entry` knows. */
export function isCoveredBy(entry: Entry, other: Entry): boolean {
  return entry.account.version <= other.account.version && !isLater(entry.tally.text, other.tally.text);
}

/** Merges two states of one account in one store epoch, part by part: each part has its own version. */
export function newestOf(a: Entry, b: Entry): Entry {
  if (a === b || (isCoveredBy(b, a) && a.tally.isComplete)) return a;
  if (isCoveredBy(a, b) && b.tally.isComplete) return b;
  const [rest, other] = a.account.version >= b.account.version ? [a, b] : [b, a];
  const texts = new Map(rest.texts);
  const lanes = new Map(rest.account.lanes);
  for (const market of laneHeadersOf(other.texts).keys()) {
    if (laneVersion(other, market) <= laneVersion(rest, market)) continue;
    for (const field of [laneField(market), laneHeaderField(market)])
      put(texts, field, other.texts.get(field));
    put(lanes, market, other.account.lanes.get(market));
  }
  const tally = isLater(b.tally.text, a.tally.text) ? b.tally : a.tally;
  return { ...rest, account: { ...rest.account, lanes }, texts, tally };
}

function put<T>(values: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) values.delete(key);
  else values.set(key, value);
}

/** What this process last saw of an account within a store epoch; the store must not know less. */
export interface Seen {
  readonly epoch: string;
  readonly version: number;
  readonly headerText: string;
  readonly tally: string;
}

/** The newest header and the newest tally: different parts may have changed in between. */
export function newestSeen(seen: Seen | undefined, now: Seen): Seen {
  if (seen?.epoch !== now.epoch) return now;
  const { version, headerText } = seen.version > now.version ? seen : now;
  return {
    epoch: now.epoch,
    version,
    headerText,
    tally: isLater(seen.tally, now.tally) ? seen.tally : now.tally,
  };
}

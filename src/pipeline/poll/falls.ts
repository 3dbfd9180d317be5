import type { PositionList, PositionRecord } from '../../core/ports/exchange.ts';
import { type DecimalString, toDecimal, ZERO } from '../../core/quantities/decimal.ts';

/** A position was smaller in a read than in the one before it, or gone. */
export interface Fall {
  readonly positionId: string;
  readonly market: string;
  /** Monotonic, when the read was sent that showed it. */
  readonly atMs: number;
  /** Its size before, as received. */
  readonly from: DecimalString;
}

interface Seen {
  /** What the newest read shows, by position. */
  readonly records: ReadonlyMap<string, PositionRecord>;
  readonly falls: readonly Fall[];
  /** When the newest read of all markets was sent, and of each market that was read alone. */
  readonly readMs: ReadonlyMap<string | null, number>;
}

const NOTHING_SEEN: Seen = { records: new Map(), falls: [], readMs: new Map() };
/** Longer than any turn. */
const KEPT_MS = 300_000;
const MOST_KEPT = 50;
/** What was read longer ago says nothing of who has reduced a position since. */
const MOST_AGE_MS = 30_000;

/** Which positions fell lately, by the reads of this process: who cannot ask other processes sees by it that they act. */
export class Falls {
  readonly #accounts = new Map<string, Seen>();

  /** Takes in a read that was sent at `sentMs`, monotonic; `market`: it was of this one alone. */
  note(accountId: string, list: PositionList, sentMs: number, market?: string): void {
    const { records, complete, notOpenYet = [] } = list;
    const seen = this.#accounts.get(accountId) ?? NOTHING_SEEN;
    // Replies may overtake one another: a read that was sent earlier says nothing new.
    const newestMs =
      market === undefined ? Math.max(...seen.readMs.values()) : this.lastReadMs(accountId, market);
    if (sentMs < newestMs) return;
    const now = new Map(records.map((record) => [record.positionId, record]));
    // What is set aside, or listed with nulls, is there.
    const mayBeHidden = (positionId: string): boolean =>
      !complete || notOpenYet.some((opening) => opening.positionId === positionId);
    const isMeant = (record: PositionRecord): boolean => market === undefined || record.market === market;
    const falls: Fall[] = [];
    const kept = new Map(seen.records);
    for (const [positionId, before] of seen.records) {
      if (!isMeant(before)) continue;
      const after = now.get(positionId);
      if (after === undefined && mayBeHidden(positionId)) continue;
      kept.delete(positionId);
      if (isSmaller(after, before)) {
        falls.push({ positionId, market: before.market, atMs: sentMs, from: before.amount });
      }
    }
    for (const record of records) kept.set(record.positionId, record);
    this.#accounts.set(accountId, {
      records: kept,
      falls:
        falls.length === 0
          ? seen.falls
          : [...seen.falls, ...falls].filter(({ atMs }) => sentMs - atMs < KEPT_MS).slice(-MOST_KEPT),
      readMs: new Map([...seen.readMs, [market ?? null, sentMs]]),
    });
  }

  /** What others read so long ago, for who has read nothing of the account yet. */
  begin(accountId: string, { records }: Pick<PositionList, 'records'>, ageMs: number): void {
    if (this.#accounts.has(accountId) || ageMs > MOST_AGE_MS) return;
    const known = new Map(records.map((record) => [record.positionId, record]));
    this.#accounts.set(accountId, { ...NOTHING_SEEN, records: known });
  }

  /** Oldest first. */
  of(accountId: string): readonly Fall[] {
    return this.#accounts.get(accountId)?.falls ?? NOTHING_SEEN.falls;
  }

  /** When the newest read was sent that shows a market, or all of them (null), monotonic; -Infinity: there was none. */
  lastReadMs(accountId: string, market: string | null): number {
    const { readMs } = this.#accounts.get(accountId) ?? NOTHING_SEEN;
    const ofAll = readMs.get(null) ?? Number.NEGATIVE_INFINITY;
    return market === null ? ofAll : Math.max(ofAll, readMs.get(market) ?? ofAll);
  }

  forget(accountId: string): void {
    this.#accounts.delete(accountId);
  }
}

function isSmaller(after: PositionRecord | undefined, before: PositionRecord): boolean {
  if (after?.amount === before.amount) return false;
  const size = after === undefined ? ZERO : toDecimal(after.amount).abs();
  return size.lt(toDecimal(before.amount).abs());
}

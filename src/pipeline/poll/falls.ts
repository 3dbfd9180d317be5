import type { PositionList, PositionRecord } from '../../core/ports/exchange.ts';
import { type DecimalString, toDecimal, ZERO } from '../../core/quantities/decimal.ts';

/** A position that a read showed smaller than the read before, or gone. */
export interface Fall {
  readonly positionId: string;
  readonly market: string;
  /** Monotonic time at which the read that showed it was sent. */
  readonly atMs: number;
  /** Its size before, as received. */
  readonly from: DecimalString;
}

interface Seen {
  /** What the newest read shows, by position. */
  readonly records: ReadonlyMap<string, PositionRecord>;
  readonly falls: readonly Fall[];
  /** When the newest read of all markets (null) and of each single market was sent. */
  readonly readMs: ReadonlyMap<string | null, number>;
}

const NOTHING_SEEN: Seen = { records: new Map(), falls: [], readMs: new Map() };
/** Longer than any turn. */
const KEPT_MS = 300_000;
const MOST_KEPT = 50;
/** Older reads do not show who has reduced a position since. */
const MOST_AGE_MS = 30_000;

/** Which positions fell lately in this process's reads: shows that others act when they cannot be asked. */
export class Falls {
  readonly #accounts = new Map<string, Seen>();

  /** Takes in a read sent at `sentMs` (monotonic). `market`: it covered only this market. */
  note(accountId: string, list: PositionList, sentMs: number, market?: string): void {
    const { records, complete, notOpenYet = [] } = list;
    const seen = this.#accounts.get(accountId) ?? NOTHING_SEEN;
    // Replies may overtake one another: an earlier read adds nothing.
    const newestMs =
      market === undefined ? Math.max(...seen.readMs.values()) : this.lastReadMs(accountId, market);
    if (sentMs < newestMs) return;
    const now = new Map(records.map((record) => [record.positionId, record]));
    // A position that is set aside or listed with nulls still exists.
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

  /** Starts from another process's read of age `ageMs`, unless this process has read the account itself. */
  begin(accountId: string, { records }: Pick<PositionList, 'records'>, ageMs: number): void {
    if (this.#accounts.has(accountId) || ageMs > MOST_AGE_MS) return;
    const known = new Map(records.map((record) => [record.positionId, record]));
    this.#accounts.set(accountId, { ...NOTHING_SEEN, records: known });
  }

  /** Oldest first. */
  of(accountId: string): readonly Fall[] {
    return this.#accounts.get(accountId)?.falls ?? NOTHING_SEEN.falls;
  }

  /** Monotonic time at which the newest read of a market (null: of all) was sent; -Infinity: none. */
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

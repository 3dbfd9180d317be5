import { SOURCE_NAMES, type SourceName } from '../fields/field-catalogue.ts';
import type { PositionList, RecordList, SpotOrderRecord } from '../ports/exchange.ts';
import type { Direction } from '../rules/subject.ts';
import { CreditLineQuantities } from './credit-line.ts';
import { type JointPool, jointPool, uniformDistance } from './joint-pool.ts';
import { netExposure, PositionQuantities, type Told } from './position.ts';
import {
  type AtLeast,
  type AtMost,
  atLeast,
  known,
  leastOf,
  NONE,
  type Quantity,
  unknown,
} from './quantity.ts';
import type { AccountSettings } from './settings.ts';
import { hedgedAtBest, withShownSide } from './shown-side.ts';
import { countSetAside, elapsedMs, type Instant, type Snapshot, type SourceReading } from './snapshot.ts';
import { type StandingCover, type StopCover, standingCover, stopCover } from './stop-cover.ts';
import type { KnownTransfer } from './transfer.ts';
import { MS_PER_SECOND, moneyOf, reported, usage } from './units.ts';

export interface UnseenPosition {
  readonly market?: string;
  readonly direction?: Told;
}

/** In a set of assets: the free margin of the positions. */
export const FREE_MARGIN = 'freeMargin';

type SeenPosition = UnseenPosition & { readonly positionId: string };

/** An account's quantities at one moment. A source older than `maxSnapshotAgeMs` only counts for `dataAge`. */
export class AccountQuantities {
  readonly snapshot: Snapshot;
  readonly settings: AccountSettings;
  /** The exchange's clock now, Unix milliseconds: its latest Date header plus the monotonic time since. */
  readonly serverNowMs: number | undefined;
  readonly #sinceSnapshotMs: number;
  readonly #covers: Quantity<StopCover>[] = [];
  readonly #seen: readonly SeenPosition[];
  #positionList: Quantity<PositionList> | undefined;
  #unseen: readonly UnseenPosition[] = [];
  #missedAssets: ReadonlySet<string> = new Set();
  #positions: readonly PositionQuantities[] | undefined;
  #creditLines: readonly CreditLineQuantities[] | undefined;
  #pool: Quantity<JointPool> | undefined;
  #jointDistance: Quantity<number> | AtMost | undefined;

  /** `seen`: what is remembered of positions; absent: nothing. */
  constructor(
    snapshot: Snapshot,
    settings: AccountSettings,
    now: Instant,
    seen: readonly SeenPosition[] = [],
  ) {
    this.#seen = seen;
    this.snapshot = snapshot;
    this.settings = settings;
    this.#sinceSnapshotMs = elapsedMs(snapshot.at, now);
    this.serverNowMs = this.#latestServerTime();
  }

  #latestServerTime(): number | undefined {
    let latest: number | undefined;
    for (const source of SOURCE_NAMES) {
      const reading = this.snapshot.sources[source];
      if (reading?.kind !== 'read' || reading.serverDateMs === undefined) continue;
      const serverMs = reading.serverDateMs + reading.ageMs + this.#sinceSnapshotMs;
      if (latest === undefined || serverMs > latest) latest = serverMs;
    }
    return latest;
  }

  /** Age of a source in milliseconds, even if it was never read; `undefined` if it is not watched. */
  ageMs(source: SourceName): number | undefined {
    const reading = this.snapshot.sources[source];
    return reading === undefined ? undefined : reading.ageMs + this.#sinceSnapshotMs;
  }

  /** Returns the content of a source that was read and is fresh; unknown otherwise. */
  fresh<T>(reading: SourceReading<T> | undefined): Quantity<T> {
    if (reading?.kind !== 'read') return unknown('notRead');
    const ageMs = reading.ageMs + this.#sinceSnapshotMs;
    return ageMs > this.settings.maxSnapshotAgeMs ? unknown('stale') : known(reading.value);
  }

  /** True if a watched source is unread or too old. */
  get isBlind(): boolean {
    return SOURCE_NAMES.some((source) => {
      const ageMs = this.ageMs(source);
      if (ageMs === undefined) return false;
      return this.snapshot.sources[source]?.kind !== 'read' || ageMs > this.settings.maxSnapshotAgeMs;
    });
  }

  /** Records positions, assets and `FREE_MARGIN` that were there, are missing from the reads, and may not be gone. */
  noteUncertain(positions: readonly UnseenPosition[], assets: ReadonlySet<string>): void {
    this.#unseen = positions;
    this.#missedAssets = assets;
  }

  get isPositionUnseen(): boolean {
    return this.#unseen.length > 0;
  }

  /** True if the list shows every open position, as far as is known. */
  get isEveryPositionSeen(): boolean {
    const list = this.positionList;
    return list.kind === 'value' && list.value.complete && !this.isPositionUnseen;
  }

  get positionList(): Quantity<PositionList> {
    this.#positionList ??= this.fresh(this.snapshot.sources.positions);
    return this.#positionList;
  }

  /** Quantities of every position of the last read, fresh or not. */
  get positions(): readonly PositionQuantities[] {
    if (this.#positions !== undefined) return this.#positions;
    const read = lastRecords(this.snapshot.sources.positions).map(
      (record) => new PositionQuantities(record, this.settings, this.#earlier(record.positionId)),
    );
    this.#positions = read.map((position) => withShownSide(position, read, this.settings));
    return this.#positions;
  }

  #earlier(id: string): Told | undefined {
    return this.#seen.find(({ positionId }) => positionId === id)?.direction;
  }

  /** Quantities of every credit line of the last read, fresh or not. */
  get creditLines(): readonly CreditLineQuantities[] {
    this.#creditLines ??= lastRecords(this.snapshot.sources.creditLine).map(
      (record) => new CreditLineQuantities(record, this.settings),
    );
    return this.#creditLines;
  }

  /** The part of a position that our own stops close before liquidation, and where; see `standingCover`. */
  standingCoverOf(position: PositionQuantities): StandingCover | undefined {
    return standingCover(position, this.snapshot.ownStops);
  }

  /** How well stops cover a position of the last read; see `stopCover`. */
  coverOf(position: PositionQuantities): Quantity<StopCover> {
    const index = this.positions.indexOf(position);
    const cover = this.#covers[index] ?? stopCover(position, this.snapshot.ownStops);
    if (index >= 0) this.#covers[index] = cover;
    return cover;
  }

  /** Seconds since the last good read of `source`, else of the oldest watched one; `none` if unwatched. */
  dataAge(source: string | undefined): Quantity<number> {
    let oldest: number | undefined;
    for (const name of SOURCE_NAMES) {
      if (source !== undefined && source !== name) continue;
      const ageMs = this.ageMs(name);
      if (ageMs !== undefined && (oldest === undefined || ageMs > oldest)) oldest = ageMs;
    }
    return oldest === undefined ? NONE : known(oldest / MS_PER_SECOND);
  }

  /** Number of invalid records set aside: a lower bound while a source is too old, unknown while it is unread. */
  recordsSetAside(source: string | undefined): Quantity<number> | AtLeast {
    let count = 0;
    let gap: Quantity<number> | undefined;
    for (const name of SOURCE_NAMES) {
      if ((source !== undefined && source !== name) || name === 'mainBalance') continue;
      const reading = this.snapshot.sources[name];
      if (reading === undefined) continue;
      const list = this.fresh<RecordList<unknown>>(reading);
      if (list.kind === 'value') count += countSetAside(list.value);
      else gap = list;
    }
    if (gap === undefined) return known(count);
    return count === 0 ? gap : atLeast(count);
  }

  /** Available balance. An asset absent from a valid reply has 0 (specification 2.6), unknown until confirmed. */
  mainBalance(asset: string): Quantity<number> {
    const balance = this.fresh(this.snapshot.sources.mainBalance);
    if (balance.kind !== 'value') return balance;
    if (this.#missedAssets.has(asset)) return unknown('zeroUncertain');
    return Object.hasOwn(balance.value, asset) ? reported(balance.value[asset]) : known(0);
  }

  get positionCount(): Quantity<number> | AtLeast {
    const list = this.positionList;
    if (list.kind !== 'value') return list;
    const { length } = list.value.records;
    return this.isEveryPositionSeen ? known(length) : atLeast(length);
  }

  /** Length of a list; a lower bound if records were set aside. */
  count<T>(reading: SourceReading<RecordList<T>> | undefined): Quantity<number> | AtLeast {
    const list = this.fresh(reading);
    if (list.kind !== 'value') return list;
    return list.value.complete ? known(list.value.records.length) : atLeast(list.value.records.length);
  }

  /** Collateral shared by the positions. Unknown if a position that is missing or not understood may hedge them. */
  get pool(): Quantity<JointPool> {
    this.#pool ??= this.#computePool();
    return this.#pool;
  }

  /** True if positions of several markets are known to share their collateral, so that one can hedge another. */
  get isPooled(): boolean {
    return this.pool.kind === 'value' && 'markets' in this.pool.value && this.pool.value.markets.length > 1;
  }

  #computePool(): Quantity<JointPool> {
    const list = this.positionList;
    if (list.kind !== 'value') return list;
    if (this.positions.length === 0 && !this.isEveryPositionSeen) return unknown('listIncomplete');
    const isSpent =
      this.isEveryPositionSeen && !list.value.notOpenYet && !this.#missedAssets.has(FREE_MARGIN);
    const pool = jointPool(hedgedAtBest(this.positions, this.settings), this.settings, isSpent);
    if (pool.kind !== 'value' || pool.value.kind === 'apart') return pool;
    const harmful: Direction = pool.value.pull < 0 ? 'short' : 'long';
    const mayHedge = this.#unseen.some(
      (unseen) =>
        unseen.direction !== harmful && !this.positions.some(({ market }) => market === unseen.market),
    );
    return mayHedge ? unknown('listIncomplete') : pool;
  }

  /** Distance to liquidation if all markets move together, or one alone; an upper bound if some are unknown. */
  get jointDistance(): Quantity<number> | AtMost {
    this.#jointDistance ??= this.#computeJointDistance();
    return this.#jointDistance;
  }

  #computeJointDistance(): Quantity<number> | AtMost {
    const list = this.positionList;
    if (list.kind !== 'value') return list;
    const { pool } = this;
    return leastOf([
      pool.kind !== 'value' ? pool : pool.value.kind === 'apart' ? NONE : uniformDistance(pool.value),
      ...(this.isEveryPositionSeen ? [] : [unknown('listIncomplete')]),
      ...this.positions.flatMap(({ direction }) => (direction.kind === 'unknown' ? [direction] : [])),
      ...this.positions.flatMap((position) => this.#distancesOf(position)),
    ]);
  }

  /** In a market with both sides open, the endangered side determines the distance of both. */
  #distancesOf(position: PositionQuantities): readonly Quantity<number>[] {
    const distance = position.liquidationDistance;
    if (distance.kind !== 'unknown') return [distance];
    const isSpokenFor = this.positions.some(
      (other) => other.market === position.market && other.liquidationDistance.kind === 'value',
    );
    return distance.why === 'disagreement' && isSpokenFor ? [] : [distance];
  }

  /** True if a position has passed its liquidation price. Hedged markets are skipped: there one side always has. */
  get disagreement(): Quantity<boolean> {
    const list = this.positionList;
    if (list.kind !== 'value') return list;
    let undecided: Quantity<boolean> | undefined = this.isEveryPositionSeen
      ? undefined
      : unknown('listIncomplete');
    for (const position of this.positions) {
      if (this.isHedged(position)) continue;
      const one = position.disagreement;
      if (one.kind === 'value' && one.value) return one;
      if (one.kind === 'unknown') undecided ??= one;
    }
    return undecided ?? known(false);
  }

  isHedged({ market, direction }: PositionQuantities): boolean {
    return this.positions.some(
      (other) =>
        other.market === market &&
        direction.kind === 'value' &&
        other.direction.kind === 'value' &&
        other.direction.value !== direction.value,
    );
  }

  /** Sum over the positions of one money currency; unknown if any is unknown or may be missing. */
  total(money: string, of: (position: PositionQuantities) => Quantity<number>): Quantity<number> {
    const sum = this.totalOfSeen(money, of);
    return sum.kind === 'atLeast' ? unknown('listIncomplete') : sum;
  }

  /** The same for values that are never negative: a lower bound if a position may be missing. */
  totalOfSeen(
    money: string,
    of: (position: PositionQuantities) => Quantity<number>,
  ): Quantity<number> | AtLeast {
    const list = this.positionList;
    if (list.kind !== 'value') return list;
    let sum = 0;
    for (const position of this.positionsIn(money)) {
      const one = of(position);
      if (one.kind !== 'value') return one;
      sum += one.value;
    }
    return this.isEveryPositionSeen ? known(sum) : atLeast(sum);
  }

  positionsIn(money: string): readonly PositionQuantities[] {
    return this.positions.filter((position) => moneyOf(position.record.market, this.settings) === money);
  }

  /** The smallest reported freeMargin of one money currency: each position repeats the account's. */
  freeMargin(money: string): Quantity<number> {
    const list = this.positionList;
    if (list.kind !== 'value') return list;
    let least: number | undefined;
    for (const position of this.positionsIn(money)) {
      const free = reported(position.record.freeMargin);
      if (free.kind !== 'value') return free;
      if (least === undefined || free.value < least) least = free.value;
    }
    if (least !== undefined) return known(least);
    return this.isEveryPositionSeen ? NONE : unknown('listIncomplete');
  }

  /** `totalMargin / (totalMargin + freeMargin)`; unknown unless the sum is positive. */
  marginUsage(money: string): Quantity<number> | AtLeast {
    const free = this.freeMargin(money);
    if (free.kind !== 'value') return free;
    const margin = this.totalOfSeen(money, (position) => reported(position.record.margin));
    if (margin.kind === 'value') return usage(margin.value, free.value);
    if (margin.kind !== 'atLeast') return margin;
    // With more margin in use the share only rises.
    const least = usage(margin.value, free.value);
    return least.kind === 'value' && free.value >= 0 ? atLeast(least.value) : unknown('listIncomplete');
  }

  /** Net amount of a market's positions over both sides, base currency. */
  netExposure(market: string): Quantity<number> {
    const list = this.positionList;
    if (list.kind !== 'value') return list;
    if (!this.isEveryPositionSeen) return unknown('listIncomplete');
    return netExposure(this.positions.filter((position) => position.record.market === market));
  }

  /** Seconds since a time reported by the exchange (Unix seconds), by its own clock; never negative. */
  secondsSince(unixSeconds: number | undefined): Quantity<number> {
    if (unixSeconds === undefined) return unknown('fieldMissing');
    if (this.serverNowMs === undefined) return unknown('serverTimeUnknown');
    return known(Math.max(0, this.serverNowMs / MS_PER_SECOND - unixSeconds));
  }

  /** Sum over the transfers of the last `windowMs`; `weigh` returns 0 for those that do not count. */
  transfersWithin(windowMs: number, weigh: Weigh<KnownTransfer>): Quantity<number> | AtLeast {
    return this.#within(this.snapshot.sources.transfers, windowMs, ({ createdAt }) => createdAt, weigh);
  }

  /** Sum over the spot orders of the last `windowMs` by creation (`ctime`) or fill (`ftime`). */
  spotOrdersWithin(
    windowMs: number,
    by: 'ctime' | 'ftime',
    weigh: Weigh<SpotOrderRecord>,
  ): Quantity<number> | AtLeast {
    return this.#within(this.snapshot.sources.spotOrders, windowMs, SPOT_TIME[by], weigh);
  }

  #within<T>(
    reading: SourceReading<RecordList<T>> | undefined,
    windowMs: number,
    timeOf: (record: T) => number,
    weigh: Weigh<T>,
  ): Quantity<number> | AtLeast {
    const list = this.fresh(reading);
    if (list.kind !== 'value') return list;
    if (this.serverNowMs === undefined) return unknown('serverTimeUnknown');
    const fromMs = this.serverNowMs - windowMs;
    const reachesBackToMs = reading?.kind === 'read' ? (reading.reachesBackToMs ?? 0) : 0;
    let whole = list.value.complete && reachesBackToMs <= fromMs;
    let sum = 0;
    for (const record of list.value.records) {
      if (timeOf(record) * MS_PER_SECOND < fromMs) continue;
      const weight = weigh(record);
      if (weight === undefined) whole = false;
      else sum += weight;
    }
    return whole ? known(sum) : atLeast(sum);
  }
}

/** A record's share of a sum; `undefined` if it counts but its amount is unknown. */
export type Weigh<T> = (record: T) => number | undefined;

const SPOT_TIME = {
  ctime: (order: SpotOrderRecord): number => order.ctime,
  ftime: (order: SpotOrderRecord): number => order.ftime ?? order.ctime,
};

/** Records of the last good read, fresh or not. */
function lastRecords<T>(reading: SourceReading<RecordList<T>> | undefined): readonly T[] {
  return reading?.kind === 'read' ? reading.value.records : [];
}

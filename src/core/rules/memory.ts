import type { CreditLineRecord, PositionList, PositionRecord, RecordList } from '../ports/exchange.ts';
import type { AccountQuantities } from '../quantities/account.ts';
import { isConfirmedClosed, stillUnseen } from '../quantities/closure.ts';
import type { PositionQuantities } from '../quantities/position.ts';
import type { SourceReading } from '../quantities/snapshot.ts';
import { MS_PER_HOUR, MS_PER_SECOND } from '../quantities/units.ts';
import { observe } from '../risk/forecast.ts';
import type { AccountState, CreditLineMemory, MarketMemory, PositionMemory } from './account-state.ts';
import { rememberBalances, rememberFreeMargin } from './balances.ts';
import type { Elapsed } from './elapsed.ts';
import type { SubjectKey } from './subject.ts';

/** Memory between evaluations, apart from the rules. */
export type Memory = Pick<
  AccountState,
  'markets' | 'creditLines' | 'positions' | 'ages' | 'balances' | 'freeMargin'
>;

/** Coarser mark prices are no samples: their rounding would look like volatility. */
const COARSEST_SAMPLE = 0.001;
/** A market without positions is forgotten after this time. */
const FORGET_MARKET_AFTER_MS = MS_PER_HOUR;
/** Ages that differ by less than this come from the same read. */
const SAME_READ_MS = 0.5;

/** Adds the snapshot to the memory: one sample per new read, and the time without cover. */
export function remember(memory: Memory, account: AccountQuantities, passage: Elapsed): Memory {
  const positionsAgeMs = account.ageMs('positions');
  const creditLineAgeMs = account.ageMs('creditLine');
  const balances = rememberBalances(memory.balances, account, passage.timerMs, (ageMs) =>
    sincePreviousRead(ageMs, account.ageMs('mainBalance'), passage),
  );
  const isNewList = sincePreviousRead(memory.ages.positions, positionsAgeMs, passage) !== 0;
  const freeMargin = rememberFreeMargin(memory.freeMargin, account, passage.timerMs, isNewList);
  return {
    markets: rememberMarkets(memory, account, passage),
    creditLines: rememberCreditLines(memory, account, passage),
    positions: rememberPositions(memory, account, passage),
    ages: {
      ...(positionsAgeMs !== undefined && { positions: positionsAgeMs }),
      ...(creditLineAgeMs !== undefined && { creditLine: creditLineAgeMs }),
    },
    ...(balances !== undefined && { balances }),
    ...(freeMargin !== undefined && { freeMargin }),
  };
}

/** Time from the last read that gave samples to this one; `undefined` if the clocks do not show it, 0 if the same. */
function sincePreviousRead(
  previousAgeMs: number | undefined,
  ageMs: number | undefined,
  { measuredMs }: Elapsed,
): number | undefined {
  if (previousAgeMs === undefined || ageMs === undefined || measuredMs === undefined) return undefined;
  const sinceMs = previousAgeMs + measuredMs - ageMs;
  return sinceMs > SAME_READ_MS ? sinceMs : 0;
}

function isFresh(
  account: AccountQuantities,
  reading: SourceReading<RecordList<unknown>> | undefined,
): boolean {
  return account.fresh(reading).kind === 'value';
}

function rememberMarkets(
  memory: Memory,
  account: AccountQuantities,
  passage: Elapsed,
): readonly MarketMemory[] {
  if (!isFresh(account, account.snapshot.sources.positions)) return memory.markets;
  const sinceMs = sincePreviousRead(memory.ages.positions, account.ageMs('positions'), passage);
  if (sinceMs === 0) return memory.markets;
  const marks = finestMarks(account.positions);
  const next: MarketMemory[] = [];
  for (const before of memory.markets) {
    const { market } = before;
    const mark = findMarket(marks, market);
    if (mark === undefined) {
      const absentMs = Math.max(1, before.absentMs + passage.timerMs);
      if (absentMs <= FORGET_MARKET_AFTER_MS) next.push({ ...before, absentMs });
      continue;
    }
    const forecast = observe(before.forecast, mark.price, before.absentMs === 0 ? sinceMs : undefined);
    next.push({ market, forecast: forecast ?? before.forecast, absentMs: 0 });
  }
  for (const { market, price } of marks) {
    if (findMarket(memory.markets, market) !== undefined) continue;
    const forecast = observe(undefined, price, undefined);
    if (forecast !== undefined) next.push({ market, forecast, absentMs: 0 });
  }
  return next;
}

interface Mark {
  readonly market: string;
  readonly price: number;
  readonly error: number;
}

/** Per market, the mark price of the position that shows it most precisely. */
function finestMarks(positions: readonly PositionQuantities[]): readonly Mark[] {
  const marks: Mark[] = [];
  for (const { market, markPrice, markError } of positions) {
    if (markPrice.kind !== 'value' || markError.kind !== 'value') continue;
    const mark = { market, price: markPrice.value, error: markError.value / markPrice.value };
    if (mark.error > COARSEST_SAMPLE) continue;
    const best = findMarket(marks, market);
    if (best === undefined) marks.push(mark);
    else if (mark.error < best.error) marks[marks.indexOf(best)] = mark;
  }
  return marks;
}

function findMarket<T extends { readonly market: string }>(
  list: readonly T[],
  market: string,
): T | undefined {
  for (const one of list) if (one.market === market) return one;
  return undefined;
}

function rememberCreditLines(
  memory: Memory,
  account: AccountQuantities,
  passage: Elapsed,
): readonly CreditLineMemory[] {
  const reading = account.snapshot.sources.creditLine;
  if (reading?.kind !== 'read' || !isFresh(account, reading)) return memory.creditLines;
  const sinceMs = sincePreviousRead(memory.ages.creditLine, account.ageMs('creditLine'), passage);
  if (sinceMs === 0) return memory.creditLines.map((one) => longerUnseen(one, passage.timerMs));
  const next: CreditLineMemory[] = [];
  for (const creditLine of account.creditLines) {
    const subject = creditLineKey(creditLine.record);
    const before = memory.creditLines.find((one) => one.subject === subject);
    const ltv = creditLine.ltv('currentLtv');
    const gap = ltv.kind !== 'value';
    const forecast = gap
      ? before?.forecast
      : observe(before?.forecast, ltv.value, before?.gap === true ? undefined : sinceMs);
    next.push({ subject, gap, ...(forecast !== undefined && { forecast }) });
  }
  const shown = account.creditLines.map(({ record }) => record);
  for (const before of memory.creditLines) {
    const { subject, unseen } = before;
    if (shown.some((record) => creditLineKey(record) === subject)) continue;
    const missed = { ...before, gap: true };
    if (!reading.value.complete) next.push(missed);
    else if (!hasFollowed(subject, shown, memory, lastShownMs(account, before, sinceMs))) {
      const longer = stillUnseen(unseen, true, passage.timerMs);
      if (!isConfirmedClosed(longer)) next.push({ ...missed, unseen: longer });
    }
  }
  return next;
}

/** The same list was evaluated once more: only time is added. */
function longerUnseen(memory: CreditLineMemory, timerMs: number): CreditLineMemory {
  const { unseen } = memory;
  return unseen === undefined ? memory : { ...memory, unseen: stillUnseen(unseen, false, timerMs) };
}

const CLOCK_SLACK_MS = 10_000;

/** No later than when the line was last shown, on the exchange's clock; undefined: not known. */
function lastShownMs(
  { serverNowMs }: AccountQuantities,
  { unseen }: CreditLineMemory,
  sinceMs: number | undefined,
): number | undefined {
  if (serverNowMs === undefined || sinceMs === undefined) return undefined;
  return serverNowMs - sinceMs - (unseen?.forMs ?? 0) - CLOCK_SLACK_MS;
}

/**
 * True if the list shows a credit line in the asset that was opened since: then the missing one was repaid. An exchange
 * may show two older ones by turns.
 */
function hasFollowed(
  subject: SubjectKey,
  shown: readonly CreditLineRecord[],
  { creditLines }: Pick<Memory, 'creditLines'>,
  shownMs: number | undefined,
): boolean {
  const known = new Set(creditLines.map((one) => one.subject));
  const leastMs = shownMs ?? Number(creditLineParts(subject)?.createdAt) * MS_PER_SECOND;
  return shown.some(
    (record) =>
      subject.startsWith(keysOfAsset(record.asset)) &&
      !known.has(creditLineKey(record)) &&
      record.createdAt * MS_PER_SECOND > leastMs,
  );
}

/** Identifies a credit line across polls. */
export function creditLineKey({
  asset,
  createdAt,
}: Pick<CreditLineRecord, 'asset' | 'createdAt'>): SubjectKey {
  return `${keysOfAsset(asset)}${createdAt}`;
}

/** The reverse of `creditLineKey`; undefined for other subjects. */
export function creditLineParts(
  subject: SubjectKey,
): Pick<CreditLineRecord, 'asset' | 'createdAt'> | undefined {
  const [, asset, createdAt] = /^creditLine:(.*)@(\d+)$/.exec(subject) ?? [];
  return asset === undefined ? undefined : { asset, createdAt: Number(createdAt) };
}

/** Common prefix of the keys of all credit lines in an asset. */
function keysOfAsset(asset: string): string {
  return `creditLine:${asset}@`;
}

function rememberPositions(
  { positions: before, ages }: Memory,
  account: AccountQuantities,
  passage: Elapsed,
): readonly PositionMemory[] {
  const list = account.positionList;
  if (list.kind !== 'value') return before.map(coverUnknown);
  const next: PositionMemory[] = [];
  for (const position of account.positions) {
    const { positionId } = position;
    if (findCover(next, positionId) !== undefined) continue;
    next.push(stepCover(findCover(before, positionId), position, account, passage.timerMs));
  }
  if (before.every(({ positionId }) => findCover(next, positionId) !== undefined)) return next;
  const isNewRead = sincePreviousRead(ages.positions, account.ageMs('positions'), passage) !== 0;
  const unseen = before.filter(({ positionId }) => findCover(next, positionId) === undefined);
  const known = new Set(before.map(({ positionId }) => positionId));
  const kept = unseen.flatMap((one) =>
    stepUnseen(one, { account, list: list.value, known, isNewRead, timerMs: passage.timerMs }),
  );
  return [...next, ...kept];
}

interface UnseenScene {
  readonly account: AccountQuantities;
  readonly list: PositionList;
  readonly known: ReadonlySet<string>;
  readonly isNewRead: boolean;
  readonly timerMs: number;
}

/** A position missing from the list: dropped once its closure is confirmed, at once if something explains it. */
function stepUnseen(
  before: PositionMemory,
  { account, list, known, isNewRead, timerMs }: UnseenScene,
): readonly PositionMemory[] {
  const { positionId, market, side } = before;
  const { unseen, ...seen } = coverUnknown(before);
  // Listed with nulls: it exists.
  if (list.notOpenYet?.some((opening) => opening.positionId === positionId) === true) return [seen];
  if (!list.complete) return [coverUnknown(before)];
  const hasSuccessor = account.positions.some(
    ({ record }) => !known.has(record.positionId) && record.market === market && sideOf(record) === side,
  );
  // An empty list proves nothing, even for positions that our orders may have closed.
  const isByOurs = account.positions.length > 0 && account.snapshot.closedByUs?.includes(positionId) === true;
  if (hasSuccessor || isByOurs) return [];
  const next = stillUnseen(unseen, isNewRead, timerMs);
  return isNewRead && isConfirmedClosed(next) ? [] : [{ ...seen, unseen: next }];
}

function sideOf({ positionSide }: PositionRecord): string {
  return positionSide?.known === true ? positionSide.value : 'BOTH';
}

export function findCover(
  memories: readonly PositionMemory[],
  positionId: string,
): PositionMemory | undefined {
  for (const one of memories) if (one.positionId === positionId) return one;
  return undefined;
}

function coverUnknown(memory: PositionMemory): PositionMemory {
  return { ...memory, cover: 'unknown' };
}

function stepCover(
  before: PositionMemory | undefined,
  position: PositionQuantities,
  account: AccountQuantities,
  timerMs: number,
): PositionMemory {
  const { positionId, market } = position.record;
  const side = sideOf(position.record);
  const direction = position.told;
  const cover = account.coverOf(position);
  const isCovered = cover.kind === 'value' && cover.value === 'ok';
  const { liquidationState: state } = position;
  const called = state.kind === 'value' && state.value !== 'none';
  const isSame =
    isCovered &&
    before?.cover === 'covered' &&
    before.unseen === undefined &&
    before.side === side &&
    before.direction === direction &&
    (before.called === true) === called;
  if (isSame) return before;
  const where = {
    market,
    side,
    ...(direction !== undefined && { direction }),
    ...(called && { called }),
  };
  if (isCovered) return { positionId, unprotectedMs: 0, cover: 'covered', ...where };
  const unprotectedMs = before?.unprotectedMs ?? 0;
  if (cover.kind !== 'value') return { positionId, unprotectedMs, cover: 'unknown', ...where };
  const creditMs = before?.cover === 'open' ? timerMs : 0;
  return { positionId, unprotectedMs: unprotectedMs + creditMs, cover: 'open', ...where };
}

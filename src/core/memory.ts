import type { AccountQuantities } from './account.ts';
import type { AccountState, LoanMemory, MarketMemory, PositionMemory } from './account-state.ts';
import { CreditLineQuantities } from './credit-line.ts';
import { observe } from './forecast.ts';
import type { Passage } from './passage.ts';
import type { RecordList } from './ports/exchange.ts';
import type { PositionQuantities } from './position.ts';
import type { SourceReading } from './snapshot.ts';
import { MS_PER_HOUR } from './units.ts';

/** What is remembered between evaluations besides the rules. */
export type Memory = Pick<AccountState, 'markets' | 'loans' | 'positions' | 'ages'>;

/** A mark price coarser than this is no sample: its rounding would pass for volatility. */
const COARSEST_SAMPLE = 0.001;
/** A market without positions is forgotten after this time. */
const FORGET_MARKET_AFTER_MS = MS_PER_HOUR;
/** Two ages nearer than this stem from the same read. */
const SAME_READ_MS = 0.5;

/** Takes in what the snapshot adds: one sample per new read, and the time without cover. */
export function remember(memory: Memory, account: AccountQuantities, passage: Passage): Memory {
  const positionsAgeMs = account.ageMs('positions');
  const creditLineAgeMs = account.ageMs('creditLine');
  return {
    markets: rememberMarkets(memory, account, passage),
    loans: rememberLoans(memory, account, passage),
    positions: rememberCover(memory.positions, account, passage.timerMs),
    ages: {
      ...(positionsAgeMs !== undefined && { positions: positionsAgeMs }),
      ...(creditLineAgeMs !== undefined && { creditLine: creditLineAgeMs }),
    },
  };
}

/**
 * Time between the last read that gave samples and this one; `undefined` when the clocks do not tell, and 0 when
 * it is the same read.
 */
function sincePreviousRead(
  previousAgeMs: number | undefined,
  ageMs: number | undefined,
  { measuredMs }: Passage,
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
  passage: Passage,
): readonly MarketMemory[] {
  if (!isFresh(account, account.snapshot.sources.positions)) return memory.markets;
  const sinceMs = sincePreviousRead(memory.ages.positions, account.ageMs('positions'), passage);
  if (sinceMs === 0) return memory.markets;
  const marks = finestMarks(account.positions);
  const next: MarketMemory[] = [];
  for (const market of memory.markets) {
    const mark = marks.get(market.market);
    if (mark === undefined) {
      const absentMs = Math.max(1, market.absentMs + passage.timerMs);
      if (absentMs <= FORGET_MARKET_AFTER_MS) next.push({ ...market, absentMs });
      continue;
    }
    marks.delete(market.market);
    const forecast = observe(market.forecast, mark.price, market.absentMs === 0 ? sinceMs : undefined);
    next.push({ market: market.market, forecast: forecast ?? market.forecast, absentMs: 0 });
  }
  for (const [market, { price }] of marks) {
    const forecast = observe(undefined, price, undefined);
    if (forecast !== undefined) next.push({ market, forecast, absentMs: 0 });
  }
  return next;
}

interface Mark {
  readonly price: number;
  readonly error: number;
}

/** Per market the mark price of the position that shows it most precisely. */
function finestMarks(positions: readonly PositionQuantities[]): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const { record, markPrice, markError } of positions) {
    if (markPrice.kind !== 'value' || markError.kind !== 'value') continue;
    const error = markError.value / markPrice.value;
    const best = marks.get(record.market);
    if (error <= COARSEST_SAMPLE && (best === undefined || error < best.error)) {
      marks.set(record.market, { price: markPrice.value, error });
    }
  }
  return marks;
}

function rememberLoans(memory: Memory, account: AccountQuantities, passage: Passage): readonly LoanMemory[] {
  const reading = account.snapshot.sources.creditLine;
  if (reading?.kind !== 'read' || !isFresh(account, reading)) return memory.loans;
  const sinceMs = sincePreviousRead(memory.ages.creditLine, account.ageMs('creditLine'), passage);
  if (sinceMs === 0) return memory.loans;
  const next: LoanMemory[] = [];
  for (const record of reading.value.records) {
    const subject = creditLineKey(record);
    const before = memory.loans.find((loan) => loan.subject === subject);
    const ltv = new CreditLineQuantities(record, account.settings).ltv('currentLtv');
    const gap = ltv.kind !== 'value';
    const forecast = gap
      ? before?.forecast
      : observe(before?.forecast, ltv.value, before?.gap === true ? undefined : sinceMs);
    if (forecast !== undefined) next.push({ subject, forecast, gap });
  }
  if (reading.value.complete) return next;
  const seen = new Set(next.map(({ subject }) => subject));
  for (const { subject, forecast } of memory.loans) {
    if (!seen.has(subject)) next.push({ subject, forecast, gap: true });
  }
  return next;
}

/** Identity of a loan across polls. */
export function creditLineKey(record: { readonly asset: string; readonly createdAt: number }): string {
  return `creditLine:${record.asset}@${record.createdAt}`;
}

function rememberCover(
  before: readonly PositionMemory[],
  account: AccountQuantities,
  timerMs: number,
): readonly PositionMemory[] {
  const list = account.positionList;
  if (list.kind !== 'value') return before.map(coverUnknown);
  const next: PositionMemory[] = [];
  const seen = new Set<string>();
  for (const position of account.positions) {
    const { positionId } = position.record;
    if (seen.has(positionId)) continue;
    seen.add(positionId);
    const one = before.find((memory) => memory.positionId === positionId);
    next.push(stepCover(one, position, account, timerMs));
  }
  if (list.value.complete) return next;
  const unseen = before.filter(({ positionId }) => !seen.has(positionId));
  return [...next, ...unseen.map(coverUnknown)];
}

function coverUnknown({ positionId, unprotectedMs }: PositionMemory): PositionMemory {
  return { positionId, unprotectedMs, cover: 'unknown' };
}

function stepCover(
  before: PositionMemory | undefined,
  position: PositionQuantities,
  account: AccountQuantities,
  timerMs: number,
): PositionMemory {
  const { positionId } = position.record;
  const unprotectedMs = before?.unprotectedMs ?? 0;
  const cover = account.coverOf(position);
  if (cover.kind !== 'value') return { positionId, unprotectedMs, cover: 'unknown' };
  if (cover.value === 'ok') {
    return before?.cover === 'covered' ? before : { positionId, unprotectedMs: 0, cover: 'covered' };
  }
  const creditMs = before?.cover === 'open' ? timerMs : 0;
  return { positionId, unprotectedMs: unprotectedMs + creditMs, cover: 'open' };
}

import type { ForecastState, RecentSums } from '../../core/risk/forecast.ts';
import { type AccountState, STATE_VERSION } from '../../core/rules/account-state.ts';
import type { ElapsedState } from '../../core/rules/elapsed.ts';

/**
 * The evaluated state as it is stored, in two parts: what nearly always stays as it is, and the figures that move
 * with every evaluation. Written apart, an account in which nothing happens costs a poll a quarter of the bytes.
 */
export const EVALUATION_VERSION = 2;

/** The part that rests: the document itself. */
export interface RestingEvaluation
  extends Pick<AccountState, 'accountId' | 'nextEpisode' | 'rules' | 'balances'> {
  readonly version: typeof EVALUATION_VERSION;
  readonly markets: readonly string[];
  /** Subjects of the credit lines; the stored name is that of the first version. */
  readonly loans: readonly string[];
  readonly positions: readonly Omit<AccountState['positions'][number], 'unprotectedMs'>[];
}

/** One that was stored in one part, as it is read: whatever lies beside it was left there by another. */
interface SplitEvaluation extends RestingEvaluation {
  readonly moving: string;
}

/**
 * `lastLog`, `returns`, `sumReturn`, `sumSquare`, `sumTimeMs` of a forecast, then `absentMs` or `gap` (0 or 1), then
 * `stray`, `sumSquare`, `sumTimeMs`, `minutesSquare` and `minutesTimeMs` of what is recent, where it has such. In older
 * documents the last two are others, so small that the minutes count as unknown.
 */
type Moved = readonly number[];
const LONG_FIGURES = 6;
const ALL_FIGURES = 11;

/** The part that moves, in the order of the lists of the other. */
type MovingEvaluation = readonly [
  version: number,
  passage: readonly [wallMs: number, monotonicMs: number, clockId: string, plannedMs: number] | null,
  ages: readonly [positionsMs: number | null, creditLineMs: number | null],
  markets: readonly Moved[],
  creditLines: readonly Moved[],
  unprotectedMs: readonly number[],
];

function restingOf(state: AccountState): RestingEvaluation {
  const { accountId, nextEpisode, rules, markets, creditLines, positions, balances } = state;
  return {
    version: EVALUATION_VERSION,
    accountId,
    nextEpisode,
    rules,
    markets: markets.map(({ market }) => market),
    loans: creditLines.map(({ subject }) => subject),
    positions: positions.map(restingPosition),
    ...(balances === undefined ? {} : { balances }),
  };
}

function restingPosition(
  position: AccountState['positions'][number],
): RestingEvaluation['positions'][number] {
  const { unprotectedMs: _, ...rests } = position;
  return rests;
}

export function restingText(state: AccountState): string {
  return JSON.stringify(restingOf(state));
}

export function splitEvaluation(state: AccountState): SplitEvaluation {
  return { ...restingOf(state), moving: movingText(state) };
}

/** Whether a stored text is in the form that goes with a moving part. */
export function isRestingText(text: string | undefined): boolean {
  return text?.startsWith(`{"version":${EVALUATION_VERSION},`) === true;
}

export function movingText({ passage, ages, markets, creditLines, positions }: AccountState): string {
  const moving: MovingEvaluation = [
    EVALUATION_VERSION,
    passage === undefined
      ? null
      : [passage.at.wallMs, passage.at.monotonicMs, passage.at.clockId, passage.plannedMs],
    [ages.positions ?? null, ages.creditLine ?? null],
    markets.map(({ forecast, absentMs }) => movedOf(forecast, absentMs)),
    creditLines.map(({ forecast, gap }) => movedOf(forecast, Number(gap))),
    positions.map(({ unprotectedMs }) => unprotectedMs),
  ];
  return JSON.stringify(moving);
}

/** Whether the part that rests is certainly the same: by identity where comparing would cost what writing does. */
export function restsAlike(a: AccountState, b: AccountState): boolean {
  return (
    a.nextEpisode === b.nextEpisode &&
    a.balances === b.balances &&
    isAlike(a.rules, b.rules, (one, other) => one === other) &&
    isAlike(a.markets, b.markets, (one, other) => one.market === other.market) &&
    isAlike(a.creditLines, b.creditLines, (one, other) => one.subject === other.subject) &&
    isAlike(
      a.positions,
      b.positions,
      (one, other) =>
        one.positionId === other.positionId &&
        one.cover === other.cover &&
        one.market === other.market &&
        one.side === other.side &&
        one.direction === other.direction &&
        one.unseen === other.unseen,
    )
  );
}

function isAlike<T>(a: readonly T[], b: readonly T[], alike: (one: T, other: T) => boolean): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (!alike(a[index]!, b[index]!)) return false;
  return true;
}

/** Both parts as one state again; throws when they are not of one evaluation. */
export function joinEvaluation(
  resting: RestingEvaluation & Partial<SplitEvaluation>,
  beside: string | undefined,
): AccountState {
  const text = resting.moving ?? beside;
  if (text === undefined) throw new Error('the part of it that moves is missing');
  const [passage, ages, markets, creditLines, unprotectedMs] = readMoving(text);
  const { accountId, nextEpisode, rules, balances } = resting;
  return {
    version: STATE_VERSION,
    accountId,
    ...(passage === null ? {} : { passage }),
    nextEpisode,
    rules,
    markets: paired(resting.markets, markets, (market, [forecast, absentMs]) => ({
      market,
      forecast,
      absentMs,
    })),
    creditLines: paired(resting.loans, creditLines, (subject, [forecast, gap]) => ({
      subject,
      forecast,
      gap: gap === 1,
    })),
    positions: paired(resting.positions, unprotectedMs, ({ positionId, ...rests }, ms) => ({
      positionId,
      unprotectedMs: ms,
      ...rests,
    })),
    ages,
    ...(balances === undefined ? {} : { balances }),
  };
}

function movedOf(
  { lastLog, returns, sumReturn, sumSquare, sumTimeMs, recent }: ForecastState,
  last: number,
): Moved {
  const long = [lastLog, returns, sumReturn, sumSquare, sumTimeMs, last];
  if (recent === undefined) return long;
  return [
    ...long,
    recent.stray,
    recent.sumSquare,
    recent.sumTimeMs,
    recent.minutesSquare,
    recent.minutesTimeMs,
  ];
}

type Forecast = readonly [forecast: ForecastState, last: number];

function readMoving(
  text: string,
): readonly [ElapsedState | null, AccountState['ages'], Forecast[], Forecast[], readonly number[]] {
  const [version, passage, ages, markets, creditLines, unprotectedMs] = listOf(JSON.parse(text), 6);
  if (version !== EVALUATION_VERSION) throw new Error('the part of it that moves is of another version');
  const [positionsMs, creditLineMs] = listOf(ages, 2);
  return [
    passage === null ? null : readPassage(passage),
    {
      ...(positionsMs !== null && { positions: numberOf(positionsMs) }),
      ...(creditLineMs !== null && { creditLine: numberOf(creditLineMs) }),
    },
    listOf(markets).map(readMoved),
    listOf(creditLines).map(readMoved),
    listOf(unprotectedMs).map(numberOf),
  ];
}

function readPassage(value: unknown): ElapsedState {
  const [wallMs, monotonicMs, clockId, plannedMs] = listOf(value, 4);
  if (typeof clockId !== 'string') throw new Error('the part of it that moves names no clock');
  const at = { wallMs: numberOf(wallMs), monotonicMs: numberOf(monotonicMs), clockId };
  return { at, plannedMs: numberOf(plannedMs) };
}

function readMoved(value: unknown): Forecast {
  const isLong = Array.isArray(value) && value.length === LONG_FIGURES;
  const figures = listOf(value, isLong ? LONG_FIGURES : ALL_FIGURES).map(numberOf);
  const [lastLog, returns, sumReturn, sumSquare, sumTimeMs, last] = figures as unknown as LongFigures;
  const long = { lastLog, returns, sumReturn, sumSquare, sumTimeMs };
  if (isLong) return [long, last];
  return [{ ...long, recent: readRecent(figures.slice(LONG_FIGURES) as unknown as RecentFigures) }, last];
}

type LongFigures = readonly [number, number, number, number, number, number];
type RecentFigures = readonly [number, number, number, number, number];

function readRecent([stray, sumSquare, sumTimeMs, minutesSquare, minutesTimeMs]: RecentFigures): RecentSums {
  return { stray, sumSquare, sumTimeMs, minutesSquare, minutesTimeMs };
}

function listOf(value: unknown, length?: number): readonly unknown[] {
  if (Array.isArray(value) && (length === undefined || value.length === length)) return value;
  throw new Error('the part of it that moves lacks some of its figures');
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new Error('the part of it that moves has something else for a figure');
}

function paired<A, B, T>(a: readonly A[], b: readonly B[], join: (a: A, b: B) => T): readonly T[] {
  if (a.length !== b.length) throw new Error('the part of it that moves is of another evaluation');
  return a.map((one, index) => join(one, b[index]!));
}

import type { Unseen } from '../../core/quantities/closure.ts';
import type { ForecastState } from '../../core/risk/forecast.ts';
import { type AccountState, STATE_VERSION } from '../../core/rules/account-state.ts';
import type { ElapsedState } from '../../core/rules/elapsed.ts';
import { parsedJson } from '../../core/text/parsed-json.ts';

/**
 * The evaluated state is stored in two parts: one that rests, and the figures that every evaluation moves. A poll of
 * an idle account then writes a quarter of the bytes. In one part, Redis needs a fifth more CPU per poll
 * (test/bench/state.ts, 20 interleaved pairs: +23 %, 95 % interval +11 to +36 %).
 */
export const EVALUATION_VERSION = 2;

type RestingPosition = Omit<AccountState['positions'][number], 'unprotectedMs'>;

/** The resting part: the document itself. */
export interface RestingEvaluation
  extends Pick<AccountState, 'accountId' | 'nextEpisode' | 'rules' | 'balances' | 'freeMargin'> {
  readonly version: typeof EVALUATION_VERSION;
  readonly markets: readonly string[];
  /** Subjects of the credit lines; the stored name is that of the first version. */
  readonly loans: readonly string[];
  /** Credit lines that complete lists do not show; absent: none. */
  readonly loansUnseen?: readonly { readonly subject: string; readonly unseen: Unseen }[];
  /** Credit lines without any read LTV, which have no figures in the moving part; absent: none. */
  readonly loansSilent?: readonly string[];
  readonly positions: readonly RestingPosition[];
}

/** An evaluation as its first version was written: in one part, with another name for the credit lines. */
export type FirstEvaluation = Omit<AccountState, 'creditLines'> & {
  readonly loans: AccountState['creditLines'];
};

/**
 * `lastLog`, `returns`, `sumReturn`, `sumSquare`, `sumTimeMs` of a forecast, then `absentMs` or `gap` (0 or 1), then,
 * if it has recent figures, their `stray`, `sumSquare`, `sumTimeMs`, `minutesSquare` and `minutesTimeMs`. In older
 * documents the last two are other figures, so small that the minutes count as unknown.
 */
type Moved = readonly number[];
const LONG_FIGURES = 6;
const ALL_FIGURES = 11;

export function restingText(state: AccountState): string {
  const { accountId, nextEpisode, rules, markets, creditLines, positions, balances, freeMargin } = state;
  const loansUnseen = creditLines.flatMap(({ subject, unseen }) =>
    unseen === undefined ? [] : [{ subject, unseen }],
  );
  const silent = creditLines.filter((one) => !isMeasured(one));
  const resting: RestingEvaluation = {
    version: EVALUATION_VERSION,
    accountId,
    nextEpisode,
    rules,
    markets: markets.map(({ market }) => market),
    loans: creditLines.filter(isMeasured).map(({ subject }) => subject),
    positions: positions.map(({ unprotectedMs: _moves, ...rests }) => rests),
    ...(balances === undefined ? {} : { balances }),
    ...(freeMargin === undefined ? {} : { freeMargin }),
    ...(loansUnseen.length === 0 ? {} : { loansUnseen }),
    ...(silent.length === 0 ? {} : { loansSilent: silent.map(({ subject }) => subject) }),
  };
  return JSON.stringify(resting);
}

type CreditLine = AccountState['creditLines'][number];
type Measured = CreditLine & { readonly forecast: ForecastState };

function isMeasured(creditLine: CreditLine): creditLine is Measured {
  return creditLine.forecast !== undefined;
}

/** Whether a stored text is in the form that goes with a moving part. */
export function isRestingText(text: string | undefined): boolean {
  return text?.startsWith(`{"version":${EVALUATION_VERSION},`) === true;
}

/** The moving part, as a list; its inner lists are in the order of those of the resting part. */
export function movingText(state: AccountState): string {
  const { passage, ages, markets, creditLines, positions, positionsReadMs } = state;
  const { at, plannedMs } = passage ?? {};
  const moving = [
    EVALUATION_VERSION,
    at === undefined ? null : [at.wallMs, at.monotonicMs, at.clockId, plannedMs],
    [ages.positions ?? null, ages.creditLine ?? null],
    markets.map(({ forecast, absentMs }) => movedOf(forecast, absentMs)),
    creditLines.filter(isMeasured).map(({ forecast, gap }) => movedOf(forecast, Number(gap))),
    positions.map(({ unprotectedMs }) => unprotectedMs),
    ...(positionsReadMs === undefined ? [] : [positionsReadMs]),
  ];
  return JSON.stringify(moving);
}

function movedOf(
  { lastLog, returns, sumReturn, sumSquare, sumTimeMs, recent }: ForecastState,
  last: number,
): Moved {
  const long = [lastLog, returns, sumReturn, sumSquare, sumTimeMs, last];
  if (recent === undefined) return long;
  const { stray, minutesSquare, minutesTimeMs } = recent;
  return [...long, stray, recent.sumSquare, recent.sumTimeMs, minutesSquare, minutesTimeMs];
}

/** Whether the resting part is certainly the same: by identity where comparing would cost as much as writing. */
export function restsAlike(a: AccountState, b: AccountState): boolean {
  return (
    a.nextEpisode === b.nextEpisode &&
    a.balances === b.balances &&
    a.freeMargin === b.freeMargin &&
    isAlike(a.rules, b.rules, (one, other) => one === other) &&
    isAlike(a.markets, b.markets, (one, other) => one.market === other.market) &&
    isAlike(
      a.creditLines,
      b.creditLines,
      (one, other) =>
        one.subject === other.subject && one.unseen === other.unseen && isMeasured(one) === isMeasured(other),
    ) &&
    isAlike(a.positions, b.positions, (one, other) => RESTING.every((name) => one[name] === other[name]))
  );
}

const RESTING = ['positionId', 'cover', 'market', 'side', 'direction', 'called', 'unseen'] as const;

function isAlike<T>(a: readonly T[], b: readonly T[], alike: (one: T, other: T) => boolean): boolean {
  return a === b || (a.length === b.length && a.every((one, index) => alike(one, b[index]!)));
}

/** Converts the first version to the state at once: a moving part beside it is of another evaluation. */
export function joinFirst({ loans, ...evaluation }: FirstEvaluation): AccountState {
  const state: AccountState = { ...evaluation, creditLines: loans };
  return joinEvaluation(JSON.parse(restingText(state)) as RestingEvaluation, movingText(state));
}

/** `positionsReadMs` of the moving part; undefined: it has none, or cannot be read. */
export function positionsReadMsOf(text: string | undefined): number | undefined {
  const moving = parsedJson(text ?? '');
  const readMs: unknown = Array.isArray(moving) && moving[0] === EVALUATION_VERSION ? moving[6] : undefined;
  return typeof readMs === 'number' ? readMs : undefined;
}

/** `nextEpisode` of the resting part; undefined: it cannot be read. */
export function nextEpisodeOf(text: string): number | undefined {
  const resting = parsedJson(text) as Partial<RestingEvaluation> | null | undefined;
  const next: unknown = resting?.nextEpisode;
  return typeof next === 'number' ? next : undefined;
}

/** Whether a value comes from `joinFirst`. */
export function isJoined(value: unknown): value is AccountState {
  return (value as { readonly version: number }).version === STATE_VERSION;
}

/** Joins both parts to one state. @throws Error if they are not of one evaluation */
export function joinEvaluation(resting: RestingEvaluation, text: string | undefined): AccountState {
  if (text === undefined) throw new Error('the part of it that moves is missing');
  const moving = listOf(JSON.parse(text));
  const [version, passage, ages, markets, creditLines, unprotectedMs] = listOf(moving.slice(0, 6), 6);
  const positionsReadMs = moving[6];
  if (version !== EVALUATION_VERSION) throw new Error('the part of it that moves is of another version');
  const [positionsMs, creditLineMs] = listOf(ages, 2);
  const { accountId, nextEpisode, rules, balances, freeMargin } = resting;
  return {
    version: STATE_VERSION,
    accountId,
    ...(passage !== null && { passage: readPassage(passage) }),
    nextEpisode,
    rules,
    markets: paired(resting.markets, markets, (market, moved) => {
      const [forecast, absentMs] = readMoved(moved);
      return { market, forecast, absentMs };
    }),
    creditLines: [
      ...paired(resting.loans, creditLines, (subject, moved) => {
        const [forecast, gap] = readMoved(moved);
        return withUnseen({ subject, forecast, gap: gap === 1 }, resting);
      }),
      ...(resting.loansSilent ?? []).map((subject) => withUnseen({ subject, gap: true }, resting)),
    ],
    positions: paired(resting.positions, unprotectedMs, ({ positionId, ...rests }, ms) => {
      return { positionId, unprotectedMs: numberOf(ms), ...rests };
    }),
    ages: {
      ...(positionsMs !== null && { positions: numberOf(positionsMs) }),
      ...(creditLineMs !== null && { creditLine: numberOf(creditLineMs) }),
    },
    ...(balances !== undefined && { balances }),
    ...(freeMargin !== undefined && { freeMargin }),
    ...(positionsReadMs !== undefined && { positionsReadMs: numberOf(positionsReadMs) }),
  };
}

function withUnseen(creditLine: CreditLine, { loansUnseen }: RestingEvaluation): CreditLine {
  const unseen = loansUnseen?.find(({ subject }) => subject === creditLine.subject)?.unseen;
  return unseen === undefined ? creditLine : { ...creditLine, unseen };
}

function readPassage(value: unknown): ElapsedState {
  const [wallMs, monotonicMs, clockId, plannedMs] = listOf(value, 4);
  if (typeof clockId !== 'string') throw new Error('the part of it that moves names no clock');
  const at = { wallMs: numberOf(wallMs), monotonicMs: numberOf(monotonicMs), clockId };
  return { at, plannedMs: numberOf(plannedMs) };
}

function readMoved(value: unknown): readonly [forecast: ForecastState, last: number] {
  const isLong = Array.isArray(value) && value.length === LONG_FIGURES;
  const figures = listOf(value, isLong ? LONG_FIGURES : ALL_FIGURES).map(numberOf);
  const [lastLog = 0, returns = 0, sumReturn = 0, sumSquare = 0, sumTimeMs = 0, last = 0] = figures;
  const long = { lastLog, returns, sumReturn, sumSquare, sumTimeMs };
  if (isLong) return [long, last];
  const [stray = 0, recentSquare = 0, recentTimeMs = 0, minutesSquare = 0, minutesTimeMs = 0] =
    figures.slice(LONG_FIGURES);
  const recent = { stray, sumSquare: recentSquare, sumTimeMs: recentTimeMs, minutesSquare, minutesTimeMs };
  return [{ ...long, recent }, last];
}

function listOf(value: unknown, length?: number): readonly unknown[] {
  if (Array.isArray(value) && (length === undefined || value.length === length)) return value;
  throw new Error('the part of it that moves lacks some of its figures');
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new Error('the part of it that moves has something else for a figure');
}

function paired<A, T>(resting: readonly A[], moving: unknown, join: (a: A, b: unknown) => T): readonly T[] {
  const moved = listOf(moving);
  if (resting.length !== moved.length) throw new Error('the part of it that moves is of another evaluation');
  return resting.map((one, index) => join(one, moved[index]));
}

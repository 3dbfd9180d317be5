import type { ControlResult } from './control.ts';
import { allPairs, type Fixed, pairsOf } from './covering.ts';
import { FACTOR_NAMES, type Factor, valuesOf } from './factors.ts';
import type { CaseResult, Failure } from './judge.ts';
import { SCENARIO_PLACES, SCENARIOS } from './scenarios.ts';

/** Played cases, in the order of their sequence. */
export interface Played {
  readonly seed: number;
  readonly fixed: Fixed;
  readonly cases: readonly CaseResult[];
  readonly controls: readonly ControlResult[];
  readonly scenarios: readonly CaseResult[];
  readonly tookMs: number;
  /** Sum over all threads, in milliseconds. */
  readonly cpuMs: number;
  readonly isStopped: boolean;
}

export interface Share {
  readonly drawn: number;
  readonly preventable: number;
  readonly prevented: number;
  /** Share of the preventable, 0 to 1; null if there were none. */
  readonly share: number | null;
}

export interface Bar {
  readonly what: string;
  readonly wanted: string;
  readonly got: string;
  readonly holds: boolean;
}

export interface FieldReport {
  readonly seed: number;
  readonly fixed: Fixed;
  readonly isStopped: boolean;
  readonly tookMs: number;
  readonly cpuMs: number;
  /** Pairs of values drawn, and their total number. */
  readonly pairs: { readonly covered: number; readonly all: number };
  readonly total: Share;
  readonly values: readonly (Share & { readonly factor: Factor; readonly value: string })[];
  /** Combinations of two values: the worst of those with enough cases. */
  readonly cells: readonly (Share & { readonly cell: string })[];
  readonly failures: readonly FailureClass[];
  readonly reaction: {
    readonly fills: number;
    /** Null if there were none, or if most were lost without a fill. */
    readonly medianMs: number | null;
    /** Median of the time relative to the allowed time of that case. */
    readonly medianOfBound: number | null;
  };
  readonly controls: { readonly played: number; readonly harmed: readonly ControlResult[] };
  readonly scenarios: readonly (Share & {
    readonly id: string;
    readonly about: string;
    readonly lost: readonly string[];
  })[];
  readonly bars: readonly Bar[];
  /** Unexpected errors of a daemon. */
  readonly errors: readonly string[];
}

export interface FailureClass {
  readonly failure: Failure;
  readonly count: number;
  readonly ids: readonly string[];
  /** Values more frequent in these cases than in others, the most telling first. */
  readonly mostly: readonly string[];
}

export const WANTED_SHARE = 0.99;
export const WANTED_OF_EACH = 0.95;
/** A pair with fewer preventable cases is not significant. */
const ENOUGH = 10;
const WORST_CELLS = 20;

export function reportOf(played: Played): FieldReport {
  const { seed, fixed, cases, controls, isStopped, tookMs, cpuMs } = played;
  const all = allPairs(fixed);
  const covered = new Set(cases.flatMap(({ levels }) => pairsOf(levels)));
  const values = FACTOR_NAMES.flatMap((factor) =>
    valuesOf(factor).map((value) =>
      Object.assign({ factor, value }, shareOf(cases.filter(({ levels }) => levels[factor] === value))),
    ),
  ).filter(({ drawn }) => drawn > 0);
  const report = {
    seed,
    fixed,
    isStopped,
    tookMs,
    cpuMs,
    pairs: { covered: [...all].filter((pair) => covered.has(pair)).length, all: all.size },
    total: shareOf(cases),
    values,
    cells: worstCells(cases),
    failures: failuresOf(cases),
    reaction: reactionOf(cases),
    controls: { played: controls.length, harmed: controls.filter(({ harm }) => harm.length > 0) },
    scenarios: scenarioShares(played.scenarios),
    errors: [
      ...new Set([
        ...[...cases, ...played.scenarios].flatMap(({ daemon }) => daemon?.errors ?? []),
        ...controls.flatMap(({ errors }) => errors),
      ]),
    ],
  };
  return { ...report, bars: barsOf(report) };
}

function shareOf(results: readonly CaseResult[]): Share {
  const preventable = results.filter(({ verdict }) => verdict !== 'unpreventable');
  const prevented = preventable.filter(({ verdict }) => verdict === 'prevented').length;
  return {
    drawn: results.length,
    preventable: preventable.length,
    prevented,
    share: preventable.length === 0 ? null : prevented / preventable.length,
  };
}

function worstCells(cases: readonly CaseResult[]): FieldReport['cells'] {
  const byPair = new Map<string, CaseResult[]>();
  for (const result of cases) {
    for (const pair of pairsOf(result.levels)) {
      const known = byPair.get(pair);
      if (known === undefined) byPair.set(pair, [result]);
      else known.push(result);
    }
  }
  return [...byPair]
    .map(([pair, results]) => Object.assign({ cell: pair.replace('|', ', ') }, shareOf(results)))
    .filter(({ preventable, share }) => preventable >= ENOUGH && share !== null && share < WANTED_OF_EACH)
    .sort((a, b) => (a.share ?? 1) - (b.share ?? 1) || b.preventable - a.preventable)
    .slice(0, WORST_CELLS);
}

function failuresOf(cases: readonly CaseResult[]): readonly FailureClass[] {
  const preventable = cases.filter(({ verdict }) => verdict !== 'unpreventable');
  const classes = Map.groupBy(
    preventable.filter(({ daemon }) => typeof daemon?.failure === 'string'),
    ({ daemon }) => daemon?.failure as Failure,
  );
  return [...classes]
    .map(([failure, results]) => ({
      failure,
      count: results.length,
      ids: results.map(({ id }) => id),
      mostly: mostlyOf(results, preventable),
    }))
    .sort((a, b) => b.count - a.count);
}

/** Shown if a value is this many times as frequent as among all preventable cases. */
const TELLING = 1.3;
const MOST_TOLD = 4;

function mostlyOf(some: readonly CaseResult[], all: readonly CaseResult[]): readonly string[] {
  const rate = (results: readonly CaseResult[], factor: Factor, value: string): number =>
    results.filter(({ levels }) => levels[factor] === value).length / results.length;
  return FACTOR_NAMES.flatMap((factor) =>
    valuesOf(factor).map((value) => ({
      words: `${factor}=${value}`,
      ratio: rate(some, factor, value) / rate(all, factor, value),
    })),
  )
    .filter(({ ratio }) => ratio >= TELLING)
    .sort((a, b) => b.ratio - a.ratio)
    .slice(0, MOST_TOLD)
    .map(({ words, ratio }) => `${words} (x${ratio.toFixed(1)})`);
}

/** A fill before the threshold was crossed is not a reaction; an account lost without a fill counts as infinite. */
function reactionOf(cases: readonly CaseResult[]): FieldReport['reaction'] {
  const reactions = cases.flatMap(({ verdict, daemon }) => {
    const { reactionMs, boundMs } = daemon ?? {};
    if (typeof reactionMs === 'number' && typeof boundMs === 'number')
      return reactionMs < 0 ? [] : [{ reactionMs, boundMs }];
    return verdict === 'liquidated' ? [{ reactionMs: Number.POSITIVE_INFINITY, boundMs: 1 }] : [];
  });
  return {
    fills: reactions.filter(({ reactionMs }) => Number.isFinite(reactionMs)).length,
    medianMs: finite(median(reactions.map(({ reactionMs }) => reactionMs))),
    medianOfBound: finite(median(reactions.map(({ reactionMs, boundMs }) => reactionMs / boundMs))),
  };
}

function finite(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}

function median(numbers: readonly number[]): number | undefined {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

function scenarioShares(results: readonly CaseResult[]): FieldReport['scenarios'] {
  return SCENARIOS.flatMap(({ id, about }) => {
    const own = results.filter((result) => SCENARIO_PLACES[placeOf(result.id)]?.scenario.id === id);
    const lost = own.filter(({ verdict }) => verdict === 'liquidated').map((result) => result.id);
    return own.length === 0 ? [] : [{ id, about, ...shareOf(own), lost }];
  });
}

/** Id of a scenario's case in the list of all. */
export function placeOf(id: string): number {
  return Number(/-s(\d+)$/.exec(id)?.[1] ?? Number.NaN);
}

function barsOf(report: Omit<FieldReport, 'bars'>): readonly Bar[] {
  const { total, values, reaction, controls } = report;
  const poor = values.filter(({ share }) => share !== null && share < WANTED_OF_EACH);
  const least = values.reduce<(typeof values)[number] | undefined>(
    (a, b) => (b.share === null || (a?.share ?? 1) <= b.share ? a : b),
    undefined,
  );
  return [
    {
      what: 'prevented, of what the player prevents',
      wanted: `at least ${percent(WANTED_SHARE)}`,
      got: percent(total.share),
      holds: (total.share ?? 0) >= WANTED_SHARE,
    },
    {
      what: 'the same for every value of a factor',
      wanted: `at least ${percent(WANTED_OF_EACH)}`,
      got:
        least === undefined
          ? 'all'
          : `${percent(least.share)} at ${least.factor}=${least.value}; ${poor.length} of ${values.length} below`,
      holds: poor.length === 0,
    },
    {
      what: 'accounts that needed nothing and are worse than without the daemon',
      wanted: '0',
      got: `${controls.harmed.length} of ${controls.played}`,
      holds: controls.harmed.length === 0,
    },
    {
      what: 'from breach to first fill, as a part of 3 round trips + 1 s + gap / speed (median)',
      wanted: 'at most 1',
      got:
        reaction.medianOfBound === null ? 'most were lost without a fill' : reaction.medianOfBound.toFixed(2),
      holds: reaction.medianOfBound !== null && reaction.medianOfBound <= 1,
    },
  ];
}

export function percent(share: number | null): string {
  return share === null ? '-' : `${(100 * share).toFixed(1)} %`;
}

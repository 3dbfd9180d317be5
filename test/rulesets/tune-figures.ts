import { MS_PER_DAY, MS_PER_HOUR } from '../../src/core/quantities/units.ts';
import type { BareOutcome, CaseOutcome, TuneCase } from './tune-case.ts';

/** A case without rules and under some rules. */
export interface ComparedCase {
  readonly of: Pick<TuneCase, 'kind' | 'account' | 'durationMs'>;
  readonly bare: BareOutcome;
  readonly ruled: CaseOutcome;
}

/** Effect of rules over many cases. Shares are fractions; null: no case of that kind. */
export type TuneFigures = ReturnType<typeof figuresOf>;

export function figuresOf(cases: readonly ComparedCase[]) {
  const markets = cases.filter(({ of }) => of.kind === 'market');
  const doomed = markets.filter(({ bare }) => bare.liquidated);
  const survivors = markets.filter(({ bare }) => !bare.liquidated);
  const quiet = cases.filter(({ of, bare }) => of.kind === 'quiet' && !bare.liquidated);
  const share = ({ equityStart, equityEnd }: CaseOutcome): number => equityEnd / equityStart;
  const givenUp = survivors
    .map(({ bare, ruled }) => (bare.equityEnd - ruled.equityEnd) / bare.equityEnd)
    .toSorted((a, b) => a - b);
  const playedMs = sum(cases.map(({ ruled }) => ruled.playedMs));
  const positionDays = sum(quiet.map(({ of }) => (of.account.positions.length * of.durationMs) / MS_PER_DAY));
  return {
    cases: cases.length,
    /** Cases that were liquidated without rules, and how many of them were not with rules. */
    doomed: doomed.length,
    prevented: doomed.filter(({ ruled }) => !ruled.liquidated).length,
    /** Mean share of the starting equity that the doomed kept, without and with rules. */
    keptWithout: mean(doomed.map(({ bare }) => share(bare))),
    kept: mean(doomed.map(({ ruled }) => share(ruled))),
    /** Cases that came through without rules: share of their final equity that rules took; negative: added. */
    survivors: survivors.length,
    givenUpMedian: median(givenUp),
    givenUpMean: mean(givenUp),
    /** Survivors without rules that were liquidated with them. */
    harmed: survivors.filter(({ ruled }) => ruled.liquidated).length,
    /** Orders accepted by the exchange, per hour with anything open. */
    ordersPerHour:
      playedMs === 0 ? 0 : (sum(cases.map(({ ruled }) => ruled.orders)) * MS_PER_HOUR) / playedMs,
    /** Position days in quiet markets, and closing orders per 1,000 of them. */
    quietDays: positionDays,
    falseActions:
      positionDays === 0 ? null : (1_000 * sum(quiet.map(({ ruled }) => ruled.closings))) / positionDays,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values) / values.length;
}

/** Takes sorted values. */
function median(sorted: readonly number[]): number | null {
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** Whether `other` is at least as good in both columns of the front, and better in one. */
export function isBeatenBy(one: TuneFigures, other: TuneFigures): boolean {
  const [kept, otherKept] = [one.kept ?? 0, other.kept ?? 0];
  const [given, otherGiven] = [one.givenUpMean ?? 0, other.givenUpMean ?? 0];
  if (otherKept < kept || otherGiven > given) return false;
  return otherKept > kept || otherGiven < given;
}

/** Sets that no other beats: none keeps more without giving up more. From least given up to most. */
export function frontOf<T extends { readonly figures: TuneFigures }>(all: readonly T[]): readonly T[] {
  return all
    .filter((one) => !all.some((other) => isBeatenBy(one.figures, other.figures)))
    .toSorted((a, b) => (a.figures.givenUpMean ?? 0) - (b.figures.givenUpMean ?? 0));
}

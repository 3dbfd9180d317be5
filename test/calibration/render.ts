import type { Model } from './files.ts';
import { BOUNDS, baseScore, type Tallies, type Tally } from './measure.ts';

const percent = (value: number): string => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;

/** Bins with fewer forecasts than this are too small to judge. */
export const LEAST_COUNT = 100;

/** Two tables: forecasts against outcomes, and the scores. */
export function asMarkdown(measured: ReadonlyMap<Model, Tallies>): string {
  return [calledTable(measured), scoreTable(measured)].join('\n\n');
}

function calledTable(measured: ReadonlyMap<Model, Tallies>): string {
  const bins = BOUNDS.slice(1).map((bound, index) => `${percent(BOUNDS[index] ?? 0)} to ${percent(bound)}`);
  const rows = horizonsOf(measured).map((horizonMs) => {
    const cells = bins.map((_, index) => {
      const shares = [...measured.values()].flatMap((tallies) => {
        const bin = tallies.get(horizonMs)?.bins[index];
        return bin === undefined || bin.count < LEAST_COUNT ? [] : [bin.happened / bin.count];
      });
      if (shares.length === 0) return '-';
      const [least, most] = [percent(Math.min(...shares)), percent(Math.max(...shares))];
      return least === most ? least : `${least} to ${most}`;
    });
    return `| ${words(horizonMs)} | ${cells.join(' | ')} |`;
  });
  return [`| Within | ${bins.join(' | ')} |`, `|---|${bins.map(() => '---|').join('')}`, ...rows].join('\n');
}

function scoreTable(measured: ReadonlyMap<Model, Tallies>): string {
  const mean = (horizonMs: number, of: (tally: Tally) => number): string => {
    const values = [...measured.values()].flatMap((tallies) => {
      const tally = tallies.get(horizonMs);
      return tally === undefined ? [] : [of(tally)];
    });
    return `${Math.min(...values).toFixed(4)} to ${Math.max(...values).toFixed(4)}`;
  };
  const rows = horizonsOf(measured).map((horizonMs) =>
    [
      '',
      words(horizonMs),
      mean(horizonMs, ({ score, asked }) => score / asked),
      mean(horizonMs, ({ hourScore, asked }) => hourScore / asked),
      mean(horizonMs, baseScore),
      '',
    ]
      .join(' | ')
      .trim(),
  );
  const head = '| Within | Brier score | of the hour alone | of how often it happens at that distance |';
  return [head, '|---|---|---|---|', ...rows].join('\n');
}

function horizonsOf(measured: ReadonlyMap<Model, Tallies>): readonly number[] {
  const [first] = measured.values();
  return [...(first?.keys() ?? [])];
}

function words(horizonMs: number): string {
  return horizonMs < 60_000 ? `${horizonMs / 1000} s` : `${horizonMs / 60_000} min`;
}

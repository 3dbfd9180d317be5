import { playField } from '../field/play.ts';
import type { Played } from '../field/report.ts';
import type { Figure } from './figures.ts';

/** Verdicts by their letters; the place of a letter is the number in the case's id. */
const LETTERS = { prevented: 'p', liquidated: 'l', unpreventable: 'u' } as const;
/** Results of a control, which is an account that needs nothing. */
const CONTROL = { harmed: 'h', fine: 'f' } as const;

/** Plays the grid of each seed: so many preventable cases, a tenth of controls, and as many cases of the scenarios. */
export async function measureGrid(
  { seeds, cases }: { readonly seeds: readonly number[]; readonly cases: number },
  signal: AbortSignal,
  onProgress: (done: number, of: number) => void,
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const [turn, seed] of seeds.entries()) {
    const options = { seed, cases, fixed: {}, controls: Math.ceil(cases / 10), scenarios: cases };
    const played = await playField(options, signal, (done, of) =>
      onProgress(turn * of + done, seeds.length * of),
    );
    if (signal.aborted) return [];
    figures.push(...figuresOf(played));
  }
  return figures;
}

function figuresOf({ seed, cases, scenarios, controls }: Played): readonly Figure[] {
  const letters = (results: Played['cases']): string =>
    results.map(({ verdict }) => LETTERS[verdict]).join('');
  const errors = [...cases, ...scenarios].flatMap(({ daemon }) => daemon?.errors ?? []);
  return [
    { part: 'grid', what: `seed ${seed}, cases`, value: letters(cases) },
    { part: 'grid', what: `seed ${seed}, scenarios`, value: letters(scenarios) },
    {
      part: 'grid',
      what: `seed ${seed}, controls`,
      value: controls.map(({ harm }) => (harm.length > 0 ? CONTROL.harmed : CONTROL.fine)).join(''),
    },
    { part: 'grid', what: `seed ${seed}, unexpected errors`, value: errors.length },
  ];
}

/** Seeds of which figures tell the cases. */
export function seedsIn(figures: Iterable<Figure>): readonly number[] {
  return [...figures].flatMap(({ part, what }) => {
    const seed = part === 'grid' ? /^seed (\d+), cases$/.exec(what)?.[1] : undefined;
    return seed === undefined ? [] : [Number(seed)];
  });
}

/** What the letters of a seed say. */
export interface GridSummary {
  readonly preventable: number;
  readonly prevented: number;
  /** Ids of lost cases and scenarios, and of harmed controls. */
  readonly lost: readonly string[];
  readonly harmed: readonly string[];
}

export function gridSummary(
  seed: number,
  { cases, scenarios, controls }: Readonly<Record<'cases' | 'scenarios' | 'controls', string>>,
): GridSummary {
  const ids = (letters: string, wanted: string, mark: string): readonly string[] =>
    letters.split('').flatMap((letter, index) => (letter === wanted ? [`${seed}-${mark}${index}`] : []));
  const prevented = countOf(cases, LETTERS.prevented);
  return {
    preventable: preventableIn(cases),
    prevented,
    lost: [...ids(cases, LETTERS.liquidated, ''), ...ids(scenarios, LETTERS.liquidated, 's')],
    harmed: ids(controls, CONTROL.harmed, 'c'),
  };
}

export function preventableIn(cases: string): number {
  return cases.length - countOf(cases, LETTERS.unpreventable);
}

/** The letters until so many preventable cases are played. */
export function firstCases(cases: string, wanted: number): string {
  let preventable = 0;
  for (const [index, letter] of cases.split('').entries()) {
    if (preventable >= wanted) return cases.slice(0, index);
    if (letter !== LETTERS.unpreventable) preventable += 1;
  }
  return cases;
}

function countOf(letters: string, wanted: string): number {
  return letters.split(wanted).length - 1;
}

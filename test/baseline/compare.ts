import type { Figure, Part } from './figures.ts';
import { firstCases, gridSummary, preventableIn, seedsIn } from './grid.ts';

export type Verdict = 'equal' | 'better' | 'worse' | 'noise';

/** A line of the comparison; also what `--json` prints. */
export interface Row {
  readonly part: Part;
  readonly what: string;
  /** Null: there is none. */
  readonly before: number | string | null;
  readonly now: number | string | null;
  readonly unit?: string;
  /** `now / before`, for numbers that are compared as ratios. */
  readonly ratio?: number;
  /** `noise`: of a bench within the tolerance, of anything else not judged. Null: nothing was stored before. */
  readonly verdict: Verdict | null;
}

/** Figures of a bench that differ by less are noise. */
export const TOLERANCE = 0.2;

type Values = ReadonlyMap<string, Figure>;

/** The rows of a part. Without stored figures they have no verdict. */
export function compareFigures(
  part: Part,
  stored: readonly Figure[],
  measured: readonly Figure[],
): readonly Row[] {
  const of = (figures: readonly Figure[]): Values =>
    new Map(figures.filter((figure) => figure.part === part).map((figure) => [figure.what, figure]));
  const [before, now] = [of(stored), of(measured)];
  const rows = COMPARED[part](before, now);
  return before.size === 0 ? rows.map((row) => ({ ...row, before: null, verdict: null })) : rows;
}

const COMPARED: Readonly<Record<Part, (before: Values, now: Values) => readonly Row[]>> = {
  lines: (before, now) =>
    // A room that is new, or gone, has had or has nothing.
    namesIn(before, now).map((what) => {
      const unit = (now.get(what) ?? before.get(what))?.unit ?? '';
      const row = numbers('lines', what, [before.get(what)?.value ?? 0, now.get(what)?.value ?? 0], unit);
      return /^test\b/.test(what) ? unjudged(row) : row;
    }),
  rooms: (before, now) =>
    namesIn(before, now).flatMap((what) => {
      const [earlier, current] = [before.get(what)?.value ?? null, now.get(what)?.value ?? null];
      if (typeof current === 'number') return [numbers('rooms', what, [earlier, current])];
      return membersChanged(what.replace('the ', '').replace(/s$/, ''), String(earlier ?? ''), current ?? '');
    }),
  walk: (before, now) =>
    namesIn(before, now).map((what) => {
      const row = numbers('walk', what, [before.get(what)?.value ?? null, now.get(what)?.value ?? null]);
      return what.endsWith('functions') ? unjudged(row) : row;
    }),
  worlds: (before, now) =>
    [
      ['random', 'ledger'],
      ['random', 'audit'],
      ['contended', 'ledger'],
      ['contended', 'audit'],
    ].flatMap(([kind = '', of = '']) => hashRows(before, now, { kind, of })),
  grid: (before, now) => seedsIn(now.values()).flatMap((seed) => gridRows(before, now, seed)),
  bench: (before, now) => namesIn(before, now).map((what) => benchRow(before.get(what), now.get(what), what)),
};

function namesIn(before: Values, now: Values): readonly string[] {
  return [...new Set([...now.keys(), ...before.keys()])];
}

type Value = number | string | null;

/** Fewer are better. */
function numbers(
  part: Part,
  what: string,
  [before, now]: readonly [before: Value, now: Value],
  unit?: string,
): Row {
  return { part, what, before, now, ...(unit === undefined ? {} : { unit }), verdict: byNumber(before, now) };
}

function byNumber(before: Value, now: Value): Verdict {
  if (typeof before !== 'number' || typeof now !== 'number') return 'noise';
  return before === now ? 'equal' : now < before ? 'better' : 'worse';
}

/** A row for each pair or circle that is new or gone. */
function membersChanged(what: string, before: string, now: string): readonly Row[] {
  const [earlier, current] = [before, now].map((text) => text.split(' ').filter((name) => name !== ''));
  const row = (name: string, isNew: boolean): Row => ({
    part: 'rooms',
    what: `${what} ${name}`,
    before: isNew ? 'no' : 'yes',
    now: isNew ? 'yes' : 'no',
    verdict: isNew ? 'worse' : 'better',
  });
  return [
    ...(current ?? []).filter((name) => !(earlier ?? []).includes(name)).map((name) => row(name, true)),
    ...(earlier ?? []).filter((name) => !(current ?? []).includes(name)).map((name) => row(name, false)),
  ];
}

/** Each different world is named, up to this many of a kind. */
const MOST_NAMED = 20;

/** One row for all worlds that were played, and one for each that is not the same. */
function hashRows(before: Values, now: Values, { kind, of }: { readonly kind: string; readonly of: string }) {
  const names = [...now.keys()].filter((name) => name.startsWith(`${kind} `) && name.endsWith(`, ${of}`));
  const different = names.filter((name) => before.get(name)?.value !== now.get(name)?.value);
  const plural = names.length === 1 ? 'world' : 'worlds';
  const [first] = different;
  const all: Row = {
    part: 'worlds',
    what: `${names.length} ${kind} ${plural}, hashes of the ${of}`,
    before: `${names.length} ${plural}`,
    now:
      first === undefined || before.size === 0
        ? `${names.length} the same`
        : `${different.length} different, the first ${first.replace(`, ${of}`, '')}`,
    verdict: first === undefined ? 'equal' : 'worse',
  };
  if (before.size === 0) return [{ ...all, now: `${names.length} ${plural}` }];
  const each = different.slice(0, MOST_NAMED).map(
    (what): Row => ({
      part: 'worlds',
      what,
      before: before.get(what)?.value ?? null,
      now: now.get(what)?.value ?? null,
      verdict: 'worse',
    }),
  );
  return [all, ...each];
}

function gridRows(before: Values, now: Values, seed: number): readonly Row[] {
  const letters = (values: Values, what: string): string =>
    String(values.get(`seed ${seed}, ${what}`)?.value ?? '');
  const current = {
    cases: letters(now, 'cases'),
    scenarios: letters(now, 'scenarios'),
    controls: letters(now, 'controls'),
  };
  // Fewer may have been played than are stored.
  const earlier = {
    cases: firstCases(letters(before, 'cases'), preventableIn(current.cases)),
    scenarios: letters(before, 'scenarios').slice(0, current.scenarios.length),
    controls: letters(before, 'controls').slice(0, current.controls.length),
  };
  const [was, is] = [gridSummary(seed, earlier), gridSummary(seed, current)];
  const share = ({ prevented, preventable }: typeof is): number | null =>
    preventable === 0 ? null : Math.round((10_000 * prevented) / preventable) / 100;
  const errors = (values: Values): number =>
    Number(values.get(`seed ${seed}, unexpected errors`)?.value ?? 0);
  const isAll = current.cases.length === letters(before, 'cases').length;
  const row = (what: string, values: readonly [Value, Value], unit?: string): Row =>
    numbers('grid', `seed ${seed}: ${what}`, values, unit);
  return [
    unjudged(row('preventable cases', [was.preventable, is.preventable])),
    moreIsBetter(row('prevented', [was.prevented, is.prevented])),
    moreIsBetter(row('prevented, share', [share(was), share(is)], '%')),
    idsRow(`seed ${seed}: lost`, was.lost, is.lost),
    idsRow(`seed ${seed}: accounts that needed nothing, harmed`, was.harmed, is.harmed),
    // Fewer cases may meet fewer errors.
    row('unexpected errors', [isAll ? errors(before) : Math.min(errors(before), errors(now)), errors(now)]),
  ];
}

function unjudged(row: Row): Row {
  return row.verdict === 'equal' ? row : { ...row, verdict: 'noise' };
}

function moreIsBetter(row: Row): Row {
  const { verdict } = row;
  return { ...row, verdict: verdict === 'better' ? 'worse' : verdict === 'worse' ? 'better' : verdict };
}

/** Worse with any id that was not there, however many others are gone. */
function idsRow(what: string, before: readonly string[], now: readonly string[]): Row {
  const isWorse = now.some((id) => !before.includes(id));
  const verdict = isWorse ? 'worse' : now.length < before.length ? 'better' : 'equal';
  return { part: 'grid', what, before: idsText(before), now: idsText(now), verdict };
}

function idsText(ids: readonly string[]): string {
  return ids.length === 0 ? 'none' : ids.join(' ');
}

/** Figures for which more is better. */
const RATES = /PerSecond$/;

function benchRow(before: Figure | undefined, now: Figure | undefined, what: string): Row {
  const [was, is] = [before?.value ?? null, now?.value ?? null];
  const unit = now?.unit ?? before?.unit;
  const row: Row = numbers('bench', what, [was, is], unit);
  if (typeof was !== 'number' || typeof is !== 'number' || row.verdict === 'equal') return row;
  const ratio = was === 0 ? undefined : Number((is / was).toPrecision(3));
  if (ratio === undefined) return unjudged(row);
  if (Math.abs(ratio - 1) <= TOLERANCE) return { ...unjudged(row), ratio };
  return { ...(RATES.test(what) ? moreIsBetter(row) : row), ratio };
}

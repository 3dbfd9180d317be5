import { type MeasuredSet, POSITION_SETS } from '../../src/config/rules/fitting-set.ts';

/** Source file with the figures of docs/rule-sets.md that the command line quotes: an installed program has no docs. */
export function measuredSetsFile(page: string): string {
  const rows = rowsOf(page);
  const entries = POSITION_SETS.map((name) => {
    const cells = rows.get(name);
    if (cells === undefined) throw new Error(`docs/rule-sets.md has no measured row of ${name}`);
    const figures = Object.entries(measuredOf(cells)).map(([key, value]) => `    ${key}: ${String(value)},`);
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    return [`  ${key}: {`, ...figures, '  },'].join('\n');
  });
  return [
    "import type { MeasuredSet, PositionSetName } from './fitting-set.ts';",
    '',
    '/** Made by `npm run generate` from the measurement in docs/rule-sets.md: do not change it here. */',
    'export const MEASURED_SETS: Readonly<Record<PositionSetName, MeasuredSet>> = {',
    ...entries,
    '};',
    '',
  ].join('\n');
}

/** The table "Within the leverage" of the large measurement: cells by column title, by name of the set. */
function rowsOf(page: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const [, table = ''] =
    /<!-- generated: measured -->[\s\S]*?\*\*Within the leverage[^\n]*\n\n([\s\S]*?)\n\n/.exec(page) ?? [];
  const [titles = [], , ...rows] = table.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return new Map(
    rows.map(([name = '', ...cells]) => [
      name,
      new Map(cells.map((cell, index) => [titles[index + 1] ?? '', cell] as const)),
    ]),
  );
}

function measuredOf(cells: ReadonlyMap<string, string>): MeasuredSet {
  const cell = (title: string): string => {
    const text = cells.get(title);
    if (text === undefined) throw new Error(`docs/rule-sets.md has no column ${title}`);
    return text;
  };
  const [prevented, doomed] = cell('prevented').split(' of ').map(Number);
  return {
    prevented: prevented ?? Number.NaN,
    doomed: doomed ?? Number.NaN,
    kept: shareOf(cell('kept')),
    without: shareOf(cell('without')),
    givenUp: shareOf(cell('given up')),
    falseActions: cell('false/1000 d') === '' ? null : Number(cell('false/1000 d')),
  };
}

/** Reads `64.3 %` as 0.643. A negative share may have the typographic minus sign. */
function shareOf(text: string): number | null {
  const [, sign, digits] = /^([−-]?)([\d.]+) %$/.exec(text) ?? [];
  if (digits === undefined) return null;
  return Number(((sign === '' ? 1 : -1) * (Number(digits) / 100)).toFixed(5));
}

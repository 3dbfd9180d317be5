import { figures, type OutcomeTable, texts } from '../../src/replay/outcome-table.ts';
import { picture } from './picture.ts';
import type { TuneRecord, TuneRow } from './search.ts';
import { FRONT_COLUMNS, figureCells, frontTable, tuneWords } from './tune-tables.ts';

/** The figure on the page of the sets. */
export const PICTURE = new URL('../../docs/images/rule-sets-front.svg', import.meta.url);

/** The page with the tables of the sets. */
export const PAGE = new URL('../../docs/rule-sets.md', import.meta.url);

/** Measurements and their duration. */
export function recordLines(record: TuneRecord): readonly string[] {
  return [tuneWords(record), '', ...tableLines(record)];
}

/**
 * Tables in Markdown for a page. For a search: the front. Otherwise all sets, those within their leverage, and each by
 * book. The same measurement gives the same lines.
 */
export function tableLines(record: TuneRecord): readonly string[] {
  const kept = record.rows.filter(({ isAnchor }) => isAnchor);
  if (record.rows.every(({ figures: { doomed, survivors } }) => doomed + survivors === 0))
    return markdown(quietTable(kept.filter(({ madeFor }) => madeFor !== null)));
  const lines = [...markdown(frontTable(record)), ...record.notes.flatMap((note) => ['', note])];
  if (kept.length < record.rows.length) return lines;
  if (kept.some(({ madeFor }) => madeFor !== null)) {
    lines.push('', '**Within the leverage that each is made for**', '', ...markdown(madeForTable(kept)));
    const quiet = pacesTable(kept);
    if (quiet !== undefined)
      lines.push(
        '',
        '**There, false actions per 1,000 days of a position, by the market**',
        '',
        ...markdown(quiet),
      );
  }
  for (const row of kept) lines.push('', `**${row.name}**`, '', ...markdown(bookTable(row)));
  return lines;
}

function madeForTable(rows: readonly TuneRow[]): OutcomeTable {
  return {
    columns: [...texts('RULES'), ...FRONT_COLUMNS.slice(2)],
    rows: rows.flatMap(({ name, madeFor }) =>
      madeFor === null ? [] : [[name].concat(figureCells(madeFor))],
    ),
  };
}

/** Undefined: no quiet market was played. */
function pacesTable(rows: readonly TuneRow[]): OutcomeTable | undefined {
  const paces = Object.keys(rows[0]?.paces ?? {});
  if (paces.length === 0) return undefined;
  return {
    columns: [...texts('RULES'), ...figures(...paces)],
    rows: rows
      .filter(({ madeFor }) => madeFor !== null)
      .map((row) => [row.name].concat(paces.map((pace) => row.paces[pace]?.falseActions?.toFixed(1) ?? ''))),
  };
}

/** False actions by market, over all books and by book, and the number of days; each set within its leverage. */
function quietTable(rows: readonly TuneRow[]): OutcomeTable {
  const cell = ({ paces, quiet }: TuneRow, key: string): string => {
    const { falseActions = null, quietDays = 0 } = paces[key] ?? quiet[key] ?? {};
    return falseActions === null ? '' : `${falseActions.toFixed(1)} (${quietDays.toFixed(0)} d)`;
  };
  const booksAt = sorted(rows.flatMap(({ quiet }) => Object.keys(quiet)));
  const keys = sorted(rows.flatMap(({ paces }) => Object.keys(paces))).flatMap((pace) =>
    [pace].concat(booksAt.filter((key) => key.endsWith(`, ${pace}`))),
  );
  return {
    columns: [...texts('MARKET'), ...figures(...rows.map(({ name }) => name))],
    rows: keys.map((key) => [key].concat(rows.map((row) => cell(row, key)))),
  };
}

function sorted(keys: readonly string[]): readonly string[] {
  return [...new Set(keys)].toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The picture of the front as a separate file, black on white. */
export function pictureFile({ rows }: TuneRecord): string {
  const style =
    'xmlns="http://www.w3.org/2000/svg" style="background:#fff;color:#111;font-family:sans-serif"';
  return `${picture(rows).html.replace('<svg ', `<svg ${style} `)}\n`;
}

/** One set by book. */
function bookTable({ books }: TuneRecord['rows'][number]): OutcomeTable {
  return {
    columns: [...texts('BOOK'), ...FRONT_COLUMNS.slice(2)],
    rows: Object.entries(books).map(([book, figures]) => [book].concat(figureCells(figures))),
  };
}

function markdown({ columns, rows }: OutcomeTable): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(({ title }) => title.toLowerCase())),
    line(columns.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map(line),
  ];
}

import { type OutcomeTable, texts } from '../../src/replay/outcome-table.ts';
import type { TuneRecord } from '../../src/replay/tune/search.ts';
import { FRONT_COLUMNS, figureCells, frontTable, tuneWords } from '../../src/replay/tune/tune-tables.ts';

/** The page that has the tables of the sets. */
export const PAGE = new URL('../../docs/rule-sets.md', import.meta.url);

/** What was measured, and in what time. */
export function recordLines(record: TuneRecord): readonly string[] {
  return [tuneWords(record), '', ...tableLines(record)];
}

/** Tables in Markdown for a page: all sets, and each by book. The same measurement gives the same lines. */
export function tableLines(record: TuneRecord): readonly string[] {
  const kept = record.rows.filter(({ isAnchor }) => isAnchor);
  const lines = [...markdown(frontTable(record))];
  for (const row of kept) lines.push('', `**${row.name}**`, '', ...markdown(bookTable(row)));
  for (const note of record.notes) lines.push('', note);
  return lines;
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

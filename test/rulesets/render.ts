import type { OutcomeTable } from '../../src/replay/outcome-table.ts';
import type { TuneRecord } from '../../src/replay/tune/search.ts';
import { bookTable, frontTable, tuneWords } from '../../src/replay/tune/tune-tables.ts';

/** Tables in Markdown, so that they can be put into a page as they are. */
export function recordLines(record: TuneRecord): readonly string[] {
  const kept = record.rows.filter(({ isAnchor }) => isAnchor);
  return [
    tuneWords(record),
    '',
    ...markdown(frontTable(record)),
    ...kept.flatMap((row) => ['', `**${row.name}**`, '', ...markdown(bookTable(row))]),
    ...record.notes.flatMap((note) => ['', note]),
  ];
}

function markdown({ columns, rows }: OutcomeTable): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(({ title }) => title.toLowerCase())),
    line(columns.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map(line),
  ];
}

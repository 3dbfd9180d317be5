import { type CliIo, type OutputName, paint, printJson, printLine, terminalSize } from './io.ts';

export interface Column {
  readonly title: string;
  /** Aligns numbers by their last digit. */
  readonly align?: 'right';
  /** On a terminal that is too narrow, its texts are cut, at most to this width, before rows become blocks. */
  readonly leastWidth?: number;
}

export interface Table {
  readonly columns: readonly Column[];
  /** One text per column; empty if there is no value. */
  readonly rows: readonly (readonly string[])[];
}

/** Columns by their titles; a `>` before one aligns figures to the right. */
export function columnsOf(...titles: readonly string[]): readonly Column[] {
  return titles.map((title) =>
    title.startsWith('>') ? { title: title.slice(1), align: 'right' } : { title },
  );
}

type Place = Pick<CliIo, 'stdout' | 'stderr' | 'isTty' | 'env'>;

const GAP = '  ';
/** The width if nothing tells that of the terminal. */
const UNBOUNDED = Number.POSITIVE_INFINITY;

/** Lines of a table without its empty columns; on a terminal that is too narrow, each row becomes a block. */
export function tableLines(io: Place, table: Table): string[] {
  const kept = table.columns.flatMap((column, index) =>
    table.rows.some((row) => cell(row, index) !== '') ? [{ column, index }] : [],
  );
  const widths = kept.map(({ column, index }) =>
    Math.max(column.title.length, ...table.rows.map((row) => cell(row, index).length)),
  );
  const room = widthOf(io);
  const total = (): number => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  for (const [at, { column }] of [...kept.entries()].toReversed()) {
    const width = widths[at] ?? 0;
    const least = Math.min(width, column.leastWidth ?? width);
    widths[at] = Math.max(least, width - Math.max(0, total() - room));
  }
  if (total() > room) {
    return table.rows.flatMap((row, number) => [
      ...(number === 0 ? [] : ['']),
      ...fieldLines(
        io,
        'stdout',
        kept.map(({ column, index }) => [column.title, cell(row, index)] as const),
      ),
    ]);
  }
  const line = (texts: readonly string[]) =>
    texts
      .map((text, at) => {
        const width = widths[at] ?? 0;
        if (text.length > width) return `${text.slice(0, width - 1)}…`;
        return kept[at]?.column.align === 'right' ? text.padStart(width) : text.padEnd(width);
      })
      .join(GAP)
      .trimEnd();
  const head = line(kept.map(({ column }) => column.title));
  const body = table.rows.map((row) => line(kept.map(({ index }) => cell(row, index))));
  return [paint(io, 'stdout', 'bold', head), ...body];
}

/** One `name  value` per line; those without a value are left out. */
export function fieldLines(
  io: Place,
  output: OutputName,
  fields: readonly (readonly [name: string, value: string])[],
): string[] {
  const shown = fields.filter(([, value]) => value !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => {
    const padding = ' '.repeat(width - name.length);
    return `${paint(io, output, 'bold', name)}${padding}${GAP}${printable(value)}`;
  });
}

/** Prints records as a table, or as JSON. `none`: printed if there are no records. */
export function printListing<T>(
  io: Place,
  records: readonly T[],
  { json, none, titles, cells }: Listing<T>,
): void {
  if (json === true) for (const one of records) printJson(io, one);
  else if (records.length === 0) printLine(io, none);
  else {
    const table = { columns: columnsOf(...titles), rows: records.map(cells) };
    for (const line of tableLines(io, table)) printLine(io, line);
  }
}

interface Listing<T> {
  readonly json: boolean | undefined;
  readonly none: string;
  readonly titles: readonly string[];
  readonly cells: (one: T) => readonly string[];
}

function cell(row: readonly string[], index: number): string {
  return printable(row[index] ?? '');
}

/** Texts from outside must not move the cursor or colour the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}

/** Width of the terminal; without a terminal that of COLUMNS, as a file takes lines of any length. */
function widthOf(io: Place): number {
  if (io.isTty.stdout) return terminalSize(io, 'columns') ?? UNBOUNDED;
  const columns = Number(io.env['COLUMNS'] ?? '');
  return Number.isInteger(columns) && columns > 0 ? columns : UNBOUNDED;
}

/** Wraps a sentence to the width behind `indent`. */
export function wrapped(io: Place, text: string, indent = ''): string[] {
  return filled(printable(text).split(' '), widthOf(io) - indent.length);
}

/** Fills lines of `room` characters with words; a longer word gets its own line. */
export function filled(words: readonly string[], room: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > room) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

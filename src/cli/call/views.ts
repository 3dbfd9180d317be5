import type { Enumerated, RecordList } from '../../core/ports/exchange.ts';
import type { CliIo } from '../io.ts';
import { timeOf } from '../operate/values.ts';
import { type Column, fieldLines, printable, tableLines } from '../table.ts';

/** A reply, ready to be shown: `json` is merged into the line of `--json`, the rest is for people. */
export interface Shown {
  readonly json?: object;
  readonly lines: (io: CliIo) => readonly string[];
  /** Remarks, on standard error. */
  readonly notes?: readonly string[];
}

/**
 * Names of fields of a record `R` or of an object in it, such as `market >amount`: a `>` aligns figures to the right. A
 * name that no record has is an error of types, as its column would vanish without a word.
 */
type Columns<R, S extends string> = readonly (S &
  (Names<S> extends FieldOf<R> | `>${FieldOf<R>}` ? S : never))[];
type Names<S> = S extends `${infer First} ${infer Rest}` ? First | Names<Rest> : S;
type FieldOf<R> = (keyof R | KeyOf<Extract<R[keyof R], object>>) & string;
type KeyOf<T> = T extends unknown ? keyof T : never;
type Value = string | number | boolean | null | undefined | Enumerated<string | number>;

/** Fields in Unix seconds, up to the last date; other numbers are codes. */
const TIMES = new Set(['createdAt', 'openDate', 'ctime', 'ftime', 'timestamp']);
const LAST_DATE = 8.64e12;

/** `undefined` is nothing said, `null` is none; a value of an open enumeration that is not documented is marked. */
function textOf(name: string, value: Value): string {
  if (value === undefined) return '';
  if (value === null) return 'none';
  if (typeof value === 'object') return value.known ? String(value.value) : `${value.raw} (undocumented)`;
  const isTime = typeof value === 'number' && TIMES.has(name) && Math.abs(value) <= LAST_DATE;
  return isTime ? timeOf(value * 1000) : String(value);
}

function cellsOf(records: readonly object[], names: readonly string[]) {
  const columns = names
    .flatMap((name) => name.split(' '))
    .map((name): Column => (name[0] === '>' ? { title: name.slice(1), align: 'right' } : { title: name }));
  const rows = records.map((record) => {
    const parts = Object.values(record).filter((value) => typeof value === 'object');
    const fields = Object.assign({}, ...parts, record);
    return columns.map(({ title }) => textOf(title, fields[title]));
  });
  return { columns, rows };
}

/** One record, a field per line. */
export function recordView<R extends object, S extends string>(record: R, names: Columns<R, S>) {
  const { columns, rows } = cellsOf([record], names);
  const fields = columns.map(({ title }, index) => [title, rows[0]?.[index] ?? ''] as const);
  return { lines: (io: CliIo) => fieldLines(io, 'stdout', fields) };
}

/** A table, or `none` where it would be empty. */
export const tableView = <R extends object, S extends string>(
  records: readonly R[],
  none: string,
  names: Columns<R, S>,
) => ({
  lines: (io: CliIo) => (records.length === 0 ? [none] : tableLines(io, cellsOf(records, names))),
});

/** The records of a list, with what has to be said about one that is not complete. */
export function listView<R extends object, S extends string>(
  list: RecordList<R>,
  none: string,
  names: Columns<R, S>,
): Shown {
  const { records, setAside, furtherSetAside = 0, complete, cut } = list;
  if (complete) return { json: list, ...tableView(records, none, names) };
  const notes = setAside.map(
    ({ path, expected, got }) =>
      `Set aside, as it is not as documented: ${printable(path)}: expected ${expected}, got ${got}.`,
  );
  if (furtherSetAside > 0) notes.push(`Set aside as well: ${furtherSetAside} more.`);
  if (cut === 'period') notes.push('The exchange shows no older ones.');
  const more = cut === 'limit' ? ' More: --param maxRecords=N or --param since=DATE.' : '';
  notes.push(`This list is incomplete: what is missing from it may exist all the same.${more}`);
  return { json: list, ...tableView(records, 'No valid records.', names), notes };
}

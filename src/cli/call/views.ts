import type { Enumerated, RecordList } from '../../core/ports/exchange.ts';
import type { CliIo } from '../io.ts';
import { fieldLines, printable, tableLines } from '../table.ts';

/** A reply, ready to be shown: `json` is merged into the one line of `--json`, the rest is for people. */
export interface ShownReply {
  readonly json: object;
  /** What was asked for: standard output. */
  readonly lines: (io: CliIo) => readonly string[];
  /** Remarks: standard error. */
  readonly notes?: readonly string[];
}

/** What a field can hold: `undefined` is nothing said, `null` is none, a number is a time in Unix seconds. */
type Shown = string | number | boolean | null | undefined | Enumerated<string | number>;
type FieldOf<R> = { [N in keyof R]-?: R[N] extends Shown ? N : never }[keyof R] & string;
type Words<S extends string> = S extends `${infer First} ${infer Rest}` ? First | Words<Rest> : S;

/**
 * Names of fields of `R` in texts such as `market >amount`: a `>` aligns figures to the right. A name that no record has
 * is an error of types, as its column would vanish without a word.
 */
type Columns<R, S extends string> = readonly (S &
  (Words<S> extends FieldOf<R> | `>${FieldOf<R>}` ? S : never))[];

/** A value of an open enumeration that the specification does not name is marked. */
function shown(value: Shown): string {
  if (value === undefined) return '';
  if (value === null) return 'none';
  if (typeof value === 'number') {
    const date = new Date(value * 1000);
    return Number.isNaN(date.getTime()) ? String(value) : date.toISOString().replace(/\.\d+Z$/, 'Z');
  }
  if (typeof value !== 'object') return String(value);
  return value.known ? String(value.value) : `${value.raw} (undocumented)`;
}

function tableOf(rows: readonly object[], texts: readonly string[]) {
  const names = texts.flatMap((text) => text.split(' '));
  const columns = names.map((name) =>
    name.startsWith('>') ? { title: name.slice(1), align: 'right' as const } : { title: name },
  );
  return {
    columns,
    rows: rows.map((row) => columns.map(({ title }) => shown(Reflect.get(row, title) as Shown))),
  };
}

export const textView = (text: string, json: object = {}): ShownReply => ({ json, lines: () => [text] });

/** The fields of one record, one per line. */
export function fieldsView<R extends object, S extends string>(record: R, names: Columns<R, S>) {
  const { columns, rows } = tableOf([record], names);
  const fields = columns.map(({ title }, index) => [title, rows[0]?.[index] ?? ''] as const);
  return { lines: (io: CliIo) => fieldLines(io, 'stdout', fields) };
}

/** A table; `none` is said where it would have no rows. */
export function tableView<R extends object, S extends string>(
  rows: readonly R[],
  none: string,
  columns: Columns<R, S>,
) {
  const table = tableOf(rows, columns);
  return { lines: (io: CliIo) => (rows.length === 0 ? [none] : tableLines(io, table)) };
}

/** The rows of a list, with what has to be said about one that is not complete. */
export function listView<R extends object, S extends string>(
  list: RecordList<unknown>,
  rows: readonly R[],
  none: string,
  columns: Columns<R, S>,
): ShownReply {
  const { setAside, furtherSetAside = 0, complete, cut } = list;
  if (complete) return { json: list, ...tableView(rows, none, columns) };
  const more = cut === 'limit' ? ' More: --param maxRecords=N or --param since=DATE.' : '';
  const notes = [
    ...setAside.map(
      ({ path, expected, got }) =>
        `Set aside, as it is not as documented: ${printable(path)}: expected ${expected}, got ${got}.`,
    ),
    ...(furtherSetAside === 0 ? [] : [`Set aside as well: ${furtherSetAside} more.`]),
    ...(cut === 'period' ? ['The exchange shows no older ones.'] : []),
    `This list is incomplete: what is missing from it may exist all the same.${more}`,
  ];
  return { json: list, ...tableView(rows, 'No valid records.', columns), notes };
}

import type { Enumerated, RecordList } from '../../core/ports/exchange.ts';
import { faultWords } from '../exchange-errors.ts';
import type { CliIo } from '../io.ts';
import { timeOf } from '../operate/values.ts';
import { columnsOf, fieldLines, tableLines } from '../table.ts';

/** A reply, ready to be shown: `json` is merged into the line of `--json`; people read `lines`, then `notes`. */
export interface Shown {
  readonly json?: object;
  readonly lines: (io: CliIo) => readonly string[];
  readonly notes?: readonly string[];
}

/**
 * Names of fields of `R`, or of an object in it, such as `market >amount`; `>` aligns a column to the right. A name
 * that no record has is a type error, as its column would silently stay empty.
 */
type Columns<R, S> = readonly (S & (Names<S> extends FieldOf<R> | `>${FieldOf<R>}` ? string : never))[];
type Names<S> = S extends `${infer First} ${infer Rest}` ? First | Names<Rest> : S;
type FieldOf<R> = (keyof R | KeyOf<Extract<R[keyof R], object>>) & string;
type KeyOf<T> = T extends unknown ? keyof T : never;
type Value = string | number | boolean | null | undefined | Enumerated<string | number>;

/** Fields in Unix seconds; other numbers are codes. */
const TIMES = new Set(['createdAt', 'openDate', 'ctime', 'ftime', 'timestamp']);

/** `undefined` is an empty text, `null` is `none`; an undocumented value of an open enumeration is marked. */
function textOf(name: string, value: Value): string {
  if (value === undefined) return '';
  if (value === null) return 'none';
  if (typeof value === 'object') return value.known ? String(value.value) : `${value.raw} (undocumented)`;
  return TIMES.has(name) ? timeOf(Number(value) * 1000) : String(value);
}

function tableOf(records: readonly object[], names: readonly string[]) {
  const columns = columnsOf(...names.flatMap((text) => text.split(' ')));
  const rows = records.map((record) => {
    const parts = Object.values(record).filter((value) => typeof value === 'object');
    const fields = Object.assign({}, ...parts, record);
    return columns.map(({ title }) => textOf(title, fields[title]));
  });
  return { columns, rows };
}

/** One record, a field per line. */
export function recordView<R extends object, S extends string>(record: R, names: Columns<R, S>) {
  const { columns, rows } = tableOf([record], names);
  const fields = columns.map(({ title }, index) => [title, rows[0]?.[index] ?? ''] as const);
  return { lines: (io: CliIo) => fieldLines(io, 'stdout', fields) };
}

/** The records of a list, or `none`, with notes if the list is incomplete. */
export function listView<R extends object, S extends string>(
  list: RecordList<R>,
  none: string,
  names: Columns<R, S>,
) {
  const { records, setAside, furtherSetAside = 0, complete, cut } = list;
  const notes = setAside.map((fault) => `Set aside, as it is not as documented: ${faultWords(fault)}.`);
  if (furtherSetAside > 0) notes.push(`Set aside as well: ${furtherSetAside} more.`);
  if (cut === 'period') notes.push('The exchange shows no older ones.');
  const more = cut === 'limit' ? ' More: --param maxRecords=N or --param since=DATE.' : '';
  const gap = 'This list is incomplete: what is missing from it may exist all the same.';
  if (!complete) notes.push(`${gap}${more}`);
  const nothing = [complete ? none : 'No valid records.'];
  const lines = (io: CliIo) => (records.length === 0 ? nothing : tableLines(io, tableOf(records, names)));
  return { json: list, lines, notes };
}

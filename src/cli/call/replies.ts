import type {
  CreditLineRecord,
  Enumerated,
  MainBalance,
  PlacedOrder,
  PositionRecord,
  RecordList,
  SpotOrderRecord,
  TransferRecord,
} from '../../core/ports/exchange.ts';
import type { CliIo } from '../io.ts';
import { type Column, fieldLines, printable, tableLines } from '../table.ts';

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
/** Names of the fields that can be shown: a column that no record has would vanish without a word. */
type FieldOf<R> = { [N in keyof R]-?: R[N] extends Shown ? N : never }[keyof R] & string;
type NamedColumn<N extends string> = Column & { readonly title: N };

const texts = <N extends string>(...names: N[]): NamedColumn<N>[] => names.map((title) => ({ title }));
const figures = <N extends string>(...names: N[]): NamedColumn<N>[] =>
  names.map((title) => ({ title, align: 'right' }));

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

function fieldsOf<R>(columns: readonly NamedColumn<FieldOf<R>>[], row: R) {
  return columns.map(({ title }) => [title, shown(row[title] as Shown)] as const);
}

export function textReply(text: string, json: object = {}, notes: readonly string[] = []): ShownReply {
  return { json, lines: () => [text], notes };
}

interface ListShape<T, R> {
  readonly columns: readonly NamedColumn<NoInfer<FieldOf<R>>>[];
  /** The fields of a record, those of an inner one among them. */
  readonly row: (record: T) => R;
  /** Said of a complete list without records. */
  readonly none: string;
  /** How to see more of a list that is cut off. */
  readonly more?: string;
}

function listReply<T, R>({ columns, row, none, more = '' }: ListShape<T, R>) {
  return (list: RecordList<T>): ShownReply => {
    const { records, setAside, furtherSetAside = 0, complete, cut } = list;
    const rows = records.map((record) => fieldsOf(columns, row(record)).map(([, text]) => text));
    const notes = [
      ...setAside.map(
        ({ path, expected, got }) =>
          `Set aside, as it is not as documented: ${printable(path)}: expected ${expected}, got ${got}.`,
      ),
      ...(furtherSetAside === 0 ? [] : [`Set aside as well: ${furtherSetAside} more.`]),
      ...(cut === 'period' ? ['The exchange shows no older ones.'] : []),
      `This list is incomplete: what is missing from it may exist all the same.${more}`,
    ];
    const empty = complete ? none : 'No valid records.';
    return {
      json: list,
      lines: (io) => (rows.length === 0 ? [empty] : tableLines(io, { columns, rows })),
      notes: complete ? [] : notes,
    };
  };
}

export const positionsReply = listReply({
  columns: [
    ...texts('market', 'positionSide'),
    ...figures('amount', 'basePrice', 'liquidationPrice'),
    ...texts('liquidationState'),
    ...figures('unrealizedPnl', 'pnlPercent', 'margin', 'freeMargin', 'stopLoss', 'takeProfit'),
    ...texts('openDate', 'positionId'),
  ],
  row: (position: PositionRecord) => ({ ...position, ...position.tpsl }),
  none: 'No open positions.',
});

export const creditLinesReply = listReply({
  columns: [
    ...texts('asset'),
    ...figures('amount', 'totalFunding', 'currentLtv', 'initialLtv', 'marginCallLtv', 'liquidationLtv'),
    ...texts('createdAt'),
  ],
  row: (creditLine: CreditLineRecord) => creditLine,
  none: 'No credit lines.',
});

const MORE = ' More: --param maxRecords=N or --param since=DATE.';

export const transfersReply = listReply({
  columns: [
    ...texts('createdAt', 'method', 'ticker'),
    ...figures('amount', 'fee', 'status'),
    ...texts('network', 'address', 'uniqueId', 'transactionId'),
  ],
  // Its status is a code, not a time.
  row: (transfer: TransferRecord) => ({ ...transfer, status: String(transfer.status) }),
  none: 'No deposits or withdrawals.',
  more: MORE,
});

export const spotOrdersReply = listReply({
  columns: [
    ...texts('ctime', 'market', 'side', 'type', 'status'),
    ...figures('amount', 'price', 'dealStock', 'dealMoney', 'dealFee'),
    ...texts('ftime', 'clientOrderId', 'orderId'),
  ],
  row: (order: SpotOrderRecord) => order,
  none: 'No orders.',
  more: MORE,
});

export function balanceReply(balance: MainBalance): ShownReply {
  const rows = Object.entries(balance);
  if (rows.length === 0) return textReply('The main balance is empty.', { balance });
  const columns = [...texts('asset'), ...figures('available')];
  return { json: { balance }, lines: (io) => tableLines(io, { columns, rows }) };
}

const ORDER = [
  ...texts('orderId', 'clientOrderId', 'market', 'side', 'type', 'status', 'amount', 'left', 'price'),
  ...texts('activationPrice', 'positionSide', 'reduceOnly', 'stp', 'stopLoss', 'takeProfit', 'timestamp'),
];

export function orderReply(order: PlacedOrder): ShownReply {
  const { amount, adjustedFrom } = order;
  const fields = fieldsOf(ORDER, { ...order, ...order.oto });
  return {
    json: { order },
    lines: (io) => fieldLines(io, 'stdout', fields),
    notes:
      adjustedFrom === undefined
        ? []
        : [`The exchange adjusted the amount from ${adjustedFrom} to ${amount}.`],
  };
}

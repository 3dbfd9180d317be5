import type {
  CreditLineRecord,
  Enumerated,
  FiatDepositLink,
  MainBalance,
  PlacedOrder,
  PositionRecord,
  RecordList,
  SpotOrderRecord,
  TransferRecord,
} from '../../core/ports/exchange.ts';
import { type Column, printable } from '../table.ts';
import type { View } from './endpoint.ts';

/** A column and how a record fills it; `undefined` is nothing said, `null` is none. */
type Columns<T> = readonly (readonly [column: Column, read: (record: T) => Shown])[];
type Shown = string | null | undefined;

const text = <T>(title: string, read: (record: T) => Shown) => [{ title }, read] as const;
const figure = <T>(title: string, read: (record: T) => Shown) => [{ title, align: 'right' }, read] as const;

/** A value of an open enumeration; one that the specification does not name is marked. */
function word(value: Enumerated<string | number> | null | undefined): Shown {
  if (value === null || value === undefined) return value;
  return value.known ? String(value.value) : `${value.raw} (undocumented)`;
}

function moment(seconds: number | undefined): string | undefined {
  if (seconds === undefined) return undefined;
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

const POSITIONS: Columns<PositionRecord> = [
  text('market', (position) => position.market),
  text('positionSide', (position) => word(position.positionSide)),
  figure('amount', (position) => position.amount),
  figure('basePrice', (position) => position.basePrice),
  figure('liquidationPrice', (position) => position.liquidationPrice),
  text('liquidationState', (position) => word(position.liquidationState)),
  figure('unrealizedPnl', (position) => position.unrealizedPnl),
  figure('pnlPercent', (position) => position.pnlPercent),
  figure('margin', (position) => position.margin),
  figure('freeMargin', (position) => position.freeMargin),
  figure('stopLoss', (position) => position.tpsl?.stopLoss),
  figure('takeProfit', (position) => position.tpsl?.takeProfit),
  text('openDate', (position) => moment(position.openDate)),
  text('positionId', (position) => position.positionId),
];

const CREDIT_LINES: Columns<CreditLineRecord> = [
  text('asset', (creditLine) => creditLine.asset),
  figure('amount', (creditLine) => creditLine.amount),
  figure('totalFunding', (creditLine) => creditLine.totalFunding),
  figure('currentLtv', (creditLine) => creditLine.currentLtv),
  figure('initialLtv', (creditLine) => creditLine.initialLtv),
  figure('marginCallLtv', (creditLine) => creditLine.marginCallLtv),
  figure('liquidationLtv', (creditLine) => creditLine.liquidationLtv),
  text('createdAt', (creditLine) => moment(creditLine.createdAt)),
];

const TRANSFERS: Columns<TransferRecord> = [
  text('createdAt', (transfer) => moment(transfer.createdAt)),
  text('method', (transfer) => word(transfer.method)),
  text('ticker', (transfer) => transfer.ticker),
  figure('amount', (transfer) => transfer.amount),
  figure('fee', (transfer) => transfer.fee),
  figure('status', (transfer) => String(transfer.status)),
  text('network', (transfer) => transfer.network),
  text('address', (transfer) => transfer.address),
  text('uniqueId', (transfer) => transfer.uniqueId),
  text('transactionId', (transfer) => transfer.transactionId),
];

const SPOT_ORDERS: Columns<SpotOrderRecord> = [
  text('ctime', (order) => moment(order.ctime)),
  text('market', (order) => order.market),
  text('side', (order) => word(order.side)),
  text('type', (order) => order.type),
  text('status', (order) => word(order.status)),
  figure('amount', (order) => order.amount),
  figure('price', (order) => order.price),
  figure('dealStock', (order) => order.dealStock),
  figure('dealMoney', (order) => order.dealMoney),
  figure('dealFee', (order) => order.dealFee),
  text('ftime', (order) => moment(order.ftime)),
  text('clientOrderId', (order) => order.clientOrderId),
  text('orderId', (order) => order.orderId),
];

function listView<T>(columns: Columns<T>, none: string, incomplete: string) {
  return ({ records, setAside, furtherSetAside = 0, complete, cut }: RecordList<T>): View => {
    const rows = records.map((record) =>
      columns.map(([, read]) => {
        const value = read(record);
        return value === null ? 'none' : (value ?? '');
      }),
    );
    const aside = setAside.map(
      ({ path, expected, got }) =>
        `Set aside, as it is not as documented: ${printable(path)}: expected ${expected}, got ${got}.`,
    );
    const more = furtherSetAside === 0 ? [] : [`Set aside as well: ${furtherSetAside} more.`];
    const period = cut === 'period' ? ['The exchange shows no older ones.'] : [];
    const notes = complete ? [] : [...aside, ...more, ...period, incomplete];
    if (records.length === 0) return { text: complete ? none : 'No valid records.', notes };
    return { table: { columns: columns.map(([column]) => column), rows }, notes };
  };
}

const PROVES_NOTHING = 'This list is incomplete: what is missing from it may exist all the same.';
const MORE = `${PROVES_NOTHING} More: --param maxRecords=N or --param since=DATE.`;

export const positionsView = listView(POSITIONS, 'No open positions.', PROVES_NOTHING);
export const creditLinesView = listView(CREDIT_LINES, 'No credit lines.', PROVES_NOTHING);
export const transfersView = listView(TRANSFERS, 'No deposits or withdrawals.', MORE);
export const spotOrdersView = listView(SPOT_ORDERS, 'No orders.', MORE);

export function balanceView(balance: MainBalance): View {
  const rows = Object.entries(balance);
  if (rows.length === 0) return { text: 'The main balance is empty.' };
  return { table: { columns: [{ title: 'asset' }, { title: 'available', align: 'right' }], rows } };
}

export function orderView(order: PlacedOrder): View {
  const { oto } = order;
  const said = (value: boolean | undefined) => (value === undefined ? '' : String(value));
  const fields: [string, string][] = [
    ['orderId', order.orderId],
    ['clientOrderId', order.clientOrderId],
    ['market', order.market],
    ['side', order.side],
    ['type', order.type ?? ''],
    ['status', word(order.status) ?? ''],
    ['amount', order.amount],
    ['left', order.left ?? ''],
    ['price', order.price ?? ''],
    ['activationPrice', order.activationPrice ?? ''],
    ['positionSide', word(order.positionSide) ?? ''],
    ['reduceOnly', said(order.reduceOnly)],
    ['stp', order.stp ?? ''],
    ['stopLoss', oto?.stopLoss ?? ''],
    ['takeProfit', oto?.takeProfit ?? ''],
    ['timestamp', moment(order.timestamp) ?? ''],
  ];
  const adjusted =
    order.adjustedFrom === undefined
      ? []
      : [`The exchange adjusted the amount from ${order.adjustedFrom} to ${order.amount}.`];
  return { fields, notes: adjusted };
}

export function linkView({ url }: FiatDepositLink): View {
  const note =
    'The link is for one person and one use. With the card provider open it from a page that sends a Referer ' +
    'header, or the browser lands on the home page of the exchange.';
  return { text: printable(url), notes: [note] };
}

import { toNumber } from '../../core/decimal.ts';
import type { CreditLineRecord, PositionRecord, ReadOutcome, RecordList } from '../../core/ports/exchange.ts';
import { PositionQuantities } from '../../core/position.ts';
import type { Quantity } from '../../core/quantity.ts';
import type { DemoEvent, WatchedLoan, WatchedPosition } from './view.ts';

/**
 * What the demo has seen so far, as a pure reducer over the client's replies: an account's reads come in, rows
 * and remarks come out. Only a complete list proves that something is gone.
 */

export type WatchedRow = WatchedPosition | WatchedLoan;

/** The exchange signs the amount of one-way shorts, and no market needs an entry to be watched. */
const READING = { bothSign: 'signed', marketSettings: () => undefined } as const;

export function positionRows(
  accountId: string,
  rows: readonly WatchedRow[],
  outcome: ReadOutcome<RecordList<PositionRecord>>,
): readonly WatchedRow[] {
  if (outcome.kind === 'failed') return rows;
  const seen = outcome.value.records.map((record) => positionRow(accountId, record));
  return withGone(rows, seen, accountId, 'position', outcome.value.complete);
}

export function loanRows(
  accountId: string,
  rows: readonly WatchedRow[],
  outcome: ReadOutcome<RecordList<CreditLineRecord>>,
): readonly WatchedRow[] {
  if (outcome.kind === 'failed') return rows;
  const seen = outcome.value.records.map((record) => loanRow(accountId, record));
  return withGone(rows, seen, accountId, 'loan', outcome.value.complete);
}

/** Puts what was seen in the place of what was known; order is kept, what is new comes last. */
function withGone(
  rows: readonly WatchedRow[],
  seen: readonly WatchedRow[],
  accountId: string,
  kind: WatchedRow['kind'],
  complete: boolean,
): readonly WatchedRow[] {
  const fresh = new Map(seen.map((row) => [rowKey(row), row]));
  const kept = rows.map((row) => {
    const update = fresh.get(rowKey(row));
    fresh.delete(rowKey(row));
    if (update !== undefined) return update;
    const mustBeListed = row.accountId === accountId && row.kind === kind;
    return mustBeListed && complete ? { ...row, gone: true } : row;
  });
  return [...kept, ...fresh.values()];
}

function rowKey(row: WatchedRow): string {
  return row.kind === 'position'
    ? `${row.accountId}/${row.positionId}`
    : `${row.accountId}/${row.asset}@${row.createdAt}`;
}

function positionRow(accountId: string, record: PositionRecord): WatchedPosition {
  const quantities = new PositionQuantities(record, READING);
  const direction = quantities.direction;
  const state = quantities.liquidationState;
  return {
    kind: 'position',
    accountId,
    positionId: record.positionId,
    market: record.market,
    direction: direction.kind === 'value' ? direction.value : '?',
    size: record.amount.replace('-', ''),
    markPrice: valueOf(quantities.markPrice),
    liquidationPrice:
      quantities.liquidationPrice.kind === 'none' ? null : valueOf(quantities.liquidationPrice),
    distance: valueOf(quantities.liquidationDistance),
    state: state.kind !== 'value' ? '?' : state.value === 'none' ? 'ok' : state.value.replace('_', ' '),
    gone: false,
  };
}

function loanRow(accountId: string, record: CreditLineRecord): WatchedLoan {
  return {
    kind: 'loan',
    accountId,
    asset: record.asset,
    createdAt: record.createdAt,
    amount: record.amount,
    currentLtv: record.currentLtv === undefined ? undefined : toNumber(record.currentLtv),
    marginCallLtv: record.marginCallLtv === undefined ? undefined : toNumber(record.marginCallLtv),
    liquidationLtv: record.liquidationLtv === undefined ? undefined : toNumber(record.liquidationLtv),
    gone: false,
  };
}

function valueOf<T>(quantity: Quantity<T>): T | undefined {
  return quantity.kind === 'value' ? quantity.value : undefined;
}

/** What a person would want to hear of the change from one set of rows to the next. */
export function remarks(
  before: readonly WatchedRow[],
  after: readonly WatchedRow[],
  atMs: number,
): DemoEvent[] {
  const known = new Map(before.map((row) => [rowKey(row), row]));
  return after.flatMap((row) => {
    const earlier = known.get(rowKey(row));
    const remark = earlier === undefined ? undefined : remarkOn(earlier, row);
    return remark === undefined ? [] : [{ atMs, ...remark }];
  });
}

type Remark = Pick<DemoEvent, 'tone' | 'text'>;

function remarkOn(before: WatchedRow, after: WatchedRow): Remark | undefined {
  if (after.kind === 'position' && before.kind === 'position') return positionRemark(before, after);
  if (after.kind === 'loan' && before.kind === 'loan') return loanRemark(before, after);
  return undefined;
}

function positionRemark(before: WatchedPosition, after: WatchedPosition): Remark | undefined {
  const what = `${after.accountId}: ${after.direction} ${after.market}`;
  if (after.gone && !before.gone) return { tone: 'danger', text: `${what} is gone` };
  if (after.state !== before.state) {
    const tone = after.state === 'ok' ? 'info' : after.state === 'liquidation' ? 'danger' : 'warning';
    return { tone, text: `${what}: ${before.state} -> ${after.state}` };
  }
  if (after.size !== before.size) {
    return { tone: 'danger', text: `${what}: size ${before.size} -> ${after.size}` };
  }
  return undefined;
}

function loanRemark(before: WatchedLoan, after: WatchedLoan): Remark | undefined {
  const what = `${after.accountId}: ${after.asset} loan`;
  if (after.gone && !before.gone) return { tone: 'danger', text: `${what} is gone` };
  const [was, is] = [isCalled(before), isCalled(after)];
  if (is && !was)
    return { tone: 'warning', text: `${what}: LTV ${after.currentLtv} % reached its margin call` };
  if (was && !is) return { tone: 'info', text: `${what}: LTV back below its margin call` };
  return undefined;
}

function isCalled({ currentLtv, marginCallLtv }: WatchedLoan): boolean {
  return currentLtv !== undefined && marginCallLtv !== undefined && currentLtv >= marginCallLtv;
}

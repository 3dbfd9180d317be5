import { percentInWords } from '../../app.ts';
import { type CliIo, paint } from '../io.ts';
import { columnsOf, tableLines } from '../table.ts';
import type { ShownAccount } from './account-figures.ts';
import { MARKET_FIGURES, type ProposedMarket } from './propose-markets.ts';

const POSITION_COLUMNS = columnsOf('MARKET', 'SIDE', '>AMOUNT', '>MARK', '>LIQUIDATION', '>DISTANCE');
const MARKET_COLUMNS = columnsOf('MARKET', 'FIGURE', '>PROPOSED', 'FROM');

/** The holdings of an account, and the proposals for its markets. */
export function accountLines(
  io: CliIo,
  account: string,
  seen: ShownAccount,
  markets: readonly ProposedMarket[],
): readonly string[] {
  const bold = (text: string): string => paint(io, 'stdout', 'bold', text);
  const { positions, creditLines, leverage } = seen;
  const lines = creditLines.map(creditLineWords);
  if (positions.length === 0) return [`${account} holds no position.`, ...lines, ''];
  const now = leverage === null ? '' : `, at ${leverage.toFixed(1)}x of its margin`;
  return [
    bold(`What ${account} holds${now}`),
    ...tableLines(io, { columns: POSITION_COLUMNS, rows: positions.map(positionCells) }),
    ...lines,
    '',
    bold('What its figures say of the markets: compare it with the market page of the exchange'),
    ...tableLines(io, { columns: MARKET_COLUMNS, rows: markets.flatMap(marketCells) }),
    '',
  ];
}

function creditLineWords({
  asset,
  amount,
  currentLtv,
  marginCallLtv,
}: ShownAccount['creditLines'][number]): string {
  const ltv = (value: number | null): string =>
    value === null ? '?' : percentInWords(Math.round(value * 10_000) / 10_000);
  return `Credit line: ${amount} ${asset}, LTV ${ltv(currentLtv)}, margin call at ${ltv(marginCallLtv)}`;
}

function positionCells(position: ShownAccount['positions'][number]): readonly string[] {
  const { market, direction, amount, markPrice, liquidationPrice, liquidationDistance } = position;
  const figure = (value: number | null): string =>
    value === null ? '?' : String(Number(value.toPrecision(8)));
  return [
    market,
    direction ?? '?',
    amount,
    figure(markPrice),
    figure(liquidationPrice),
    liquidationDistance === null ? '?' : percentInWords(Math.round(liquidationDistance * 1_000) / 1_000),
  ];
}

function marketCells(market: ProposedMarket): readonly (readonly string[])[] {
  return MARKET_FIGURES.map((figure, index) => [
    index === 0 ? market.market : '',
    figure,
    market[figure].value,
    market[figure].from,
  ]);
}

import { type CliIo, paint } from '../cli/io.ts';
import { columnsOf, tableLines } from '../cli/table.ts';
import { toNumber } from '../core/quantities/decimal.ts';
import type { DemoOutcome } from './open-demo.ts';
import type { DemoSide } from './result.ts';
import { inSeconds, money, percent, signedMoney } from './words.ts';

/** The result, by the ledger. @param stoppedAfterMs when the demo was stopped early; it is then not judged */
export function outcomeLines(
  io: CliIo,
  { result, failures }: DemoOutcome,
  stoppedAfterMs?: number,
): string[] {
  const title =
    stoppedAfterMs === undefined
      ? "What happened, by the exchange's own ledger"
      : `Stopped after ${inSeconds(stoppedAfterMs)}. What had happened by then, by the exchange's ledger`;
  return [
    '',
    paint(io, 'stdout', 'bold', title),
    ...tableLines(io, {
      columns: columnsOf('ACCOUNT', '>BEFORE', '>AFTER', '>DIFFERENCE', ''),
      rows: [row('protected', result.protected), row('not protected', result.unprotected)],
    }),
    '',
    `Kept more with Breakwater: ${signedMoney(result.keptMore)}. Orders: ${result.protected.ordersPlaced}, alerts: ${result.alerts}.`,
    ...(stoppedAfterMs === undefined
      ? failures.map((text) => paint(io, 'stdout', 'red', `Not as it should be: ${text}.`))
      : []),
    '',
    ...nextLines(io),
  ];
}

/** npm runs the program from a checkout, where it is not on the PATH. */
function nextLines({ env }: Pick<CliIo, 'env'>): readonly string[] {
  const isByNpm = env['npm_lifecycle_event'] !== undefined;
  return [
    ...(isByNpm ? ['Here `breakwater` is: npm run --silent breakwater --'] : []),
    'Next: breakwater simulate    run this exchange yourself: docs/simulator.md',
    '      breakwater check FILE  test a config: config/breakwater.example.yaml',
    '      breakwater run         watch your own accounts: docs/operations.md',
  ];
}

function row(name: string, side: DemoSide): readonly string[] {
  const { equityBefore, equity, change } = side;
  return [name, money(equityBefore), money(equity), signedMoney(change), fateOf(side)];
}

function fateOf({ wasLiquidated, takenByExchange, closedByOrders, amountBefore }: DemoSide): string {
  const part = (amount: typeof amountBefore) => percent(toNumber(amount) / toNumber(amountBefore));
  return wasLiquidated ? `liquidated ${part(takenByExchange)}` : `closed ${part(closedByOrders)}`;
}

import type { AccountResult, DemoCharacter, DemoResult } from '../../app.ts';
import { type CliIo, paint } from '../io.ts';
import { tableLines } from '../table.ts';

/** The table at the end: with protection against without, by the exchange's ledger. */
export function resultLines(
  io: CliIo,
  characters: readonly DemoCharacter[],
  result: DemoResult,
  failures: readonly string[],
): string[] {
  const rows = characters.flatMap((character) => {
    const account = result.accounts.find(({ id }) => id === character.id);
    return account === undefined ? [] : [cells(character, account)];
  });
  const { p50, p99 } = result.breachToOrderMs;
  const columns = ['ACCOUNT', 'PROTECTED', 'ONLY WATCHED'].map((title) => ({ title }));
  const table = { columns: [...columns, { title: 'CLOSED BY ORDERS', align: 'right' as const }], rows };
  return [
    '',
    paint(io, 'stdout', 'bold', "What happened, by the exchange's ledger"),
    ...tableLines(io, table),
    '',
    `Liquidated: ${result.liquidations.protected} with protection, ${result.liquidations.unprotected} without. ` +
      `${result.actions} orders and cancels, ${result.alerts} alerts` +
      (p50 === null ? '.' : `; from breach to order ${p50} ms (median), ${p99} ms (p99).`),
    ...failures.map((text) => paint(io, 'stdout', 'red', `Not as it should be: ${text}.`)),
  ];
}

function cells({ about, required }: DemoCharacter, account: AccountResult): readonly string[] {
  const { liquidated, twinLiquidated, closedFraction } = account;
  if (liquidated === null || twinLiquidated === null || closedFraction === null) {
    return [about, 'told; cannot be cured by orders', 'watched', ''];
  }
  return [
    required ? about : `${about} (not required)`,
    liquidated ? 'liquidated' : 'came through',
    twinLiquidated ? 'liquidated' : 'came through',
    `${(100 * closedFraction).toFixed(1)} %`,
  ];
}

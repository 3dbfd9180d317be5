import { type CliIo, paint } from '../cli/io.ts';
import { tableLines } from '../cli/table.ts';
import type { DemoCharacter } from './accounts.ts';
import type { Demo, DemoOutcome } from './open-demo.ts';
import type { AccountResult, CreditLineWarning } from './result.ts';
import { inSeconds, percent } from './view.ts';

type Shown = Pick<Demo, 'characters' | 'speed'>;

/** From so much exchange time on, a stall of the machine is worth a word. */
const LONG_STALL_MS = 2_500;

/** The table at the end, by the ledger. @param stoppedAfterMs when it was ended early, and is not judged */
export function outcomeLines(
  io: CliIo,
  { characters, speed }: Shown,
  { result, failures, hindsight, creditLineWarnings, longestStallMs }: DemoOutcome,
  stoppedAfterMs?: number,
): string[] {
  const rows = characters.flatMap((character) => {
    const account = result.accounts.find(({ id }) => id === character.id);
    const warning = creditLineWarnings.find(({ id }) => id === character.id);
    if (account === undefined) return [];
    const row = cells(character, account, warning);
    return [hindsight.includes(character.id) ? inHindsight(row) : row];
  });
  const columns = ['ACCOUNT', 'PROTECTED', 'ONLY WATCHED'].map((title) => ({ title }));
  const table = { columns: [...columns, { title: 'CLOSED BY ORDERS', align: 'right' as const }], rows };
  const title =
    stoppedAfterMs === undefined
      ? "What happened, by the exchange's ledger"
      : `Stopped after ${inSeconds(stoppedAfterMs)}. What had happened by then, by the exchange's ledger`;
  return [
    '',
    paint(io, 'stdout', 'bold', title),
    ...tableLines(io, table),
    '',
    summary(result),
    ...(longestStallMs * speed < LONG_STALL_MS ? [] : [stallLine(longestStallMs, speed)]),
    ...(stoppedAfterMs === undefined
      ? failures.map((text) => paint(io, 'stdout', 'red', `Not as it should be: ${text}.`))
      : []),
  ];
}

function summary({ liquidations, actions, alerts, breachToOrderMs }: DemoOutcome['result']): string {
  const { p50, p99 } = breachToOrderMs;
  const reaction = p50 === null ? '' : `; from breach to order ${p50} ms (median), ${p99} ms (p99)`;
  return (
    `Liquidated: ${liquidations.protected} with protection, ${liquidations.unprotected} without. ` +
    `${actions} orders and cancels, ${alerts} alerts${reaction}.`
  );
}

/** Whoever shares the processors slows the daemon down, and the faster time runs the more so. */
function stallLine(longestStallMs: number, speed: number): string {
  return (
    `This machine let nothing of it run for up to ${inSeconds(longestStallMs)} at a time, ` +
    `${inSeconds(longestStallMs * speed)} of the market's time: a smaller --speed asks less of it.`
  );
}

function cells(
  { about, required }: DemoCharacter,
  account: AccountResult,
  warning: CreditLineWarning | undefined,
): readonly string[] {
  const { liquidated, twinLiquidated, closedFraction } = account;
  if (liquidated === null || twinLiquidated === null || closedFraction === null) {
    return [about, warning === undefined ? '' : creditLineWords(warning), '', ''];
  }
  return [
    required ? about : `${about} (not required)`,
    liquidated ? 'liquidated' : 'came through',
    twinLiquidated ? 'liquidated' : 'came through',
    percent(closedFraction),
  ];
}

/** Nobody could have known while it fell: said, not held against the daemon. */
function inHindsight([about = '', fate = '', ...rest]: readonly string[]): readonly string[] {
  return [about, `${fate} (in hindsight, without orders too)`, ...rest];
}

/** Orders cannot cure a credit line: all that counts is that its owner was told while there was time. */
function creditLineWords({ calledAtMs, toldAtMs, inTime }: CreditLineWarning): string {
  if (calledAtMs === null) return toldAtMs === null ? 'no need to tell' : 'told; no margin call came';
  if (toldAtMs === null) return 'margin call, and never told';
  if (!inTime) return 'told only after its margin call';
  return `told ${inSeconds(calledAtMs - toldAtMs)} of market time before its margin call`;
}

import type { DemoFrame } from './view.ts';

/** What the demo needs of a ledger entry of the exchange. */
export interface LedgerLine {
  readonly kind: string;
  readonly accountId: string | null;
}

export interface DemoSummary {
  readonly durationMs: number;
  readonly reads: DemoFrame['reads'];
  readonly liquidations: number;
  readonly accounts: readonly { readonly id: string; readonly liquidations: number }[];
}

/** Sums up by the exchange's ledger, not by what the client believes. */
export function demoSummary(
  frame: DemoFrame,
  ledger: readonly LedgerLine[],
  accountIds: readonly string[],
): DemoSummary {
  const accounts = accountIds.map((id) => ({
    id,
    liquidations: ledger.filter((line) => line.accountId === id && LIQUIDATIONS.has(line.kind)).length,
  }));
  return {
    durationMs: frame.durationMs,
    reads: frame.reads,
    liquidations: accounts.reduce((sum, account) => sum + account.liquidations, 0),
    accounts,
  };
}

const LIQUIDATIONS = new Set(['liquidation', 'loan_liquidation']);

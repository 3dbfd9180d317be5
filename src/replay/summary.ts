import {
  type AccountRecord,
  accountIds,
  OWN_CONFIG,
  type ReplayRecord,
  type RunRecord,
  UNPROTECTED,
} from './record.ts';

/** The last line of `replay --json`. All but `wallMs` follows from the input and the seed. */
export function summaryOf({ seed, wallMs, runs }: ReplayRecord) {
  return { event: 'replay', seed, wallMs, variants: variantsOf(runs) };
}

function variantsOf(runs: readonly RunRecord[]) {
  const names = [...new Set(runs.map(({ variant }) => variant))];
  return names.map((name) => {
    const own = runs.filter(({ variant }) => variant === name);
    return {
      name,
      /** Worst of several paths: liquidated in any, most closed, least equity left. */
      accounts: accountIds(own).map((id) =>
        worstOf(own.flatMap(({ accounts }) => accounts.filter((one) => one.id === id))),
      ),
      paths: own.map(({ path, accounts }) => ({ path, accounts: accounts.map((one) => worstOf([one])) })),
    };
  });
}

function worstOf(accounts: readonly AccountRecord[]) {
  const all = accounts.flatMap(({ breachToFillMs }) => breachToFillMs).toSorted((a, b) => a - b);
  return {
    id: accounts[0]?.id ?? '',
    liquidated: accounts.some(({ liquidatedAtMs }) => liquidatedAtMs !== null),
    closedFraction: Math.max(...accounts.map(({ closedFraction }) => closedFraction)),
    equityStart: accounts[0]?.equityStart ?? 0,
    equityEnd: Math.min(...accounts.map(({ equityEnd }) => equityEnd)),
    orders: Math.max(...accounts.map(({ orders }) => orders)),
    price: priceOf(accounts),
    /** For episodes that ended in a fill; null: there was none. */
    breachToFillMs: { p50: lowerMedian(all), max: all.at(-1) ?? null },
  };
}

/** Cost of closing; of several paths, that of the most expensive. */
function priceOf(accounts: readonly AccountRecord[]) {
  const [dearest] = accounts.toSorted((a, b) => b.fees + b.slippage - a.fees - a.slippage);
  const { fees = 0, slippage = 0 } = dearest ?? {};
  return { fees, slippage };
}

/** Lower median of sorted values: always one of them. */
export function lowerMedian(sorted: readonly number[]): number | null {
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

export function variantWords(name: string): string {
  if (name === UNPROTECTED) return 'without protection';
  return name === OWN_CONFIG ? "with the config's rules" : `with ${name}`;
}

import { stockOf } from '../core/quantities/units.ts';
import type { StartingAccount } from './positions/starting-account.ts';

/** Asset in which equity is counted. */
export const REFERENCE = 'USDT';

/** Net holdings of a market's coin over all accounts, in coins: positions, collateral, loans and their collateral. */
export function netCoins(market: string, accounts: readonly StartingAccount[]): number {
  const coin = stockOf(market);
  let net = 0;
  for (const { positions, collateral, loans } of accounts) {
    for (const position of positions) {
      if (stockOf(position.market) === coin)
        net += (position.side === 'long' ? 1 : -1) * Number(position.amount);
    }
    net += Number(collateral[coin] ?? 0);
    for (const loan of loans) {
      if (loan.collateralAsset === coin) net += Number(loan.collateralAmount);
      if (loan.asset === coin) net -= Number(loan.amount);
    }
  }
  return net;
}

/** All markets whose price matters to these accounts: those of positions, and those that value their coins. */
export function pricedMarkets(accounts: readonly StartingAccount[]): readonly string[] {
  const markets = accounts.flatMap(({ positions, collateral, loans }) => {
    const coins = [
      ...Object.keys(collateral),
      ...loans.flatMap(({ asset, collateralAsset }) => [asset, collateralAsset]),
    ];
    const spot = coins.filter((coin) => coin !== REFERENCE).map((coin) => `${coin}_${REFERENCE}`);
    return [...positions.map(({ market }) => market), ...spot];
  });
  return [...new Set(markets)];
}

/** Every market with prices, plus other markets of the same coin that the accounts need. */
export function movedMarkets<P extends { readonly market: string }>(
  given: readonly P[],
  accounts: readonly StartingAccount[],
): readonly { readonly market: string; readonly prices: P }[] {
  const names = new Set(given.map(({ market }) => market));
  const needed = pricedMarkets(accounts).filter((market) => !names.has(market));
  return given.flatMap((prices) => {
    const siblings = needed.filter((market) => stockOf(market) === stockOf(prices.market));
    return [prices.market, ...siblings].map((market) => ({ market, prices }));
  });
}

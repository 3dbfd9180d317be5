import {
  type Decimal,
  decimal,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  roundToStep,
} from '../../src/core/quantities/decimal.ts';
import { DEFAULT_ASSETS, DEFAULT_MARKETS } from '../../src/simulator/defaults.ts';
import type { AssetSpec, MarketSpec } from '../../src/simulator/model/types.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { type AccountCase, COIN_WEIGHT, type Deed, type MarketCase } from './generate.ts';

export const ACCOUNT = 'desk';

/** The exchange that holds a generated account; its clock stands still but for what the account's deeds take. */
export async function buildAccount(account: AccountCase): Promise<RunningSimulator> {
  const { money, hedgeMode, leverage, marginModel, shortAmount, ltvUnit, markets } = account;
  const simulator = await startSimulatedExchange({
    speed: 0,
    seed: account.seed,
    limits: [],
    readings: { marginModel, shortAmount, ltvUnit, loanReply: 'array' },
    config: {
      referenceAsset: money,
      markets: markets.flatMap((market) => marketSpecs(market, money)),
      assets: assetsOf(account),
    },
    accounts: [
      {
        id: ACCOUNT,
        hedgeMode,
        leverage,
        collateral: amounts(account.collateral),
        main: amounts(account.main),
        positions: account.positions.map(({ market, side, amount, entry }) => ({
          market,
          direction: side,
          amount: decimal(amount),
          basePrice: decimal(entry),
        })),
      },
    ],
  });
  for (const { asset, amount, collateralAsset, collateralAmount } of account.loans) {
    const loan = {
      asset,
      collateralAsset,
      amount: decimal(amount),
      collateralAmount: decimal(collateralAmount),
    };
    simulator.exchange.change((model) => model.openLoan(ACCOUNT, loan));
  }
  return simulator;
}

const amounts = (texts: Readonly<Record<string, string>>): Record<string, Decimal> =>
  Object.fromEntries(Object.entries(texts).map(([asset, amount]) => [asset, decimal(amount)]));

function marketSpecs(market: MarketCase, money: string): readonly MarketSpec[] {
  const { coin, basis, ...terms } = market;
  const price = decimal(terms.price);
  const step = decimal(terms.priceStep);
  const specOf = (template: MarketSpec, name: string): MarketSpec => ({
    ...template,
    name,
    base: coin,
    quote: money,
    price,
    priceStep: step,
    amountStep: decimal(terms.amountStep),
    minAmount: decimal(terms.minAmount),
    maintenanceMargin: decimal(terms.maintenanceMargin),
    basis: decimal(basis),
    // Any trade of the owner fills at once, next to the price.
    depth: {
      ...template.depth,
      halfSpread: step,
      levelStep: step,
      levels: 2,
      amountPerLevel: decimal('1000000000000'),
    },
  });
  const [spot, perpetual] = DEFAULT_MARKETS as readonly [MarketSpec, MarketSpec];
  const leader = `${coin}_${money}`;
  return [specOf(spot, leader), { ...specOf(perpetual, `${coin}_PERP`), follows: leader }];
}

function assetsOf({ money, markets }: AccountCase): readonly AssetSpec[] {
  const [template] = DEFAULT_ASSETS as readonly [AssetSpec];
  const asset = (ticker: string, weight: number): AssetSpec => ({
    ...template,
    ticker,
    name: ticker,
    collateralWeight: decimalFromNumber(weight),
  });
  return [asset(money, 1), ...markets.map(({ coin }) => asset(coin, COIN_WEIGHT))];
}

/** Does one deed; what the exchange refuses is left. */
export function doDeed({ exchange, advance }: RunningSimulator, account: AccountCase, deed: Deed): void {
  const { money } = account;
  switch (deed.kind) {
    case 'price': {
      for (const { coin, priceStep } of account.markets) {
        const market = `${coin}_${money}`;
        const last = exchange.model.market(market)?.last;
        if (last === undefined || (deed.coin !== null && deed.coin !== coin)) continue;
        const step = decimal(priceStep);
        const moved = roundToStep(last.times(decimalFromNumber(1 + deed.by)), step, 'halfUp');
        exchange.setPrice(market, maxDecimal(moved, step.times(decimal('10'))));
      }
      return;
    }
    case 'withdraw': {
      const isOut = deed.share > 0;
      const view = exchange.model.account(ACCOUNT);
      const there = (isOut ? view.collateral : view.main)[money];
      if (there === undefined) return;
      const most = isOut ? minDecimal(there, view.freeMargin) : there;
      const amount = roundToStep(
        most.times(decimalFromNumber(Math.abs(deed.share))),
        decimal('0.00000001'),
        'down',
      );
      if (!amount.gt(decimal('0'))) return;
      const [from, to] = isOut ? (['collateral', 'main'] as const) : (['main', 'collateral'] as const);
      exchange.change((model) => model.moveFunds(ACCOUNT, { from, to, ticker: money, amount }));
      return;
    }
    case 'fund':
      for (const name of [`${deed.coin}_PERP`, `${deed.coin}_${money}`])
        exchange.change((model) => model.setFundingRate(name, decimal(deed.rate)));
      advance(deed.hours * 3_600_000);
      return;
    case 'leverage':
      exchange.change((model) => model.setLeverage(ACCOUNT, deed.to));
      return;
    case 'trade': {
      const position = exchange.model.openPositions(ACCOUNT)[deed.position];
      if (position === undefined) return;
      const { market, amount, direction, positionSide } = position;
      const step = decimal(
        account.markets.find(({ coin }) => market.startsWith(`${coin}_`))?.amountStep ?? '1',
      );
      const traded = roundToStep(amount.times(decimalFromNumber(Math.abs(deed.times))), step, 'up');
      const side = (direction === 'long') === deed.times > 0 ? 'buy' : 'sell';
      exchange.change((model) =>
        model.placeCollateralOrder(ACCOUNT, { market, side, amount: traded, positionSide }),
      );
      return;
    }
    case 'repay': {
      const loan = exchange.model.creditLines(ACCOUNT)[deed.loan];
      if (loan === undefined) return;
      const amount = roundToStep(
        loan.amount.times(decimalFromNumber(deed.share)),
        decimal('0.00000001'),
        'up',
      );
      exchange.change((model) => model.repayLoan(ACCOUNT, loan.loanId, amount));
    }
  }
}

import { Dice } from '../support/dice.ts';

/**
 * Accounts as people have them, as plain JSON: what stands at the exchange, and what the owner and the markets do to it
 * between two reads. The same seed gives the same account.
 */
export interface AccountCase {
  readonly seed: number;
  /** Money of all positions: an account of the simulated exchange has one. */
  readonly money: 'USDT' | 'USDC' | 'BTC';
  readonly hedgeMode: boolean;
  readonly leverage: number;
  readonly marginModel: 'cross' | 'isolated';
  readonly shortAmount: 'signed' | 'unsigned';
  readonly ltvUnit: 'percent' | 'fraction';
  readonly markets: readonly MarketCase[];
  /** By asset: the money, and coins that count in part. */
  readonly collateral: Readonly<Record<string, string>>;
  readonly main: Readonly<Record<string, string>>;
  readonly positions: readonly PositionCase[];
  readonly loans: readonly LoanCase[];
  /** Between the first read and the second. */
  readonly deeds: readonly Deed[];
}

export interface MarketCase {
  /** Its markets are `COIN_PERP` and `COIN_MONEY`, spot margin, at one price. */
  readonly coin: string;
  readonly price: string;
  readonly priceStep: string;
  readonly amountStep: string;
  readonly minAmount: string;
  readonly maintenanceMargin: string;
  /** Mark price minus last price. */
  readonly basis: string;
}

interface PositionCase {
  readonly market: string;
  readonly side: 'long' | 'short';
  readonly amount: string;
  readonly entry: string;
}

interface LoanCase {
  readonly asset: string;
  readonly amount: string;
  readonly collateralAsset: string;
  readonly collateralAmount: string;
}

export type Deed =
  /** Every price, or that of one coin, by this share of itself. */
  | { readonly kind: 'price'; readonly coin: string | null; readonly by: number }
  /** This share of what is free leaves for the main balance; below 0, that share of the money there comes. */
  | { readonly kind: 'withdraw'; readonly share: number }
  | { readonly kind: 'fund'; readonly coin: string; readonly rate: string; readonly hours: number }
  | { readonly kind: 'leverage'; readonly to: number }
  /** At market: times the size of the position. -1 closes, -2 turns around, 1 doubles, -0.5 halves. */
  | { readonly kind: 'trade'; readonly position: number; readonly times: number }
  | { readonly kind: 'repay'; readonly loan: number; readonly share: number };

export function generateAccount(seed: number): AccountCase {
  const dice = new Dice(seed);
  const money = dice.of('USDT', 'USDT', 'USDC', 'BTC');
  const hedgeMode = dice.hits(0.3);
  const marginModel = dice.hits(0.8) ? 'cross' : 'isolated';
  const count = dice.hits(0.06) ? Math.round(dice.between(20, 60)) : dice.of(1, 1, 1, 2, 3, 4, 6, 10);
  const markets = Array.from({ length: count }, (_, index) => marketCase(`C${index}`, dice));
  const positions = markets.flatMap((market) => positionsIn(market, { dice, money, hedgeMode }));
  const leverage = dice.of(1, 2, 3, 5, 10, 20, 50, 100);
  return {
    seed,
    money,
    hedgeMode,
    leverage,
    marginModel,
    shortAmount: dice.hits(0.8) ? 'signed' : 'unsigned',
    ltvUnit: dice.of('percent', 'fraction'),
    markets,
    positions,
    ...moneyOf({ markets, positions, money, leverage }, dice),
    deeds: Array.from({ length: dice.of(0, 1, 1, 2, 3, 4) }, () => deed(markets, positions.length, dice)),
  };
}

function logUniform(dice: Dice, low: number, high: number): number {
  return 10 ** dice.between(Math.log10(low), Math.log10(high));
}

/** Plain digits, as the exchange writes them. */
function text(value: number, places: number): string {
  return value
    .toFixed(Math.min(Math.max(places, 0), 30))
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}

function power(exponent: number): string {
  return exponent >= 0 ? `1${'0'.repeat(exponent)}` : `0.${'0'.repeat(-exponent - 1)}1`;
}

function placesOf(step: string): number {
  return step.includes('.') ? step.length - step.indexOf('.') - 1 : 0;
}

function marketCase(coin: string, dice: Dice): MarketCase {
  const magnitude = Math.floor(dice.between(-8, 7));
  // 100 to a million steps make the price.
  const stepExponent = Math.min(3, magnitude - dice.of(2, 3, 4, 5));
  const priceStep = power(stepExponent);
  const price = Math.round(dice.between(1, 10) * 10 ** (magnitude - stepExponent));
  const amountExponent = dice.of(-8, -6, -5, -4, -3, -3, -2, -1, 0, 1, 2, 3);
  const least = dice.hits(0.7) ? 1 : dice.of(2, 5, 10, 100);
  return {
    coin,
    price: text(price * 10 ** stepExponent, -stepExponent),
    priceStep,
    amountStep: power(amountExponent),
    minAmount: text(least * 10 ** amountExponent, -amountExponent),
    maintenanceMargin: dice.of('0.005', '0.01', '0.03', '0.03', '0.1'),
    basis: dice.hits(0.7)
      ? '0'
      : text(Math.round(price * dice.between(-0.01, 0.01)) * 10 ** stepExponent, -stepExponent),
  };
}

interface PositionScene {
  readonly dice: Dice;
  readonly money: string;
  readonly hedgeMode: boolean;
}

/** In the perpetual, in spot margin, or in both; under hedge mode perhaps on both sides. */
function positionsIn(market: MarketCase, { dice, money, hedgeMode }: PositionScene): readonly PositionCase[] {
  const { coin, price, priceStep, amountStep } = market;
  const names = dice.hits(0.75)
    ? [`${coin}_PERP`]
    : dice.hits(0.5)
      ? [`${coin}_${money}`]
      : [`${coin}_PERP`, `${coin}_${money}`];
  // Most positions of an account have a similar value; others anything from one step to a million.
  const steps = dice.hits(0.6)
    ? Math.max(1, Math.round((10_000 * dice.between(0.2, 5)) / (Number(price) * Number(amountStep))))
    : Math.round(logUniform(dice, 1, 1e6));
  const trend = dice.of(-0.5, -0.2, -0.05, 0, 0.05, 0.2, 1, 4);
  return names.flatMap((name) => {
    const sides = hedgeMode && dice.hits(0.5) ? (['long', 'short'] as const) : [dice.of('long', 'short')];
    return sides.map((side) => {
      const gain = trend * dice.between(0.5, 1.5);
      // By how much the price has moved since the entry; a short cannot gain more than all.
      const entry =
        Number(price) * (side === 'long' ? 1 / (1 + Math.max(gain, -0.9)) : 1 + Math.max(gain, -0.9));
      const size = Math.min(
        1e6,
        Math.max(1, Math.round(steps * (sides.length > 1 ? dice.between(0.2, 1) : 1))),
      );
      // An entry is an average, and finer than the price step.
      const places = placesOf(priceStep) + dice.of(0, 0, 2);
      return {
        market: name,
        side: side as 'long' | 'short',
        amount: text(size * Number(amountStep), placesOf(amountStep)),
        entry: text(Math.max(entry, Number(priceStep)), places),
      };
    });
  });
}

interface MoneyScene extends Pick<AccountCase, 'markets' | 'positions' | 'money' | 'leverage'> {}

/** Collateral that leaves liquidation some way off, a part of it in coins; the main balance; one to three loans. */
function moneyOf(
  { markets, positions, money, leverage }: MoneyScene,
  dice: Dice,
): Pick<AccountCase, 'collateral' | 'main' | 'loans'> {
  let need = 0;
  let worth = 0;
  for (const { market, side, amount, entry } of positions) {
    const terms = markets.find(({ coin }) => market.startsWith(`${coin}_`));
    if (terms === undefined) continue;
    const [price, size, rate] = [
      Number(terms.price) + Number(terms.basis),
      Number(amount),
      Number(terms.maintenanceMargin),
    ];
    const pnl = size * (price - Number(entry)) * (side === 'long' ? 1 : -1);
    need += rate * size * price - pnl;
    worth += size * price;
  }
  const distance = dice.hits(0.2) ? dice.between(0.001, 0.02) : dice.between(0.02, 0.6);
  const wanted = Math.max(need + distance * worth, (dice.hits(0.5) ? 0.001 : 1 / leverage) * worth, 1e-6);
  const [first] = markets;
  const isInCoins = first !== undefined && dice.hits(0.25);
  const share = isInCoins ? dice.between(0.1, 0.9) : 0;
  const coins = first === undefined ? 0 : (wanted * share) / (Number(first.price) * COIN_WEIGHT);
  const loans = dice.hits(0.4) ? loansOf(markets, money, dice) : [];
  const pledged = new Map<string, number>([[money, wanted * dice.between(0, 2)]]);
  for (const { collateralAsset, collateralAmount } of loans)
    pledged.set(collateralAsset, (pledged.get(collateralAsset) ?? 0) + Number(collateralAmount) * 1.01);
  return {
    collateral: {
      [money]: text(Math.max(wanted * (1 - share), 1e-10), 12),
      ...(isInCoins && coins > 1e-10 ? { [first.coin]: text(coins, 12) } : {}),
    },
    main: Object.fromEntries([...pledged].map(([asset, amount]) => [asset, text(amount + 1e-8, 10)])),
    loans,
  };
}

export const COIN_WEIGHT = 0.9;

/** Some in one asset; their LTV near each level (60, 75 and 85 %) once prices have moved. */
function loansOf(markets: readonly MarketCase[], money: string, dice: Dice): readonly LoanCase[] {
  const [{ coin, price }] = markets as readonly [MarketCase];
  return Array.from({ length: dice.of(1, 1, 2, 3) }, () => {
    const ltv = dice.of(0.001, 0.3, 0.595, 0.599, 0.5999);
    const pledge = logUniform(dice, 1, 1e5);
    return {
      asset: money,
      amount: text(Math.max(pledge * ltv, 1e-8), 8),
      collateralAsset: coin,
      collateralAmount: text(pledge / Number(price), 12),
    };
  });
}

function deed(markets: readonly MarketCase[], positions: number, dice: Dice): Deed {
  const coin = dice.hits(0.5) ? null : (markets[Math.floor(dice.next() * markets.length)]?.coin ?? null);
  const position = Math.floor(dice.next() * positions);
  switch (dice.of('price', 'price', 'withdraw', 'fund', 'leverage', 'trade', 'trade', 'repay')) {
    case 'price':
      return { kind: 'price', coin, by: dice.of(-0.3, -0.2, -0.05, -0.01, 0.01, 0.05, 0.25, 1) };
    case 'withdraw':
      return { kind: 'withdraw', share: dice.of(0.5, 0.9, 0.999, -0.5, -1) };
    case 'fund':
      return {
        kind: 'fund',
        coin: coin ?? markets[0]?.coin ?? '',
        rate: dice.of('0.0001', '0.01', '-0.005'),
        hours: dice.of(1, 8, 50),
      };
    case 'leverage':
      return { kind: 'leverage', to: dice.of(1, 3, 10, 50, 100) };
    case 'trade':
      return { kind: 'trade', position, times: dice.of(-2, -1, -0.5, 0.3, 1) };
    case 'repay':
      return { kind: 'repay', loan: dice.of(0, 1), share: dice.of(0.2, 1) };
  }
}

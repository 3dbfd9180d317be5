import type { AccountSpec, MarketTerms, PositionSpec } from '../../src/world/spec.ts';
import type { Levels } from './factors.ts';

/** Prices at the start, in money. */
const PRICES: Readonly<Record<string, number>> = {
  BTC: 60_000,
  ETH: 3_000,
  SOL: 150,
  XRP: 2,
  ADA: 0.5,
  DOGE: 0.2,
  AVAX: 30,
  DOT: 6,
  LINK: 15,
  LTC: 80,
};
export const COINS = Object.keys(PRICES);
export const ACCOUNT = 'desk';
/** Value of the account's main side, in money. */
const NOTIONAL = 30_000;
/** Part of a coin's value that counts as collateral. */
export const COIN_WEIGHT = 0.95;

export interface Position extends PositionSpec {
  readonly entry: string;
  /** The fall or rise of the case goes against it. */
  readonly isLosing: boolean;
}

export interface Holdings {
  readonly account: AccountSpec;
  readonly positions: readonly Position[];
  readonly markets: Readonly<Record<string, MarketTerms>>;
  /** Start price by market, of those that the exchange does not list by itself. */
  readonly prices: Readonly<Record<string, string>>;
  /** Coins whose markets move. */
  readonly coins: readonly string[];
  /** 1: prices rise, which harms it; -1: they fall. */
  readonly move: 1 | -1;
}

export interface HoldingsPlan {
  readonly levels: Levels;
  readonly maintenance: number;
  readonly leverage: number;
  /** From the initial mark price to liquidation, as a fraction of it. */
  readonly distance: number;
  /** Mark less last at the start, as a fraction. */
  readonly basis: number;
  /** A second, small position whose market stands still. */
  readonly withBystander: boolean;
}

export function priceOf(coin: string): number {
  return PRICES[coin] ?? Number.NaN;
}

export function perpetual(coin: string): string {
  return `${coin}_PERP`;
}

/** Steps that fit the price of the coin. */
export function termsOf(coin: string, maintenance: number): Required<Omit<MarketTerms, 'basis'>> {
  const price = priceOf(coin);
  const maintenanceMargin = String(maintenance);
  if (coin === 'BTC') return { amountStep: '0.001', priceStep: '0.1', minAmount: '0.001', maintenanceMargin };
  if (coin === 'ETH') return { amountStep: '0.01', priceStep: '0.01', minAmount: '0.01', maintenanceMargin };
  const digits = Math.floor(Math.log10(price));
  const priceStep = powerOfTen(digits - 5);
  const amountStep = powerOfTen(Math.floor(Math.log10(NOTIONAL / price)) - 3);
  return { amountStep, priceStep, minAmount: amountStep, maintenanceMargin };
}

function powerOfTen(exponent: number): string {
  return exponent >= 0 ? String(10 ** exponent) : (10 ** exponent).toFixed(-exponent);
}

/** An account at this distance from liquidation, whatever it holds. */
export function holdingsOf(plan: HoldingsPlan): Holdings {
  const { levels, maintenance, leverage } = plan;
  const legs = legsOf(plan);
  const coins = [...new Set(legs.filter(({ coin }) => coin !== BYSTANDER).map(({ coin }) => coin))];
  const move = levels.account === 'one short' ? 1 : -1;
  const positions = legs.map((leg) => positionOf(leg, plan, move));
  const markets = Object.fromEntries(legs.map(({ coin }) => [perpetual(coin), termsOf(coin, maintenance)]));
  const known = new Set(['BTC', 'ETH']);
  const prices = Object.fromEntries(
    legs.filter(({ coin }) => !known.has(coin)).map(({ coin }) => [perpetual(coin), String(priceOf(coin))]),
  );
  const hasLoan = levels.account === 'mixed with loan';
  const coinsHeld = hasLoan ? COLLATERAL_COINS : 0;
  const money =
    levels.margin === 'isolated'
      ? positions.reduce((sum, { amount, entry }) => sum + (Number(amount) * Number(entry)) / leverage, 0) + 5
      : crossMoney(positions, coinsHeld, plan, move);
  return {
    account: {
      id: ACCOUNT,
      collateral: {
        USDT: money.toFixed(2),
        ...(hasLoan ? { BTC: String(COLLATERAL_COINS) } : {}),
      },
      leverage,
      hedgeMode: levels.account === 'hedged',
      positions: positions.map(({ market, side, amount, entry }) => ({ market, side, amount, entry })),
      ...(hasLoan ? { loans: [LOAN] } : {}),
    },
    positions,
    markets,
    prices,
    coins: hasLoan ? [...new Set([...coins, 'BTC'])] : coins,
    move,
  };
}

/** A coin whose price stands still while others fall. */
const BYSTANDER = 'LTC';
/** BTC held as collateral beside money. */
export const COLLATERAL_COINS = 0.01;
/** Far from its own margin call: its collateral may fall by a third. */
const LOAN = { asset: 'USDT', amount: '6000', collateralAsset: 'BTC', collateralAmount: '0.2' } as const;

interface HeldLeg {
  readonly coin: string;
  readonly side: 'long' | 'short';
  readonly worth: number;
  /** Opened at the current price; excluded from what the account may lose. */
  readonly isSmall?: boolean;
}

function legsOf({ levels, withBystander }: HoldingsPlan): readonly HeldLeg[] {
  const bystander: HeldLeg[] = withBystander
    ? [{ coin: BYSTANDER, side: 'long', worth: 200, isSmall: true }]
    : [];
  switch (levels.account) {
    case 'one long':
      return [{ coin: 'BTC', side: 'long', worth: NOTIONAL }, ...bystander];
    case 'one short':
      return [{ coin: 'BTC', side: 'short', worth: NOTIONAL }, ...bystander];
    case 'hedged':
      return [
        { coin: 'BTC', side: 'long', worth: NOTIONAL },
        { coin: 'BTC', side: 'short', worth: NOTIONAL / 3, isSmall: true },
        ...bystander,
      ];
    case 'ten correlated':
      return COINS.map((coin) => ({ coin, side: 'long', worth: NOTIONAL / COINS.length }));
    case 'mixed with loan':
      return [
        { coin: 'BTC', side: 'long', worth: NOTIONAL },
        { coin: 'ETH', side: 'short', worth: NOTIONAL / 5, isSmall: true },
        ...bystander,
      ];
  }
}

function positionOf(
  { coin, side, worth, isSmall = false }: HeldLeg,
  plan: HoldingsPlan,
  move: 1 | -1,
): Position {
  const { maintenance, leverage, distance, basis } = plan;
  const mark = priceOf(coin) * (1 + basis);
  const { amountStep, priceStep } = termsOf(coin, maintenance);
  const amount = Math.round(worth / priceOf(coin) / Number(amountStep)) * Number(amountStep);
  const direction = side === 'long' ? 1 : -1;
  const liquidation = mark * (1 - direction * distance);
  // The entry at which its own margin is used up exactly there.
  const opened = (liquidation * (1 - direction * maintenance)) / (1 - direction / leverage);
  const entry = isSmall ? mark : opened;
  return {
    market: perpetual(coin),
    side,
    amount: amount.toFixed(placesOf(amountStep)),
    entry: entry.toFixed(placesOf(priceStep)),
    isLosing: direction !== move && coin !== BYSTANDER,
  };
}

export function placesOf(step: string): number {
  return step.includes('.') ? (step.split('.')[1]?.length ?? 0) : 0;
}

/** Collateral that puts the liquidation of a single pool at the planned distance if all moving markets move alike. */
function crossMoney(
  positions: readonly Position[],
  coins: number,
  { distance, maintenance, basis }: HoldingsPlan,
  move: 1 | -1,
): number {
  let equity = coins * COIN_WEIGHT * priceOf('BTC') * -move * distance;
  let profit = 0;
  for (const { market, side, amount, entry } of positions) {
    const coin = market.slice(0, -'_PERP'.length);
    const direction = side === 'long' ? 1 : -1;
    const mark = priceOf(coin) * (1 + basis);
    const notional = Number(amount) * mark;
    const moved = coin === BYSTANDER ? 0 : distance;
    equity += notional * (-move * direction * moved) + maintenance * notional * (1 + move * moved);
    profit += direction * (mark - Number(entry)) * Number(amount);
  }
  return equity - profit - coins * COIN_WEIGHT * priceOf('BTC');
}

import type { MarketTerms } from '../../src/world/spec.ts';
import type { Levels } from './factors.ts';

/** A coin as the exchange of a case lists it: its price at the start in the account's money, and its steps. */
export interface Coin {
  readonly name: string;
  /** The market whose price moves that of the coin's perpetual, or the perpetual itself. */
  readonly leader: string;
  readonly price: number;
  readonly priceStep: string;
  readonly amountStep: string;
}

/** Value of the account's main side, in USDT. */
export const NOTIONAL = 30_000;
/** What one unit of the money is worth, in USDT. */
const WORTH = { USDT: 1, USDC: 1, BTC: 60_000 } as const;
const COINS = ['BTC', 'ETH', 'SOL', 'XRP', 'ADA', 'DOGE', 'AVAX', 'DOT', 'LINK', 'LTC', 'BNB', 'BCH'];
/** Prices at the start: the ordinary ones in USDT, by name; the others in any money, by place. */
const PRICES = {
  ordinary: [60_000, 3_000, 150, 2, 0.5, 0.2, 30, 6, 15, 80, 600, 400],
  'tiny price': [6e-6, 3e-7, 1.5e-8, 2e-6, 5e-7, 2e-8, 3e-6, 6e-7, 1.5e-6, 8e-8],
  'huge price': [6e6, 3e5, 1.5e6, 2e6, 5e5, 2e5, 3e6, 6e5, 1.5e6, 8e5],
} as const;
export const TEN = 10;
export const SIXTY = 60;

/** An amount of USDT in the account's money. */
export function inMoney(usdt: number, { money }: Pick<Levels, 'money'>): number {
  return usdt / WORTH[money];
}

/** Coins that the simulated exchange lists by itself, against USDT. */
const LISTED: ReadonlySet<string> = new Set(['BTC', 'ETH']);

/**
 * The coins of a case, the main one first: ten as people know them, of which the exchange lists none by itself against
 * another money than USDT, and fifty more. One step of a tiny or huge price is a tenth of a per mille to one per mille of
 * it, and with a huge price a position has few steps.
 */
export function coinsOf(levels: Pick<Levels, 'money' | 'scale'>): readonly Coin[] {
  const { money, scale } = levels;
  const known = COINS.filter((name) => money === 'USDT' || !LISTED.has(name)).slice(0, TEN);
  return Array.from({ length: SIXTY }, (_, place) => {
    const name = known[place] ?? `C${place}`;
    const like = place % TEN;
    const ordinary = inMoney(PRICES.ordinary[COINS.indexOf(known[like] ?? '')] ?? Number.NaN, levels);
    const price = scale === 'ordinary' ? ordinary : (PRICES[scale][like] ?? Number.NaN);
    // No two of the fifty more are alike.
    const own = place < TEN ? price : price * (1 + place / 200);
    const steps = stepsOf(name, own, place === 0 ? 1 : 1 / TEN, levels);
    // The main coin may be collateral too, which its spot market prices.
    const leader = place === 0 || LISTED.has(name) ? `${name}_${money}` : perpetual(name);
    return { name, leader, price: Number(onStep(own, steps.priceStep)), ...steps };
  });
}

function stepsOf(
  name: string,
  price: number,
  share: number,
  levels: Pick<Levels, 'money' | 'scale'>,
): Pick<Coin, 'priceStep' | 'amountStep'> {
  const { money, scale } = levels;
  const digits = Math.floor(Math.log10(price));
  const sizeOf = (part: number): number => Math.floor(Math.log10((inMoney(NOTIONAL, levels) * part) / price));
  switch (scale) {
    case 'ordinary':
      if (name === 'BTC') return { amountStep: '0.001', priceStep: '0.1' };
      if (name === 'ETH') return { amountStep: '0.01', priceStep: '0.01' };
      return { amountStep: powerOfTen(sizeOf(1) - 3), priceStep: powerOfTen(digits - 5) };
    case 'tiny price':
      return { amountStep: money === 'BTC' ? '1' : '1000', priceStep: powerOfTen(digits - 3) };
    case 'huge price':
      // The main position, or a tenth of it in another coin, is one to nine steps.
      return { amountStep: powerOfTen(sizeOf(share)), priceStep: powerOfTen(digits - 3) };
  }
}

function powerOfTen(exponent: number): string {
  return exponent >= 0 ? String(10 ** exponent) : (10 ** exponent).toFixed(-exponent);
}

export function placesOf(step: string): number {
  return step.includes('.') ? (step.split('.')[1]?.length ?? 0) : 0;
}

/** The nearest multiple of the step, in plain digits. */
export function onStep(value: number, step: string): string {
  return (Math.round(value / Number(step)) * Number(step)).toFixed(placesOf(step));
}

export function perpetual(coin: string): string {
  return `${coin}_PERP`;
}

export function termsOf(
  { amountStep, priceStep }: Coin,
  maintenance: number,
): Required<Omit<MarketTerms, 'basis'>> {
  return { amountStep, priceStep, minAmount: amountStep, maintenanceMargin: String(maintenance) };
}

/** Part of a coin's value that counts as collateral, as the simulated exchange has it. */
export function weightOf(coin: string): number {
  return coin === 'BTC' ? 0.95 : 0.9;
}

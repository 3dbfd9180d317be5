import { type Decimal, decimal, divide, roundToStep } from '../core/quantities/decimal.ts';
import type { MarketSpec, SeedAccount, SeedPosition } from '../simulator/model/types.ts';

/** The accounts of the demo: all of the same notional, each with a twin that is only observed. */

export type DemoKind = 'long' | 'short' | 'hedged' | 'borrower';

export interface DemoCharacter {
  readonly id: string;
  readonly kind: DemoKind;
  /** Its coming through decides how the demo ends; the others are only reported. */
  readonly required: boolean;
  readonly about: string;
  readonly leverage: number;
  /** Gets a standing stop. */
  readonly covered?: boolean;
}

export const CHARACTERS: readonly DemoCharacter[] = [
  { id: 'long-10x', kind: 'long', required: true, leverage: 10, about: 'long at 10x' },
  {
    id: 'long-3x',
    kind: 'long',
    required: true,
    leverage: 3,
    covered: true,
    about: 'long at 3x, with a stop',
  },
  { id: 'short-10x', kind: 'short', required: true, leverage: 10, about: 'short at 10x' },
  { id: 'hedged', kind: 'hedged', required: true, leverage: 10, about: 'long and short, hedged' },
  { id: 'long-20x', kind: 'long', required: false, leverage: 20, about: 'long at 20x, for show' },
  { id: 'borrower', kind: 'borrower', required: false, leverage: 1, about: 'a credit line against coins' },
];

export function twinOf(id: string): string {
  return `${id}-twin`;
}

/** In the reference asset; of a hedged account both sides together, of a borrower the collateral of the credit line. */
const NOTIONAL = '30000';
const HALF = '15000';
/** LTV of the credit line at the start; its margin call comes at 75 %. */
const LOAN = '20000';

export function seedOf(character: DemoCharacter, id: string, market: MarketSpec, coin: string): SeedAccount {
  const { kind, leverage } = character;
  const position = (direction: SeedPosition['direction'], value: string): SeedPosition => ({
    market: market.name,
    direction,
    amount: coinsWorth(value, market),
  });
  const base = { id, hedgeMode: kind === 'hedged', leverage: Math.max(leverage, 1) };
  if (kind === 'borrower') {
    return { ...base, collateral: {}, main: { [coin]: coinsWorth(NOTIONAL, market) }, positions: [] };
  }
  const collateral = { USDT: divide(decimal(NOTIONAL), decimal(String(leverage)), 2, 'down') };
  const positions =
    kind === 'hedged' ? [position('long', HALF), position('short', HALF)] : [position(kind, NOTIONAL)];
  return { ...base, collateral, positions };
}

/** The credit line that a borrower takes, against all of the coins. */
export function demoCreditLine(market: MarketSpec, coin: string) {
  return {
    asset: 'USDT',
    amount: decimal(LOAN),
    collateralAsset: coin,
    collateralAmount: coinsWorth(NOTIONAL, market),
    initialLtv: decimal('0.7'),
  };
}

function coinsWorth(value: string, { price, amountStep }: MarketSpec): Decimal {
  return roundToStep(divide(decimal(value), price, 12, 'down'), amountStep, 'down');
}

import {
  decimal,
  decimalFromNumber,
  divide,
  formatDecimal,
  roundToStep,
} from '../../src/core/quantities/decimal.ts';
import type { StartingAccount } from '../../src/replay/positions/starting-account.ts';
import type { MarketTerms } from '../../src/world/spec.ts';

/** A shape of account over one or two markets, sized by the first prices. */
export interface TuneBook {
  readonly name: string;
  readonly leverage: number;
  readonly shape: 'long' | 'short' | 'hedged' | 'portfolio';
}

export const LEVERAGES = [2, 3, 5, 10, 20] as const;
const SHAPES = ['long', 'short', 'hedged', 'portfolio'] as const;

/** Every leverage long, short, hedged (two fifths the other way) and as a portfolio of two coins. */
export const STANDARD_BOOKS: readonly TuneBook[] = LEVERAGES.flatMap((leverage) =>
  SHAPES.map((shape) => ({ name: `${leverage}x ${shape}`, leverage, shape })),
);

export const BOOK_ACCOUNT = 'desk-1';
/** Value of all positions of a book, in money: small against the depth of the simulated order books. */
const NOTIONAL = 30_000;
const HEDGED_SHARE = 0.4;

/** Undefined: a portfolio needs a second market. */
export function accountOfBook(
  { leverage, shape }: TuneBook,
  prices: readonly { readonly market: string; readonly start: string }[],
  terms: Readonly<Record<string, MarketTerms>>,
): StartingAccount | undefined {
  const [first, second] = prices;
  if (first === undefined || (shape === 'portfolio' && second === undefined)) return undefined;
  const position = (
    { market, start }: typeof first,
    side: 'long' | 'short',
    share: number,
  ): StartingAccount['positions'][number] => {
    const worth = decimalFromNumber(NOTIONAL * share);
    const amount = roundToStep(
      divide(worth, decimal(start), 8, 'down'),
      decimal(terms[market]?.amountStep ?? '0.001'),
      'down',
    );
    return { market, side, amount: formatDecimal(amount) };
  };
  const positions = {
    long: () => [position(first, 'long', 1)],
    short: () => [position(first, 'short', 1)],
    hedged: () => [position(first, 'long', 1), position(first, 'short', HEDGED_SHARE)],
    portfolio: () => [position(first, 'long', 0.5), position(second ?? first, 'long', 0.5)],
  }[shape]();
  const collateral = formatDecimal(decimalFromNumber(Math.round(NOTIONAL / leverage)));
  return {
    id: BOOK_ACCOUNT,
    collateral: { USDT: collateral },
    leverage,
    hedgeMode: shape === 'hedged',
    positions,
    loans: [],
  };
}

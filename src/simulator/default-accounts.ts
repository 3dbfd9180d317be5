import { decimal, divide, roundToStep, ZERO } from '../core/quantities/decimal.ts';
import type { MarketSpec, SeedAccount, SeedPosition } from './model/types.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';

/** `value` is in the reference asset, independent of the start price. */
interface Holding {
  readonly base: string;
  readonly kind: MarketSpec['kind'];
  readonly direction: 'long' | 'short';
  readonly value: string;
}

interface Character {
  readonly hedgeMode: boolean;
  readonly collateral: string;
  readonly holdings: readonly Holding[];
  readonly main: string;
  /** A credit line against a coin; `worth` is the value of the collateral. */
  readonly loan?: { readonly collateralAsset: string; readonly worth: string; readonly amount: string };
}

function perpetual(base: string, direction: 'long' | 'short', value: string): Holding {
  return { base, kind: 'perpetual', direction, value };
}

/** One account of each kind; a bad day can endanger any of them. */
const CHARACTERS: readonly Character[] = [
  { hedgeMode: false, collateral: '4000', holdings: [perpetual('BTC', 'long', '30000')], main: '2000' },
  { hedgeMode: false, collateral: '3600', holdings: [perpetual('ETH', 'short', '24000')], main: '1500' },
  {
    hedgeMode: true,
    collateral: '6000',
    holdings: [perpetual('BTC', 'long', '36000'), perpetual('BTC', 'short', '12000')],
    main: '1000',
  },
  {
    hedgeMode: false,
    collateral: '3000',
    holdings: [perpetual('ETH', 'long', '15000')],
    main: '500',
    loan: { collateralAsset: 'BTC', worth: '27000', amount: '16000' },
  },
  {
    hedgeMode: false,
    collateral: '5000',
    holdings: [
      { base: 'BTC', kind: 'spot', direction: 'long', value: '18000' },
      perpetual('ETH', 'short', '12000'),
    ],
    main: '800',
  },
];

/** Opens accounts for which every read returns something. Coins that the exchange does not list are left out. */
export function openDefaultAccounts(exchange: SimulatedExchange, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const character = CHARACTERS[index % CHARACTERS.length];
    if (character !== undefined) openAccount(exchange, `account-${index + 1}`, character);
  }
}

function openAccount(exchange: SimulatedExchange, id: string, character: Character): void {
  const loan = character.loan && loanOf(exchange, character.loan);
  const seed: SeedAccount = {
    id,
    hedgeMode: character.hedgeMode,
    leverage: 10,
    collateral: { USDT: decimal(character.collateral) },
    main: { USDT: decimal(character.main), ...(loan && { [loan.collateralAsset]: loan.collateralAmount }) },
    spot: { USDT: decimal('1000') },
    positions: character.holdings.flatMap((holding) => positionOf(exchange, holding)),
  };
  exchange.createAccount(seed);
  exchange.change((model) => {
    model.deposit(id, { ticker: 'USDT', amount: decimal('250') });
    model.withdraw(id, { ticker: 'USDT', amount: decimal('50'), address: `0x${'b'.repeat(40)}` });
    const spot = worthOf(exchange, 'BTC', 'spot', '300');
    if (spot !== undefined) model.placeSpotOrder(id, { ...spot, side: 'buy' });
    if (loan !== undefined) model.openLoan(id, loan);
  });
}

function positionOf(exchange: SimulatedExchange, holding: Holding): SeedPosition[] {
  const { base, kind, direction, value } = holding;
  const position = worthOf(exchange, base, kind, value);
  return position === undefined ? [] : [{ ...position, direction }];
}

function loanOf(exchange: SimulatedExchange, loan: NonNullable<Character['loan']>) {
  const { collateralAsset, worth, amount } = loan;
  const pledge = worthOf(exchange, collateralAsset, 'spot', worth);
  return (
    pledge && { asset: 'USDT', amount: decimal(amount), collateralAsset, collateralAmount: pledge.amount }
  );
}

/** Converts a value to an amount of the coin, in whole amount steps, with its market. */
function worthOf(exchange: SimulatedExchange, base: string, kind: MarketSpec['kind'], value: string) {
  const market = exchange.model.markets().find(({ spec }) => spec.base === base && spec.kind === kind);
  if (market === undefined) return undefined;
  const amount = roundToStep(divide(decimal(value), market.last, 12, 'down'), market.spec.amountStep, 'down');
  return amount.gt(ZERO) ? { market: market.spec.name, amount } : undefined;
}

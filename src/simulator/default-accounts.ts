import { type Decimal, decimal } from '../core/decimal.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';
import type { OpenLoan, SeedAccount, SeedPosition } from './types.ts';

interface Character {
  readonly hedgeMode: boolean;
  readonly collateral: string;
  readonly positions: readonly SeedPosition[];
  readonly main: Readonly<Record<string, Decimal>>;
  readonly loan?: OpenLoan;
}

function position(market: string, direction: 'long' | 'short', amount: string): SeedPosition {
  return { market, direction, amount: decimal(amount) };
}

/** One of every kind that a watcher of positions meets; all within reach of a bad day. */
const CHARACTERS: readonly Character[] = [
  {
    hedgeMode: false,
    collateral: '4000',
    positions: [position('BTC_PERP', 'long', '0.5')],
    main: { USDT: decimal('2000') },
  },
  {
    hedgeMode: false,
    collateral: '3600',
    positions: [position('ETH_PERP', 'short', '8')],
    main: { USDT: decimal('1500') },
  },
  {
    hedgeMode: true,
    collateral: '6000',
    positions: [position('BTC_PERP', 'long', '0.6'), position('BTC_PERP', 'short', '0.2')],
    main: { USDT: decimal('1000') },
  },
  {
    hedgeMode: false,
    collateral: '3000',
    positions: [position('ETH_PERP', 'long', '5')],
    main: { USDT: decimal('500'), BTC: decimal('0.5') },
    loan: {
      asset: 'USDT',
      amount: decimal('16000'),
      collateralAsset: 'BTC',
      collateralAmount: decimal('0.45'),
    },
  },
  {
    hedgeMode: false,
    collateral: '5000',
    positions: [position('BTC_USDT', 'long', '0.3'), position('ETH_PERP', 'short', '4')],
    main: { USDT: decimal('800') },
  },
];

/** Opens `count` accounts with positions, and with a little history so that every read has something to show. */
export function openDefaultAccounts(exchange: SimulatedExchange, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const character = CHARACTERS[index % CHARACTERS.length];
    if (character !== undefined) openAccount(exchange, `account-${index + 1}`, character);
  }
}

function openAccount(exchange: SimulatedExchange, id: string, character: Character): void {
  const { hedgeMode, positions, main, loan } = character;
  const seed: SeedAccount = {
    id,
    hedgeMode,
    leverage: 10,
    collateral: { USDT: decimal(character.collateral) },
    main,
    spot: { USDT: decimal('1000') },
    positions,
  };
  exchange.createAccount(seed);
  exchange.change((model) => {
    model.deposit(id, { ticker: 'USDT', amount: decimal('250') });
    model.withdraw(id, { ticker: 'USDT', amount: decimal('50'), address: `0x${'b'.repeat(40)}` });
    model.placeSpotOrder(id, { market: 'BTC_USDT', side: 'buy', amount: decimal('0.005') });
    if (loan !== undefined) model.openLoan(id, loan);
  });
}

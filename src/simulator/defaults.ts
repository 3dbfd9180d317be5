import { type Decimal, decimal, ONE, ZERO } from '../core/quantities/decimal.ts';
import { DEFAULT_READINGS } from './model/readings.ts';
import type { AssetSpec, LiquidationPolicy, MarketSpec, ModelConfig } from './model/types.ts';

/** A small default exchange: two coins, their spot and perpetual markets, and fiat with providers. */

const HOUR_MS = 3_600_000;
export const CARD_PROVIDER = 'VISAMASTER';

export const DEFAULT_LIQUIDATION: LiquidationPolicy = {
  marginCallRatio: decimal('1.5'),
  part: decimal('0.25'),
  restoreRatio: decimal('1.1'),
  stepMs: 1_000,
  loanFee: decimal('0.02'),
};

function coin(ticker: string, name: string, networks: readonly string[], weight: Decimal): AssetSpec {
  return {
    ticker,
    name,
    fiat: false,
    canDeposit: true,
    canWithdraw: true,
    providers: [],
    networks,
    minDeposit: ZERO,
    depositFee: ZERO,
    withdrawalFee: ZERO,
    confirmationsRequired: 6,
    collateralWeight: weight,
  };
}

function fiat(ticker: string, name: string, providers: readonly string[]): AssetSpec {
  const canDeposit = providers.length > 0;
  return {
    ...coin(ticker, name, [], ZERO),
    fiat: true,
    canDeposit,
    providers,
    minDeposit: decimal('10'),
    confirmationsRequired: 0,
  };
}

export const DEFAULT_ASSETS: readonly AssetSpec[] = [
  coin('USDT', 'Tether US', ['TRC20', 'ERC20'], ONE),
  coin('BTC', 'Bitcoin', ['BTC'], decimal('0.95')),
  coin('ETH', 'Ethereum', ['ERC20'], decimal('0.9')),
  fiat('USD', 'US Dollar', [CARD_PROVIDER]),
  fiat('EUR', 'Euro', [CARD_PROVIDER, 'SEPA']),
  fiat('UAH', 'Ukrainian Hryvnia', ['BANKLINK']),
  fiat('GBP', 'Pound Sterling', []),
];

type CoinTerms = Readonly<
  Record<'price' | 'amountStep' | 'priceStep' | 'halfSpread' | 'levelStep' | 'amountPerLevel', string>
>;

function marketsOf(base: string, terms: CoinTerms): readonly MarketSpec[] {
  const spot: MarketSpec = {
    name: `${base}_USDT`,
    base,
    quote: 'USDT',
    kind: 'spot',
    price: decimal(terms.price),
    amountStep: decimal(terms.amountStep),
    priceStep: decimal(terms.priceStep),
    minAmount: decimal(terms.amountStep),
    takerFee: decimal('0.001'),
    makerFee: decimal('0.001'),
    maintenanceMargin: decimal('0.03'),
    liquidationFee: decimal('0.005'),
    basis: ZERO,
    fundingRate: decimal('0.0005'),
    fundingIntervalMs: 8 * HOUR_MS,
    depth: {
      halfSpread: decimal(terms.halfSpread),
      levelStep: decimal(terms.levelStep),
      amountPerLevel: decimal(terms.amountPerLevel),
      levels: 50,
      renewMs: 1_000,
    },
  };
  const perpetual: MarketSpec = {
    ...spot,
    name: `${base}_PERP`,
    kind: 'perpetual',
    takerFee: decimal('0.00055'),
    makerFee: decimal('0.0002'),
    fundingRate: decimal('0.0001'),
    follows: spot.name,
  };
  return [spot, perpetual];
}

export const DEFAULT_MARKETS: readonly MarketSpec[] = [
  ...marketsOf('BTC', {
    price: '60000',
    amountStep: '0.001',
    priceStep: '0.1',
    halfSpread: '2.5',
    levelStep: '5',
    amountPerLevel: '0.5',
  }),
  ...marketsOf('ETH', {
    price: '3000',
    amountStep: '0.01',
    priceStep: '0.01',
    halfSpread: '0.15',
    levelStep: '0.3',
    amountPerLevel: '5',
  }),
];

/** Returns the default exchange; `changes` replace whole parts of it. */
export function defaultConfig(
  seed: number,
  startMs: number,
  changes: Partial<ModelConfig> = {},
): ModelConfig {
  return {
    seed,
    startMs,
    markets: DEFAULT_MARKETS,
    assets: DEFAULT_ASSETS,
    referenceAsset: 'USDT',
    readings: DEFAULT_READINGS,
    liquidation: DEFAULT_LIQUIDATION,
    ...changes,
  };
}

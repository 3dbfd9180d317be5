import { type Decimal, decimal, toDecimal, ZERO } from '../../../src/core/quantities/decimal.ts';
import { DEFAULT_LIQUIDATION, DEFAULT_MARKETS, defaultConfig } from '../../../src/simulator/defaults.ts';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import { createExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { LedgerEntry, LedgerKind } from '../../../src/simulator/model/ledger-entry.ts';
import { DEFAULT_READINGS, type Readings } from '../../../src/simulator/model/readings.ts';
import type {
  CollateralOrder,
  MarketSpec,
  ModelConfig,
  Outcome,
  Rejection,
  SeedAccount,
} from '../../../src/simulator/model/types.ts';
import type { PositionSheet } from '../../../src/simulator/model/views.ts';

export const START_MS = 1_700_000_000_000;
export const d = decimal;

/** Deep books, so that only the tests of depth are affected by it. */
export function markets(change: (spec: MarketSpec) => Partial<MarketSpec> = () => ({})): MarketSpec[] {
  return DEFAULT_MARKETS.map((spec) => {
    const { priceStep } = spec;
    const depth = { ...spec.depth, halfSpread: priceStep, levelStep: priceStep, amountPerLevel: d('1000') };
    return Object.assign({}, spec, { depth }, change(Object.assign({}, spec, { depth })));
  });
}

export function world(
  options: { readings?: Partial<Readings>; markets?: MarketSpec[]; config?: Partial<ModelConfig> } = {},
): ExchangeModel {
  return createExchangeModel(
    defaultConfig(7, START_MS, {
      markets: options.markets ?? markets(),
      readings: { ...DEFAULT_READINGS, ...options.readings },
      liquidation: DEFAULT_LIQUIDATION,
      ...options.config,
    }),
  );
}

export function account(changes: Partial<SeedAccount> = {}): SeedAccount {
  return { id: 'a', hedgeMode: false, leverage: 10, collateral: { USDT: d('10000') }, ...changes };
}

export function longOf(amount: string, market = 'BTC_PERP'): NonNullable<SeedAccount['positions']>[number] {
  return { market, direction: 'long', amount: d(amount) };
}

export function shortOf(amount: string, market = 'BTC_PERP'): NonNullable<SeedAccount['positions']>[number] {
  return { market, direction: 'short', amount: d(amount) };
}

export function stop(changes: Partial<CollateralOrder> = {}): CollateralOrder {
  return {
    market: 'BTC_PERP',
    side: 'sell',
    amount: d('1'),
    price: d('58900'),
    activationPrice: d('59000'),
    reduceOnly: true,
    ...changes,
  };
}

export function accepted<T>(outcome: Outcome<T>): T {
  if (!outcome.ok) throw new Error(`refused: ${outcome.code} ${JSON.stringify(outcome.errors)}`);
  return outcome;
}

export function refused(outcome: Outcome<unknown>): Rejection {
  if (outcome.ok) throw new Error('accepted');
  return outcome;
}

export function kinds(model: ExchangeModel, ...wanted: LedgerKind[]): readonly LedgerEntry[] {
  return model.ledger({ kinds: wanted });
}

export function onlyPosition(model: ExchangeModel, id = 'a'): PositionSheet {
  const positions = model.openPositions(id);
  const [position] = positions;
  if (positions.length !== 1 || position === undefined)
    throw new Error(`${positions.length} positions, expected one`);
  return position;
}

export function text(value: Decimal | null | undefined): string | null {
  return value?.toFixed() ?? null;
}

/** Balances of all books, computed from the journal alone. */
export function replay(entries: readonly LedgerEntry[]): Map<string, Map<string, Decimal>> {
  const books = new Map<string, Map<string, Decimal>>();
  for (const entry of entries) {
    for (const { book, asset, amount } of entry.postings) {
      const balances = books.get(book) ?? new Map<string, Decimal>();
      balances.set(asset, (balances.get(asset) ?? ZERO).plus(toDecimal(amount)));
      books.set(book, balances);
    }
  }
  return books;
}

import { type Decimal, decimal, divide, maxDecimal, roundToStep } from '../core/quantities/decimal.ts';
import { DEFAULT_ASSETS, DEFAULT_MARKETS } from '../simulator/defaults.ts';
import { atPrice } from '../simulator/model/market.ts';
import type { AssetSpec, MarketSpec, SeedAccount, SeedPosition } from '../simulator/model/types.ts';
import { interpolate, type PriceSource, sourceFromPoints } from '../simulator/prices/price-source.ts';
import { playScenario, playWalk } from '../simulator/scenarios/play.ts';
import type { SimulatedExchange, SimulatorTime } from '../simulator/simulated-exchange.ts';
import { assembleExchange } from '../simulator/start-simulated-exchange.ts';
import type { AccountSpec, ExchangeSpec, MarketTerms, PositionSpec, PriceSpec, WorldSpec } from './spec.ts';

/** Opens the exchange with markets, accounts and loans, then starts its prices. @throws SimulatorError, RangeError */
export function openExchange(
  spec: WorldSpec,
  startMs: number,
  time: SimulatorTime,
  prices: ReadonlyMap<string, PriceSource>,
): SimulatedExchange {
  const { accounts, money = MONEY, depth, readings } = spec.exchange;
  const markets = marketsOf(spec.exchange);
  const exchange = assembleExchange(
    {
      seed: spec.seed,
      startMs,
      speed: 1,
      accounts: accounts.map(seedOf),
      config: { markets, assets: assetsOf(markets, money), referenceAsset: money },
      logCapacity: LOG_CAPACITY,
      ledgerCapacity: LEDGER_CAPACITY,
      ...(depth === undefined ? {} : { depth }),
      ...(readings === undefined ? {} : { readings }),
    },
    time,
  );
  for (const account of accounts) grantLoans(exchange, account);
  for (const [index, play] of (spec.prices ?? []).entries()) playPrices(exchange, play, spec.seed + index);
  for (const [market, source] of prices) exchange.setPriceSource(market, source);
  return exchange;
}

/** Enough for a day of a busy account. */
const LEDGER_CAPACITY = 2_000_000;
/** Enough to look at the newest requests; the ledger has every command. */
const LOG_CAPACITY = 1_000;

function marketsOf({
  prices = {},
  markets: terms = {},
  accounts,
  money = MONEY,
}: ExchangeSpec): readonly MarketSpec[] {
  const held = accounts.flatMap(({ positions = [] }) => positions.map(({ market }) => market));
  const names = new Set([...held, ...Object.keys(prices), ...Object.keys(terms)]);
  const added = [...names].filter((name) => !DEFAULT_MARKETS.some((market) => market.name === name));
  const listed = [
    ...DEFAULT_MARKETS,
    ...added.map((name) => newMarket(name, prices[name], { money, names })),
  ];
  return listed.map((market) =>
    changed(market, prices[market.name] ?? prices[market.follows ?? ''], terms[market.name]),
  );
}

function changed(market: MarketSpec, price: string | undefined, terms: MarketTerms = {}): MarketSpec {
  const own = { ...market, ...termsOf(terms) };
  const next = price === undefined ? own : atPrice(own, decimal(price));
  if (terms.priceStep === undefined) return next;
  const { depth, priceStep } = next;
  const fitted = (distance: Decimal): Decimal =>
    maxDecimal(priceStep, roundToStep(distance, priceStep, 'halfUp'));
  // Orders in the books must be at prices that the market allows.
  return {
    ...next,
    depth: { ...depth, halfSpread: fitted(depth.halfSpread), levelStep: fitted(depth.levelStep) },
  };
}

function termsOf(terms: MarketTerms): Partial<MarketSpec> {
  return Object.fromEntries(Object.entries(terms).map(([name, text]) => [name, decimal(text as string)]));
}

const MONEY = 'USDT';
/** Value of the orders at one level of the BTC books, in money. */
const LEVEL_VALUE = decimal('30000');

/** Like the BTC market of its kind, with steps and depth that fit its price. */
function newMarket(
  name: string,
  price: string | undefined,
  { money, names }: { readonly money: string; readonly names: ReadonlySet<string> },
): MarketSpec {
  const [base = '', quote = ''] = name.split('_');
  const known = quote === money ? `BTC_${MONEY}` : `BTC_${quote}`;
  const template = DEFAULT_MARKETS.find((market) => market.name === known);
  if (template === undefined) throw new RangeError(`market ${name}: expected COIN_PERP or COIN_${money}`);
  if (price === undefined) throw new RangeError(`market ${name}: its price at the start is missing`);
  const { follows: _, ...alone } = template;
  const leader = `${base}_${money}`;
  const value = decimal(price);
  const priceStep = stepBelow(value, 5);
  const amountStep = stepBelow(divide(LEVEL_VALUE, value, 12, 'down'), 3);
  return {
    ...alone,
    name,
    base,
    quote: money,
    ...(leader !== name && names.has(leader) ? { follows: leader } : {}),
    price: value,
    priceStep,
    amountStep,
    minAmount: amountStep,
    depth: {
      ...template.depth,
      halfSpread: priceStep.times(decimal('5')),
      levelStep: priceStep.times(decimal('10')),
      amountPerLevel: divide(LEVEL_VALUE, value, 6, 'down'),
    },
  };
}

/** A power of ten that is `digits` digits smaller than the value. */
function stepBelow(value: Decimal, digits: number): Decimal {
  let step = decimal('1');
  const ten = decimal('10');
  while (step.times(ten).lte(value)) step = step.times(ten);
  while (step.gt(value)) step = divide(step, ten, 18, 'down');
  for (let digit = 0; digit < digits; digit++) step = divide(step, ten, 18, 'down');
  return step;
}

function assetsOf(markets: readonly MarketSpec[], money: string): readonly AssetSpec[] {
  const coin = DEFAULT_ASSETS.find(({ ticker }) => ticker === 'ETH');
  const names = new Set(markets.map(({ base }) => base));
  const added = [...names].filter((name) => !DEFAULT_ASSETS.some(({ ticker }) => ticker === name));
  const coins = added.map((ticker) => Object.assign({}, coin, { ticker, name: ticker }));
  const others = DEFAULT_ASSETS.filter(({ ticker }) => ticker !== money);
  return [Object.assign({}, DEFAULT_ASSETS[0], { ticker: money, name: money }), ...others, ...coins];
}

function seedOf(account: AccountSpec): SeedAccount {
  const { id, collateral, main = {}, spot = {}, leverage = 10, hedgeMode = false } = account;
  const { positions = [], loans = [] } = account;
  const money = amountsOf(main);
  for (const { collateralAsset, collateralAmount } of loans) {
    const more = decimal(collateralAmount);
    money[collateralAsset] = money[collateralAsset]?.plus(more) ?? more;
  }
  return {
    id,
    hedgeMode,
    leverage,
    collateral: amountsOf(collateral),
    main: money,
    spot: amountsOf(spot),
    positions: positions.map(seedPosition),
  };
}

function seedPosition({ market, side, amount, entry }: PositionSpec): SeedPosition {
  const basePrice = entry === undefined ? {} : { basePrice: decimal(entry) };
  return { market, direction: side, amount: decimal(amount), ...basePrice };
}

function amountsOf(texts: Readonly<Record<string, string>>): Record<string, Decimal> {
  return Object.fromEntries(Object.entries(texts).map(([asset, text]) => [asset, decimal(text)]));
}

function grantLoans(exchange: SimulatedExchange, { id, loans = [] }: AccountSpec): void {
  for (const { asset, amount, collateralAsset, collateralAmount } of loans) {
    const money = { amount: decimal(amount), collateralAmount: decimal(collateralAmount) };
    const loan = { asset, collateralAsset, ...money };
    const outcome = exchange.change((model) => {
      const granted = model.openLoan(id, loan);
      // An existing loan was granted once, even if present terms would refuse it.
      return granted.ok ? granted : model.openLoan(id, { ...loan, initialLtv: HIGHEST_LTV });
    });
    if (!outcome.ok) {
      const why = Object.values(outcome.errors).flat().join(' ') || outcome.message;
      throw new RangeError(`account ${id}: the loan of ${amount} ${asset} is not possible: ${why}`);
    }
  }
}

const HIGHEST_LTV = decimal('0.99');

function playPrices(exchange: SimulatedExchange, play: PriceSpec, seed: number): void {
  const { market } = play;
  if ('walk' in play) return void playWalk(exchange, { market, ...play.walk }, seed);
  if ('scenario' in play) {
    const { magnitude, ...rest } = play.scenario;
    const size = magnitude === undefined ? {} : { magnitude: decimal(magnitude) };
    return void playScenario(exchange, { market, ...rest, ...size }, seed);
  }
  const { spec } = exchange.model.market(market) ?? {};
  if (spec === undefined) throw new RangeError(`prices: there is no market ${market}`);
  const startMs = exchange.model.nowMs();
  const points = play.points.map(([atMs, price]) => ({ atMs: startMs + atMs, price: decimal(price) }));
  const { tickMs } = play;
  const source = tickMs === undefined ? points : interpolate(points, tickMs, spec.priceStep);
  exchange.setPriceSource(market, sourceFromPoints(source));
}

import { z } from 'zod';
import type { MarketSheet } from '../model/market.ts';
import { type PriceSeries, parsePrices, priceFaultText } from '../prices/price-file.ts';
import { pathSource } from '../prices/price-path.ts';
import { type PriceSource, walkSource } from '../prices/price-source.ts';
import { positiveDecimal } from '../schemas.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { isScenarioName, SCENARIOS, scenarioSource } from './scenarios.ts';

/** Default: all markets that follow no other; for candles the first of these. */
const MARKET = z.string().optional();
const TICK = z.number().int().min(1).max(3_600_000).optional();

export const SCENARIO_PLAY = z.strictObject({
  market: MARKET,
  /** Largest move as a fraction of the price. */
  magnitude: positiveDecimal.optional(),
  durationMs: z.number().int().min(1).optional(),
  tickMs: TICK,
  /** Seeded noise as a fraction of the price. */
  noise: z.number().min(0).max(0.1).optional(),
});
export type ScenarioPlay = Readonly<z.infer<typeof SCENARIO_PLAY>> & { readonly name: string };

export const CANDLES_PLAY = z.strictObject({
  /** Candles or trades; see `parsePrices`. */
  csv: z.string(),
  market: MARKET,
  /** The extreme that comes first: `low` hurts longs, `high` hurts shorts. */
  adverse: z.enum(['low', 'high']).optional(),
  tickMs: TICK,
});
export type CandlesPlay = Readonly<z.infer<typeof CANDLES_PLAY>>;

export const WALK_PLAY = z.strictObject({
  market: MARKET,
  /** 0.04 is 4 % a day. */
  dailyVolatility: z.number().min(0).max(10).optional(),
  jumpsPerDay: z.number().min(0).max(86_400).optional(),
  jumpSize: z.number().min(0).max(0.5).optional(),
  tickMs: TICK,
  seed: z.number().int().min(0).optional(),
});
export type WalkPlay = Readonly<z.infer<typeof WALK_PLAY>>;

/** Starts a scripted scenario now, from the current price; returns the markets that play it. @throws SimulatorError */
export function playScenario(exchange: SimulatedExchange, play: ScenarioPlay, seed: number): string[] {
  const { name, magnitude, durationMs, tickMs, noise } = play;
  if (!isScenarioName(name)) {
    const known = Object.keys(SCENARIOS).join(', ');
    throw new SimulatorError('invalid-input', `no scenario ${JSON.stringify(name)}; there are ${known}`);
  }
  return playIn(exchange, play.market, (market, index) =>
    scenarioSource({
      name,
      startMs: exchange.model.nowMs(),
      startPrice: market.last,
      priceStep: market.spec.priceStep,
      magnitude,
      durationMs,
      tickMs,
      noise: noise === undefined ? undefined : { seed: seed + index, size: noise },
    }),
  );
}

/** @throws SimulatorError that names the wrong line */
export function readPrices(csv: string): PriceSeries {
  const parsed = parsePrices(csv);
  if (!parsed.ok) throw new SimulatorError('invalid-input', priceFaultText('prices', parsed.fault));
  return parsed.series;
}

/** Plays candles or trades from now on in one market; default: the first that follows no other. */
export function playCandles(exchange: SimulatedExchange, play: CandlesPlay): string[] {
  const series = readPrices(play.csv);
  const leader = exchange.model.markets().find((market) => market.spec.follows === undefined);
  return playIn(exchange, play.market ?? leader?.spec.name, (market) =>
    pathSource({
      series,
      model: 'adverse',
      adverse: play.adverse ?? 'low',
      market: market.spec.name,
      seed: exchange.seed,
      startMs: exchange.model.nowMs(),
      priceStep: market.spec.priceStep,
      tickMs: play.tickMs,
    }),
  );
}

export function playWalk(exchange: SimulatedExchange, play: WalkPlay, seed: number): string[] {
  return playIn(exchange, play.market, (market, index) =>
    walkSource({
      seed: (play.seed ?? seed) + index,
      startMs: exchange.model.nowMs(),
      tickMs: play.tickMs ?? 500,
      priceStep: market.spec.priceStep,
      dailyVolatility: play.dailyVolatility ?? 0.04,
      jumpsPerDay: play.jumpsPerDay ?? 24,
      jumpSize: play.jumpSize ?? 0.01,
    }),
  );
}

function playIn(
  exchange: SimulatedExchange,
  name: string | undefined,
  sourceOf: (market: MarketSheet, index: number) => PriceSource,
): string[] {
  exchange.catchUp();
  const markets = chosenMarkets(exchange, name);
  const sources = markets.map((market, index) => makeSource(() => sourceOf(market, index)));
  for (const [index, market] of markets.entries()) {
    exchange.setPriceSource(market.spec.name, sources[index] ?? null);
  }
  return markets.map((market) => market.spec.name);
}

/** Converts the RangeError of a factory, which means impossible parameters, to a SimulatorError. */
function makeSource(make: () => PriceSource): PriceSource {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) throw new SimulatorError('invalid-input', error.message);
    throw error;
  }
}

function chosenMarkets(exchange: SimulatedExchange, name: string | undefined): readonly MarketSheet[] {
  const markets = exchange.model.markets();
  if (name === undefined) return markets.filter((market) => market.spec.follows === undefined);
  const market = exchange.model.market(name);
  if (market !== undefined) return [market];
  const known = markets.map((each) => each.spec.name).join(', ');
  throw new SimulatorError('invalid-input', `no market ${JSON.stringify(name)}; there are ${known}`);
}

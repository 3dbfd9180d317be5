import { type Decimal, decimal } from '../core/quantities/decimal.ts';
import type { MarketSpec } from '../simulator/model/types.ts';
import { firstPrice } from '../simulator/prices/price-file.ts';
import { pathSource } from '../simulator/prices/price-path.ts';
import type { PriceSource } from '../simulator/prices/price-source.ts';
import {
  isScenarioName,
  SCENARIOS,
  type ScenarioName,
  scenarioSource,
} from '../simulator/scenarios/scenarios.ts';
import { SimulatorError } from '../simulator/simulated-exchange.ts';
import { type CandleWindow, largestMove } from './window.ts';

const START_PRICE = '60000';
/** Where the scenario's own will not do: 16 % down and 8 % up end both twins at 10x. */
const MAGNITUDES: { readonly [name in ScenarioName]?: { readonly magnitude: Decimal } } = {
  crashThenRally: { magnitude: decimal('0.16') },
};
/** Of every tick, as a fraction of the price. */
const NOISE = 0.001;

/** What the market does, and where it starts. */
export interface PlayedPrices {
  readonly startPrice: Decimal;
  readonly about: string;
  readonly sourceFrom: (market: MarketSpec, startMs: number) => PriceSource;
}

export interface PriceOptions {
  readonly seed: number;
  /** What the market does, by name, unless there are candles. */
  readonly scenario: string;
  /** Text of a file of candles. */
  readonly pricesCsv?: string;
  /** Exchange time to be filled. */
  readonly windowMs: number;
}

/** @throws SimulatorError for a scenario that there is not, and for candles with a mistake. */
export function playedPrices({ scenario, pricesCsv, windowMs, seed }: PriceOptions): PlayedPrices {
  if (pricesCsv !== undefined) return candlePrices(largestMove(pricesCsv, windowMs));
  if (!isScenarioName(scenario)) {
    const known = Object.keys(SCENARIOS).join(', ');
    throw new SimulatorError('invalid-input', `no scenario ${JSON.stringify(scenario)}; there are ${known}`);
  }
  const startPrice = decimal(START_PRICE);
  return {
    startPrice,
    about: `${scenario}: ${SCENARIOS[scenario].note}`,
    sourceFrom: ({ priceStep }, startMs) =>
      scenarioSource({
        name: scenario,
        startMs,
        startPrice,
        priceStep,
        durationMs: Math.round(windowMs),
        ...MAGNITUDES[scenario],
        noise: { seed, size: NOISE },
      }),
  };
}

function candlePrices(window: CandleWindow): PlayedPrices {
  return {
    startPrice: firstPrice(window.series),
    about: `candles from ${new Date(window.fromMs).toISOString()}, a move of ${(100 * window.move).toFixed(1)} %`,
    sourceFrom: ({ priceStep, name }, startMs) =>
      pathSource({
        series: window.series,
        model: 'adverse',
        market: name,
        seed: 0,
        startMs,
        priceStep,
        // The order of a candle's extremes that hurts those whom the move hurts.
        adverse: window.move > 0 ? 'high' : 'low',
      }),
  };
}

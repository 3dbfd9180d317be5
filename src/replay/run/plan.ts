import { type Decimal, decimal } from '../../core/quantities/decimal.ts';
import type { FaultSpec } from '../../simulator/http/faults.ts';
import type { PriceSource } from '../../simulator/prices/price-source.ts';
import type { LatencySpec } from '../../world/chance.ts';
import type { ExchangeSpec, MarketTerms, TimedEvent } from '../../world/spec.ts';
import type { StartingAccount } from '../positions/starting-account.ts';

/** One set of rules over one path of the market. */
export interface RunPlan {
  readonly variant: string;
  readonly path: string;
  readonly seed: number;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly accounts: readonly StartingAccount[];
  /** Text of a config with exactly these accounts; absent: run without a daemon. */
  readonly config?: ConfigText | undefined;
  readonly markets: Readonly<Record<string, MarketTerms>>;
  /** Start price by market, as text. */
  readonly startPrices: Readonly<Record<string, string>>;
  /** New for every run: playing uses a source up. */
  readonly sources: ReadonlyMap<string, PriceSource>;
  readonly conditions: RunConditions;
  /** Time between two samples of the accounts, for curves and reaction times; does not affect what happens. */
  readonly lookMs: number;
  /** Market events other than prices, with their times. */
  readonly events?: readonly TimedEvent[];
}

/** Step of a market's prices; without terms for it, a step too small to change any. */
export function priceStepOf(terms: RunPlan['markets'], market: string): Decimal {
  return decimal(terms[market]?.priceStep ?? '0.00000001');
}

/** A config, and its name in problems. */
export interface ConfigText {
  readonly file: string;
  readonly text: string;
}

export interface RunConditions extends Pick<ExchangeSpec, 'depth' | 'readings'> {
  /** Per direction. */
  readonly latency: LatencySpec;
  /** Faults of replies to the daemon; without effect if there is none. */
  readonly faults: readonly FaultSpec[];
}

export interface RunHooks {
  /** When aborted, the run ends where it is. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds of market time since the start; called often. */
  readonly onProgress?: (elapsedMs: number) => void;
}

import type { FaultSpec } from '../../simulator/http/faults.ts';
import type { PriceSource } from '../../simulator/prices/price-source.ts';
import type { LatencySpec } from '../../world/chance.ts';
import type { MarketTerms, TimedEvent } from '../../world/spec.ts';
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
  /** Text of a config in which just these accounts stand; absent: nobody protects them. */
  readonly config?: ConfigText;
  readonly markets: Readonly<Record<string, MarketTerms>>;
  /** Price at the start by market, as text. */
  readonly startPrices: Readonly<Record<string, string>>;
  /** New ones for every run: a source is used up. */
  readonly sources: ReadonlyMap<string, PriceSource>;
  readonly conditions: RunConditions;
  /** Time between two looks at the accounts, for curves and times of reaction; what happens does not depend on it. */
  readonly lookMs: number;
  /** What happens to markets besides their prices, and when. */
  readonly events?: readonly TimedEvent[];
}

/** A config, and what names it in problems. */
export interface ConfigText {
  readonly file: string;
  readonly text: string;
}

/** How well exchange and network work. */
export interface RunConditions {
  /** Each way. */
  readonly latency: LatencySpec;
  readonly depth?: string;
  readonly readings?: Readonly<Record<string, unknown>>;
  /** Of replies to a daemon; without one nobody meets them. */
  readonly faults: readonly FaultSpec[];
}

export interface RunHooks {
  /** Aborted: the run ends where it is. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds of market time since the start; called often. */
  readonly onProgress?: (elapsedMs: number) => void;
}

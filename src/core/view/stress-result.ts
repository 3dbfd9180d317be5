/** Result of the scheduled stress tests, stored for all processes. */
export interface StoredStress {
  readonly version: 1;
  /** The newest run that finished at least one scenario; null: none yet. */
  readonly result: StressResult | null;
  readonly lastRun: StressRun;
  readonly nextAtMs: number;
}

/** `partial`: stopped by its time limit. `failed`: no result. */
export type StressOutcome = 'complete' | 'partial' | 'failed';

export interface StressRun {
  readonly atMs: number;
  readonly durationMs: number;
  readonly outcome: StressOutcome;
  /** Why it is incomplete; empty if complete. */
  readonly words: string;
}

export interface StressResult extends StressRun {
  readonly accounts: number;
  /** Why accounts with holdings were left out, in whole sentences; the first few. */
  readonly leftOut: readonly string[];
  readonly leftOutCount: number;
  /** In the order of the config. */
  readonly cases: readonly StressedCase[];
  /** Largest losses first, at most `MOST_STRESSED_ACCOUNTS`. */
  readonly accountCases: readonly StressedAccountCase[];
}

/** Effect of a crash without protection (`...Without`) and with the rules (`...With`). */
export interface StressEffect {
  /** Fractions of the initial equity that remain. */
  readonly keptWithout: number;
  readonly keptWith: number;
}

/** One scenario under one set of conditions, all accounts together. */
export interface StressedCase extends StressEffect {
  readonly scenario: string;
  readonly title: string;
  readonly about: string;
  readonly conditions: string;
  readonly liquidatedWithout: number;
  readonly liquidatedWith: number;
}

export interface StressedAccountCase extends StressEffect {
  readonly accountId: string;
  readonly scenario: string;
  readonly conditions: string;
  readonly liquidatedWithout: boolean;
  readonly liquidatedWith: boolean;
}

/** Number of accounts with their own metric series; thousands would fill the memory of the scraper. */
export const MOST_STRESSED_ACCOUNTS = 100;

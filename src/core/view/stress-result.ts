/** What is kept of the stress tests on a schedule, for every process to show. */
export interface StoredStress {
  readonly version: 1;
  /** The newest run that finished at least one scenario; null: none has yet. */
  readonly result: StressResult | null;
  readonly lastRun: StressRun;
  readonly nextAtMs: number;
}

/** How a run ended: `partial`: not within its time limit; `failed`: nothing came of it. */
export type StressOutcome = 'complete' | 'partial' | 'failed';

export interface StressRun {
  readonly atMs: number;
  readonly durationMs: number;
  readonly outcome: StressOutcome;
  /** Why it is not complete; empty when it is. */
  readonly words: string;
}

export interface StressResult extends StressRun {
  readonly accounts: number;
  /** Why others that hold something were not, in whole sentences; the first of them. */
  readonly leftOut: readonly string[];
  readonly leftOutCount: number;
  /** In the order of the config. */
  readonly cases: readonly StressedCase[];
  /** Those that lost most first, at most `MOST_STRESSED_ACCOUNTS`. */
  readonly accountCases: readonly StressedAccountCase[];
}

/** What a crash does without protection (`without`) and with the rules (`withRules`). */
export interface StressEffect {
  /** Shares of the equity at the start. */
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

/** Accounts of which each has series of its own: thousands of them must not fill the memory of whoever scrapes. */
export const MOST_STRESSED_ACCOUNTS = 100;

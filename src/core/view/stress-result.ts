import { z } from 'zod';
import { named, type OutputOf, timeMs } from '../schema/parts.ts';

/** `partial`: stopped by its time limit. `failed`: no result. */
const run = {
  atMs: timeMs(),
  durationMs: z.number(),
  outcome: z.enum(['complete', 'partial', 'failed']),
  words: z.string().describe('Why it is not complete; empty when it is.'),
};

/** Effect of a crash without protection and with the rules, as fractions of the initial equity. */
const effect = {
  keptWithout: z.number().describe('Share of the equity that is left without protection.'),
  keptWith: z.number().describe('Share of the equity that is left with the rules.'),
};

/** One scenario under one set of conditions, all accounts together. */
const caseSchema = named('StressCase', () => ({
  scenario: z.string(),
  title: z.string(),
  about: z.string(),
  conditions: z.string(),
  liquidatedWithout: z.number().int().describe('Accounts.'),
  liquidatedWith: z.number().int().describe('Accounts.'),
  ...effect,
}));
export type StressedCase = OutputOf<typeof caseSchema>;

const accountCaseSchema = named('StressAccountCase', () => ({
  accountId: z.string(),
  scenario: z.string(),
  conditions: z.string(),
  liquidatedWithout: z.boolean(),
  liquidatedWith: z.boolean(),
  ...effect,
}));
export type StressedAccountCase = OutputOf<typeof accountCaseSchema>;

/** Result of the scheduled stress tests, stored for all processes. */
export const storedStressSchema = named('Stress', () => ({
  version: z.literal(1),
  /** The newest run that finished at least one scenario. */
  result: z
    .strictObject({
      ...run,
      accounts: z.number().int().describe('Accounts that were played.'),
      /** Of those with holdings, in whole sentences. */
      leftOut: z.array(z.string()).describe('Why others were not; the first of them.'),
      leftOutCount: z.number().int(),
      /** In the order of the config. */
      cases: z.array(caseSchema),
      /** At most `MOST_STRESSED_ACCOUNTS`. */
      accountCases: z.array(accountCaseSchema).describe('Accounts that lost most first.'),
    })
    .nullable()
    .describe('null: no run has finished a scenario yet.'),
  lastRun: z.strictObject(run),
  nextAtMs: timeMs(),
}));
export type StoredStress = OutputOf<typeof storedStressSchema>;
export type StressResult = NonNullable<StoredStress['result']>;
export type StressRun = StoredStress['lastRun'];
export type StressOutcome = StressRun['outcome'];

/** Number of accounts with their own metric series; thousands would fill the memory of the scraper. */
export const MOST_STRESSED_ACCOUNTS = 100;

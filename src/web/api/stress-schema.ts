import { z } from 'zod';
import { named, timeMs } from './schemas.ts';

// The newest scheduled stress test; see `StoredStress` for the meaning of the figures.

const run = {
  atMs: timeMs(),
  durationMs: z.number(),
  outcome: z.enum(['complete', 'partial', 'failed']),
  words: z.string().describe('Why it is not complete; empty when it is.'),
};

const effect = {
  keptWithout: z.number().describe('Share of the equity that is left without protection.'),
  keptWith: z.number().describe('Share of the equity that is left with the rules.'),
};

const stressCase = named('StressCase', () => ({
  scenario: z.string(),
  title: z.string(),
  about: z.string(),
  conditions: z.string(),
  liquidatedWithout: z.number().int().describe('Accounts.'),
  liquidatedWith: z.number().int().describe('Accounts.'),
  ...effect,
}));

const accountCase = named('StressAccountCase', () => ({
  accountId: z.string(),
  scenario: z.string(),
  conditions: z.string(),
  liquidatedWithout: z.boolean(),
  liquidatedWith: z.boolean(),
  ...effect,
}));

const stored = named('Stress', () => ({
  version: z.literal(1),
  result: z
    .strictObject({
      ...run,
      accounts: z.number().int().describe('Accounts that were played.'),
      leftOut: z.array(z.string()).describe('Why others were not; the first of them.'),
      leftOutCount: z.number().int(),
      cases: z.array(stressCase),
      accountCases: z.array(accountCase).describe('Accounts that lost most first.'),
    })
    .nullable()
    .describe('null: no run has finished a scenario yet.'),
  lastRun: z.strictObject(run),
  nextAtMs: timeMs(),
}));

export const stressReply = named('StressStatus', () => ({
  scheduled: z.boolean().describe('Whether the config has a schedule.'),
  stored: stored.nullable().describe('null: none is scheduled, or none has run yet.'),
}));

import { validateDetailed } from 'node-cron';
import type { z } from 'zod';
import { timeZone } from './rules/active-window.ts';
import { duration, oneOf, scalar } from './shape/scalars.ts';
import { list, renamed, section } from './shape/shape.ts';
import { describeText } from './yaml/value.ts';

/** Scenarios that can be scheduled: those of the library (test/config/stress.test.ts compares). */
export const SCHEDULED_SCENARIOS = [
  'shock-down-5',
  'shock-down-10',
  'shock-down-20',
  'shock-down-30',
  'shock-down-50',
  'shock-up-5',
  'shock-up-10',
  'shock-up-20',
  'shock-up-30',
  'shock-up-50',
  '2020-03-12',
  '2021-05-19',
  '2022-11-08',
  '2025-10-10',
  'slow-bleed',
  'wick',
  'weekend-gap',
  'rally',
  'alts-together',
  'alts-alone',
  'majors-alone',
] as const;

function cronText(): z.ZodType<string> {
  return scalar({
    expected: 'a time in cron form, such as "0 7 * * *" for every day at 7:00',
    read: (written) => {
      if (typeof written !== 'string' || written.length > 100) return { ok: false };
      const { valid, errors } = validateDetailed(written);
      if (valid) return { ok: true, value: written };
      return { ok: false, got: `${describeText(written)} (${errors[0]?.message ?? 'not in cron form'})` };
    },
    json: { type: 'string', minLength: 1, maxLength: 100, examples: ['0 7 * * *', '0 */6 * * *'] },
  });
}

function several<const T extends string>(words: readonly T[], description: string): z.ZodType<readonly T[]> {
  return list(oneOf(...words), 1)
    .describe(description)
    .transform((written) => [...new Set(written)]);
}

export const stressSchema = renamed(
  section(
    {
      at: cronText().describe(
        'When, in cron form: minute, hour, day of the month, month, day of the week (with six fields, seconds come first).',
      ),
      tz: timeZone().describe('Time zone of `at`, summer time included.'),
      scenarios: several(
        SCHEDULED_SCENARIOS,
        'What is played; `breakwater stress --list` describes each. Slow stretches are shortened.',
      ),
      conditions: several(
        ['calm', 'crash'],
        'How well the exchange works meanwhile; each scenario is played under each.',
      ),
      timeLimit: duration({ minMs: 10_000, maxMs: 3_600_000, bounds: 'from 10s to 1h' }).describe(
        'A run that takes longer is ended; what it had finished is shown, and that it is not complete.',
      ),
    },
    {
      tz: 'UTC',
      scenarios: ['shock-down-20', '2020-03-12', '2025-10-10', 'rally'],
      conditions: ['crash'],
      timeLimit: '10m',
    },
  ),
  { tz: 'timeZone', timeLimit: 'timeLimitMs' },
);

/** A stress test on a schedule; `at` in cron form. */
export type CompiledStress = z.output<typeof stressSchema>;

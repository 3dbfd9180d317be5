import { z } from 'zod';
import { type OutputOf, timeMs } from '../schema/parts.ts';

/** The same in one sentence in `words`. */
export const quietHoursSchema = z.strictObject({
  untilMs: timeMs()
    .nullable()
    .describe('When they end; null: they are over, and what they held back is being told.'),
  /** Distinct ones; not known because Redis does not answer. */
  held: z.number().int().nullable().describe('Notices that wait; null: not known.'),
  words: z.string(),
});
export type QuietHoursLine = OutputOf<typeof quietHoursSchema>;

type Known = Pick<QuietHoursLine, 'untilMs' | 'held'>;

/** Returns null if quiet hours are off and no notice waits. `timeOf` formats a moment. */
export function quietHoursLine(known: Known, timeOf: (unixMs: number) => string): QuietHoursLine | null {
  const { untilMs, held } = known;
  if (untilMs === null && (held ?? 0) === 0) return null;
  return { untilMs, held, words: wordsOf(known, timeOf) };
}

function wordsOf({ untilMs, held }: Known, timeOf: (unixMs: number) => string): string {
  const notices = held === 1 ? '1 notice' : `${held} notices`;
  if (untilMs === null) return `quiet hours are over: ${notices} held back in them, to be told now`;
  const until = `quiet hours until ${timeOf(untilMs)}`;
  if (held === null) return `${until}: not known how many notices are held back`;
  if (held === 0) return `${until}: no notice is held back`;
  return `${until}: ${notices} ${held === 1 ? 'is' : 'are'} held back`;
}

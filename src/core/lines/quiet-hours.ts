export interface QuietHoursLine {
  /** When they end, Unix milliseconds; null: they are over, and the held notices are being delivered. */
  readonly untilMs: number | null;
  /** Distinct notices held back; null: unknown, because Redis does not answer. */
  readonly held: number | null;
  /** The same in one sentence. */
  readonly words: string;
}

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

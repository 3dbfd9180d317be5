/** What quiet hours do now. */
export interface QuietHoursNow {
  /** When they end, Unix milliseconds; null: they are over, and what they held back is being told. */
  readonly untilMs: number | null;
  /** Notices that wait, each once; null: not known, as Redis does not answer. */
  readonly held: number | null;
}

/** In one sentence, the same everywhere: `quiet hours until 2026-01-31 07:00 UTC: 3 notices are held back`. */
export function quietHoursWords({ untilMs, held }: QuietHoursNow): string {
  const notices = held === 1 ? '1 notice' : `${held} notices`;
  if (untilMs === null) return `quiet hours are over: ${notices} held back in them, to be told now`;
  const until = `quiet hours until ${new Date(untilMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  if (held === null) return `${until}: not known how many notices are held back`;
  if (held === 0) return `${until}: no notice is held back`;
  return `${until}: ${notices} ${held === 1 ? 'is' : 'are'} held back`;
}

import type { CompiledDigest } from '../../config/digest.ts';
import { MS_PER_MINUTE } from '../../core/quantities/units.ts';

type DigestTime = Pick<CompiledDigest, 'atMinute' | 'timeZone'>;

export interface DueDigest {
  /** Day and time of day in the config's time zone: `2026-01-31T08:00`. The same in every process. */
  readonly name: string;
  /** When it was due, Unix milliseconds; its period ends here. */
  readonly atMs: number;
}

const MINUTES_PER_DAY = 1_440;
const MOST_SKIPPED = 120;

/** The newest digest due at `nowMs`. One due in an hour that clocks skip is due after it. */
export function dueBy(nowMs: number, { atMinute, timeZone }: DigestTime): DueDigest {
  const minuteMs = Math.floor(nowMs / MS_PER_MINUTE) * MS_PER_MINUTE;
  const sinceMinutes = (localTime(minuteMs, timeZone).minute - atMinute + MINUTES_PER_DAY) % MINUTES_PER_DAY;
  const wallMs = minuteMs - sinceMinutes * MS_PER_MINUTE;
  // The clocks have gone forward since.
  const skipped = (atMinute - localTime(wallMs, timeZone).minute + MINUTES_PER_DAY) % MINUTES_PER_DAY;
  const atMs = skipped > MOST_SKIPPED ? wallMs : Math.min(minuteMs, wallMs + skipped * MS_PER_MINUTE);
  return { name: `${localTime(atMs, timeZone).day}T${clockWords(atMinute)}`, atMs };
}

function clockWords(minute: number): string {
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

function localTime(unixMs: number, timeZone: string): { readonly day: string; readonly minute: number } {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  const parts = new Map(format.formatToParts(unixMs).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return {
    day: `${part('year')}-${part('month')}-${part('day')}`,
    minute: Number(part('hour')) * 60 + Number(part('minute')),
  };
}

import { z } from 'zod';
import type { ActiveWindow } from '../../core/rules/rule.ts';
import { suggest } from '../../core/text/suggest.ts';
import { scalar } from '../shape/scalars.ts';
import { across, renamed } from '../shape/shape.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

/** Reads `mon-fri`, `sat,sun`, `daily` or a list of days as day numbers; 0 is Sunday. */
function days(): z.ZodType<readonly number[]> {
  return scalar({
    expected: 'days such as mon-fri, "sat,sun" or daily',
    read: (written) => {
      const parts = Array.isArray(written) ? (written as unknown[]) : [written];
      const found = new Set<number>();
      for (const part of parts) {
        if (typeof part !== 'string' || part.length > 100) return { ok: false };
        for (const piece of part.toLowerCase().split(',')) {
          const range = dayRange(piece.trim());
          if (range === undefined) return { ok: false };
          for (const day of range) found.add(day);
        }
      }
      return found.size === 0 ? { ok: false } : { ok: true, value: [...found].toSorted((a, b) => a - b) };
    },
    json: {
      type: ['string', 'array'],
      items: { enum: [...DAYS] },
      examples: ['mon-fri', 'sat,sun', 'daily'],
    },
  });
}

function dayRange(piece: string): readonly number[] | undefined {
  if (piece === 'daily') return [0, 1, 2, 3, 4, 5, 6];
  const [from, to, more] = piece.split('-').map((day) => DAYS.findIndex((name) => name === day));
  if (from === undefined || from === -1 || to === -1 || more !== undefined) return undefined;
  const last = to ?? from;
  const length = ((last - from + 7) % 7) + 1;
  return Array.from({ length }, (_, index) => (from + index) % 7);
}

/** Reads a time as minutes since midnight. */
export function timeOfDay(latest: string): z.ZodType<number> {
  return scalar({
    expected: `a time from 00:00 to ${latest}, in quotes`,
    read: (written) => {
      const match = typeof written === 'string' ? /^([01]?\d|2[0-4]):([0-5]\d)$/.exec(written) : null;
      const minute = match === null ? NaN : Number(match[1]) * 60 + Number(match[2]);
      return minute <= (latest === '24:00' ? 1440 : 1439) ? { ok: true, value: minute } : { ok: false };
    },
    json: { type: 'string', pattern: '^([01]?\\d|2[0-4]):[0-5]\\d$', examples: ['22:00'] },
  });
}

export function timeZone(): z.ZodType<string> {
  return scalar({
    expected: 'a time zone such as Europe/London or UTC',
    read: (written) => {
      if (typeof written !== 'string') return { ok: false };
      // Intl also accepts fixed offsets such as +01:00, which have no summer time.
      if (/^[A-Za-z]/.test(written) && isTimeZone(written)) return { ok: true, value: written };
      const hint = suggest(written, Intl.supportedValuesOf('timeZone'));
      return hint === undefined ? { ok: false } : { ok: false, hint };
    },
    json: { type: 'string', examples: ['Europe/London', 'UTC'] },
  });
}

/** Known valid names in lower case, as a cache: a look-up takes half a millisecond, and every rule may have one. */
const KNOWN_ZONES = new Set<string>();

function isTimeZone(text: string): boolean {
  const name = text.toLowerCase();
  if (KNOWN_ZONES.has(name)) return true;
  try {
    Intl.DateTimeFormat('en', { timeZone: text });
  } catch {
    return false;
  }
  KNOWN_ZONES.add(name);
  return true;
}

const windowKeys = z.strictObject({
  days: days().prefault('daily').describe('On which days the window begins.'),
  from: timeOfDay('23:59').describe('When it begins.'),
  to: timeOfDay('24:00').describe('When it ends; the next morning when that is earlier than `from`.'),
  tz: timeZone().prefault('UTC').describe('Time zone of both, summer time included.'),
});

export const activeWindowSchema: z.ZodType<ActiveWindow> = renamed(
  across(windowKeys, ({ from, to }) =>
    typeof from === 'number' && from === to
      ? { expected: 'from and to to differ', got: 'the same time twice' }
      : undefined,
  ),
  { from: 'fromMinute', to: 'toMinute', tz: 'timeZone' },
);

import { MS_PER_MINUTE } from '../quantities/units.ts';
import type { ActiveWindow } from './rule.ts';

/** Returns whether a time (Unix milliseconds) is inside the window. */
export type WindowJudge = (unixMs: number) => boolean;

const WEEKDAYS: readonly string[] = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const DAYS_PER_WEEK = 7;

interface LocalTime {
  readonly day: number;
  readonly minute: number;
}

/**
 * Compares local wall time: an hour repeated by daylight saving is in or out both times; a bound inside a skipped hour
 * takes effect after it. `from` equal to `to` means the whole day.
 */
export function compileActiveWindow(window: ActiveWindow): WindowJudge {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: window.timeZone,
    hourCycle: 'h23',
    weekday: 'short',
    hour: 'numeric',
    minute: 'numeric',
  });
  let lastMinute = Number.NaN;
  let lastVerdict = false;
  return (unixMs) => {
    const minute = Math.floor(unixMs / MS_PER_MINUTE);
    if (minute !== lastMinute) {
      lastVerdict = isInside(window, localTime(format, minute * MS_PER_MINUTE));
      lastMinute = minute;
    }
    return lastVerdict;
  };
}

function localTime(format: Intl.DateTimeFormat, unixMs: number): LocalTime {
  let day = 0;
  let minute = 0;
  for (const { type, value } of format.formatToParts(unixMs)) {
    if (type === 'weekday') day = WEEKDAYS.indexOf(value);
    else if (type === 'hour') minute += Number(value) * 60;
    else if (type === 'minute') minute += Number(value);
  }
  return { day, minute };
}

function isInside({ days, fromMinute, toMinute }: ActiveWindow, { day, minute }: LocalTime): boolean {
  if (fromMinute < toMinute) return days.includes(day) && minute >= fromMinute && minute < toMinute;
  const dayBefore = (day + DAYS_PER_WEEK - 1) % DAYS_PER_WEEK;
  return (days.includes(day) && minute >= fromMinute) || (days.includes(dayBefore) && minute < toMinute);
}

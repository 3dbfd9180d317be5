import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileActiveWindow } from '../../../src/core/rules/active-window.ts';
import type { ActiveWindow } from '../../../src/core/rules/rule.ts';

const WEEKDAYS = [1, 2, 3, 4, 5];
const ALL = [0, 1, 2, 3, 4, 5, 6];
const hours = (from: number, to: number, timeZone: string, days = ALL): ActiveWindow => ({
  days,
  fromMinute: from * 60,
  toMinute: to * 60,
  timeZone,
});

describe('active windows', () => {
  const night = hours(22, 6, 'Europe/London', WEEKDAYS);
  test.each([
    ['a minute before it opens', night, '2024-01-05T21:59:59Z', false],
    ['as it opens on a Friday', night, '2024-01-05T22:00:00Z', true],
    ['after midnight it is still the window of Friday', night, '2024-01-06T05:59:59Z', true],
    ['as it closes on Saturday morning', night, '2024-01-06T06:00:00Z', false],
    ['Saturday night', night, '2024-01-06T23:00:00Z', false],
    ['Monday before dawn is the window of Sunday', night, '2024-01-08T05:00:00Z', false],
    ['summer time moves it with the local clock', night, '2024-07-05T21:00:00Z', true],
    ['and so it closes earlier in UTC', night, '2024-07-06T05:00:00Z', false],
    // London, 31 March 2024: 01:00 becomes 02:00.
    [
      'a bound inside the skipped hour takes effect after it',
      hours(1.5, 4, 'Europe/London'),
      '2024-03-31T01:00:00Z',
      true,
    ],
    ['and not before it', hours(1.5, 4, 'Europe/London'), '2024-03-31T00:59:00Z', false],
    // London, 27 October 2024: 02:00 becomes 01:00 again.
    [
      'the repeated hour is inside the first time',
      hours(1, 2, 'Europe/London'),
      '2024-10-27T00:30:00Z',
      true,
    ],
    ['and the second time', hours(1, 2, 'Europe/London'), '2024-10-27T01:30:00Z', true],
    ['and it ends', hours(1, 2, 'Europe/London'), '2024-10-27T02:00:00Z', false],
    ['a zone of half hours', hours(9, 10, 'Asia/Kolkata'), '2024-01-05T03:30:00Z', true],
    ['equal bounds are the whole day', hours(8, 8, 'UTC', [1]), '2024-01-08T08:00:00Z', true],
    ['to the next morning', hours(8, 8, 'UTC', [1]), '2024-01-09T07:59:00Z', true],
    ['and no longer', hours(8, 8, 'UTC', [1]), '2024-01-09T08:00:00Z', false],
  ] as const)('%s', (_, window, time, inside) => {
    expect(compileActiveWindow(window)(Date.parse(time))).toBe(inside);
  });

  test('a window and its complement share out every minute', () => {
    const minute = fc.integer({ min: 0, max: 1_439 });
    const time = fc.integer({ min: Date.UTC(2023, 0, 1), max: Date.UTC(2025, 0, 1) });
    fc.assert(
      fc.property(
        minute,
        minute,
        time,
        fc.constantFrom('Europe/London', 'America/New_York', 'Australia/Lord_Howe'),
        (from, to, unixMs, timeZone) => {
          fc.pre(from !== to);
          const inside = compileActiveWindow({ days: ALL, fromMinute: from, toMinute: to, timeZone });
          const outside = compileActiveWindow({ days: ALL, fromMinute: to, toMinute: from, timeZone });
          expect(inside(unixMs)).toBe(!outside(unixMs));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('the order of the questions does not change the answers', () => {
    const judge = compileActiveWindow(night);
    const times = ['2024-01-05T22:00:00Z', '2024-01-06T06:00:00Z', '2024-01-05T22:00:00Z'].map((time) =>
      Date.parse(time),
    );
    expect(times.map((time) => judge(time))).toEqual([true, false, true]);
  });
});

import { expect, test } from 'vitest';
import { quietHoursLine } from '../../../src/core/lines/quiet-hours.ts';

test('shows until when, and how many notices wait, also if that is unknown or over', () => {
  const untilMs = Date.UTC(2026, 0, 31, 7);
  expect(
    [
      { untilMs, held: 3 },
      { untilMs, held: 1 },
      { untilMs, held: 0 },
      { untilMs, held: null },
      { untilMs: null, held: 2 },
    ].map((known) => quietHoursLine(known, () => '07:00 UTC')?.words),
  ).toEqual([
    'quiet hours until 07:00 UTC: 3 notices are held back',
    'quiet hours until 07:00 UTC: 1 notice is held back',
    'quiet hours until 07:00 UTC: no notice is held back',
    'quiet hours until 07:00 UTC: not known how many notices are held back',
    'quiet hours are over: 2 notices held back in them, to be told now',
  ]);
  for (const held of [0, null]) expect(quietHoursLine({ untilMs: null, held }, String)).toBeNull();
});

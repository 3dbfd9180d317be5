import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dueIn, timeApart } from '../../../src/pipeline/poll/due-in.ts';

const ticks = fc.integer({ min: 50, max: 1_000 });

test('an account is polled by the last tick that its risk allows', () => {
  fc.assert(
    fc.property(
      ticks,
      fc.integer({ min: 0, max: 60_000 }),
      fc.double({ min: 0, max: 0.4, noNaN: true }),
      (everyMs, wantedMs, took) => {
        const sinceTickMs = took * everyMs;
        const dueMs = sinceTickMs + dueIn(wantedMs, { everyMs }, sinceTickMs);
        // Ticks may be early or late by a fifth of their interval.
        for (const jitter of [-0.2, 0, 0.2]) {
          const taken = Math.ceil(dueMs / everyMs - jitter);
          const atMs = taken * everyMs;
          expect(atMs).toBeLessThanOrEqual(Math.max(wantedMs * 1 + 0.05 * everyMs, everyMs) + 1e-6);
          expect(atMs).toBeGreaterThan(Math.min(wantedMs, 60_000) - 1.01 * everyMs);
        }
      },
    ),
  );
});

test('an account that was polled late is not polled less often', () => {
  // Polled once per tick, by polls that take longer and longer.
  for (const sinceTickMs of [0, 100, 400, 900, 1_500]) {
    expect(dueIn(1_000, { everyMs: 1_000 }, sinceTickMs)).toBe(Math.max(0, 500 - sinceTickMs));
  }
});

test('few accounts of a bucket are spread over its share of the interval, many are polled at once', () => {
  expect(timeApart(1_000, 1)).toBe(15.625);
  expect(timeApart(1_000, 5)).toBe(3.125);
  expect(timeApart(1_000, 6)).toBe(0);
  expect(timeApart(1_000, 0)).toBeGreaterThan(0);
  fc.assert(
    fc.property(ticks, fc.nat({ max: 100 }), (everyMs, count) => {
      // The last poll begins before the next bucket's turn.
      expect(timeApart(everyMs, count) * (count - 1)).toBeLessThan(everyMs / 64);
    }),
  );
});

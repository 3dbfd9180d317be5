import { expect, test } from 'vitest';
import { elapsedSince } from '../../../src/core/rules/elapsed.ts';
import { at } from './fixtures.ts';

const last = { at: at(10_000), plannedMs: 5_000 };

test('within one process its monotonic clock counts, up to the longest step', () => {
  expect(elapsedSince(undefined, at(10_000), 60_000)).toEqual({ timerMs: 0, measuredMs: undefined });
  expect(elapsedSince(last, at(12_500), 60_000)).toEqual({ timerMs: 2_500, measuredMs: 2_500 });
  expect(elapsedSince(last, at(12_500, 'process-1', 90_000), 60_000)).toEqual({
    timerMs: 2_500,
    measuredMs: 2_500,
  });
  expect(elapsedSince(last, at(80_000), 60_000)).toEqual({ timerMs: 60_000, measuredMs: 70_000 });
  expect(elapsedSince(last, at(9_000), 60_000)).toEqual({ timerMs: 0, measuredMs: 0 });
});

test('after a restart the time that has passed counts, not the whole planned interval', () => {
  expect(elapsedSince(last, at(11_000, 'process-2'), 60_000)).toEqual({ timerMs: 1_000, measuredMs: 1_000 });
  expect(elapsedSince(last, at(14_000, 'process-2'), 60_000)).toEqual({ timerMs: 4_000, measuredMs: 4_000 });
});

test('after a restart at most the planned interval counts, and a clock jump counts as nothing', () => {
  expect(elapsedSince(last, at(25_000, 'process-2'), 60_000)).toEqual({ timerMs: 5_000, measuredMs: 15_000 });
  expect(elapsedSince(last, at(25_001, 'process-2'), 60_000)).toEqual({
    timerMs: 5_000,
    measuredMs: undefined,
  });
  expect(elapsedSince(last, at(9_999, 'process-2'), 60_000)).toEqual({ timerMs: 0, measuredMs: undefined });
  expect(elapsedSince(last, at(10_000, 'process-2'), 60_000)).toEqual({ timerMs: 0, measuredMs: 0 });
  expect(elapsedSince(last, at(25_000, 'process-2'), 3_000)).toEqual({ timerMs: 3_000, measuredMs: 15_000 });
});

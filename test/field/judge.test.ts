import { expect, test } from 'vitest';
import { gapOf } from './judge.ts';

/** The market is observed from 50 s on, and falls from 100 by 1 a second after 60 s. */
const baseline = {
  triggerAt: (_: string, atMs: number): number =>
    atMs < 50_000 ? Number.NaN : 100 - Math.max(0, atMs - 60_000) / 1_000,
};
const stop = { market: 'BTC_PERP', details: { activationPrice: '90' } };
const speed = 0.01;

test('the gap of a stop that stood before the breach counts from the breach on', () => {
  const gapMs = gapOf(stop, { placedMs: 10_000, breachMs: 61_000 }, { speed }, baseline);
  expect(gapMs).toBeCloseTo((9_000 * 100) / 99, 6);
});

test('an order sent after the breach has the gap at its placement', () => {
  const gapMs = gapOf(stop, { placedMs: 65_000, breachMs: 61_000 }, { speed }, baseline);
  expect(gapMs).toBeCloseTo((5_000 * 100) / 95, 6);
});

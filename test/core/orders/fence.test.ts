import { expect, test } from 'vitest';
import {
  fenceDurationMs,
  fenceEndMs,
  LIKELY_LIQUIDATION,
  liquidationIsLikely,
} from '../../../src/core/orders/fence.ts';
import { readPositionOf, settings } from '../lanes/fixtures.ts';

const doubt = { why: 'unknownOutcome', sinceMs: 1_000, sentAhead: [] } as const;

test.for([
  ['unique', 6_000, 5_700],
  ['window', 6_000, 5_700],
  // The next accepted request is the fence.
  ['increasing', 1_000, 700],
] as const)(
  'with %s nonces the fence lasts as long as a request may still arrive',
  ([nonceMode, endMs, durationMs]) => {
    const own = { ...settings, nonceMode, lateArrivalMs: 5_000, readLagMs: 700 };
    expect(fenceEndMs(doubt, own)).toBe(endMs);
    expect(fenceDurationMs(own)).toBe(durationMs);
  },
);

test('a position in liquidation is not waited for, even with a low fence risk', () => {
  expect(liquidationIsLikely(readPositionOf({ liquidationState: 'liquidation', fenceRisk: null }))).toBe(
    true,
  );
  expect(liquidationIsLikely(readPositionOf({ liquidationState: 'liquidation', fenceRisk: 0 }))).toBe(true);
});

test('otherwise the fence risk decides, from the bound on; an unknown one does not', () => {
  const of = (fenceRisk: number | null): boolean =>
    liquidationIsLikely(readPositionOf({ liquidationState: 'margin_call', fenceRisk }));
  expect(of(null)).toBe(false);
  expect(of(LIKELY_LIQUIDATION - 0.001)).toBe(false);
  expect(of(LIKELY_LIQUIDATION)).toBe(true);
});

import path from 'node:path';
import { expect, test } from 'vitest';
import { type Terms, transcriptOf } from './transcript.ts';

/**
 * Histories with two positions and several rules, at prices from a hundred-millionth to a million, on spot, margin and
 * perpetual markets: what the lane was shown, did and said, alarms and markets included, is kept in transcripts/. The
 * invariants say what must never be; these show in review what else a change of the lanes changes.
 * `npm test -- test/core/lanes/transcripts.test.ts --update` writes them anew.
 */

const MARKETS = [
  { market: 'BTC_PERP', price: 50_000 },
  { market: 'PEPE_PERP', price: 0.00001 },
  { market: 'ETH_USDT', price: 2_000 },
  { market: 'GOLD_PERP', price: 1_000_000 },
  { market: 'BTC_USDT_MARGIN', price: 30 },
] as const;

const CHANGES: readonly Terms['changed'][] = [
  {},
  { nonceMode: 'increasing', readLagMs: 500 },
  { cancel: 'never', overshoot: 'never' },
  { cancelCoversStops: false, readLagMs: 1_000 },
  { hedge: 'perLeg', largestReduction: 0.5 },
  { maxAttempts: 2, maxRenewals: 1, intentTtlMs: 20_000 },
  { nonceMode: 'window', maxOrderReadAgeMs: 300 },
];

const TERMS = Array.from({ length: 28 }, (_, index): Terms => {
  const changed = CHANGES[index % CHANGES.length] ?? {};
  return {
    seed: index + 1,
    ...(MARKETS[index % MARKETS.length] ?? MARKETS[0]),
    isHedged: index % 3 !== 2,
    changed,
  };
});

test.for(TERMS)('history $seed in $market', async (terms) => {
  const file = path.join(import.meta.dirname, 'transcripts', `${terms.seed}-${terms.market}.txt`);
  await expect(transcriptOf(terms)).toMatchFileSnapshot(file);
});

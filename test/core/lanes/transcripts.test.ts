import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Terms, transcriptOf } from './transcript.ts';

/**
 * Histories with two positions and several rules, at prices from a hundred-millionth to a million, on spot, margin and
 * perpetual markets. transcripts/ keeps what the lane was shown, did and recorded. The invariants state what must never
 * happen; the transcripts show in review what else a change of the lanes changes.
 * `npm test -- test/core/lanes/transcripts.test.ts --update` rewrites them.
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

function termsOf(seed: number): Terms {
  const changed = CHANGES[seed % CHANGES.length] ?? {};
  return { seed, ...(MARKETS[seed % MARKETS.length] ?? MARKETS[0]), isHedged: seed % 3 !== 2, changed };
}

const seedsFrom = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);

test.for(seedsFrom(1, 28))('history %i', async (seed) => {
  const terms = termsOf(seed);
  const file = path.join(import.meta.dirname, 'transcripts', `${seed}-${terms.market}.txt`);
  await expect(transcriptOf(terms)).toMatchFileSnapshot(file);
});

/** Rare events need more histories than anybody reads: of these only the hash is kept. */
test.for(seedsFrom(101, 100))('history %i, by its hash', (seed) => {
  const transcript = transcriptOf(termsOf(seed));
  expect(createHash('sha256').update(transcript).digest('hex').slice(0, 16)).toMatchSnapshot();
});

/** All prices, sizes and times are whole, so that compared values are often equal. */
test.for(seedsFrom(201, 60))('history %i in whole steps, by its hash', (seed) => {
  const transcript = transcriptOf({ ...termsOf(seed), isWhole: true });
  expect(createHash('sha256').update(transcript).digest('hex').slice(0, 16)).toMatchSnapshot();
});

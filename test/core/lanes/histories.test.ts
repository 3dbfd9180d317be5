import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FULL } from '../../support/slice.ts';
import { KINDS, type Move } from './model/moves.ts';
import { play } from './model/play.ts';
import type { Choices } from './model/setup.ts';
import type { Stats } from './model/tally.ts';

/**
 * Invariants 1, 3, 4, 5 and 7 over random histories, on the ledger of the model exchange. Runs FC_RUNS histories
 * (default 500; with FULL=1 10,000); the seed is FC_SEED (printed at the start of the run). FC_PATH, printed with a
 * failure, replays the shrunk history; FC_STATS prints what the histories exercised.
 */
const RUNS = Number(process.env['FC_RUNS'] ?? (FULL ? 10_000 : 500));
/** With fewer histories the shares mean too little. */
const RUNS_TO_JUDGE = 500;
/** Number of histories for which `LEAST_SHARES` are given. */
const RUNS_OF_SHARES = 10_000;
/** A history takes five milliseconds; a busy machine may be ten times slower. */
const TIMEOUT_MS = 300_000 * Math.max(1, RUNS / 5_000);
const path = process.env['FC_PATH'];

const choices: fc.Arbitrary<Choices> = fc.noBias(fc.array(fc.nat(47), { minLength: 27, maxLength: 27 }));
const moves: fc.Arbitrary<Move[]> = fc.noBias(
  fc.array(fc.tuple(fc.nat(KINDS - 1), fc.nat(63), fc.nat(63), fc.nat(63)), {
    minLength: 0,
    maxLength: 120,
    size: 'max',
  }),
);

/**
 * Share of the histories that has to exercise each thing at least, so that a generator that goes stale fails. Each lies
 * more than five standard deviations (at 10,000 histories) below the generator's share, so that no seed fails.
 */
const LEAST_SHARES: Readonly<Record<string, number>> = {
  'sent:place': 0.6,
  'sent:cancelAll': 0.5,
  'fill:reduce': 0.25,
  'fill:cover': 0.03,
  'event:doubt': 0.3,
  'event:doubtResolved': 0.6,
  'event:ambiguousMove': 0.08,
  'event:coverTriggered': 0.01,
  'event:filled': 0.08,
  'event:cancelRejected': 0.02,
  'event:adjusted': 0.01,
  'event:standingOrder': 0.05,
  'event:wouldPlace': 0.03,
  'event:readIgnored': 0.3,
  'event:intentReopened': 0.04,
  'end:reached:target': 0.1,
  'end:reached:positionGone': 0.1,
  'end:resolved:ruleResolved': 0.1,
  'end:superseded:laterStage': 0.1,
  'end:expired:ttl': 0.1,
  'end:expired:grown': 0.08,
  'end:expired:rebuilt': 0.04,
  'end:failed:hedged': 0.05,
  'end:failed:attempts': 0.02,
  'end:failed:renewals': 0.05,
  'end:failed:priorOrders': 0.06,
  'end:failed:marketNotConfigured': 0.05,
  operator: 0.3,
  accountWide: 0.3,
  blind: 0.2,
  reload: 0.2,
  unknown: 0.25,
  late: 0.15,
  pollMeanwhile: 0.3,
  crash: 0.5,
  newStore: 0.25,
  turns: 0.25,
  paused: 0.25,
  ownerActed: 0.3,
  rebuilt: 0.1,
  mimicked: 0.06,
  overshoot: 0.04,
  resend: 0.02,
  atRest: 0.12,
  'refused:36': 0.015,
  'refused:116': 0.005,
};

/** Five standard deviations (at RUNS histories) below the generator's share. */
function leastShare(share: number): number {
  const deviation = (runs: number, of: number): number => Math.sqrt((of * (1 - of)) / runs);
  const given = share + 5 * deviation(RUNS_OF_SHARES, share);
  return RUNS >= RUNS_OF_SHARES ? share : given - 5 * deviation(RUNS, given);
}

test(
  'no history of faults drives a position below its target, raises an exposure or starves an intent',
  () => {
    const stats: Stats = { counts: new Map() };
    fc.assert(
      fc.property(choices, moves, (chosen, played) => {
        play(chosen, played, stats);
      }),
      { numRuns: RUNS, ...(path === undefined ? {} : { path }) },
    );
    if (process.env['FC_STATS'] !== undefined) {
      const sorted = [...stats.counts].sort((a, b) => b[1] - a[1]);
      process.stdout.write(`${sorted.map(([what, count]) => `${what} ${count}`).join('\n')}\n`);
    }
    if (path !== undefined || RUNS < RUNS_TO_JUDGE) return;
    const tooRare = Object.entries(LEAST_SHARES)
      .map(([what, least]) => ({
        what,
        share: leastShare(least),
        got: (stats.counts.get(what) ?? 0) / RUNS,
      }))
      .filter(({ share, got }) => got < share);
    expect(tooRare).toEqual([]);
  },
  TIMEOUT_MS,
);

test('with increasing nonces a full close behind an unanswered cancel is not sent again without end', () => {
  const chosen = [0, 0, 0, 0, 29, 0, 0, 0, 0, 0, 13, 0, 29, 21, 0, 0, 0, 0, 0, 0, 33, 0, 0, 0, 0, 0, 0];
  const moves: readonly Move[] = [
    [50, 4, 0, 0],
    [46, 11, 0, 0],
    [56, 24, 0, 0],
    [46, 0, 43, 0],
    [0, 1, 0, 1],
  ];
  play(chosen, moves, { counts: new Map() });
});

test('an inverted order of a rule that has resolved stands beside an order of the operator, and takes more', () => {
  const chosen = [0, 0, 0, 0, 13, 0, 1, 0, 0, 0, 3, 0, 0, 0, 20, 3, 0, 0, 0, 29, 0, 0, 0, 0, 0, 0, 0];
  const moves: readonly Move[] = [
    [0, 0, 0, 0],
    [46, 55, 0, 0],
    [0, 26, 0, 0],
    [30, 19, 0, 0],
    [64, 0, 1, 0],
    [30, 35, 0, 0],
    [56, 0, 0, 0],
  ];
  play(chosen, moves, { counts: new Map() });
});

test('an order that the market had inverted stayed to close nearly all after another had done what was needed', () => {
  const chosen = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 13, 0, 20, 0, 0, 0, 21, 39, 29, 0, 0, 0, 0, 0, 0];
  const moves: readonly Move[] = [
    [0, 0, 0, 0],
    [30, 63, 0, 0],
  ];
  play(chosen, moves, { counts: new Map() });
});

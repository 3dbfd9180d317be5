import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Stats } from './model/history.ts';
import { type Choices, KINDS, type Move, play } from './model/play.ts';

const RUNS = Number(process.env['FC_RUNS'] ?? 10_000);
const seed = process.env['FC_SEED'] === undefined ? Date.now() : Number(process.env['FC_SEED']);
const path = process.env['FC_PATH'];

const choices: fc.Arbitrary<Choices> = fc.noBias(fc.array(fc.nat(47), { minLength: 21, maxLength: 21 }));
const moves: fc.Arbitrary<Move[]> = fc.noBias(
  fc.array(fc.tuple(fc.nat(KINDS - 1), fc.nat(63), fc.nat(63), fc.nat(63)), {
    minLength: 0,
    maxLength: 120,
    size: 'max',
  }),
);

test('no history of faults drives a position below its target, raises an exposure or starves an intent', () => {
  const stats: Stats = { counts: new Map() };
  process.stdout.write(`order set histories: FC_SEED=${seed}\n`);
  fc.assert(
    fc.property(choices, moves, (chosen, played) => {
      play(chosen, played, stats);
    }),
    { numRuns: RUNS, seed, ...(path === undefined ? {} : { path }) },
  );
  const sorted = [...stats.counts].sort((a, b) => b[1] - a[1]);
  if (process.env['FC_STATS'] !== undefined)
    process.stdout.write(`${sorted.map(([k, v]) => `${k} ${v}`).join('\n')}\n`);
  expect(stats.counts.get('histories')).toBe(RUNS);
}, 120_000);

import { describe, expect, test } from 'vitest';
import { sliceOf } from '../support/slice.ts';
import { CANDLES, freshFiles, measureFiles } from './files.ts';
import { BOUNDS, baseScore } from './measure.ts';

const FILES = freshFiles();
const why = FILES.length === 0 ? ` (skipped: no candles in ${CANDLES})` : '';
/** Where forecasts of 20 % are. */
const CALLED = BOUNDS.indexOf(0.15);

describe('forecasts against what happened in crashes that nothing was fitted to', () => {
  // Every two seconds as in an alarm, or every ten as in a calm: one of them in a run, both with FULL=1.
  test.skipIf(FILES.length === 0).each(sliceOf([2_000, 10_000], 2, 'intervals of looks'))(
    `looking every %i ms${why}`,
    { timeout: 120_000 },
    (everyMs) => {
      for (const [model, tallies] of measureFiles(FILES, everyMs)) {
        for (const [horizonMs, tally] of tallies) {
          if (horizonMs < everyMs) continue;
          const { count, happened } = tally.bins[CALLED] ?? expect.fail();
          const of = `${model} ${horizonMs} ms`;
          expect([of, count > 300]).toEqual([of, true]);
          expect([
            of,
            happened / count > 0.1 && happened / count < 0.4 ? 'calibrated' : happened / count,
          ]).toEqual([of, 'calibrated']);
          const score = tally.score / tally.asked;
          expect([of, score < tally.hourScore / tally.asked && score < baseScore(tally)]).toEqual([of, true]);
        }
      }
    },
  );
});

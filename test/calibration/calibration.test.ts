import { describe, expect, test } from 'vitest';
import { PATH_MODELS } from '../../src/simulator/prices/price-path.ts';
import { CANDLES } from '../support/candles.ts';
import { sliceOf } from '../support/slice.ts';
import { freshFiles, measureFiles } from './files.ts';
import { BOUNDS, baseScore } from './measure.ts';

const FILES = freshFiles();
const why = FILES.length === 0 ? ` (skipped: no candles in ${CANDLES})` : '';
/** Bin of the forecasts around 20 %. */
const CALLED = BOUNDS.indexOf(0.15);
/** Polls every two seconds (as in an alarm) or every ten (as in a calm) over candles walked in three ways. */
const WAYS = [2_000, 10_000].flatMap((everyMs) => PATH_MODELS.map((model) => ({ everyMs, model })));

describe('forecasts against real crashes that nothing was fitted to', () => {
  test.skipIf(FILES.length === 0).each(sliceOf(WAYS, 6, 'ways to look at crashes'))(
    `polling every $everyMs ms, $model${why}`,
    ({ everyMs, model }) => {
      for (const [horizonMs, tally] of measureFiles(FILES, everyMs, [model]).get(model) ?? expect.fail()) {
        if (horizonMs < everyMs) continue;
        const { count, happened } = tally.bins[CALLED] ?? expect.fail();
        const of = `${horizonMs} ms`;
        expect([of, count > 300]).toEqual([of, true]);
        expect([
          of,
          happened / count > 0.1 && happened / count < 0.4 ? 'calibrated' : happened / count,
        ]).toEqual([of, 'calibrated']);
        const score = tally.score / tally.asked;
        expect([of, score < tally.hourScore / tally.asked && score < baseScore(tally)]).toEqual([of, true]);
      }
    },
  );
});

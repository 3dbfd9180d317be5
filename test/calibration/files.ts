import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePrices, priceFaultText } from '../../src/simulator/prices/price-file.ts';
import { PATH_MODELS } from '../../src/simulator/prices/price-path.ts';
import { CANDLE_FILES, CANDLES } from '../support/candles.ts';
import { measure, newTallies, type Tallies } from './measure.ts';

/** The constants of forecasts were fitted to these; all figures are of the others. */
const FITTED: ReadonlySet<string> = new Set([
  '2020-03-12_BTCUSDT-PERP_1m.csv',
  '2021-05-19_ETHUSDT_1m.csv',
  '2022-11-08_BTCUSDT-PERP_5m.csv',
  '2025-10-10_BTCUSDT-PERP_5m.csv',
]);

/** Files that nothing was fitted to. */
export function freshFiles(): readonly string[] {
  return CANDLE_FILES.filter((file) => !FITTED.has(file));
}

export type Model = (typeof PATH_MODELS)[number];

/** Results of all forecasts, per model of how a candle was walked. */
export function measureFiles(
  files: readonly string[],
  sampleMs: number,
  models: readonly Model[] = PATH_MODELS,
): ReadonlyMap<Model, Tallies> {
  return new Map(
    models.map((model) => {
      const tallies = newTallies();
      for (const file of files) {
        const parsed = parsePrices(readFileSync(join(CANDLES, file), 'utf8'));
        if (!parsed.ok) throw new Error(priceFaultText(file, parsed.fault));
        measure({ series: parsed.series, model, seed: 1, sampleMs }, tallies);
      }
      return [model, tallies];
    }),
  );
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePrices, priceFaultText } from '../../src/simulator/prices/price-file.ts';
import { CANDLES } from '../support/candles.ts';
import type { PricedMarket } from './tune-windows.ts';

/** Price files of one time; windows are chosen by the first market. */
interface Crash {
  readonly id: string;
  readonly files: readonly (readonly [market: string, file: string])[];
}

/** Sets are tuned on some crashes and reported on the others: never on two files of one crash. */
const CRASHES: Readonly<Record<'fit' | 'report', readonly Crash[]>> = {
  fit: [
    { id: '2020-03 BTC', files: [['BTC_PERP', '2020-03-12_BTCUSDT-PERP_1m.csv']] },
    {
      id: '2021-05 BTC',
      files: [
        ['BTC_PERP', '2021-05-19_BTCUSDT_1m.csv'],
        ['ETH_PERP', '2021-05-19_ETHUSDT_1m.csv'],
      ],
    },
    {
      id: '2021-05 ETH',
      files: [
        ['ETH_PERP', '2021-05-19_ETHUSDT_1m.csv'],
        ['BTC_PERP', '2021-05-19_BTCUSDT_1m.csv'],
      ],
    },
  ],
  report: [
    {
      id: '2022-11 BTC',
      files: [
        ['BTC_PERP', '2022-11-08_BTCUSDT-PERP_5m.csv'],
        ['ETH_PERP', '2022-11-08_ETHUSDT-PERP_5m.csv'],
      ],
    },
    { id: '2025-10 BTC', files: [['BTC_PERP', '2025-10-10_BTCUSDT-PERP_1m.csv']] },
    {
      id: '2025-10 ETH',
      files: [
        ['ETH_PERP', '2025-10-10_ETHUSDT-PERP_5m.csv'],
        ['BTC_PERP', '2025-10-10_BTCUSDT-PERP_5m.csv'],
      ],
    },
  ],
};

export type Part = keyof typeof CRASHES;

export interface CrashPrices {
  readonly id: string;
  readonly markets: readonly PricedMarket[];
}

/** Crashes whose files are all present. */
export function crashPrices(part: Part): readonly CrashPrices[] {
  return CRASHES[part].flatMap(({ id, files }) => {
    if (!files.every(([, file]) => existsSync(join(CANDLES, file)))) return [];
    return [{ id, markets: files.map(([market, file]) => ({ market, series: seriesOf(file) })) }];
  });
}

function seriesOf(file: string): PricedMarket['series'] {
  const parsed = parsePrices(readFileSync(join(CANDLES, file), 'utf8'));
  if (!parsed.ok) throw new Error(priceFaultText(file, parsed.fault));
  return parsed.series;
}

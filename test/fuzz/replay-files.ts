import { stringify } from 'yaml';
import { readPositions } from '../../src/replay/positions/positions-file.ts';
import { readPriceFiles } from '../../src/replay/price-files.ts';
import { BASE, loaded } from '../config/support.ts';
import { boundsOf } from './long-texts.ts';
import { below, type Draw, mutatedJson, mutatedText, oneOf } from './mutate.ts';
import type { Boundary } from './target.ts';

const HEADS = ['timestamp_ms,open,high,low,close,volume', 'timestamp_ms,price,amount'];

/** A price file is read as replay and stress read it, or refused with a line and the expected input. */
export const PRICES: Boundary = {
  name: 'prices',
  open: async () => ({
    make(draw) {
      const isTrades = draw() < 0.3;
      const rows = Array.from({ length: below(draw, 200) }, (_, index) =>
        isTrades
          ? `${1_700_000_000_000 + index * 1_000},${60_000 + index},0.5`
          : `${1_700_000_000_000 + index * 60_000},60000,60010.5,59990,60005,12`,
      );
      const whole = [HEADS[isTrades ? 1 : 0], ...rows, ''].join('\n');
      const text = mutatedText(draw, whole, '0123456789.,-eE\n\r\t "\u0000x');
      return {
        text,
        run() {
          const read = readPriceFiles([{ market: 'BTC_PERP', file: 'p.csv', text }]);
          for (const line of read.kind === 'read' ? [] : read.problems) {
            if (!/^p\.csv(?::\d+)?: expected ./.test(line) || line.length > 1_000)
              throw new Error(`not a clear problem: ${line.slice(0, 500)}`);
          }
        },
      };
    },
    close: async () => undefined,
  }),
};

const POSITION = { market: 'BTC_PERP', side: 'long', amount: '0.500', entry: '60000' };
const LOAN = { asset: 'USDT', amount: '20000', collateralAsset: 'BTC', collateralAmount: '0.5' };
const PRINTED = {
  market: 'BTC_PERP',
  direction: 'long',
  sizeBase: '0.5',
  basePrice: '60000',
  markPrice: '59000',
  liquidationPrice: '54000',
};
const RECORD = {
  market: 'BTC_PERP',
  amount: '0.5',
  basePrice: '60000',
  liquidationPrice: '54000',
  unrealizedPnl: '-500',
  margin: '3000',
  freeMargin: '100',
  positionSide: { known: true, value: 'LONG' },
};
const SOURCE = { source: 'positions', readAtMs: 1, complete: true };
/** The own format, the output of `status --json`, and that of `call positions --json`. */
const HOLDINGS = [
  {
    accounts: [
      { id: 'desk-1', collateral: { USDT: '3000.50', BTC: '0.010' }, leverage: 20, positions: [POSITION] },
      { id: 'desk-2', hedgeMode: false, loans: [LOAN] },
    ],
  },
  {
    controls: [],
    accounts: [
      {
        accountId: 'desk-1',
        refused: null,
        judgedAtMs: 1,
        sources: [SOURCE],
        positions: [PRINTED],
        creditLines: [LOAN],
      },
    ],
  },
  { endpoint: 'positions', outcome: 'ok', complete: true, records: [RECORD] },
];
const ACCOUNTS = `accounts:
  - { id: desk-1, apiKey: { env: API_KEY }, apiSecret: { env: API_SECRET } }
  - { id: desk-2, apiKey: { env: API_KEY2 }, apiSecret: { env: API_SECRET } }
`;

/** Holdings of accounts are read, or each problem has a place and says what was expected. */
export const POSITIONS: Boundary = {
  name: 'positions',
  async open() {
    const env = { API_KEY: 'a-key-of-some-length', API_KEY2: 'another-key', API_SECRET: 'a-secret' };
    const { accounts: configured } = loaded(`${BASE}${ACCOUNTS}`, { env });
    return {
      make(draw) {
        const text = holdingsText(draw);
        return {
          text,
          ...boundsOf(text),
          run() {
            const read = readPositions({ file: 'book.yaml', text, configured, accountId: 'desk-1' });
            for (const { message, place } of read.kind === 'read' ? [] : read.problems) {
              if (!message.includes('expected') || place.line < 1 || message.length > 4_000)
                throw new Error(`not a clear problem at line ${place.line}: ${message.slice(0, 500)}`);
            }
          },
        };
      },
      close: async () => undefined,
    };
  },
};

function holdingsText(draw: Draw): string {
  const value = oneOf(draw, HOLDINGS);
  return draw() < 0.7
    ? mutatedJson(draw, value)
    : mutatedText(draw, stringify(value), '{}[]:,-&*!|>#"\n a1.');
}

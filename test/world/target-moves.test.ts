import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { CANDLE_FILES, CANDLES } from '../support/candles.ts';

/** A stop for everything and a reduction stand, and the target moves a little in a crash: by the exchange's ledger. */

const CANDLE_FILE = '2021-12-04_XRPUSDT_1m.csv';
const why = CANDLE_FILES.includes(CANDLE_FILE) ? '' : ` (skipped: no ${CANDLE_FILE} in ${CANDLES})`;
/** The position is of 04:40. */
const ENTRY = 0.8913;
const FIRST_MS = Date.UTC(2021, 11, 4, 4, 50);
const MINUTES = 17;
const MINUTE_MS = 60_000;
const REFUSED_MS = 2 * MINUTE_MS;
const SIZE = 33_640;

type Candle = readonly [openMs: number, open: string, high: string, low: string, close: string];

function candles(): readonly Candle[] {
  return readFileSync(path.join(CANDLES, CANDLE_FILE), 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.split(','))
    .map(([ms, open = '', high = '', low = '', close = '']): Candle => [Number(ms), open, high, low, close])
    .filter(([ms]) => ms >= FIRST_MS && ms < FIRST_MS + MINUTES * MINUTE_MS);
}

/** Since the start: the candle that crosses -5 %. */
function refusedFromMs(bars: readonly Candle[]): number {
  return (bars.find(([, , , low]) => Number(low) < 0.95 * ENTRY)?.[0] ?? FIRST_MS) - FIRST_MS;
}

/** Long at 10x; orders are refused for two minutes. */
function play(rules: string, highFirst: boolean): World {
  const bars = candles();
  const [[, start]] = bars as [Candle];
  const points = bars.flatMap(([ms, open, high, low, close]): (readonly [number, string])[] => [
    [ms - FIRST_MS, open],
    [ms - FIRST_MS + 20_000, highFirst ? high : low],
    [ms - FIRST_MS + 40_000, highFirst ? low : high],
    [ms - FIRST_MS + 59_000, close],
  ]);
  const refusedMs = refusedFromMs(bars);
  const effect = { kind: 'refusal', of: 'orders', status: 503, message: 'Overloaded.' } as const;
  return openWorld({
    seed: 11,
    durationMs: MINUTES * MINUTE_MS,
    exchange: {
      prices: { XRP_PERP: start },
      markets: {
        XRP_PERP: { priceStep: '0.0001', amountStep: '1', minAmount: '10', maintenanceMargin: '0.03' },
      },
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: (0.1 * SIZE * ENTRY).toFixed(2) },
          positions: [{ market: 'XRP_PERP', side: 'long', amount: String(SIZE), entry: String(ENTRY) }],
        },
      ],
    },
    prices: [{ market: 'XRP_PERP', points, tickMs: 1_000 }],
    faults: [{ atMs: refusedMs, untilMs: refusedMs + REFUSED_MS, fault: { effect } }],
    network: { toExchange: 750, toDaemon: 750 },
    daemons: [
      {
        name: 'north',
        config: `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 10s, alert: 1s }
markets:
  XRP_PERP: { amountStep: "1", priceStep: "0.0001", minAmount: "10", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${rules}] }
`,
      },
    ],
  });
}

describe.skipIf(why !== '')(`XRP on 2021-12-04, long at 10x${why}`, () => {
  test.each([true, false])('the stops stay while orders are refused (high first: %s)', async (highFirst) => {
    const world = play('last-resort', highFirst);
    await world.run();
    const { model } = world.exchange;
    const ledger = model.ledger({ accountId: 'desk-1' });
    const placed = ledger.filter(({ kind }) => kind === 'order_placed');
    expect(placed.length).toBeGreaterThan(1);
    const refusedMs = world.startMs + refusedFromMs(candles());
    expect(ledger.filter(({ kind }) => kind === 'liquidation_started')).toEqual([]);
    const cancelled = ledger.filter(({ kind }) => kind === 'order_cancelled');
    expect(cancelled.filter(({ atMs }) => atMs >= refusedMs && atMs <= refusedMs + REFUSED_MS)).toEqual([]);
    // It kept 36 % of the money when this was written.
    const { equity } = model.account('desk-1');
    expect(equity.toNumber()).toBeGreaterThan(0.3 * 0.1 * SIZE * ENTRY);
    expect(world.errors).toEqual([]);
  });
});

import { decimal, toNumber } from '../../../src/core/quantities/decimal.ts';
import type {
  AccountRecord,
  ReplayEvent,
  ReplayRecord,
  RunRecord,
  Track,
} from '../../../src/replay/record.ts';
import { CRASH_2025_10_10 } from '../../../src/replay/scenarios/crash-shapes.ts';
import { scenarioPrices } from '../../../src/replay/scenarios/scenario.ts';

/** A computed replay, without a run: a long of 1 BTC through the shape of October 2025. */

export const START_MS = Date.UTC(2025, 9, 10, 20, 30);
const START_PRICE = 117_000;
const MAINTENANCE = 0.03;

function course(market: string, shift = 0): Track {
  const source = scenarioPrices(
    { id: 'x', title: '', about: '', kind: 'history', majors: CRASH_2025_10_10 },
    { market, startMs: START_MS, startPrice: decimal(String(START_PRICE)), priceStep: decimal('0.1') },
  );
  const points: [number, number][] = [];
  for (let atMs = source.nextMs(); atMs !== undefined; atMs = source.nextMs()) {
    points.push([atMs, toNumber(source.take(decimal('1'))) + shift]);
  }
  return points;
}

interface Play {
  readonly id: string;
  readonly collateral: number;
  /** Distance below which half of the rest is closed; none for the unprotected. */
  readonly below?: number;
}

function play(prices: Track, { id, collateral, below }: Play): AccountRecord {
  let [size, cash, orders, fees, slippage] = [1, collateral - START_PRICE, 0, 0, 0];
  let liquidatedAtMs: number | null = null;
  let readyMs = 0;
  const tracks = {
    equity: [] as [number, number][],
    distance: [] as [number, number | null][],
    liquidation: [] as [number, number | null][],
    size: [[START_MS, 1]] as [number, number][],
  };
  const events: ReplayEvent[] = [];
  const spans: { fromMs: number; toMs: number; state: 'pending' | 'firing' }[] = [];
  for (const [atMs, value] of prices) {
    const price = value ?? 0;
    const barrier = size === 0 ? null : -cash / (size * (1 - MAINTENANCE));
    const distance = barrier === null ? null : (price - barrier) / price;
    if (distance !== null && distance <= 0) {
      events.push({
        atMs: atMs - 400,
        kind: 'margin-call',
        market: 'BTC_PERP',
        price: price * 1.002,
        words: 'Margin call.',
      });
      events.push({
        atMs,
        kind: 'liquidation',
        market: 'BTC_PERP',
        side: 'sell',
        price,
        amount: String(size),
        words: `Liquidated: ${size} BTC at ${price.toFixed(1)}.`,
      });
      cash += size * price * 0.99;
      size = 0;
      liquidatedAtMs = atMs;
      tracks.size.push([atMs, 0]);
    } else if (distance !== null && below !== undefined && distance < below && atMs > readyMs) {
      const amount = size / 2;
      const why = `liquidationDistance ${(100 * distance).toFixed(1)} % is below ${100 * below} %`;
      spans.push(
        { fromMs: atMs, toMs: atMs + 3_000, state: 'pending' },
        { fromMs: atMs + 3_000, toMs: atMs + 95_000, state: 'firing' },
      );
      events.push({
        atMs,
        kind: 'rule',
        words: 'Rule near-liquidation fires for long BTC_PERP.',
        reason: why,
      });
      events.push({
        atMs: atMs + 90,
        kind: 'order',
        market: 'BTC_PERP',
        side: 'sell',
        price: price * 0.999,
        amount: amount.toFixed(3),
        words: `Reduce-only stop to sell ${amount.toFixed(3)} at ${(price * 0.999).toFixed(1)}.`,
        reason: why,
      });
      if (orders === 0)
        events.push({
          atMs: atMs + 95,
          kind: 'refusal',
          market: 'BTC_PERP',
          price: price * 0.9985,
          words: 'Refused: 503 service unavailable.',
        });
      events.push({
        atMs: atMs + 700,
        kind: 'trigger',
        market: 'BTC_PERP',
        price: price * 0.999,
        words: 'The stop was triggered.',
      });
      events.push({
        atMs: atMs + 900,
        kind: 'fill',
        market: 'BTC_PERP',
        side: 'sell',
        price: price * 0.9985,
        amount: amount.toFixed(3),
        words: `Sold ${amount.toFixed(3)} at ${(price * 0.9985).toFixed(1)}.`,
      });
      events.push({
        atMs: atMs + 2_000,
        kind: 'cancel',
        market: 'BTC_PERP',
        price: price * 0.997,
        words: 'Cancelled what was left of the order.',
      });
      cash += amount * price * 0.9985;
      fees += amount * price * 0.00055;
      slippage += amount * price * 0.0015;
      size -= amount;
      orders += 1;
      readyMs = atMs + 90_000;
      tracks.size.push([atMs + 900, size]);
    }
    tracks.equity.push([atMs, cash + size * price]);
    tracks.distance.push([atMs, size === 0 ? null : distance]);
    tracks.liquidation.push([atMs, size === 0 ? null : barrier]);
  }
  return {
    id,
    money: 'USDT',
    equityStart: collateral,
    equityEnd: tracks.equity.at(-1)?.[1] ?? 0,
    equity: tracks.equity,
    liquidatedAtMs,
    closedFraction: liquidatedAtMs === null ? 1 - size : 0,
    orders,
    fees,
    slippage,
    breachToFillMs: events.filter(({ kind }) => kind === 'fill').map(() => 900),
    positions: [
      {
        market: 'BTC_PERP',
        side: 'long',
        distance: tracks.distance,
        liquidationPrice: tracks.liquidation,
        size: tracks.size,
      },
    ],
    bands:
      below === undefined
        ? []
        : [
            {
              ruleId: 'near-liquidation',
              subject: 'long BTC_PERP',
              words: `liquidationDistance below ${100 * below} %`,
              spans,
            },
          ],
    thresholds: below === undefined ? [] : [{ ruleId: 'near-liquidation', distance: below }],
    events: below === undefined ? events.filter(({ kind }) => kind !== 'rule') : events,
  };
}

export function exampleRecord(): ReplayRecord {
  const variants = [
    ['unprotected', undefined],
    ['config', 0.05],
    ['tighter.yaml', 0.02],
  ] as const;
  const runs = ['adverse', 'bridge'].flatMap((path, index) =>
    variants.map(([variant, below]): RunRecord => {
      const prices = course('BTC_PERP', index * 150);
      const withRule = below === undefined ? {} : { below };
      const accounts = [
        play(prices, { id: 'desk-1', collateral: 17_000, ...withRule }),
        play(prices, { id: 'desk-2', collateral: 40_000, ...withRule }),
      ];
      return { variant, path, prices: { BTC_PERP: prices }, accounts };
    }),
  );
  return {
    title: 'Replay of BTC_PERP, 10 October 2025',
    seed: 7,
    wallMs: 1234,
    fromMs: START_MS,
    toMs: START_MS + 120 * 60_000,
    notes: [
      'Requests took 100 ms each way.',
      'prices.csv has one gap of 3 min at 2025-10-10 21:05 UTC; the price stands still in it.',
    ],
    runs,
  };
}

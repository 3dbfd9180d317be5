import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { PriceSpec } from '../../src/world/spec.ts';

const configOf = (rule: string, accounts = ''): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [called], cadence: { calm: 1s, alert: 500ms }${accounts} }
rules:
  - id: called
    on: position
    ${rule}
`;
const CALLED = `when: { liquidationState: { in: [margin_call, liquidation, unrecognised] } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]`;

/** The exchange calls at 56,545 and liquidates at 55,670. Each dip begins and ends above the first. */
function dips(...dips: readonly (readonly [atMs: number, lowest: number, jump?: number])[]): PriceSpec {
  const points: [number, string][] = [[0, '60000']];
  for (const [atMs, lowest, jump] of dips) {
    points.push(
      [atMs, '56700'],
      ...(jump === undefined ? [] : [[atMs + 250, String(jump)] as [number, string]]),
    );
    points.push([atMs + 3_500, String(lowest)], [atMs + 4_000, '56700']);
  }
  return { market: 'BTC_USDT', points, tickMs: 250 };
}

const FLAPS = Array.from({ length: 6 }, (_, index) => [20_000 + index * 6_000, 56_250] as const);

function play(config: string, price: PriceSpec, durationMs: number): World {
  return openWorld({
    seed: 3,
    durationMs,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '4500' },
          leverage: 10,
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
        },
      ],
      depth: '5',
      // A reduction then moves no liquidation price: the position stays at the threshold.
      readings: { marginModel: 'isolated' },
    },
    prices: [price],
    daemons: [{ name: 'north', config }],
    network: { toExchange: 50, toDaemon: 50 },
  });
}

const sizeOf = (world: World): number =>
  world.exchange.model.openPositions('desk-1')[0]?.amount.toNumber() ?? 0;

/** The last one is worth a little less than half: once more the smallest amount goes, and nothing after it. */
const TARGETS = [
  ['by: 50%', 0.25],
  ['to: 50%', 0.25],
  ['toNotional: "14100"', 0.249],
] as const;

test.each(TARGETS)(
  'margin call, none, margin call at the threshold: `%s` reduces once',
  async (target, left) => {
    const world = play(configOf(CALLED.replace('by: 50%', target)), dips(...FLAPS), 60_000);
    await world.run();
    expect(world.errors).toEqual([]);
    expect(sizeOf(world)).toBe(left);
  },
);

test('a condition on the size that flaps at its threshold halves once', async () => {
  const rule = 'when: { notional: { above: 14960 } }\n    do: [{ reduce: { by: 50%, slippage: 1% } }]';
  const flaps = FLAPS.flatMap(([atMs]): [number, string][] => [
    [atMs, '60000'],
    [atMs + 3_000, '59700'],
  ]);
  const price = { market: 'BTC_USDT', points: [[0, '60000'], ...flaps] as const, tickMs: 250 };
  const world = play(configOf(rule), price, 60_000);
  await world.run();
  expect(sizeOf(world)).toBe(0.25);
});

test('a margin call half way to the liquidation price of the first one is another: halved again', async () => {
  const world = play(configOf(CALLED), dips([20_000, 56_250], [26_000, 55_900, 56_050]), 40_000);
  await world.run();
  expect(sizeOf(world)).toBe(0.125);
});

test('a margin call more than ten minutes after the end of the first one is another: halved again', async () => {
  const world = play(configOf(CALLED), dips([20_000, 56_250], [640_000, 56_250]), 660_000);
  await world.run();
  expect(sizeOf(world)).toBe(0.125);
});

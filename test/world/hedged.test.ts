import { expect, test } from 'vitest';
import { toNumber } from '../../src/core/quantities/decimal.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { CONTENDED_GRACE_MS } from './contended-world.ts';
import { playJudged } from './invariants.ts';
import { randomWorld } from './random-world.ts';

const START = 60_000;
const CALM_MS = 20_000;
const FALL_MS = 60_000;

type MarginModel = 'cross' | 'isolated';

const config = (rules: string, cancelCoversStops: boolean): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], cancelCoversStops: ${cancelCoversStops} }
acting: { cancel: always }
markets: { BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, money: USDT } }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${rules}] }
rules:
  - id: close
    on: position
    when: { liquidationDistance: { below: 4%, clearAbove: 6% } }
    do: [{ reduce: { to: 0%, slippage: 2% } }]
  - id: ladder
    on: position
    when: { liquidationDistance: { below: 20% } }
    do: [{ protect: { ladder: [{ at: 50%, close: 50% }, { at: 85%, close: rest }], slippage: 5% } }]
`;

interface Hedge {
  readonly marginModel: MarginModel;
  readonly short: string;
  readonly collateral: string;
  readonly rules?: string;
  readonly cancelCoversStops?: boolean;
}

/** A long of 0.5 and a smaller short; prices fall by 18 % within a minute. */
function sceneOf({ marginModel, short, collateral, rules, cancelCoversStops = true }: Hedge): WorldSpec {
  const daemons = rules === undefined ? [] : [{ name: 'north', config: config(rules, cancelCoversStops) }];
  return {
    seed: 5,
    durationMs: CALM_MS + FALL_MS + 30_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: collateral },
          leverage: 10,
          hedgeMode: true,
          positions: [
            { market: 'BTC_PERP', side: 'long', amount: '0.5' },
            { market: 'BTC_PERP', side: 'short', amount: short },
          ],
        },
      ],
      readings: { marginModel, cancelCoversStops: cancelCoversStops ? 'yes' : 'no' },
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, String(START)],
          [CALM_MS, String(START)],
          [CALM_MS + FALL_MS, String(START * 0.82)],
        ],
        tickMs: 100,
      },
    ],
    daemons,
  };
}

function outcomeOf({ exchange }: World) {
  const liquidations = exchange.model.ledger({ kinds: ['liquidation_started'], accountId: 'desk-1' });
  const sides = exchange.model
    .openPositions('desk-1')
    .map(({ direction, amount }) => [direction, toNumber(amount)] as const);
  return { liquidations: liquidations.length, ...Object.fromEntries(sides) } as {
    readonly liquidations: number;
    readonly long?: number;
    readonly short?: number;
  };
}

const SMALL_SHORT = '0.167';
/** The margins of both sides fit, and the pool is exhausted within the fall. */
const POOL = '4200';
const MARGINS = '4500';

test.each([true, false])(
  'a daemon that just started acts in a hedged market (cancels cover stops: %s)',
  async (cancelCoversStops) => {
    const scene = { marginModel: 'cross', short: SMALL_SHORT, collateral: POOL, cancelCoversStops } as const;
    const alone = openWorld(sceneOf(scene));
    await alone.run();
    expect(outcomeOf(alone).liquidations).toBeGreaterThan(0);
    const world = openWorld(sceneOf({ ...scene, rules: 'balanced' }));
    await world.run();
    const { liquidations, long = 0, short = 0 } = outcomeOf(world);
    expect([liquidations, short]).toEqual([0, 0.167]);
    expect(long).toBeLessThan(0.5);
    // An order that no cancel reaches may take it past flat, but never above the initial exposure.
    expect(long - short).toBeGreaterThanOrEqual(cancelCoversStops ? 0 : -0.333);
  },
);

test('a hedged side with isolated margin is reduced beyond the net exposure, and not liquidated', async () => {
  const scene = { marginModel: 'isolated', short: SMALL_SHORT, collateral: MARGINS } as const;
  const alone = openWorld(sceneOf(scene));
  await alone.run();
  expect(outcomeOf(alone).liquidations).toBeGreaterThan(0);
  const world = openWorld(sceneOf({ ...scene, rules: 'close' }));
  await world.run();
  expect(outcomeOf(world)).toEqual({ liquidations: 0, short: 0.167 });
});

test('a ladder closes a hedged side with isolated margin completely', async () => {
  const scene = { marginModel: 'isolated', short: SMALL_SHORT, collateral: MARGINS } as const;
  const world = openWorld(sceneOf({ ...scene, rules: 'ladder' }));
  await world.run(CALM_MS);
  const stops = world.exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' });
  expect(stops.map(({ side, amount }) => [side, Number(amount)])).toEqual([['sell', 0.5]]);
  await world.run();
  expect(outcomeOf(world)).toEqual({ liquidations: 0, short: 0.167 });
});

test('a side that a bad record hid: the other seemed to have its own margin, and its stop exceeded the net', async () => {
  const { world, violations } = await playJudged(
    { ...randomWorld(10_008), durationMs: 250_000 },
    { graceMs: CONTENDED_GRACE_MS },
  );
  expect(violations).toEqual([]);
  const log = world.exchange.log.list({});
  expect(log.filter(({ faults }) => faults.includes('badRecord'))).not.toEqual([]);
  const stops = world.exchange.model.ledger({ kinds: ['order_placed'] });
  const sold = stops.filter(({ market, side }) => market === 'BTC_PERP' && side === 'sell');
  // Net of 0.396 and 0.1.
  expect([...new Set(sold.map(({ amount }) => amount))]).toEqual(['0.296']);
});

import { expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** Orders that a market has left behind: by the exchange's ledger. */

const MARKET = 'BTC_USDT';

function play(
  rules: string,
  prices: readonly (readonly [number, string])[],
  more: readonly TimedEvent[] = [],
): World {
  return openWorld({
    seed: 11,
    durationMs: 400_000,
    exchange: { accounts: [longAccount('3999.9745')] },
    daemons: [
      {
        name: 'north',
        config: `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 10s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${rules}] }
`,
      },
    ],
    events: [
      ...prices.map(([atMs, price]): TimedEvent => ({ atMs, kind: 'setPrice', market: MARKET, price })),
      ...more,
    ],
  });
}

const placed = ({ exchange }: World): readonly LedgerEntry[] =>
  exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' });

const activationOf = ({ details = {} }: LedgerEntry): number => Number(details['activationPrice']);

test('a market that has recovered while an order waits: nothing is re-priced towards it', async () => {
  for (const waitMs of [5_000, 40_000, 100_000]) {
    const world = play('balanced', [
      [30_000, '55600'],
      [30_000 + waitMs, '60000'],
    ]);
    await world.run(29_000);
    const before = placed(world).length;
    await world.run();
    const since = placed(world).slice(before);
    expect(since.length).toBeGreaterThan(0);
    // What is placed once the market is back lies far below it.
    const after = since.filter(({ atMs }) => atMs - world.startMs > 30_000 + waitMs);
    expect(after.filter((order) => activationOf(order) > 56_500).map(activationOf)).toEqual([]);
    const [position] = world.exchange.model.openPositions('desk-1');
    expect(position?.amount.toString()).toBe('0.5');
    expect(world.errors).toEqual([]);
  }
});

test('where cancels are refused and mark and last price differ, no more is closed than the target and one order', async () => {
  for (const ratio of ['0.005', '-0.005']) {
    const world = openWorld({
      seed: 11,
      durationMs: 300_000,
      exchange: {
        accounts: [longAccount('3999.9745')],
        readings: { wrongSideActivation: 'opposite' },
      },
      daemons: play('balanced', []).spec.daemons,
      prices: [
        {
          market: MARKET,
          points: falling(60_000, Number(ratio) > 0 ? 54_800 : 55_000, 30_000, 0.001),
          tickMs: 250,
        },
      ],
      faults: [{ atMs: 0, fault: { effect: { kind: 'refusal', of: 'cancels' } } }],
      events: [{ atMs: 0, kind: 'condition', condition: { kind: 'basis', market: 'BTC_PERP', ratio } }],
    });
    await world.run();
    const { model } = world.exchange;
    expect(model.ledger({ kinds: ['liquidation_started'], accountId: 'desk-1' })).toEqual([]);
    const [position] = model.openPositions('desk-1');
    const closed = 0.5 - (position?.amount.toNumber() ?? 0);
    // From 4 % to 30 % takes 79 %.
    expect(closed).toBeGreaterThan(0.3);
    expect(closed).toBeLessThan(0.42);
  }
});

function falling(from: number, to: number, startMs: number, perSecond: number): [number, string][] {
  const endMs = startMs + (1_000 * (from - to)) / (from * perSecond);
  return [
    [0, String(from)],
    [startMs, String(from)],
    [endMs, String(to)],
    [300_000, String(to)],
  ];
}

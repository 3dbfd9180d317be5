import { describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';

/** A rule of which two configs differ in something else than its condition and target; by the exchange's ledger. */

const configOf = (rule: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [half], cadence: { calm: 1s, alert: 500ms } }
rules:
  - id: half
    on: position
    when: { notional: { above: 2000 } }
${rule}
`;
const HALF = '    do: [{ reduce: { by: 50%, slippage: 2% } }]';
const OTHERS = {
  slippage: '    do: [{ reduce: { by: 50%, slippage: 3% } }]',
  'an escalation': `${HALF}
    escalate: [{ after: 10m, do: [{ reduce: { to: 0% } }] }]`,
  limits: `${HALF}
    limits: { perHour: 6 }`,
  'a notice': '    do: [{ reduce: { by: 50%, slippage: 2% } }, { notify: {} }]',
  keepFiringFor: `    keepFiringFor: 10s\n${HALF}`,
  severity: `${HALF}\n    severity: critical`,
  where: `    where: { market: BTC_* }\n${HALF}`,
  mode: `${HALF}\n    mode: observe`,
  target: '    do: [{ reduce: { by: 45%, slippage: 2% } }]',
};

/** These begin a new episode; the size at firing stays. */
const RESTARTS = new Set(['target', 'mode']);

function play(configs: readonly string[], events: readonly TimedEvent[] = []): World {
  return openWorld({
    seed: 5,
    durationMs: 45_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '20000' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
        },
      ],
      depth: '5',
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: Array.from({ length: 44 }, (_, second) => [
          second * 1_000,
          String(60_000 * (second % 2 === 0 ? 1.0015 : 0.9985)),
        ]),
        tickMs: 250,
      },
    ],
    daemons: configs.map((config, index) => ({ name: index === 0 ? 'north' : 'south', config })),
    events,
    network: { toExchange: 50, toDaemon: 50 },
  });
}

const sizeOf = ({ exchange }: World): number =>
  exchange.model.openPositions('desk-1')[0]?.amount.toNumber() ?? 0;

const episodesOf = async ({ store }: World): Promise<number> => {
  const { load } = await store.read('desk-1');
  return load.kind === 'loaded' ? (load.account.documents.evaluation?.nextEpisode ?? 0) - 1 : 0;
};

describe.each(Object.entries(OTHERS))('configs that differ by %s', (name, other) => {
  test('on two hosts that poll in turn: half is closed, once', async () => {
    const world = play([configOf(HALF), configOf(other)]);
    await world.run();
    expect(world.errors).toEqual([]);
    expect(sizeOf(world)).toBe(0.25);
    if (!RESTARTS.has(name)) expect(await episodesOf(world)).toBe(1);
  });

  test('by an edit in the middle of an episode: half is closed, once', async () => {
    const reload: TimedEvent = { atMs: 20_000, kind: 'reload', daemon: 'north', config: configOf(other) };
    const world = play([configOf(HALF)], [reload]);
    await world.run();
    expect(sizeOf(world)).toBe(0.25);
    if (!RESTARTS.has(name)) expect(await episodesOf(world)).toBe(1);
  });
});

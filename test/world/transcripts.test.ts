import path from 'node:path';
import { expect, test } from 'vitest';
import { contentWords } from '../../src/core/view/record-words.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { randomWorld } from './random-world.ts';

/**
 * Some worlds with several accounts, markets and rules: the audit, the exchange's ledger and the notices, kept in
 * transcripts/. `npm test -- test/world/transcripts.test.ts --update` rewrites them.
 */

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 5s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, takerFee: 0.05% }
  ETH_PERP: { amountStep: "0.01", priceStep: "0.01", minAmount: "0.01", maintenanceMargin: 3% }
accounts:
  - id: desk-1
    apiKey: { env: KEY }
    apiSecret: { env: SECRET }
    rules: [joint, stop, half, free]
    watch: { positions: true, mainBalance: [USDT], transfers: true, spotOrders: true }
  - id: desk-2
    apiKey: { env: KEY2 }
    apiSecret: { env: SECRET2 }
    mode: observe
    rules: [stop, half, flat]
    watch: { positions: true, creditLine: true, mainBalance: [USDT] }
  - { id: desk-3, apiKey: { env: KEY3 }, apiSecret: { env: SECRET3 }, rules: [used, flat, stop] }
rules:
  - id: joint
    on: account
    when: { jointDistance: { below: 7% } }
    do: [{ reduce: { until: { jointDistance: 9% }, slippage: 1%, positions: "*" } }]
  - id: stop
    on: position
    when: { liquidationDistance: { below: 40% } }
    do: [{ protect: { ladder: [{ at: 50%, close: 50% }, { at: 75%, close: rest }], slippage: 2% } }]
  - id: half
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 6% } }
    for: 2s
    do:
      - notify: {}
      - cancelAll: { types: [margin, futures], scope: market }
      - reduce: { by: 50%, slippage: [0.5%, 2%] }
    escalate: [{ after: 6s, do: [{ reduce: { to: 0%, slippage: 3% } }] }]
    limits: { cooldown: 30s, perHour: 2 }
    severity: critical
  - id: flat
    on: position
    when: { liquidationDistance: { below: 3% } }
    do: [{ reduce: { to: 0%, slippage: 3% } }]
  - id: used
    on: account
    when: { marginUsage: { asset: USDT, above: 55% } }
    do: [{ reduce: { until: { marginUsage: 45%, asset: USDT }, slippage: 1%, positions: "*" } }]
  - id: free
    on: account
    when: { mainBalance: { asset: USDT, below: "1000" } }
    do: [{ cancelAll: { types: [spot], scope: account } }, { notify: {} }]
`;

const FALL = [
  [0, '60000'],
  [20_000, '59800'],
  [40_000, '57000'],
  [60_000, '55500'],
  [80_000, '56200'],
  [110_000, '53500'],
  [140_000, '55000'],
] as const;

const WIDE: WorldSpec = {
  seed: 3,
  durationMs: 150_000,
  exchange: {
    depth: '0.3',
    accounts: [
      {
        id: 'desk-1',
        collateral: { USDT: '5200' },
        main: { USDT: '800' },
        positions: [
          { market: 'BTC_PERP', side: 'long', amount: '0.500' },
          { market: 'ETH_PERP', side: 'long', amount: '4.00' },
        ],
      },
      {
        id: 'desk-2',
        collateral: { USDT: '4300' },
        main: { USDT: '100' },
        hedgeMode: true,
        positions: [
          { market: 'BTC_PERP', side: 'long', amount: '0.600' },
          { market: 'BTC_PERP', side: 'short', amount: '0.100' },
        ],
      },
      {
        id: 'desk-3',
        collateral: { USDT: '4800' },
        hedgeMode: true,
        positions: [
          { market: 'BTC_PERP', side: 'long', amount: '0.450' },
          { market: 'ETH_PERP', side: 'short', amount: '3.00' },
        ],
      },
    ],
  },
  prices: [{ market: 'BTC_USDT', points: FALL, tickMs: 500 }],
  daemons: [{ name: 'north', config: CONFIG }],
  network: { toExchange: 20, toDaemon: { minMs: 5, maxMs: 60 } },
  faults: [
    { atMs: 38_000, untilMs: 50_000, fault: { effect: { kind: 'lostReply' }, probability: 0.3 } },
    { atMs: 60_000, untilMs: 70_000, fault: { effect: { kind: 'status', status: 429 }, probability: 0.4 } },
    { atMs: 100_000, untilMs: 112_000, fault: { effect: { kind: 'stale', ageMs: 800 }, probability: 0.5 } },
  ],
  events: [
    {
      atMs: 30_000,
      kind: 'reduce',
      account: 'desk-3',
      markets: ['ETH_PERP'],
      target: { kind: 'by', fraction: 0.2 },
      slippage: 0.01,
    },
    { atMs: 72_000, kind: 'pause', account: 'desk-1' },
    { atMs: 76_000, kind: 'unpause', account: 'desk-1' },
    { atMs: 90_000, kind: 'trade', account: 'desk-3', market: 'BTC_PERP', side: 'buy', amount: '0.050' },
    { atMs: 120_000, kind: 'kill', daemon: 'north' },
    { atMs: 124_000, kind: 'start', daemon: 'north' },
  ],
};

const WORLDS: readonly (readonly [string, WorldSpec])[] = [
  ['wide', WIDE],
  ...[2, 5].map((seed) => [`random-${seed}`, randomWorld(seed, { durationMs: 120_000 })] as const),
];

test.for(WORLDS)('world %s', async ([name, spec]) => {
  const told: string[] = [];
  const world = openWorld(spec, {
    observe: (daemon) => ({
      emit(event) {
        if (event.kind !== 'notice') return;
        const { kind, subject, ruleId, severity, words } = event.notice;
        told.push(`${daemon} tells ${kind} ${severity} ${ruleId} ${subject}: ${words}`);
      },
    }),
  });
  await world.run();
  const lines = [...told, ...(await recordsOf(world)), ...entriesOf(world), ...world.errors.map(String)];
  const file = path.join(import.meta.dirname, 'transcripts', `${name}.txt`);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

async function recordsOf({ audit, exchange, startMs }: World): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { id } of exchange.accounts.list()) {
    for (const { record } of await audit.read(id, { limit: 2_000 })) {
      const { content } = record;
      const event = content.kind === 'action' ? content.event : undefined;
      const parts = event && [
        event.market,
        event.positionId,
        event.kind,
        event.reason,
        event.alarm ? 'ALARM' : '',
      ];
      const at = record.atMs - startMs;
      lines.push(`${id} ${at} ${(parts ?? []).filter(Boolean).join(' ')}: ${contentWords(content)}`);
    }
  }
  return lines;
}

function entriesOf({ exchange, startMs }: World): readonly string[] {
  return exchange.model
    .ledger({ kinds: ['order_placed', 'order_cancelled', 'fill', 'liquidation'] })
    .map(({ atMs, kind, accountId, market, side, amount, price, reason }) =>
      [atMs - startMs, kind, accountId, market, side, amount, price, reason]
        .filter((part) => part !== undefined)
        .join(' '),
    );
}

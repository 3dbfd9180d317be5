import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { LatencySpec } from '../../src/world/chance.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';

export const ACCOUNT = 'desk';
export const SIZE_BASE = '0.5';
export const TARGET_BASE = 0.25;

const BREACH_AT_MS = 8_000;
const DURATION_MS = 60_000;
const NAMES = ['north', 'south', 'east'];

/**
 * Two or three daemons lose their shared store, each by itself or all at once. The price falls below the threshold of a
 * rule that halves the position, and stays below: that is one episode, whichever daemons know of it.
 */
export function partedWorld(seed: number): WorldSpec {
  const random = createRandom(seed * 7_919 + 13);
  const names = NAMES.slice(0, 2 + random.below(2));
  // Several seconds may pass until each of them has polled the account once.
  const cadence = pick(random, ['calm: 500ms, alert: 150ms', 'calm: 4s, alert: 1s']);
  const latency = (): LatencySpec =>
    pick(random, [20, { minMs: 5, maxMs: 80 }, { medianMs: 60, sigma: 1, maxMs: 1_900 }] as const);
  return {
    seed,
    durationMs: DURATION_MS,
    exchange: {
      accounts: [
        {
          id: ACCOUNT,
          collateral: { USDT: '12000' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: SIZE_BASE }],
        },
      ],
      prices: { BTC_USDT: '60000' },
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [2_000, '60000'],
          [BREACH_AT_MS, '58500'],
          [BREACH_AT_MS + 100, '58499'],
          [DURATION_MS, '56200'],
        ],
        tickMs: 100,
      },
    ],
    daemons: names.map((name) => ({
      name,
      config: configOf(cadence),
      clock: { skewMs: between(random, -300, 300), driftPpm: between(random, -50, 50) },
    })),
    network: {
      toExchange: latency(),
      toDaemon: latency(),
      store: pick(random, [0, 0.4, { minMs: 0.3, maxMs: 12 }, { minMs: 1, maxMs: 150 }]),
    },
    events: [...storeEvents(random), ...linkEvents(random, names)].sort((a, b) => a.atMs - b.atMs),
  };
}

const configOf = (cadence: string): string => `mode: enforce
exchange:
  baseUrls: ["https://one.example"]
  nonce: window
  lateArrival: 2000ms
  timeouts: { attempt: 1s, call: 2s }
cadence: { ${cadence} }
acting: { fillWithin: 1500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: ${ACCOUNT}, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [half] }
rules:
  - id: half
    on: position
    when: { markPrice: { below: 58500 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** Lost for all: the first time mostly before some daemons know the account, or around the breach. */
function storeEvents(random: SeededRandom): readonly TimedEvent[] {
  const events: TimedEvent[] = [];
  let atMs = pick(random, [between(random, 300, 3_000), between(random, 2_000, 14_000)]);
  for (let left = 1 + random.below(3); left > 0; left--) {
    const untilMs =
      atMs +
      pick(random, [
        between(random, 300, 900),
        between(random, 1_500, 6_000),
        between(random, 5_000, 20_000),
      ]);
    events.push({ atMs, kind: 'store', state: 'down' }, { atMs: untilMs, kind: 'store', state: 'up' });
    atMs = untilMs + pick(random, [between(random, 100, 4_000), between(random, 3_000, 15_000)]);
  }
  return events;
}

/** Lost for one, for a moment or a few seconds; the exchange may be lost too, and a process may be suspended. */
function linkEvents(random: SeededRandom, names: readonly string[]): readonly TimedEvent[] {
  const many = (most: number): readonly number[] =>
    Array.from({ length: random.below(most + 1) }, (_, at) => at);
  const cutOff = (to: 'store' | 'exchange', lastsMs: number): readonly TimedEvent[] => {
    const [atMs, daemon] = [between(random, 500, 45_000), pick(random, names)];
    const state = pick(random, ['down', 'deaf'] as const);
    return [
      { atMs, kind: 'link', daemon, to, state },
      { atMs: atMs + lastsMs, kind: 'link', daemon, to, state: 'up' },
    ];
  };
  const stands = (): readonly TimedEvent[] => {
    const [atMs, daemon] = [between(random, 5_000, 40_000), pick(random, names)];
    return [
      { atMs, kind: 'suspend', daemon },
      { atMs: atMs + between(random, 500, 4_000), kind: 'resume', daemon },
    ];
  };
  return [
    ...many(7).flatMap(() =>
      cutOff('store', pick(random, [between(random, 100, 700), between(random, 500, 3_500)])),
    ),
    ...many(random.below(3)).flatMap(() => cutOff('exchange', between(random, 500, 3_000))),
    ...many(random.below(2)).flatMap(stands),
  ];
}

function pick<T>(random: SeededRandom, values: readonly [T, ...T[]] | readonly T[]): T {
  return values[random.below(values.length)] as T;
}

function between(random: SeededRandom, from: number, to: number): number {
  return from + random.below(to - from + 1);
}

import type { Readings } from '../../src/simulator/model/readings.ts';
import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { TimedEvent, TimedFault, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** Requests arrive no later than this. */
const LATE_ARRIVAL_MS = 3_000;
/** A change in progress when a pause begins completes within this many rounds of timeout and fence. */
export const CONTENDED_GRACE_MS = 5 * (LATE_ARRIVAL_MS + 3_000) + 2_000;
const MINUTE_MS = 60_000;

/**
 * Two daemons that repeatedly act on one account, over a slow store, while hosts are suspended for longer than a lease,
 * replies are lost and requests arrive late: every mechanism that keeps two orders from adding up is exercised. The
 * position is far from liquidation, so nothing justifies closing more than requested.
 */
export function contendedWorld(
  seed: number,
  readings: Partial<Readings> = {},
  overshoot: 'audited' | 'never' = 'audited',
): WorldSpec {
  const random = createRandom(seed * 104_729 + 5);
  const durationMs = 3 * MINUTE_MS;
  // A client with increasing nonces relies on an exchange that refuses smaller ones.
  const nonceRule = random.below(3) === 0 ? 'increasing' : 'unique';
  const config = configOf(nonceRule, overshoot);
  return {
    seed,
    durationMs,
    exchange: {
      accounts: [longAccount('12000')],
      depth: '0.02',
      readings: { nonceRule, lateArrivalMs: random.below(2) * random.below(2_500), ...readings },
    },
    prices: [
      {
        market: 'BTC_USDT',
        walk: { dailyVolatility: 0.4, jumpsPerDay: 3_000, jumpSize: 0.004, tickMs: 250 },
      },
    ],
    daemons: [
      { name: 'north', config, clock: { skewMs: random.below(2_000), driftPpm: random.below(100) } },
      { name: 'south', config, clock: { skewMs: -random.below(2_000) } },
    ],
    network: {
      toExchange: { minMs: 5, maxMs: 80 },
      toDaemon: { minMs: 5, maxMs: 80 },
      store: { minMs: 1, maxMs: random.below(2) === 0 ? 10 : 150 },
    },
    faults: faultsOf(random, durationMs),
    events: eventsOf(random, durationMs),
  };
}

function configOf(nonce: string, overshoot: string): string {
  return `mode: enforce
exchange:
  baseUrls: ["https://one.example", "https://two.example"]
  nonce: ${nonce}
  lateArrival: ${LATE_ARRIVAL_MS}ms
cadence: { calm: 1s, alert: 250ms }
acting: { fillWithin: 2s, overshoot: ${overshoot} }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [watch] }
rules:
  - id: watch
    on: position
    when: { liquidationDistance: { below: 1% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
}

/** Every few seconds an operator requests a slightly smaller size. */
function eventsOf(random: SeededRandom, durationMs: number): TimedEvent[] {
  const events: TimedEvent[] = [];
  for (let atMs = 3_000; atMs < durationMs; atMs += 3_000 + random.below(9_000)) {
    const target = { kind: 'by', fraction: 0.1 + random.below(3) / 10 } as const;
    events.push({ atMs, kind: 'reduce', account: 'desk-1', markets: ['BTC_PERP'], target, slippage: 0.01 });
  }
  for (let count = 0; count < 12; count++) {
    const atMs = 2_000 + random.below(durationMs);
    const daemon = random.below(2) === 0 ? 'north' : 'south';
    const laterMs = atMs + 200 + random.below(8_000);
    if (random.below(4) === 0) {
      events.push({ atMs, kind: 'kill', daemon }, { atMs: laterMs, kind: 'start', daemon });
    } else events.push({ atMs, kind: 'suspend', daemon }, { atMs: laterMs, kind: 'resume', daemon });
  }
  if (random.below(3) === 0) {
    const atMs = 30_000 + random.below(60_000);
    events.push(
      { atMs, kind: 'pause', account: null },
      { atMs: atMs + 75_000, kind: 'unpause', account: null },
    );
  }
  return events;
}

function faultsOf(random: SeededRandom, durationMs: number): TimedFault[] {
  const probability = 0.3;
  return Array.from({ length: 6 }, (): TimedFault => {
    const atMs = random.below(durationMs);
    const effects: readonly TimedFault['fault']['effect'][] = [
      { kind: 'lostReply' },
      { kind: 'lostReply', connection: 'hang' },
      { kind: 'hang' },
      { kind: 'reset' },
      { kind: 'appliedLate', delayMs: random.below(LATE_ARRIVAL_MS - 300), connection: 'reset' },
      { kind: 'latency', delayMs: random.below(2_500) },
      { kind: 'status', status: 500, applied: true },
    ];
    const effect = effects[random.below(effects.length)] ?? { kind: 'reset' };
    const fault = { effect, probability, target: { account: 'desk-1' } };
    return { atMs, untilMs: atMs + 20_000, fault };
  });
}

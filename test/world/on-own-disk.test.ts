import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';
import { auditTrailOf } from '../faults/audit-trail.ts';
import { ledgerViolations } from '../faults/ledger-check.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

/** A daemon without a store that is killed and started again; by the exchange's ledger, in virtual time. */

/** `MOMENTS=800 npm test -- test/world/on-own-disk` tries more of them; default: a slice of 40. */
const MOMENTS = Number(process.env['MOMENTS'] ?? 40);
const ALL = Array.from({ length: MOMENTS }, (_, index) => index);
const SOME = process.env['MOMENTS'] === undefined ? sliceOf(ALL, 10, 'moments of a kill') : ALL;
const BREACH_MS = 10_250;
const LATE_ARRIVAL_MS = 3_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], lateArrival: ${LATE_ARRIVAL_MS}ms }
acting: { fillWithin: 2s }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [half] }
rules:
  - id: half
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

function open(seed: number, events: readonly TimedEvent[]): World {
  return openWorld({
    seed,
    durationMs: 100_000,
    exchange: { accounts: [longAccount('3300', { id: 'desk', leverage: 10 })] },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [10_000, '60000'],
          [20_000, '56700'],
          [100_000, '56300'],
        ],
        tickMs: 250,
      },
    ],
    network: { toExchange: { minMs: 10, maxMs: 120 }, toDaemon: { minMs: 10, maxMs: 120 } },
    daemons: [{ name: 'north', config: CONFIG, onOwnDisk: true }],
    events,
  });
}

async function check(world: World, about: string): Promise<void> {
  const { model } = world.exchange;
  const { audit } = world.daemon('north').store ?? expect.fail(`${about}: it is down`);
  const trail = await auditTrailOf({ ...world, audit });
  expect(ledgerViolations(model.ledger(), trail, world.startMs), `${about}:`).toEqual([]);
  expect(await audit.verify('desk'), `${about}:`).toMatchObject({ kind: 'intact' });
  const size = model.openPositions('desk')[0]?.amount.toNumber() ?? 0;
  const ordered = model.openOrders('desk').reduce((sum, { left }) => sum + left.toNumber(), 0);
  expect(size - ordered, `${about}:`).toBeCloseTo(0.25, 3);
}

function firstOrderMs({ exchange, startMs }: World): number {
  const [first] = exchange.model.ledger({ kinds: ['order_placed'] });
  return (first?.atMs ?? Number.POSITIVE_INFINITY) - startMs;
}

test(
  `killed at ${SOME.length} moments around a breach, and again soon after: acted on in time, and halved once`,
  async () => {
    for (const moment of SOME) {
      // From well before the breach to well after the first order.
      const killedMs = BREACH_MS - 3_000 + Math.round((moment * 9_000) / MOMENTS);
      const downMs = 200 + ((moment * 977) % 4_000);
      const about = `killed at ${killedMs} ms for ${downMs} ms`;
      const again = killedMs + downMs + 700;
      const world = open(moment + 1, [
        { atMs: killedMs, kind: 'kill', daemon: 'north' },
        { atMs: killedMs + downMs, kind: 'start', daemon: 'north' },
        { atMs: again, kind: 'kill', daemon: 'north' },
        { atMs: again + 300, kind: 'start', daemon: 'north' },
      ]);
      await world.run();
      expect(world.errors, `${about}:`).toEqual([]);
      expect(firstOrderMs(world) - BREACH_MS, `${about}:`).toBeLessThan(downMs + LATE_ARRIVAL_MS + 6_000);
      await check(world, about);
    }
  },
  600_000 + 30_000 * MOMENTS,
);

test('suspended for 3 s, 30 s and with a clock that steps: goes on where it was', async () => {
  for (const pauseMs of [3_000, 30_000]) {
    const world = open(pauseMs, [
      { atMs: BREACH_MS + 500, kind: 'suspend', daemon: 'north' },
      { atMs: BREACH_MS + 500 + pauseMs, kind: 'resume', daemon: 'north' },
      { atMs: BREACH_MS + 1_000 + pauseMs, kind: 'stepClock', daemon: 'north', byMs: -600_000 },
      { atMs: BREACH_MS + 9_000 + pauseMs, kind: 'stop', daemon: 'north' },
      { atMs: BREACH_MS + 12_000 + pauseMs, kind: 'start', daemon: 'north' },
    ]);
    await world.run();
    await check(world, `suspended for ${pauseMs} ms`);
  }
});

import { expect, test } from 'vitest';
import { troublesIn } from '../../src/core/digest/troubles.ts';
import type { FaultSpec } from '../../src/simulator/http/faults.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** The alarm for a stop that a reduction has left too near, and its removal, by the exchange's ledger. */

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 10s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [balanced] }
`;

const FALLS_MS = 75_000;

/**
 * A long of the first hour: cut below 4 % from liquidation, which moves its liquidation price and so its standing stop.
 */
async function played(faults: WorldSpec['faults'] = [], to = '54700'): Promise<World> {
  const price = (atMs: number, to: string): TimedEvent => {
    return { atMs, kind: 'setPrice', market: 'BTC_USDT', price: to };
  };
  const world = openWorld({
    seed: 11,
    durationMs: 300_000,
    exchange: {
      accounts: [longAccount('3999.9745')],
    },
    daemons: [{ name: 'north', config: CONFIG }],
    events: [price(60_000, '55700'), price(FALLS_MS, to)],
    faults,
  });
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

function ledgerOf({ exchange, startMs }: World) {
  const entries = exchange.model.ledger({ accountId: 'desk-1' });
  const of = (kind: string) => entries.filter((entry) => entry.kind === kind);
  return {
    fills: of('fill').map(({ amount }) => amount),
    cancelledMs: of('order_cancelled').map(({ atMs }) => atMs - startMs),
    stops: of('order_placed').map(({ amount, details = {} }) => [amount, details['activationPrice']]),
  };
}

async function eventsOf({ audit }: World) {
  const records = await audit.tail('desk-1', 10_000);
  return records.flatMap(({ record: { content } }) => (content.kind === 'action' ? [content.event] : []));
}

async function saidOfStanding(world: World) {
  return (await eventsOf(world)).filter(({ kind }) => kind === 'standingOrder');
}

test('a stop that a cut left 0.24 % from the market is taken down with the read that shows the cut, without an alarm', async () => {
  const world = await played();
  const { fills, cancelledMs, stops } = ledgerOf(world);
  expect(fills).toEqual(['0.396']);
  expect(cancelledMs).toHaveLength(1);
  expect(cancelledMs[0]).toBeLessThan(FALLS_MS + 2_000);
  expect(stops.at(-1)).toEqual(['0.104', '45675.3']);
  expect(await saidOfStanding(world)).toEqual([]);
});

test('a stop whose cancels fail is taken down once one arrives, with an alarm after it stood a minute too long', async () => {
  const fault: FaultSpec = { effect: { kind: 'refusal', of: 'cancels' }, forMs: 180_000 };
  const world = await played([{ atMs: 0, fault }]);
  const said = await saidOfStanding(world);
  expect(said.map(({ alarm }) => alarm)).toEqual([true]);
  expect(said[0]?.words).toMatch(/^this order should have gone 6\d s ago and still stands: /);
  // If it was sent again while a cancel was in doubt, it must not count as placed for the liquidation price of then.
  const { cancelledMs, stops } = ledgerOf(world);
  expect(cancelledMs[0]).toBeGreaterThanOrEqual(180_000);
  // After a dozen that changed nothing, one a minute goes.
  expect(cancelledMs[0]).toBeLessThan(180_000 + 61_000);
  expect(stops.at(-1)?.[0]).toBe('0.104');
});

test('a check whether an order still stands is reported neither as placing it again nor as a refusal', async () => {
  // The market moves away from the cut, which is to be placed anew, and a cancel needs proof that orders are accepted.
  const world = await played([], '55990');
  const events = await eventsOf(world);
  const asked = events.find(({ kind, reason }) => kind === 'placing' && reason === 'resend');
  const id = asked?.order?.clientOrderId;
  expect(asked?.words).toMatch(
    new RegExp(`^asks whether order ${id} still stands, by sending it again under its id: sell`),
  );
  const answer = events.find(({ kind, reason }) => kind === 'rejected' && reason === 'duplicateId');
  expect(answer?.words).toMatch(/^it was accepted and counts as standing, as its id is taken/);
  expect(troublesIn(events).filter(({ kind }) => kind === 'orderRefused')).toEqual([]);
  // By the ledger it was accepted once.
  const { model } = world.exchange;
  const placed = model.ledger({ accountId: 'desk-1', kinds: ['order_placed'] });
  expect(placed.filter(({ clientOrderId }) => clientOrderId === id)).toHaveLength(1);
});

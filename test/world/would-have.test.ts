import { expect, test } from 'vitest';
import { outcomesBy, wouldBeOrders } from '../../src/core/costs/would-have.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { longAccount } from './long-account.ts';

/** Observe mode's estimate of its orders' results, against the ledger of the same world in enforce mode. */

const START = 60_000;
const LOWEST = START * 0.955;

const config = (mode: 'observe' | 'enforce'): string => `mode: ${mode}
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, money: USDT }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 90% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** A slow fall through the threshold, and then to `end`. */
function open(mode: 'observe' | 'enforce', end: number): World {
  return openWorld({
    seed: 3,
    durationMs: 170_000,
    exchange: {
      accounts: [longAccount('3300')],
      depth: '5',
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, String(START)],
          [10_000, String(START)],
          [90_000, String(LOWEST)],
          [150_000, String(end)],
        ],
        tickMs: 250,
      },
    ],
    daemons: [{ name: 'north', config: config(mode) }],
  });
}

/** By the ledger: the value of the fills against the price at the end. */
async function worthOfFills(end: number): Promise<{ readonly worth: number; readonly amount: number }> {
  const world = open('enforce', end);
  await world.run();
  const fills = world.exchange.model.ledger({ kinds: ['fill'], accountId: 'desk-1' });
  const worth = fills.reduce((sum, { price, amount }) => sum + (Number(price) - end) * Number(amount), 0);
  return { worth, amount: fills.reduce((sum, { amount }) => sum + Number(amount), 0) };
}

test.each([
  ['cost', START],
  ['saved', LOWEST * 0.99],
])('a would-be order is said to have %s what the ledger of its enforce twin shows', async (_, end) => {
  const world = open('observe', end);
  await world.run();
  expect(world.exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' })).toEqual([]);
  const orders = wouldBeOrders(await world.audit.tail('desk-1', 1_000));
  const judged = await outcomesBy(orders, (subject) =>
    world.history.read('desk-1', subject, { limit: 1_000 }),
  );
  expect(judged).toHaveLength(1);
  const [{ order, outcome } = { order: undefined, outcome: undefined }] = judged;
  const twin = await worthOfFills(end);
  if (outcome?.kind !== 'closed') throw new Error(`not closed: ${JSON.stringify(outcome)}`);
  expect(Number(order?.order.amount)).toBe(twin.amount);
  expect(Math.sign(outcome.gained)).toBe(Math.sign(twin.worth));
  // Within 0.1 % of the closed amount: the estimate knows the activation, the ledger the fill.
  expect(Math.abs(outcome.gained - twin.worth)).toBeLessThan(0.001 * START * twin.amount);
});

import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { longAccount } from './long-account.ts';

/** Orders of the owner that leave a reduction no room; by the exchange's ledger. */

const configOf = (cancel: string, cancelAll = ''): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 500ms }
acting: { cancel: ${cancel} }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [${cancelAll}{ reduce: { untilDistance: 15%, slippage: 2% } }]
    severity: critical
`;

const ownersOrder = (
  order: Pick<Extract<TimedEvent, { kind: 'trade' }>, 'side' | 'amount' | 'price'>,
): TimedEvent => ({
  atMs: 5_000,
  kind: 'trade',
  account: 'desk-1',
  market: 'BTC_PERP',
  ...order,
  ...(order.side === 'sell' && { reduceOnly: true }),
});

const TAKE_PROFIT = ownersOrder({ side: 'sell', amount: '0.5', price: '66000' });
const QUOTE = ownersOrder({ side: 'buy', amount: '0.05', price: '40000' });

function worldOf(
  config: string,
  readings: Readonly<Record<string, unknown>>,
  ...events: readonly TimedEvent[]
): World {
  return openWorld({
    seed: 3,
    durationMs: 150_000,
    exchange: { accounts: [longAccount('4000')], readings },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [20_000, '60000'],
          [140_000, '50000'],
        ],
        tickMs: 200,
      },
    ],
    daemons: [{ name: 'north', config }],
    events,
  });
}

function outcomeOf({ exchange, startMs }: World) {
  const ledger = exchange.model.ledger({ accountId: 'desk-1' });
  const pathOf = ({ details }: (typeof ledger)[number]): string => String(details?.['path']);
  const requests = ledger.filter(({ kind }) => kind === 'request');
  const refused = requests.filter(
    (entry) => pathOf(entry).includes('/order/collateral') && entry.details?.['status'] !== 200,
  );
  const inOneSecond = Map.groupBy(refused, ({ atMs }) => Math.floor((atMs - startMs) / 1_000)).values();
  return {
    isLiquidated: ledger.some(({ kind }) => kind === 'liquidation_started'),
    cancels: requests.filter((entry) => pathOf(entry).includes('/cancel/')).length,
    refused: refused.length,
    mostInOneSecond: Math.max(0, ...[...inOneSecond].map(({ length }) => length)),
  };
}

test.each(['refused', 'trimmed'])(
  'reduce-only orders have to fit (%s): a take-profit in the way is pulled once, and the account saved',
  async (reduceOnlyRoom) => {
    const world = worldOf(configOf('always'), { reduceOnlyRoom }, TAKE_PROFIT);
    await world.run();
    const { isLiquidated, cancels, refused } = outcomeOf(world);
    expect([isLiquidated, cancels]).toEqual([false, 1]);
    expect(refused).toBeLessThan(5);
  },
);

test('with cancel: never it stays, and orders are not sent in a flood', async () => {
  const world = worldOf(configOf('never'), { reduceOnlyRoom: 'refused' }, TAKE_PROFIT);
  await world.run();
  const { cancels, refused, mostInOneSecond } = outcomeOf(world);
  expect(cancels).toBe(0);
  expect(refused).toBeLessThan(40);
  expect(mostInOneSecond).toBeLessThan(4);
});

const CANCEL_FIRST = '{ cancelAll: { types: [margin, futures], scope: market } }, ';

test.each([
  [112, CANCEL_FIRST],
  [10, CANCEL_FIRST],
  [112, ''],
])(
  'code %i while quotes stand, after [%s]: they are pulled once, and the account saved',
  async (code, first) => {
    const world = worldOf(configOf('always', first), {}, QUOTE);
    await world.run(6_000);
    const { exchange } = world;
    const effect = {
      kind: 'refusal',
      of: 'orders',
      status: 400,
      code,
      message: 'Validation failed',
    } as const;
    const fault = exchange.injectFault({ effect });
    const isQuoted = () => exchange.model.openOrders('desk-1').some((order) => !isOurs(order));
    for (let atMs = 6_000; atMs <= 120_000; atMs += 20) {
      await world.run(atMs);
      if (!isQuoted()) exchange.clearFaults(fault);
    }
    expect(world.errors).toEqual([]);
    const { isLiquidated, cancels } = outcomeOf(world);
    expect([isLiquidated, cancels]).toEqual([false, 1]);
  },
);

test('an owner who puts his quotes back is cancelled once a minute at most', async () => {
  const again = Array.from({ length: 60 }, (_, index) => ({ ...TAKE_PROFIT, atMs: 61_000 + index * 1_000 }));
  const world = worldOf(configOf('always'), { reduceOnlyRoom: 'refused' }, TAKE_PROFIT, ...again);
  await world.run();
  expect(outcomeOf(world).cancels).toBeLessThanOrEqual(2);
});

import { expect, test } from 'vitest';
import { openExchange } from '../../contract/support/world.ts';
import { eventually, openWorld } from '../world.ts';

const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 8%, clearAbove: 12% } }
    keepFiringFor: 1s
    do:
      - cancelAll: { types: [margin, futures], scope: market }
      - reduce: { untilDistance: 25%, slippage: 1% }
`;

const SIZE = 0.5;
const FALL = 43_000;
/** 10,000 USDT, and 0.5 BTC bought at 60,000. */
const EQUITY_AT_FALL = 10_000 - SIZE * (60_000 - FALL);

test('a position near liquidation is reduced until it is far enough away', async () => {
  const simulator = await openExchange({ speed: 1 });
  const world = openWorld(simulator, { accounts: { long: { rules: ['near'] } }, rules: NEAR });
  world.start();
  const size = () => simulator.model.openPositions('long')[0]?.amount.toNumber() ?? 0;
  const orders = () => simulator.ledger({ accountId: 'long', kinds: ['order_placed'] });
  await eventually(() => world.events.some(({ kind }) => kind === 'evaluated'), 'an evaluation');
  expect(orders()).toEqual([]);
  simulator.setPrice('BTC_PERP', String(FALL));
  await eventually(
    () => orders().length > 0,
    'an order',
    () => world.errors,
  );
  // After such a fall the activation lies more than a step lower, perhaps of two orders: the market goes on to them.
  const activations = () => orders().map(({ details }) => Number(details?.['activationPrice']));
  await eventually(() => {
    simulator.setPrice('BTC_PERP', String(Math.min(...activations())));
    return size() < 0.2;
  }, 'the fills');
  const [order] = orders();
  expect(order).toMatchObject({ side: 'sell', details: { reduceOnly: true, positionSide: 'BOTH' } });
  // A distance of 25 % with a maintenance margin of 3 %, from the price at which it was judged: that of the fall, or a
  // later one on the way to the activations.
  const sizeAt = (price: number) => (EQUITY_AT_FALL - SIZE * (FALL - price)) / (price * (0.03 + 0.25 * 0.97));
  expect(size()).toBeLessThanOrEqual(sizeAt(FALL) + 0.002);
  expect(size()).toBeGreaterThanOrEqual(sizeAt(Math.min(...activations())) - 0.002);
  expect(await world.state.audit.verify('long')).toMatchObject({ kind: 'intact' });
});

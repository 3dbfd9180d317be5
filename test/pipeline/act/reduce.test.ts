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

test('a position near liquidation is reduced until it is far enough away', async () => {
  const simulator = await openExchange({ speed: 1 });
  const world = openWorld(simulator, { accounts: { long: { rules: ['near'] } }, rules: NEAR });
  world.start();
  const size = () => simulator.model.openPositions('long')[0]?.amount.toNumber() ?? 0;
  const orders = () => simulator.ledger({ accountId: 'long', kinds: ['order_placed'] });
  await eventually(() => world.events.some(({ kind }) => kind === 'evaluated'), 'an evaluation');
  expect(orders()).toEqual([]);
  simulator.setPrice('BTC_PERP', '43000');
  await eventually(
    () => orders().length > 0,
    'an order',
    () => world.errors,
  );
  // After such a fall it lies further below than a step, and may be two orders: the market goes on to where they activate.
  const activations = () => orders().map(({ details }) => Number(details?.['activationPrice']));
  await eventually(() => {
    simulator.setPrice('BTC_PERP', String(Math.min(...activations())));
    return size() < 0.2;
  }, 'the fills');
  const [order] = orders();
  expect(order).toMatchObject({ side: 'sell', details: { reduceOnly: true, positionSide: 'BOTH' } });
  // 25 % of distance with a maintenance margin of 3 %, from the distance at which it was judged.
  expect(size()).toBeCloseTo(0.129, 2);
  expect(await world.state.audit.verify('long')).toMatchObject({ kind: 'intact' });
});

import { expect, onTestFinished, test } from 'vitest';
import { decimal, formatDecimal } from '../../src/core/quantities/decimal.ts';
import { PERPETUAL, seedOf } from '../../src/demo/accounts.ts';
import { type DemoSide, failuresOf, keptMore, sideOf } from '../../src/demo/result.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { LOST, SAVED } from './sides.ts';

test.each<[string, Partial<DemoSide>, Partial<DemoSide>, readonly RegExp[]]>([
  ['a protected account that was saved is no failure', {}, {}, []],
  ['one that was liquidated is', { wasLiquidated: true }, {}, [/protected account was liquidated/]],
  ['a twin that came through shows nothing', {}, { wasLiquidated: false }, [/shows nothing/]],
  [
    'a twin that kept more is a failure',
    { change: LOST.change },
    { change: SAVED.change },
    [/no more money/],
  ],
  ['a twin that kept as much is, too', { change: LOST.change }, {}, [/no more money/]],
  ['a twin that was acted on is', {}, { requests: 1 }, [/acted on the twin/]],
])('%s', (_name, saved, lost, expected) => {
  const found = failuresOf({ protectedSide: { ...SAVED, ...saved }, twin: { ...LOST, ...lost } });
  expect(found).toEqual(expected.map((pattern) => expect.stringMatching(pattern) as string));
});

test('the saving of the protected account is the difference of both losses', () => {
  expect(keptMore({ protectedSide: SAVED, twin: LOST })).toBe('1489.92');
  expect(keptMore({ protectedSide: LOST, twin: SAVED })).toBe('-1489.92');
});

test('an account is read from the exchange: orders, fills, liquidations and money', async () => {
  const simulator = await startSimulatedExchange({ speed: 0, accounts: [seedOf('a'), seedOf('b')] });
  onTestFinished(() => simulator.close());
  const { model } = simulator;
  const before = model.account('a').equity;
  expect(sideOf(model, 'a', before)).toMatchObject({
    amount: '0.5',
    equity: '3000',
    change: '0',
    state: 'ok',
  });
  const order = { market: PERPETUAL, side: 'sell', amount: decimal('0.2'), reduceOnly: true } as const;
  expect(model.placeCollateralOrder('a', order).ok).toBe(true);
  simulator.setPrice(PERPETUAL, '57000');
  const a = sideOf(model, 'a', before);
  expect(a).toMatchObject({ amountBefore: '0.5', amount: '0.3', closedByOrders: '0.2', ordersPlaced: 1 });
  expect(a.wasLiquidated).toBe(false);
  expect(a.equity).toBe(formatDecimal(model.account('a').equity));
  expect(Number(a.change)).toBeCloseTo(Number(a.equity) - 3000, 6);
  expect(Number(a.change)).toBeLessThan(-800);
  const [position] = model.openPositions('a');
  expect(a.distance).toBeCloseTo(1 - Number(position?.liquidationPrice?.toString()) / 57_000, 6);
  simulator.setPrice(PERPETUAL, '54200');
  simulator.advance(1_000);
  const b = sideOf(model, 'b', before);
  expect(b).toMatchObject({ wasLiquidated: true, closedByOrders: '0', ordersPlaced: 0 });
  expect(Number(b.takenByExchange)).toBeCloseTo(0.5 - Number(b.amount), 9);
  expect(Number(b.takenByExchange)).toBeGreaterThan(0);
});

import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import { coverIntent } from '../../../src/core/intents/intent.ts';
import type { LaneState, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { type DecimalString, toDecimal } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from './driver.ts';
import { action, MARKET } from './fixtures.ts';

const ladder: ActionSpec = {
  kind: 'protect',
  at: 0.3,
  slippage: 0.01,
  ladder: [
    { at: 0.3, leave: 0.6 },
    { at: 0.7, leave: 0 },
  ],
};

/** The first rung of a ladder has closed its part: 0.6 is left. `orders` picks our orders out of those placed. */
function closed(orders: (placed: LaneState['orders']) => LaneState['orders'] = () => []): Driver {
  const driver = new Driver().read(at({})).ask(action(ladder));
  driver.place();
  const { state, nowMs, context } = driver;
  const [cover] = state.covers;
  if (cover === undefined) return expect.fail('no ladder stands');
  const audit = recorder('desk', MARKET, nowMs);
  const intent = coverIntent(cover, '0.6' as DecimalString, { settings: context.settings, nowMs, audit });
  const end = { how: 'reached', why: 'target' } as const;
  driver.state = { ...state, orders: orders(state.orders), intents: [{ ...intent, end, endedMs: nowMs }] };
  return driver.later(1_000);
}

const isReleased = (driver: Driver, view: ReadPosition): boolean =>
  driver.read(view).state.covers[0]?.anchor === null;

test.each<[string, ReadPosition, boolean]>([
  ['it has grown beyond what was left', at({ size: '0.61', mark: '999' }), true],
  ['the market is as far from liquidation as when it was placed', at({ size: '0.6' }), true],
  ['it is nearer', at({ size: '0.6', mark: '999.99' }), false],
  ['the mark is unknown', { ...at({ size: '0.6' }), markPrice: null }, false],
  ['its liquidation price is unknown', { ...at({ size: '0.6' }), liquidationPrice: null }, false],
  ['there is no liquidation price', { ...at({ size: '0.6' }), liquidationPrice: 'none' }, false],
])('whether a rung that has triggered is placed again: %s', (_what, view, released) => {
  expect(toDecimal(view.sizeBase).gte('0.6')).toBe(true);
  expect(isReleased(closed(), view)).toBe(released);
});

test("it is not placed again while its own triggered order may still stand, whether or not others' stops have triggered", () => {
  const grown = at({ size: '0.61', mark: '999' });
  const triggered: Parameters<typeof closed>[0] = (placed) =>
    placed.map((order) => ({ ...order, activatedMs: 1 }));
  const others: Parameters<typeof closed>[0] = (placed) =>
    placed.map((order) => ({ ...order, key: 'other', activatedMs: 1 }));
  expect(isReleased(closed(triggered), grown)).toBe(false);
  expect(isReleased(closed(others), grown)).toBe(true);
});

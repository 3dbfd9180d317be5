import { describe, expect, test } from 'vitest';
import { intentLines, orderLines } from '../../../src/core/view/lane-lines.ts';
import { at, Driver } from '../lanes/driver.ts';
import { action, half } from '../lanes/fixtures.ts';

/** An order for half of the position has been placed. */
function placed(): Driver {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  return driver;
}

describe('intents', () => {
  test('show their target in words, with the size to be left', () => {
    const [line] = intentLines([placed().state]);
    expect([line?.target, line?.targetBase]).toEqual(['by 50 % (at most 0.5 left)', '0.5']);
  });
});

describe('orders', () => {
  test('an order whose fill has ended its intent is no longer shown as open', () => {
    const driver = placed();
    expect(orderLines([driver.state])).toMatchObject([{ status: 'open' }]);
    driver.read(at({ size: '0.5', mark: '998' }));
    expect(intentLines([driver.state])).toMatchObject([{ ended: true, state: 'reached (target)' }]);
    // The lane keeps the order, to cancel it before anything is placed on top of it.
    expect(driver.state.orders).toMatchObject([{ status: 'open', presumedFilled: true }]);
    expect(orderLines([driver.state])).toMatchObject([{ status: 'presumedFilled' }]);
  });

  test('an intent does not count an order that counts as filled', () => {
    const driver = placed();
    const placedFor = (): readonly string[] => intentLines([driver.state]).map(({ state }) => state);
    expect(placedFor()).toEqual(['open, 1 order placed']);
    const orders = driver.state.orders.map((order) => ({ ...order, presumedFilled: true }));
    driver.state = { ...driver.state, orders };
    expect(placedFor()).toEqual(['open, no order placed']);
  });

  test('an unwanted order is shown as open until it has been cancelled', () => {
    const driver = placed();
    driver.read(at({})).ask();
    expect(intentLines([driver.state])).toEqual([]);
    expect(orderLines([driver.state])).toMatchObject([{ status: 'open' }]);
    driver.cancel();
    expect(orderLines([driver.state])).toEqual([]);
  });
});

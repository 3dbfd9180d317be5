import { describe, expect, test } from 'vitest';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from './driver.ts';
import { action, half, protect } from './fixtures.ts';

/** A reduction that is larger than one order may be goes in parts. */

const tooLarge = (most: string) => ({
  name: 'validationFailed',
  fields: { total: [`Total is greater than ${most}`] },
});
const patient: ActionSpec = { ...half, slippageSteps: [0.005] } as ActionSpec;
const amounts = (driver: Driver): number[] => driver.state.orders.map(({ amount }) => Number(amount));

/** Places orders until the lane rests; returns how many. */
function placeAll(driver: Driver): number {
  let placed = 0;
  while (driver.next().kind === 'place') {
    driver.place();
    placed += 1;
  }
  return placed;
}

describe('parts', () => {
  const inParts = (most = '100'): Driver => {
    const driver = new Driver().read(at({})).ask(action(patient));
    driver.refuse(tooLarge(most));
    driver.read(at({}));
    placeAll(driver);
    return driver;
  };

  test('four stand at once, each a step smaller, so that fills tell which one has filled', () => {
    const driver = inParts();
    expect(amounts(driver)).toEqual([0.098, 0.097, 0.096, 0.095]);
    driver.read(at({ size: '0.904', mark: '998' }));
    expect(driver.reasons('filled')).toHaveLength(1);
    expect(driver.reasons('ambiguousMove')).toEqual([]);
  });

  test('that the market has jumped over do not stand in the way of others, and then all of them go', () => {
    const driver = inParts();
    driver
      .later(10_000)
      .ordersAreTaken()
      .read(at({ mark: '970' }));
    driver.later(3_000).read(at({ mark: '970' }));
    expect(placeAll(driver)).toBe(4);
    driver
      .later(10_000)
      .ordersAreTaken()
      .read(at({ mark: '955' }));
    driver
      .later(3_000)
      .ordersAreTaken()
      .read(at({ mark: '955' }));
    expect(['notFilled', 'inverted']).toContain(driver.cancel().why);
  });

  test('are not filled up while others of them stand: the cancel that proves a fill would take those down', () => {
    const driver = inParts();
    driver.read(at({ size: '0.904', mark: '998' }));
    driver
      .later(1_000)
      .ordersAreTaken()
      .read(at({ size: '0.904', mark: '998' }));
    expect(driver.next().kind).toBe('idle');
    expect(driver.state.orders.filter(({ presumedFilled }) => !presumedFilled)).toHaveLength(3);
  });

  test('an order that could be no smaller and is too large all the same fails, and is not sent at once again', () => {
    const driver = new Driver().read(at({ size: '0.002' })).ask(action(patient));
    driver.refuse(tooLarge('0.5'));
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'backoff' });
    expect(driver.intents()[0]?.failures).toBe(1);
  });

  test('count as one set of orders', () => {
    const driver = inParts();
    expect(driver.state.brake?.orders?.sets).toBe(1);
  });

  test.each([
    ['1,000', 'a thousands separator is no decimal point', 0.5],
    ['0.0001', 'an amount of which a million orders would be needed is no bound', 0.5],
  ])('are not made by misread words: %s, %s', (most, _why, amount) => {
    const driver = new Driver().read(at({})).ask(action(patient));
    driver.refuse(tooLarge(most));
    driver.later(5_000).read(at({}));
    expect(Number(driver.place().request.amount)).toBe(amount);
  });

  test('a stop that is smaller than its position is kept up like any other: a tighter one is placed beside it', () => {
    const driver = new Driver();
    driver.read(at({ liquidation: '800' })).ask(action(protect));
    driver.refuse(tooLarge('300'));
    driver.read(at({ liquidation: '800' })).place();
    expect(amounts(driver)[0]).toBeLessThan(0.5);
    driver.later(1_000).read(at({ liquidation: '900' }));
    expect(driver.place()).toMatchObject({ isResend: false, order: { role: 'cover' } });
    expect(driver.state.orders).toHaveLength(2);
  });
});

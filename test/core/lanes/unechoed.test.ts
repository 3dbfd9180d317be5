import { describe, expect, test } from 'vitest';
import { orderRecordOf } from '../../../src/core/orders/cancel-policy.ts';
import { at, Driver } from './driver.ts';
import { action, all, half, protect } from './fixtures.ts';

/** The exchange does not repeat the ids of orders: sending one again is no question, but a second order. */

const UNECHOED = { clientOrderId: '', clientOrderIdEchoed: false };

describe('a reply has another client order id than the one that was sent', () => {
  test('a stop in doubt is sent again under its id', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(protect));
    driver.place(UNECHOED);
    driver.read(at({ liquidation: '960' })).lose('place');
    driver.later(5_100).answerRead(at({ liquidation: '960' }));
    expect(driver.place().isResend).toBe(false);
  });

  test.each([
    [half, 'before a likely liquidation'],
    [all, 'for a full close'],
  ])('a lost order is sent again under its id ahead of the fence', (target) => {
    const likely = { ...at({}), fenceRisk: 0.2 };
    const driver = new Driver().read(likely).ask(action(protect));
    driver.place(UNECHOED);
    driver.ask(action(protect), action(target)).lose('place').answerRead(likely);
    expect(driver.place()).toMatchObject({ ahead: true, isResend: false, order: { role: 'reduce' } });
  });

  test('a standing order is asked whether it still stands, before a cancel', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place(UNECHOED);
    const orders = driver.state.orders.map((order) => ({ ...order, ambiguous: true }));
    driver.state = { ...driver.state, orders };
    driver.later(20_000).read(at({}));
    expect(driver.place()).toMatchObject({ isResend: false, order: { trial: true } });
  });

  test('one lane learns it, and another asks by id all the same', () => {
    const learned = new Driver().read(at({})).ask(action(half));
    learned.place(UNECHOED);
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(protect));
    driver.context = { ...driver.context, orders: orderRecordOf([learned.state]) };
    driver.lose('place').later(5_100).answerRead(at({}));
    expect(driver.place().isResend).toBe(false);
  });

  test('people are told each time', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(protect));
    driver.place(UNECHOED);
    driver
      .later(10)
      .read(at({ liquidation: '960' }))
      .place(UNECHOED);
    expect(driver.events.filter(({ alarm }) => alarm)).toMatchObject([
      { kind: 'accepted', words: expect.stringContaining('exchange.dialect') as string },
    ]);
  });

  test('no order is asked for by its id ever again, although the exchange repeats them now', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(protect));
    driver.place(UNECHOED);
    driver
      .later(10)
      .read(at({ liquidation: '960' }))
      .place();
    driver
      .later(10)
      .read(at({ liquidation: '970' }))
      .lose('place');
    driver.later(5_100).answerRead(at({ liquidation: '970' }));
    expect(driver.place().isResend).toBe(true);
  });
});

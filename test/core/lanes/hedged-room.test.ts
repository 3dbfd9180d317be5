import { expect, test } from 'vitest';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { at, Driver } from './driver.ts';
import { action, half, readPositionOf } from './fixtures.ts';

const long = (size: string, mark: string) => ({ ...at({ size, mark }), positionSide: 'LONG' as const });
const shortOf = (sizeBase: string) =>
  readPositionOf({
    positionId: '43',
    positionSide: 'SHORT',
    direction: 'short',
    sizeBase: sizeBase as DecimalString,
    liquidationPrice: '1200' as DecimalString,
    distance: 0.2,
  });

test('in a hedge an order only presumed filled is cancelled if it leaves the next reduction no room', () => {
  const short = shortOf('0.3');
  const driver = new Driver().read(long('1', '1000'), short).ask(action(half));
  expect(driver.place().request.amount).toBe('0.5');
  // Twice the net exposure of 0.2 is less than what the first order may still take if it stands.
  driver.read(long('0.5', '998'), short).ask(action(half), action(half, { ruleId: 'other', episode: 2 }));
  expect(driver.reasons('filled')).toEqual(['positionMoved']);
  expect(driver.reasons('blocked')).toEqual(['netExposure']);
  expect(driver.cancel().why).toBe('fillUnproven');
  driver.answerRead(long('0.5', '998'), short);
  expect(driver.place().request.amount).toBe('0.2');
});

const hedge = (mark = '1000') => [long('1', mark), shortOf('0.6')];

/** Orders of an earlier store may stand, and the reply to one that takes all the room was lost. */
function withLostOrder(): Driver {
  const driver = new Driver().read(...hedge());
  driver.state = { ...driver.state, priorOrdersPossible: true };
  driver
    .ask(action(half))
    .lose('place')
    .later(30_000)
    .read(...hedge());
  expect(driver.state.orders).toMatchObject([{ status: 'unsure', amount: '0.4' }]);
  return driver;
}

test('in a hedge an order in doubt is asked about although it takes all the room that is left', () => {
  const driver = withLostOrder();
  const [order] = driver.state.orders;
  const question = driver.start('place');
  expect(question.order.request.clientOrderId).toBe(order?.request.clientOrderId);
  expect(driver.reasons('blocked')).toEqual([]);
});

test('in a hedge an order in doubt that was reached may have filled: nothing is sent beside it', () => {
  const driver = withLostOrder();
  for (const mark of ['990', '1000']) driver.later(1_000).read(...hedge(mark));
  expect(driver.state.orders[0]?.activatedMs).not.toBeNull();
  expect(driver.next().kind).not.toBe('place');
  expect(driver.reasons('blocked')).toEqual(['netExposure']);
});

test('in a hedge an order that a cancel may have taken down is asked about, and then replaced', () => {
  const driver = withLostOrder();
  driver.state = {
    ...driver.state,
    orders: driver.state.orders.map((order) => ({ ...order, behindCancel: true })),
  };
  driver.next();
  expect(driver.refuse({ name: 'duplicateClientOrderId' }).isResend).toBe(true);
  driver.later(10).read(...hedge());
  driver.cancel();
  expect(driver.answerRead(...hedge()).place().request.amount).toBe('0.4');
});

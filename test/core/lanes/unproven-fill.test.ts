import { expect, test } from 'vitest';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { at, Driver } from './driver.ts';
import { action, half, readPositionOf } from './fixtures.ts';

test('in a hedge an order only presumed filled is cancelled if it leaves the next reduction no room', () => {
  const long = (size: string, mark: string) => ({ ...at({ size, mark }), positionSide: 'LONG' as const });
  const short = readPositionOf({
    positionId: '43',
    positionSide: 'SHORT',
    direction: 'short',
    sizeBase: '0.3' as DecimalString,
    liquidationPrice: '1200' as DecimalString,
    distance: 0.2,
  });
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

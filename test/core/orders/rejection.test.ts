import { expect, test } from 'vitest';
import {
  classifyRejection,
  isAlarming,
  isPassing,
  retryPauseMs,
} from '../../../src/core/orders/rejection.ts';

test.each([
  ['reduceOnlyRefused', 'side'],
  ['duplicateClientOrderId', 'duplicateId'],
  ['cancelledOnCreation', 'cancelledAtCreation'],
  ['rateLimited', 'rateLimited'],
  ['rateBudgetSpent', 'rateLimited'],
  ['nonceRefused', 'notProcessed'],
  ['connectFailed', 'notProcessed'],
  ['nameNotResolved', 'notProcessed'],
  ['certificateRefused', 'notProcessed'],
  ['connectionRefused', 'notProcessed'],
  ['connectTimeout', 'notProcessed'],
  ['gatewayRefused', 'notProcessed'],
  ['addressNotAllowed', 'notProcessed'],
  ['clientClosed', 'notProcessed'],
  ['timeout', 'notProcessed'],
  ['aborted', 'notProcessed'],
  ['marketInvalid', 'marketClosed'],
  ['amountInvalid', 'amountStep'],
  ['priceInvalid', 'priceStep'],
  ['insufficientBalance', 'noRoom'],
  ['pendingValueLimit', 'noRoom'],
])('%s means %s', (name, reason) => {
  expect(classifyRejection({ name, fields: { amount: ['no'] } })).toBe(reason);
});

test.each([
  [['market'], 'marketClosed'],
  [['amount'], 'amountStep'],
  [['price'], 'priceStep'],
  [['activation_price'], 'priceStep'],
  [['activationPrice'], 'priceStep'],
  [['side'], 'other'],
  [['price', 'amount'], 'other'],
  [[], 'other'],
])('a fault of the fields %s means %s', (names, reason) => {
  const fields = Object.fromEntries(names.map((name) => [name, ['no']]));
  expect(classifyRejection({ name: 'validationFailed', fields })).toBe(reason);
});

test('lasting refusals raise an alarm each time, a closed market once', () => {
  const reasons = ['rateLimited', 'notProcessed', 'marketClosed', 'side', 'other'] as const;
  expect(reasons.map(isPassing)).toEqual([true, true, true, false, false]);
  expect(reasons.map((reason) => isAlarming(reason, 0))).toEqual([false, false, true, true, true]);
  expect(reasons.map((reason) => isAlarming(reason, 1))).toEqual([false, false, false, true, true]);
});

test('the pauses before retries grow', () => {
  const refusals = [0, 1, 2, 3, 4, 5, 6, 2_000];
  const pauses = (retryAfterMs?: number): readonly number[] =>
    refusals.map((count) => retryPauseMs(count, retryAfterMs === undefined ? {} : { retryAfterMs }));
  expect(pauses()).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  expect(pauses(60_000)).toEqual([1_000, 1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
  expect(pauses(2_500)).toEqual([1_000, 1_000, 1_000, 2_000, 2_500, 2_500, 2_500, 2_500]);
  expect(pauses(50)).toEqual(refusals.map(() => 200));
  expect(retryPauseMs(1)).toBe(400);
});

import { expect, test } from 'vitest';
import { KNOWN_LIMITS } from '../../src/config/exchange.ts';
import { DEFAULT_RATE_LIMITS } from '../../src/exchange/limits/rate-limit-table.ts';

test('the config knows the request budgets that the client has, by the same names', () => {
  expect(KNOWN_LIMITS.toSorted()).toEqual(Object.keys(DEFAULT_RATE_LIMITS).toSorted());
});

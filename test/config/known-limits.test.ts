import { expect, test } from 'vitest';
import { KNOWN_LIMITS } from '../../src/config/exchange.ts';
import { DEFAULT_RATE_LIMITS } from '../../src/exchange/limits/rate-limit-table.ts';

test("the config has the client's request budgets, under the same names", () => {
  expect(KNOWN_LIMITS.toSorted()).toEqual(Object.keys(DEFAULT_RATE_LIMITS).toSorted());
});

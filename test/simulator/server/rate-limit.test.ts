import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_RATE_LIMITS, RateLimiter } from '../../../src/simulator/http/rate-limit.ts';

test('for any arrivals, no window of one period ever admits more than the limit, and room is never refused', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 600 }),
      (requests, periodMs, gaps) => {
        const limiter = new RateLimiter([{ path: '*', requests, periodMs }]);
        const admitted: number[] = [];
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap % 3 === 0 ? 0 : gap;
          const recent = admitted.filter((time) => nowMs - time < periodMs).length;
          const admits = limiter.admit('/x', '::1', nowMs);
          expect(admits).toBe(recent < requests);
          if (admits) admitted.push(nowMs);
        }
      },
    ),
  );
});

test('the defaults are those of specification 8 and of the live service', () => {
  const limitOf = (path: string) => {
    const limiter = new RateLimiter(DEFAULT_RATE_LIMITS);
    let count = 0;
    while (limiter.admit(path, '::1', 0)) count += 1;
    return count;
  };
  expect(limitOf('/api/v4/public/ping')).toBe(20_000);
  expect(limitOf('/api/v4/trade-account/order/history')).toBe(12_000);
  expect(limitOf('/api/v4/main-account/balance')).toBe(1_000);
  expect(limitOf('/api/v4/main-account/fiat-deposit-url')).toBe(1_000);
  expect(limitOf('/api/v4/main-account/history')).toBe(200);
  expect(limitOf('/api/v4/collateral-account/positions/open')).toBe(12_000);
  expect(limitOf('/api/v4/collateral-account/hedge-mode/update')).toBe(1_000);
  expect(limitOf('/api/v4/credit-line/loans/info')).toBe(1_000);
  expect(limitOf('/api/v4/order/cancel/all')).toBe(10_000);
});

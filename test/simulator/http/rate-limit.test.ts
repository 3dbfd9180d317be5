import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENFORCED_RATE_LIMITS, RateLimiter } from '../../../src/simulator/http/rate-limit.ts';

test('for any arrivals, no window of one period admits more than the limit, and room is never refused', () => {
  // Small figures hit the edges of the window; large ones outgrow the initial allocation.
  const small = fc.record({
    requests: fc.integer({ min: 0, max: 4 }),
    periodMs: fc.integer({ min: 1, max: 6 }),
    gaps: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 60 }),
  });
  const large = fc.record({
    requests: fc.integer({ min: 60, max: 300 }),
    periodMs: fc.integer({ min: 30, max: 400 }),
    gaps: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 500, maxLength: 900 }),
  });
  fc.assert(
    fc.property(fc.oneof(small, large), ({ requests, periodMs, gaps }) => {
      const limiter = new RateLimiter([{ path: '*', requests, periodMs }]);
      const admitted: number[] = [];
      let nowMs = 0;
      for (const gap of gaps) {
        nowMs += gap;
        const recent = admitted.filter((time) => nowMs - time < periodMs).length;
        const admits = limiter.admit('/x', '::1', nowMs);
        if (admits !== recent < requests) expect.fail(`at ${nowMs}: ${recent} recent, admitted: ${admits}`);
        if (admits) admitted.push(nowMs);
      }
    }),
  );
});

test('the defaults are those of specification 8 and of the live service', () => {
  const limitOf = (path: string) => {
    const limiter = new RateLimiter(ENFORCED_RATE_LIMITS);
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

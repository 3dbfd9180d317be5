import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  clientOrderId,
  MAX_CLIENT_ORDER_ID_LENGTH,
  type OrderIdentity,
} from '../../../src/core/orders/order-request.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { runsOf } from '../../support/slice.ts';

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  // Characters that a careless separator or escape would confuse.
  fc.string({ unit: fc.constantFrom('a', '1', '.', '_', '-', '2e', '_2e_'), maxLength: 6 }),
);
const number = fc.nat(12);
const decimalText = fc.constantFrom('1', '1.0', '0.1', '10', '01').map((value) => value as DecimalString);
const common = {
  epoch: text,
  accountId: text,
  market: text,
  positionId: text,
  ruleId: text,
  episode: number,
  stage: number,
  attempt: number,
  generation: number,
};
const identity: fc.Arbitrary<OrderIdentity> = fc.oneof(
  fc.record({ role: fc.constant('reduce' as const), ...common }),
  fc.record({
    role: fc.constant('cover' as const),
    ...common,
    activationPrice: decimalText,
    amount: decimalText,
  }),
);

test('an id has only letters, digits, dots, dashes and underscores, and a bounded length', () => {
  fc.assert(
    fc.property(identity, (of) => {
      const id = clientOrderId(of);
      expect(id).toMatch(/^[A-Za-z0-9._-]+$/);
      expect(id.length).toBeLessThanOrEqual(MAX_CLIENT_ORDER_ID_LENGTH);
    }),
    { numRuns: runsOf(2_000) },
  );
});

test('different orders have different ids', () => {
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(identity, (of) => {
      const id = clientOrderId(of);
      const canonical = JSON.stringify(Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1)));
      const before = seen.get(id) ?? canonical;
      seen.set(id, canonical);
      expect(before).toBe(canonical);
    }),
    { numRuns: runsOf(5_000) },
  );
});

test('orders that differ in one part only have different ids', () => {
  const keys = [
    'epoch',
    'accountId',
    'market',
    'positionId',
    'ruleId',
    'episode',
    'stage',
    'attempt',
    'generation',
  ] as const;
  fc.assert(
    fc.property(identity, identity, fc.constantFrom(...keys), (of, other, key) => {
      fc.pre(of[key] !== other[key]);
      const changed = { ...of, [key]: other[key] };
      expect(clientOrderId(changed)).not.toBe(clientOrderId(of));
    }),
    { numRuns: runsOf(2_000) },
  );
});

import { expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import { contentWords } from '../../../src/core/view/record-words.ts';
import { ORDER } from '../digest/fixtures.ts';

const EVENT: AuditEvent = {
  kind: 'wouldPlace',
  atMs: 0,
  accountId: 'desk-1',
  market: 'BTC_PERP',
  reason: 'observeMode',
  words: 'would have been sent; the rule is in observe mode',
  alarm: false,
};

test('observe mode names side, amount and prices of an order it did not send', () => {
  expect(contentWords({ kind: 'action', event: { ...EVENT, order: ORDER } })).toBe(
    'wouldPlace BTC_PERP (observeMode): sell 0.25 BTC_PERP once the price is 59940 or less, limit 59600; ' +
      'would have been sent; the rule is in observe mode',
  );
});

test.each([
  [{ market: 'BTC_PERP', types: ['margin', 'futures'] }, 'cancel all margin, futures orders in BTC_PERP'],
  [{ types: ['spot'] }, 'cancel all spot orders in every market'],
  [{ market: 'BTC_PERP' }, 'cancel all orders in BTC_PERP'],
] as const)('observe mode names market and types of a cancel it did not send: %j', (cancel, words) => {
  const event: AuditEvent = { ...EVENT, kind: 'wouldCancel', cancel };
  expect(contentWords({ kind: 'action', event })).toContain(`: ${words}; would have been sent`);
});

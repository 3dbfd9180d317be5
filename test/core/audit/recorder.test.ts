import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';

test('events carry account, time and market, and are alarms only when marked so', () => {
  const [lane, account] = [recorder('desk-1', 'BTC_PERP', 5), recorder('desk-1', undefined, 6)];
  lane.emit({ kind: 'doubt', reason: 'newStore', words: 'who knows', alarm: true });
  lane.emit({ kind: 'placing', reason: 'wanted', words: 'one order' });
  account.emit({ kind: 'sharedAccount', reason: 'same', words: 'two of one', alarm: false });
  const place = { accountId: 'desk-1', market: 'BTC_PERP', atMs: 5 };
  expect(lane.events).toEqual([
    { ...place, kind: 'doubt', reason: 'newStore', words: 'who knows', alarm: true },
    { ...place, kind: 'placing', reason: 'wanted', words: 'one order', alarm: false },
  ]);
  expect(account.events).toEqual([
    {
      accountId: 'desk-1',
      atMs: 6,
      kind: 'sharedAccount',
      reason: 'same',
      words: 'two of one',
      alarm: false,
    },
  ]);
  expect(Object.keys(account.events[0] ?? {})).not.toContain('market');
});

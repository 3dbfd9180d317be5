import { expect, test } from 'vitest';
import { ProcessNotices } from '../../src/app/process-notices.ts';
import type { Notice } from '../../src/core/ports/notifier.ts';
import { StoreLostError } from '../../src/core/ports/state-store.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { manualClock } from '../state/support/manual-clock.ts';

function open() {
  const clock = manualClock(1_760_000_000_000);
  const told: Notice[] = [];
  const notices = new ProcessNotices(clock);
  const notifier = { hand: async (handed: readonly Notice[]) => void told.push(...handed) };
  const config = { accounts: ['desk-1'], channels: ['chat', 'pager'] };
  const scene = {
    accounts: () => config.accounts,
    channels: () => config.channels,
    modeOf: () => 'enforce' as const,
  };
  notices.start('i0', notifier, scene, (error) => expect.fail(String(error)));
  const fails = (error: unknown): void =>
    notices.emit({ kind: 'pollFailed', accountId: 'desk-1', why: 'error', error });
  const judged = (): void => notices.emit({ kind: 'evaluated', accountId: 'desk-1' } as DaemonEvent);
  const reload = (changes: Partial<typeof config>, lost: readonly string[] = []): void => {
    Object.assign(config, changes);
    const { length } = config.accounts;
    notices.emit({ kind: 'configReloaded', accounts: length, result: 'changed', warnings: [], lost });
  };
  return { clock, told, fails, judged, notices, reload };
}

test('people are notified of an account whose every poll fails by a defect', () => {
  const { clock, told, fails, judged } = open();
  for (const _poll of [1, 2, 3, 4]) {
    fails(new Error('Imprecise conversion'));
    clock.advance(5_000);
  }
  expect(told).toMatchObject([
    {
      kind: 'firing',
      accountId: 'desk-1',
      ruleId: 'built-in/not-judged',
      severity: 'critical',
      words: expect.stringContaining('Imprecise conversion') as string,
    },
  ]);
  judged();
  expect(told).toHaveLength(2);
  expect(told[1]).toMatchObject({ kind: 'resolved', ruleId: 'built-in/not-judged' });
});

test('a single failed poll, or one for a lost Redis, notifies nobody', () => {
  const { clock, told, fails, judged, notices } = open();
  fails(new Error('once'));
  judged();
  clock.advance(20_000);
  fails(new Error('once more'));
  for (const _poll of [1, 2, 3, 4]) {
    fails(new StoreLostError('reading', undefined));
    clock.advance(10_000);
  }
  notices.emit({ kind: 'redis', available: false });
  for (const _poll of [1, 2, 3, 4]) {
    fails(new Error('a connection that has gone'));
    clock.advance(10_000);
  }
  expect(told).toEqual([]);
});

test('the notice that an account is not watched stayed open for good when the account left the config', () => {
  const { clock, told, fails, reload } = open();
  fails(new Error('Imprecise conversion'));
  clock.advance(10_000);
  fails(new Error('Imprecise conversion'));
  reload({});
  expect(told.map(({ kind }) => kind)).toEqual(['firing']);
  reload({ accounts: [] });
  expect(told.slice(1)).toMatchObject([
    {
      kind: 'resolved',
      accountId: 'desk-1',
      key: told[0]?.key,
      ending: 'notJudged',
      words: 'the account has left the config: this says nothing about its danger',
    },
  ]);
  // Back again, one failure is not yet worth telling.
  reload({ accounts: ['desk-1'] });
  clock.advance(60_000);
  fails(new Error('Imprecise conversion'));
  expect(told).toHaveLength(2);
});

test('the notice that a channel does not deliver stayed open for good when the channel left the config', () => {
  const { told, notices, reload } = open();
  const delivery = { kind: 'failed', reason: 'refused', words: '404' } as const;
  notices.emit({ kind: 'delivered', report: { channel: 'chat', delivery } } as unknown as DaemonEvent);
  reload({ channels: ['pager'] });
  expect(told).toMatchObject([
    { kind: 'firing', ruleId: 'built-in/channel-failed' },
    { kind: 'resolved', ruleId: 'built-in/channel-failed', words: 'the channel has left the config' },
  ]);
  expect(told[1]?.ending).toBe('notJudged');
});

test('a config with fewer accounts came into force, and only an info line of the log said so', () => {
  const { told, reload } = open();
  const lost = ['a', 'b', 'c', 'd'].map((id) => `account ${id} is no longer watched`);
  reload({}, lost);
  expect(told).toMatchObject([
    {
      kind: 'alarm',
      ruleId: 'built-in/watches-less',
      words:
        'the config file has changed: account a is no longer watched; account b is no longer watched; ' +
        'account c is no longer watched; and 1 more. If that was not meant, restore the file',
    },
  ]);
  reload({});
  expect(told).toHaveLength(1);
});

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
  const scene = { channels: () => [], modeOf: () => 'enforce' as const };
  notices.start('i0', notifier, scene, (error) => expect.fail(String(error)));
  const fails = (error: unknown): void =>
    notices.emit({ kind: 'pollFailed', accountId: 'desk-1', why: 'error', error });
  const judged = (): void => notices.emit({ kind: 'evaluated', accountId: 'desk-1' } as DaemonEvent);
  return { clock, told, fails, judged, notices };
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

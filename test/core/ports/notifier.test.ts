import { expect, test } from 'vitest';
import { asUnproven, type Notice } from '../../../src/core/ports/notifier.ts';

test('an unproven notice keeps its words behind a warning, and is not critical any more', () => {
  const told = (severity: Notice['severity']): Notice =>
    ({ id: 'n-1', accountId: 'desk-1', severity, words: 'close it' }) as unknown as Notice;
  for (const [severity, shown] of [
    ['critical', 'warning'],
    ['warning', 'warning'],
    ['info', 'info'],
  ] as const) {
    expect(asUnproven(told(severity), 'wrong seal')).toEqual({
      ...told(severity),
      severity: shown,
      isUnproven: true,
      words: 'Not proven to be from Breakwater (wrong seal). It says: close it',
    });
  }
});

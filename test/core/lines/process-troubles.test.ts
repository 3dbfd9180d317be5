import { expect, test } from 'vitest';
import { degradedWords, processTroubles } from '../../../src/core/lines/process-troubles.ts';
import { DEGRADED_REASONS } from '../../../src/telemetry/health.ts';

test('every reason of a degraded process has words', () => {
  for (const reason of [...DEGRADED_REASONS, 'mirror']) {
    expect(degradedWords(reason)).not.toContain('degraded:');
  }
  expect(degradedWords('new-one')).toBe('degraded: new-one');
});

test('a process that only watches is reported once, with the reason; what accounts report is not repeated', () => {
  const why = 'watching only: started without Redis, and without a mirror of the last 5 minutes';
  const checks = [
    { name: 'redis', ok: false, why },
    { name: 'firstEvaluation', ok: false, why: 'desk-1' },
  ];
  expect(processTroubles({ degraded: ['redis', 'mirror'], health: { checks } })).toEqual([
    why,
    'what it knows cannot be kept on disk (stateDir)',
  ]);
  expect(processTroubles({ degraded: ['redis'], health: { checks: [] } })).toEqual([
    'Redis is lost, this process goes on alone',
  ]);
});

test('the reason for a lost Redis is shown only while it is lost, with default words if there are none', () => {
  const words = (ok: boolean, why?: string | null): readonly string[] =>
    processTroubles({
      degraded: ['redis', 'log'],
      health: { checks: [{ name: 'redis', ok, ...(why === undefined ? {} : { why }) }] },
    });
  const lost = 'Redis is lost, this process goes on alone';
  const log = 'lines of its log are lost';
  expect(words(true, 'it was slow')).toEqual([lost, log]);
  expect(words(false, 'refused')).toEqual(['refused', log]);
  expect([words(false), words(false, null)]).toEqual([
    ['Redis does not answer', log],
    ['Redis does not answer', log],
  ]);
});

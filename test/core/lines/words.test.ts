import { describe, expect, test } from 'vitest';
import {
  AuditFormatError,
  AuditInputsError,
  GENESIS_HASH,
  OPERATOR_CHAIN,
} from '../../../src/core/audit/audit-record.ts';
import { DELIVERY_FAILURES } from '../../../src/core/ports/delivery.ts';
import { MOST_AHEAD_MS, SEQUENCES_PER_MS } from '../../../src/core/ports/nonce-store.ts';
import { RESOLVED } from '../../../src/core/ports/notifier.ts';
import { ControlError } from '../../../src/core/ports/operator-controls.ts';
import { WINDOW_BUCKETS } from '../../../src/core/ports/rate-limit-store.ts';
import { BUCKETS, bucketOf, StoreLostError } from '../../../src/core/ports/state-store.ts';
import { roughly } from '../../../src/core/quantities/roughly.ts';
import { canonicalJson, orderedJson } from '../../../src/core/text/canonical-json.ts';
import { clockWords, soonWords } from '../../../src/core/text/time-words.ts';
import { causeOfFailure, failureWords } from '../../../src/core/view/blindness.ts';
import { causeWords, STATE_CAUSES } from '../../../src/core/view/state-line.ts';

test.each([
  [-5, 'under 1 s'],
  [999, 'under 1 s'],
  [1_000, '1 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [61_000, '1 min 1 s'],
  [125_000, '2 min 5 s'],
  [3_599_000, '59 min 59 s'],
  [3_600_000, '1 h'],
  [3_660_000, '1 h 1 min'],
  [47 * 3_600_000 + 59 * 60_000, '47 h 59 min'],
  [48 * 3_600_000, '2 days'],
  [71 * 3_600_000, '2 days'],
  [72 * 3_600_000, '3 days'],
])('%i ms are %s', (ms, words) => {
  expect(roughly(ms)).toBe(words);
});

test('times of the day, and in how many days', () => {
  const nowMs = Date.UTC(2026, 0, 1, 23, 59, 59, 999);
  expect([0, 1, 60_000, 86_400_000, 2 * 86_400_000].map((ms) => soonWords(nowMs + ms, nowMs))).toEqual([
    '23:59 UTC',
    '00:00 UTC in 1 day',
    '00:00 UTC in 1 day',
    '23:59 UTC in 1 day',
    '23:59 UTC in 2 days',
  ]);
  expect(clockWords(Date.UTC(2026, 0, 1, 3, 4, 5, 999))).toBe('03:04:05 UTC');
});

test('every cause has words, and every failure of a read a cause', () => {
  expect(STATE_CAUSES.map((cause) => `${cause}: ${causeWords(cause)}`)).toMatchSnapshot();
  const names = [
    ['unauthenticated', 'permissionDenied', 'nonceRefused', 'addressNotAllowed', 'loansNotAvailable'],
    ['nameNotResolved', 'certificateRefused', 'connectionRefused', 'connectTimeout'],
    ['connectFailed', 'proxyRefused', 'timeout', 'connectionLost', 'noReply'],
    ['rateLimited', 'rateBudgetSpent'],
    ['replyInvalid', 'replyNotJson', 'replyTooLarge', 'replyUndecodable'],
    ['serverError', 'anything'],
  ];
  const causes = names.map((group) => [...new Set(group.map((error) => causeOfFailure({ error })))].join());
  expect(causes).toEqual([
    'keyRefused',
    'unreachable',
    'unreachable',
    'rateLimited',
    'replyUnreadable',
    'exchangeFails',
  ]);
  expect([failureWords({ httpStatus: 401, words: 'no' }), failureWords({ words: 'no' })]).toEqual([
    '401: no',
    'no',
  ]);
});

describe('JSON of records', () => {
  const value = { b: 1, a: ['x', null, true, { d: undefined, c: -0.5 }], ä: 'secret' };

  test('has its keys sorted, or in their order, with texts redacted', () => {
    const redact = (text: string): string => text.replace('secret', '…');
    expect(canonicalJson(value, redact)).toBe('{"a":["x",null,true,{"c":-0.5}],"b":1,"ä":"…"}');
    expect(orderedJson(value)).toBe('{"b":1,"a":["x",null,true,{"c":-0.5}],"ä":"secret"}');
    expect(canonicalJson({ secret: 1 }, redact)).toBe('{"…":1}');
  });

  test.each([[Number.NaN], [Infinity], [[undefined]], [{ a: () => 1 }], [10n], [Symbol('x')]])(
    'has no %s',
    (odd) => {
      expect(() => canonicalJson(odd)).toThrow(TypeError);
      expect(() => orderedJson(odd)).toThrow(TypeError);
    },
  );
});

test('an account stays in its bucket for ever', () => {
  const ids = ['', 'a', 'b', 'desk-1', 'desk-2', 'desk-10', 'Konto Ä', '😀', 'x'.repeat(64)];
  expect(ids.map((id) => `${id} ${bucketOf(id)}`)).toMatchSnapshot();
  const used = new Set(Array.from({ length: 1_000 }, (_, index) => bucketOf(`account-${index}`)));
  expect([used.size, Math.min(...used), Math.max(...used)]).toEqual([BUCKETS, 0, 63]);
});

/** Stored data and metrics of all versions use these names. */
test('what must not change unnoticed', () => {
  const errors = [
    new AuditFormatError('desk', 7, '9'),
    new AuditInputsError('gone'),
    new StoreLostError('reading', undefined),
    new ControlError('KEY_REUSED', 'taken'),
  ];
  expect({
    DELIVERY_FAILURES,
    MOST_AHEAD_MS,
    SEQUENCES_PER_MS,
    WINDOW_BUCKETS,
    GENESIS_HASH,
    OPERATOR_CHAIN,
    RESOLVED,
    errors: errors.map(({ name, code, message }) => [name, code, message]),
  }).toMatchSnapshot();
});

test('a store that is lost says what it was lost by', () => {
  const cause = new Error('connection refused');
  expect(new StoreLostError('reading', cause).cause).toBe(cause);
});

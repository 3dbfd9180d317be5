import { expect, test } from 'vitest';
import { foreignWords } from '../../../src/core/redaction/foreign-words.ts';

const LIMITS = { maxLength: 80, opaqueLength: 20 };

test('words from outside are one short line without secrets, addresses and tokens', () => {
  const shown = foreignWords(['Li', 'k.y-0123'], LIMITS);
  expect(shown('no\r\n\u202eaccess for K.Y-0123')).toBe('no access for [redacted]');
  expect(shown('li asked https://10.0.0.1/x?token=1 twice')).toBe('[redacted] asked [address] twice');
  expect(shown(`signature ${'ab12'.repeat(6)}, id stop-000000000001`)).toBe(
    'signature [redacted], id stop-000000000001',
  );
  expect(shown('word '.repeat(1_000))).toHaveLength(LIMITS.maxLength);
});

test('a secret that is cut at the end of what is read does not show in part', () => {
  const secret = 's3cret words of a person';
  const text = `${' '.repeat(9_990)}${secret}`;
  expect(foreignWords([secret], LIMITS)(text)).not.toContain('s3cret');
});

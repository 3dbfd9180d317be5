import { expect, test } from 'vitest';
import { foreignWords } from '../../../src/core/redaction/foreign-words.ts';

const LIMITS = { maxLength: 80, opaqueLength: 20 };

test('foreign words become one short line without secrets, addresses and tokens', () => {
  const shown = foreignWords(['Li', 'k.y-0123'], LIMITS);
  expect(shown('no\r\n\u202eaccess for K.Y-0123')).toBe('no access for [redacted]');
  expect(shown('li asked https://10.0.0.1/x?token=1 twice')).toBe('[redacted] asked [address] twice');
  expect(shown(`signature ${'ab12'.repeat(6)}, id stop-000000000001`)).toBe(
    'signature [redacted], id stop-000000000001',
  );
  expect(shown('word '.repeat(1_000))).toHaveLength(LIMITS.maxLength);
});

test('a secret cut off at the reading limit is not shown in part', () => {
  const secret = 's3cret words of a person';
  const text = `${' '.repeat(9_990)}${secret}`;
  expect(foreignWords([secret], LIMITS)(text)).not.toContain('s3cret');
});

test('of a long text the first 1,500 characters are read, of one up to 2,000 all', () => {
  const shown = foreignWords([], { maxLength: 10_000, opaqueLength: 20 });
  const words = (length: number): string => 'abc '.repeat(600).slice(0, length - 1);
  expect(shown(`${words(2_000)}z`)).toBe(`${words(2_000)}z`);
  expect(shown(`${words(2_001)}z`)).toBe(words(2_001).slice(0, 1_500).trim());
  expect(shown(`z${words(5_000)}`)).toBe(`z${words(5_000).slice(0, 1_499)}`);
});

test('the longest matching secret is hidden; a secret of one letter is ignored', () => {
  const secrets = ['key', 'key-of-desk', 'key-of', 'x'];
  for (const turned of [secrets, secrets.toReversed(), secrets.toSorted()]) {
    const shown = foreignWords(turned, LIMITS);
    expect(shown('key-of-desk, KEY-OF, key: x')).toBe('[redacted], [redacted], [redacted]: x');
  }
});

test('without secrets only addresses and tokens are hidden, every one of them', () => {
  const shown = foreignWords([], LIMITS);
  expect(shown(' undefined, not null \n')).toBe('undefined, not null');
  const [token, word] = ['a'.repeat(20), 'b'.repeat(19)];
  expect(shown(`${token} ${word} ${token}`)).toBe(`[redacted] ${word} [redacted]`);
  expect(shown('http://a/b and ftp://c')).toBe('[address] and [address]');
});

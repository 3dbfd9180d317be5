import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatProblem } from '../../src/config/problem.ts';
import { changeAt, placeOf } from '../../src/config/yaml/document.ts';
import { parseYaml } from '../../src/config/yaml/parse.ts';
import { describeText, digitsOf, looksSecret } from '../../src/config/yaml/value.ts';
import { runsOf } from '../support/slice.ts';

const lines = (text: string): readonly string[] => parseYaml(text, 'f').problems.map(formatProblem);

describe('source places', () => {
  test('of values, keys, items, and missing keys', () => {
    const { document } = parseYaml('a:\n  - b: 1\n    "c d": {x: [10, 20]}\n', 'f');
    const at = (path: readonly (string | number)[], what?: 'key') => {
      const { line, column } = placeOf(document?.root ?? expect.fail(), path, what);
      return [line, column];
    };
    expect(at(['a', 0, 'b'])).toEqual([2, 8]);
    expect(at(['a', 0, 'b'], 'key')).toEqual([2, 5]);
    expect(at(['a', 0, 'c d', 'x', 1])).toEqual([3, 21]);
    expect(at(['a', 0])).toEqual([2, 5]);
    expect(at(['a', 0, 'c d', 'missing'])).toEqual([3, 5]);
    expect(at(['nothing', 'here'])).toEqual([1, 1]);
  });

  test('in files with CRLF line ends and a byte order mark', () => {
    const { document } = parseYaml('\uFEFFa: 1\r\nb:\r\n  c: 2\r\n', 'f');
    expect(placeOf(document?.root ?? expect.fail(), ['b', 'c'])).toEqual({ file: 'f', line: 3, column: 6 });
  });
});

test('a change without effect copies nothing: reading a long list takes linear time', () => {
  const { document = expect.fail() } = parseYaml('rules: [{ id: a }, { id: b }]\n', 'f');
  expect(changeAt(document, ['rules', 1], (node) => node).root).toBe(document.root);
  const changed = changeAt(document, ['rules', 1, 'id'], (node) => ({ ...node, value: 'c' }));
  expect(changed.root.value).toEqual({ rules: [{ id: 'a' }, { id: 'c' }] });
  expect(document.root.value).toEqual({ rules: [{ id: 'a' }, { id: 'b' }] });
});

describe('values', () => {
  test('numbers keep their digits', () => {
    const { document } = parseYaml('[0.10, 1e3, 100000000000000000000.1, "0.1", 0x1F, .5]', 'f');
    const texts = ((document ?? expect.fail()).root.value as unknown[]).map(
      (value) => digitsOf(value) ?? value,
    );
    expect(texts).toEqual(['0.10', '1e3', '100000000000000000000.1', '0.1', '0x1F', '.5']);
  });

  test('aliases are followed, even within lists of mappings', () => {
    const { document, problems } = parseYaml('a: &x { k: 1 }\nb: [*x, *x]\n', 'f');
    expect(problems).toEqual([]);
    const { b } = (document ?? expect.fail()).root.value as { b: { k: unknown }[] };
    expect(b.map(({ k }) => digitsOf(k))).toEqual(['1', '1']);
  });
});

describe('refused YAML', () => {
  const bomb = `a0: &a0 [x, x]\n${Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`).join('\n')}\n`;

  test.each([
    ['a tab', 'a:\n\tb: 1\n', 'f:2:1: expected spaces for indentation, got a tab'],
    ['a tag', 'a: !!binary aGVsbG8=\n', 'f:1:4: expected no tag'],
    ['a merge key', 'a: &x { k: 1 }\nb: { <<: *x }\n', 'f:2:6 b: expected a plain key, got a merge key'],
    ['two documents', 'a: 1\n---\nb: 2\n', 'f:2:1: expected one document'],
    ['an unknown alias', 'a: *x\n', 'f:1:4 a: expected an alias'],
    ['a circle', 'a: &x [*x]\n', 'expected at most 40 levels of nesting, got more'],
    ['a bomb', bomb, 'expected at most 50000 values, got more'],
    ['depth', `${'['.repeat(60)}${']'.repeat(60)}`, 'expected at most 40 levels of nesting'],
    ['much more depth', '['.repeat(100_000), 'expected a simpler document'],
    ['far too many values', `[${'[],'.repeat(200_000)}]`, 'f:1:1: expected at most 50000 values'],
    ['a list as key', '? [a]\n: 1\n', 'expected a plain key'],
    ['the prototype', '__proto__: { a: 1 }\n', 'f:1:1: expected a plain key, got "__proto__"'],
    ['a constructor', 'a: { constructor: 1 }\n', 'f:1:6 a: expected a plain key, got "constructor"'],
    ['an open quote', 'a: "b\n', 'expected'],
    ['a huge file', 'a'.repeat(1_000_001), 'f:1:1: expected at most 1000000 characters, got 1000001'],
  ])('%s', (_name, text, expected) => {
    const found = lines(text);
    expect(found.length).toBeGreaterThan(0);
    expect(found.join('\n')).toContain(expected);
  });

  test('a text of a million brackets is refused quickly, and without much memory', () => {
    const costOf = (text: string): number => {
      const before = process.cpuUsage();
      lines(text);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const [few, many] = [10_000, 330_000].map((count) => `[${'[],'.repeat(count)}]`);
    expect(costOf(many ?? '')).toBeLessThan(costOf(few ?? ''));
  });

  test('several syntax errors are reported at once', () => {
    expect(lines('a: !tag x\nb: !tag y\n').length).toBe(2);
  });
});

describe('no possible secret is repeated', () => {
  const secret = 'f00dfeed1234deadbeef5678';

  test.each([
    `apiSecret: "${secret}" tail\n`,
    `apiSecret: '${secret}\n`,
    `apiSecret: !${secret} x\n`,
    `apiSecret: *${secret}\n`,
    `- ${secret}: 1\n- ${secret}\n  ${secret}`,
    `${secret}: 1\n${secret}: 2\n`,
    `%${secret}\n---\na: 1\n`,
    `a: "\\${secret}"\n`,
  ])('%j', (text) => {
    expect(lines(text).join('\n')).not.toContain(secret);
  });

  test('text that looks like a secret', () => {
    for (const text of [secret, 'redis://:pw@host', 'apiSecret: x', 'password=hunter2', `token ${secret}`]) {
      expect([text, looksSecret(text)]).toEqual([text, true]);
      expect(describeText(text)).not.toContain(text);
    }
    for (const text of [
      'BTC_PERP',
      'near-liquidation',
      'https://api.exchange.example',
      'Europe/London',
      '*_PERP',
    ]) {
      expect([text, looksSecret(text)]).toEqual([text, false]);
    }
  });
});

test('any text is parsed, or refused with a place inside of it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      for (const { place } of parseYaml(text, 'f').problems) {
        expect(place.line).toBeGreaterThanOrEqual(1);
        expect(place.line).toBeLessThanOrEqual(text.split(/\r\n|\n|\r/).length + 1);
        expect(place.column).toBeGreaterThanOrEqual(1);
      }
    }),
    { numRuns: runsOf(500) },
  );
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileGlobs } from '../../../src/core/rules/filter.ts';

describe('globs', () => {
  test.each([
    [['*'], 'BTC_PERP', true],
    [['*_PERP'], 'BTC_PERP', true],
    [['*_PERP'], 'BTC_PERP2', false],
    [['BTC_*'], 'BTC_PERP', true],
    [['BTC_*'], 'WBTC_PERP', false],
    [['B?C_PERP'], 'BTC_PERP', true],
    [['B?C_PERP'], 'BTTC_PERP', false],
    [['*T*_*P'], 'BTC_PERP', true],
    [['BTC.PERP'], 'BTC_PERP', false],
    [['BTC_PERP'], 'BTC_PERP', true],
    [['ETH_PERP', 'BTC_PERP'], 'BTC_PERP', true],
    [[], 'BTC_PERP', false],
    [[''], '', true],
    [['**'], '', true],
    [['?'], '', false],
  ] as const)('%j on %j: %s', (globs, text, matches) => {
    expect(compileGlobs(globs)(text)).toBe(matches);
  });

  test('match exactly like the regular expression that defines them', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '_'), maxLength: 8 });
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 8 });
    fc.assert(
      fc.property(glob, text, (pattern, subject) => {
        const expected = new RegExp(
          `^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')}$`,
          'su',
        );
        expect(compileGlobs([pattern])(subject)).toBe(expected.test(subject));
      }),
      { numRuns: 3_000 },
    );
  });

  test('a hostile pattern takes no exponential time', () => {
    expect(compileGlobs([`${'*a'.repeat(50)}b`])('a'.repeat(5_000))).toBe(false);
  });
});

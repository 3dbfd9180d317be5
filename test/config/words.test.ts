import { describe, expect, test } from 'vitest';
import { SUBJECT_KINDS } from '../../src/config/rules/rule.ts';
import { ruleInWords } from '../../src/config/words/rules.ts';
import { fieldsOf } from '../../src/core/fields/field-catalogue.ts';
import { linesOf, loaded, rule } from './support.ts';

const words = (parts: Parameters<typeof rule>[0]): string => {
  const [first] = loaded(rule(parts)).accounts[0]?.rules ?? [];
  return first === undefined ? '' : ruleInWords(first);
};

describe('rules in words', () => {
  test('match the first rule of the documentation', () => {
    expect(
      words({
        when: '{ liquidationDistance: { below: 5%, clearAbove: 7% } }',
        do: '[{ cancelAll: { types: [margin, futures], scope: market } }, { reduce: { untilDistance: 10%, slippage: 0.5% } }]',
        more: 'where: { market: "*_PERP" }, for: 3s, keepFiringFor: 60s, escalate: [{ after: 30s, do: [{ reduce: { to: 0%, slippage: 2% } }] }], limits: { cooldown: 5m, perHour: 6 }',
      }),
    ).toBe(
      'when a position in *_PERP is nearer than 5.0 % to liquidation for 3 s: cancel margin and futures orders in its market, then reduce until 10.0 % away with a slippage of 0.5 %; when that still holds 30 s after firing: close it with a slippage of 2.0 %. It clears with liquidationDistance above 7.0 % and fires on for 1 min after that. It acts not again within 5 min of its end, at most 6 times an hour',
    );
  });

  test.each([
    [{ when: '{ disagreement: true }' }, 'when a position has disagreement: only show it'],
    [{ when: '{ not: { disagreement: true } }' }, 'when a position has no disagreement: only show it'],
    [{ when: '{ disagreement: false }' }, 'when a position has no disagreement: only show it'],
    [
      { when: '{ not: { liquidationDistance: { above: 50% } } }' },
      'when a position is not farther than 50.0 % from liquidation: only show it',
    ],
    [
      { when: '{ not: { any: [{ size: { above: 1 } }, { notional: { above: 50000 } }] } }' },
      'when a position does not fulfil "has size above 1 or is worth more than 50,000": only show it',
    ],
    [
      { on: 'creditLine', when: '{ not: { currentLtv: { above: 70% } } }' },
      'when a credit line does not fulfil "has an LTV above 70.0 %": only show it',
    ],
    [
      { when: '{ not: { direction: short } }' },
      'when a position does not fulfil "has direction short": only show it',
    ],
    [
      {
        when: '{ size: { above: 1 }, any: [{ amount: { below: 2 } }, { funding: { above: 3 } }] }',
        more: 'for: 1s',
      },
      'when a position ((has amount below 2 or has funding above 3) and has size above 1) for 1 s: only show it',
    ],
    [
      {
        on: 'account',
        when: '{ mainBalance: { asset: USDT, below: 1000 } }',
        do: '[{ cancelAll: { types: [spot] } }]',
      },
      'when the account has less than 1,000 USDT in its main balance: cancel spot orders in the whole account',
    ],
    [
      {
        when: '{ size: { above: 0 } }',
        more: 'active: { days: mon-fri, from: "22:00", to: "6:00", tz: Europe/London }',
      },
      'on Mon, Tue, Wed, Thu, Fri from 22:00 to 06:00 (Europe/London), when a position has size above 0: only show it',
    ],
    [
      { when: '{ size: { above: 0 } }', do: '[{ reduce: { toNotional: 250000.50, slippage: 1% } }]' },
      'when a position has size above 0: reduce to a value of 250,000.50 with a slippage of 1.0 %',
    ],
  ])('%j', (parts, expected) => expect(words(parts)).toBe(expected));

  test('every field has words, and comparisons in its unit', () => {
    const values = { ratio: '5%', ratioPerHour: '2%', seconds: '90s', minutes: '2h' } as const;
    for (const on of SUBJECT_KINDS) {
      for (const field of fieldsOf(on)) {
        const parameters = field.parameters
          .filter(({ required }) => required)
          .map(({ name }) => (name === 'windowMs' ? 'within: 1h, ' : 'asset: USDT, '))
          .join('');
        const value =
          field.type === 'number' ? ((values as Readonly<Record<string, string>>)[field.unit] ?? '50') : '';
        const comparison =
          field.type === 'number'
            ? `{ ${parameters}above: ${value} }`
            : field.type === 'enum'
              ? `{ in: [${field.values.join(', ')}] }`
              : field.type === 'boolean'
                ? 'true'
                : 'BTC_PERP';
        const told = words({ on, when: `{ ${field.name}: ${comparison} }` });
        expect(told).toMatch(
          /^when (a position|a credit line|the account) (is|has|had|uses|was|created|paid|traded|withdrew) .*: only show it$/,
        );
        expect(told).not.toMatch(/undefined|NaN|\{|\}/);
      }
    }
  });

  test('a missing parameter of a field is reported', () => {
    expect(linesOf(rule({ on: 'account', when: '{ spotOrderCount: { above: 5 } }' }))).toEqual([
      'breakwater.yaml:11:35 rules[0].when.spotOrderCount.within: expected a duration such as 3s, 5m or 1h30m, from 1 min to 30 days, got nothing',
    ]);
  });
});

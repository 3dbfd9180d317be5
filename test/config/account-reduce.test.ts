import { describe, expect, test } from 'vitest';
import { linesOf, loaded, problemsOf, rule } from './support.ts';

const NEAR = '{ jointDistance: { below: 5%, clearAbove: 8% } }';
const actionsOf = (text: string) => loaded(text).accounts[0]?.rules[0]?.actions ?? expect.fail();
const problems = (action: string, when = NEAR) =>
  linesOf(rule({ on: 'account', when, do: `[{ reduce: ${action} }]` })).map((line) =>
    line.replace(/^\S+ /, ''),
  );

describe('a reduction for the whole account', () => {
  test('applies to all positions unless positions are given', () => {
    const text = (action: string) => rule({ on: 'account', when: NEAR, do: `[{ reduce: ${action} }]` });
    expect(actionsOf(text('{ until: { jointDistance: 10% }, slippage: 1% }'))).toEqual([
      {
        kind: 'reduce',
        target: { kind: 'untilJointDistance', distance: 0.1 },
        slippageSteps: [0.01],
        positions: ['*'],
      },
    ]);
    expect(
      actionsOf(text('{ until: { marginUsage: 60%, asset: USDT }, positions: "*_PERP", slippage: 1% }')),
    ).toEqual([
      {
        kind: 'reduce',
        target: { kind: 'untilMarginUsage', asset: 'USDT', usage: 0.6 },
        slippageSteps: [0.01],
        positions: ['*_PERP'],
      },
    ]);
  });

  test.each([
    [
      '{ until: { jointDistance: 10%, marginUsage: 60%, asset: USDT } }',
      'exactly one of jointDistance and marginUsage, got both',
    ],
    ['{ until: {} }', 'exactly one of jointDistance and marginUsage, got neither'],
    ['{ until: { marginUsage: 60% } }', 'asset together with marginUsage, got marginUsage alone'],
    [
      '{ until: { jointDistance: 10%, asset: USDT } }',
      'asset together with marginUsage only, got asset with jointDistance',
    ],
    [
      '{ until: { jointDistance: 10% }, by: 10% }',
      'exactly one of by, to, toNotional, untilDistance and until, got by and until',
    ],
    ['{ by: 10% }', 'positions, the markets whose positions are meant ("*" for all), got none'],
    [
      '{ untilDistance: 10%, positions: "*" }',
      'reduce: { until: { jointDistance: ... } } in a rule on jointDistance, got untilDistance, which is of one position',
    ],
  ])('refuses %s', (action, expected) => {
    expect(problems(action)).toEqual([expect.stringContaining(`expected ${expected}`)]);
  });

  test('refuses jointDistance with untilDistance in a later stage, too', () => {
    const more = 'escalate: [{ after: 10s, do: [{ reduce: { untilDistance: 10%, positions: "*" } }] }]';
    expect(problemsOf(rule({ on: 'account', when: NEAR, more }))).toEqual([
      expect.objectContaining({ severity: 'error', code: 'wrong-value' }),
    ]);
  });

  test('is for accounts only', () => {
    expect(linesOf(rule({ do: '[{ reduce: { until: { jointDistance: 10% } } }]' }))[0]).toContain('until');
  });

  test('warns if the rule still fires at its target', () => {
    expect(problems('{ until: { jointDistance: 8% } }')).toEqual([
      expect.stringContaining('expected until.jointDistance to be more than 8.0 %'),
    ]);
    const usage = '{ marginUsage: { asset: USDT, above: 80%, clearBelow: 70% } }';
    expect(problems('{ until: { marginUsage: 70%, asset: USDT } }', usage)).toEqual([
      expect.stringContaining('expected until.marginUsage to be less than 70.0 %'),
    ]);
    expect(problems('{ until: { marginUsage: 60%, asset: USDT } }', usage)).toEqual([]);
  });
});

describe('sums in a currency that a market does not name', () => {
  const perp =
    'BTC_PERP: { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3%MONEY }';
  const text = (when: string, market = perp) =>
    rule({ on: 'account', when }).replace(/markets: .*\n/, `markets: { ${market} }\n`);

  test.each(['totalNotional', 'totalMargin', 'freeMargin', 'marginUsage'])('%s: a warning', (field) => {
    const found = problemsOf(
      text(
        `{ ${field}: { asset: USDT, above: 1% } }`.replace('1%', field === 'marginUsage' ? '1%' : '1'),
        perp.replace('MONEY', ''),
      ),
    );
    expect(found.map(({ severity, code, path }) => [severity, code, path])).toEqual([
      ['warning', 'money-unknown', 'markets.BTC_PERP'],
    ]);
    expect(found[0]?.message).toContain('its positions count as PERP, and r asks for USDT');
  });

  test('no warning if the market names it, or if another kind of sum is meant', () => {
    const named = perp.replace('MONEY', ', money: USDT');
    expect(problemsOf(text('{ totalNotional: { asset: USDT, above: 1 } }', named))).toEqual([]);
    const bare = perp.replace('MONEY', '');
    expect(problemsOf(text('{ mainBalance: { asset: USDT, below: 1 } }', bare))).toEqual([]);
    expect(problemsOf(text('{ totalNotional: { asset: PERP, above: 1 } }', bare))).toEqual([]);
  });
});

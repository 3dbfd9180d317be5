import { describe, expect, test } from 'vitest';
import { checked, linesOf, problemsOf, rule, withRules } from './support.ts';

/** Code and message of each warning of an otherwise correct config. */
const warnings = (text: string): readonly (readonly [string, string])[] =>
  problemsOf(text).map(({ severity, code, message }) => {
    expect([severity, message]).toEqual(['warning', message]);
    return [code, message];
  });

const codes = (text: string): readonly string[] => warnings(text).map(([code]) => code);

describe('comparisons', () => {
  test.each([
    ['position', '{ size: { below: 0 } }', 'never-fires'],
    ['position', '{ liquidationProbability: { within: 1h, above: 100% } }', 'never-fires'],
    ['position', '{ liquidationProbability: { within: 1h, above: -1% } }', 'always-fires'],
    ['position', '{ liquidationDistance: { below: 150% } }', 'always-fires'],
    ['position', '{ notional: { equals: 50000 } }', 'never-fires'],
    ['account', '{ positionCount: { equals: 1.5 } }', 'never-fires'],
    ['account', '{ positionCount: { equals: 2 } }', undefined],
    ['creditLine', '{ collateralMayFall: { below: 150% } }', 'always-fires'],
    ['creditLine', '{ collateralMayFall: { above: 100% } }', 'never-fires'],
    ['creditLine', '{ currentLtv: { above: 0 } }', undefined],
    ['position', '{ liquidationDistance: { below: 5%, clearAbove: 4% } }', 'clear-on-wrong-side'],
    ['position', '{ liquidationDistance: { below: 5%, clearAbove: 5% } }', undefined],
    ['position', '{ marginUsage: { above: 80%, clearBelow: 81% } }', 'clear-on-wrong-side'],
    ['position', '{ size: { above: 1, clearBelow: 0 } }', 'clear-on-wrong-side'],
    ['creditLine', '{ collateralMayFall: { below: 5%, clearAbove: 100% } }', 'clear-on-wrong-side'],
    ['position', '{ all: [{ notional: { above: 10 } }, { notional: { below: 10 } }] }', 'never-fires'],
    ['position', '{ all: [{ notional: { above: 9 } }, { notional: { below: 10 } }] }', undefined],
    ['account', '{ dataAge: { above: 10s } }', 'timing'],
    ['account', '{ dataAge: { above: 11s } }', undefined],
  ])('%s %s: %s', (on, when, code) => {
    expect(codes(rule({ on, when }))).toEqual(code === undefined ? [] : [code]);
  });

  test('are reported at the comparison, even deep inside of all, any and not', () => {
    const when =
      '{ any: [{ not: { size: { below: 0 } } }, { all: [{ notional: { above: 1 } }, { size: { below: -1 } }] }] }';
    const lines = linesOf(rule({ when }));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^breakwater.yaml:11:\d+ rules\[0\]\.when\.any\[0\]\.not\.size: warning: /);
    expect(lines[1]).toMatch(/^breakwater.yaml:11:\d+ rules\[0\]\.when\.any\[1\]\.all\[1\]\.size: warning: /);
  });
});

describe('a condition on the data age that only holds when the data are too old to decide', () => {
  const account = (when: string) => codes(rule({ on: 'account', when }));

  test.each([
    '{ dataAge: { above: 60s }, positionCount: { above: 0 } }',
    '{ all: [{ dataAge: { above: 15s } }, { not: { disagreement: true } }] }',
    '{ all: [{ dataAge: { source: positions, above: 60s } }, { totalNotional: { asset: USDT, above: 1 } }] }',
    '{ all: [{ dataAge: { above: 60s } }, { any: [{ positionCount: { above: 0 } }, { freeMargin: { asset: USDT, below: 1 } }] }] }',
    '{ any: [{ positionCount: { above: 9 } }, { all: [{ dataAge: { above: 60s } }, { recordsSetAside: { above: 0 } }] }] }',
    '{ not: { all: [{ dataAge: { above: 60s } }, { positionCount: { above: 0 } }] } }',
  ])('warns if joined with a condition that is unknown then: %s', (when) => {
    expect(account(when)).toEqual(['never-fires']);
  });

  test.each([
    '{ dataAge: { above: 60s } }',
    '{ all: [{ dataAge: { above: 14s } }, { positionCount: { above: 0 } }] }',
    '{ any: [{ dataAge: { above: 60s } }, { positionCount: { above: 0 } }] }',
    '{ all: [{ dataAge: { source: positions, above: 60s } }, { dataAge: { source: transfers, above: 60s } }] }',
    '{ all: [{ dataAge: { source: transfers, above: 60s } }, { positionCount: { above: 0 } }] }',
    '{ all: [{ dataAge: { above: 60s } }, { any: [{ positionCount: { above: 0 } }, { dataAge: { above: 2m } }] }] }',
    '{ all: [{ dataAge: { below: 60s } }, { positionCount: { above: 0 } }] }',
  ])('does not warn if joined with a condition that is known then: %s', (when) => {
    expect(account(when)).toEqual([]);
  });

  test('counts from the account’s own bound', () => {
    const text = rule({ on: 'account', when: '{ dataAge: { above: 60s }, positionCount: { above: 0 } }' });
    expect(codes(text.replace('cancel: always', 'cancel: always, maxSnapshotAge: 2m'))).toEqual([]);
  });
});

describe('actions', () => {
  test.each(['0', '0%', '-5%', '100%', '1.0', '100.1%', '120%'])(
    'a protective stop at %s of the way is refused, in a rule and as a default of the file or an account',
    (at) => {
      const inRule = rule({ do: `[{ protect: { at: ${at} } }]` });
      const byDefault = rule({ do: '[{ protect: {} }]' });
      const ofFile = byDefault.replace('cancel: always', `cancel: always, protect: { at: ${at} }`);
      const ofAccount = byDefault.replace('rules: [r]', `rules: [r]\n    acting: { protect: { at: ${at} } }`);
      for (const text of [inRule, ofFile, ofAccount]) {
        const [problem, ...others] = checked(text).problems;
        expect(others).toEqual([]);
        expect(problem).toMatchObject({ severity: 'error', code: 'wrong-value' });
        expect(problem?.path.endsWith('protect.at')).toBe(true);
      }
    },
  );

  test.each(['0.1%', '1%', '60%', '99.9%'])('a protective stop at %s of the way is accepted', (at) => {
    expect(codes(rule({ do: `[{ protect: { at: ${at} } }]` }))).toEqual([]);
  });

  test.each([
    ['enforce', '{ to: 0% }', '', ['close-without-cooldown']],
    ['enforce', '{ by: 100% }', '', ['close-without-cooldown']],
    ['enforce', '{ to: 0% }', ', limits: { cooldown: 1m }', []],
    ['enforce', '{ to: 1% }', '', []],
    ['observe', '{ to: 0% }', '', []],
  ])('in %s mode, %s%s', (mode, reduce, more, expected) => {
    expect(codes(rule({ do: `[{ reduce: ${reduce} }]`, more: `mode: ${mode}${more}` }))).toEqual(expected);
  });

  test('closing in an escalation counts, as does the mode of the file', () => {
    const text = rule({
      more: 'escalate: [{ after: 1m, do: [{ reduce: { to: 0% } }] }]',
      do: '[{ notify: {} }]',
    });
    expect(codes(text)).toEqual([]);
    expect(codes(`mode: enforce\n${text}`)).toEqual(['close-without-cooldown']);
  });

  test('a reduction beyond the largest one allowed is a warning', () => {
    const limited = (reduce: string) =>
      codes(
        rule({ do: `[{ reduce: ${reduce} }]` }).replace(
          'cancel: always',
          'cancel: always, largestReduction: 50%',
        ),
      );
    expect(limited('{ by: 60% }')).toEqual(['reduction-above-largest']);
    expect(limited('{ to: 40% }')).toEqual(['reduction-above-largest']);
    expect(limited('{ by: 50% }')).toEqual([]);
  });

  test('a target at which the rule has not cleared is a warning', () => {
    expect(codes(rule({ do: '[{ reduce: { untilDistance: 7% } }]' }))).toEqual(['target-inside-threshold']);
    expect(codes(rule({ do: '[{ reduce: { untilDistance: 7.1% } }]' }))).toEqual([]);
  });

  test.each([
    ['above: 5%', '{ to: 50% }', ['reduces-when-healthy']],
    ['below: 5%', '{ to: 50% }', []],
    ['below: 5%, clearAbove: 9%', '{ to: 50% }', []],
  ])('`check` warns of rules that reduce healthy positions: %s with %s', (when, reduce, expected) => {
    const text = rule({ when: `{ liquidationDistance: { ${when} } }`, do: `[{ reduce: ${reduce} }]` });
    expect(codes(text)).toEqual(expected);
  });

  test('`check` warns of targets larger than the trigger', () => {
    const sized = (notional: number) =>
      codes(
        rule({
          when: '{ notional: { above: 50000 } }',
          do: `[{ reduce: { toNotional: ${notional} } }]`,
        }),
      );
    expect(sized(60_000)).toEqual(['target-inside-threshold']);
    expect(sized(40_000)).toEqual([]);
  });

  test('`check` warns of escalations weaker than an earlier step', () => {
    const escalating = (first: string, later: string) =>
      codes(
        rule({
          do: `[{ reduce: ${first} }]`,
          more: `escalate: [{ after: 1m, do: [{ reduce: ${later} }] }]`,
        }),
      );
    expect(escalating('{ by: 50% }', '{ by: 25% }')).toEqual(['weaker-escalation']);
    expect(escalating('{ by: 50% }', '{ to: 60% }')).toEqual(['weaker-escalation']);
    expect(escalating('{ by: 25% }', '{ by: 50% }')).toEqual([]);
    expect(escalating('{ by: 50% }', '{ untilDistance: 10% }')).toEqual([]);
  });

  test('`check` warns of base addresses that end in /api/v4', () => {
    const text = rule({ do: '[{ notify: {} }]' });
    const address = /https:\/\/[^"'\]\s,]+/.exec(text)?.[0] ?? '';
    expect(address).not.toBe('');
    expect(codes(text.replace(address, `${address}/api/v4`))).toEqual(['address-with-path']);
  });

  test('re-pricing that cancels the owner’s orders is a warning until it has been chosen', () => {
    const acting = rule({ do: '[{ reduce: { by: 10% } }]' });
    expect(codes(acting)).toEqual([]);
    const unsaid = acting.replace('acting: { cancel: always }\n', '');
    expect(warnings(unsaid)).toEqual([
      ['cancels-owners-orders', expect.stringContaining('r re-price an order')],
    ]);
    expect(codes(unsaid.replace('rules: [r]', 'rules: [r]\n    acting: { cancel: never }'))).toEqual([]);
    expect(codes(rule({ do: '[{ cancelAll: {} }]' }).replace('acting: { cancel: always }\n', ''))).toEqual(
      [],
    );
  });
});

describe('markets', () => {
  const markets = (entries: string, where: string): string =>
    rule({ do: '[{ reduce: { by: 10%, slippage: 0.5% } }]', more: `where: { market: ${where} }` }).replace(
      /markets: .*\n/,
      `markets: ${entries}\n`,
    );
  const entry = (step: string, more = ''): string =>
    `{ amountStep: 1, priceStep: ${step}, minAmount: 1, maintenanceMargin: 3%${more} }`;

  test.each([
    [
      '{}',
      'BTC_PERP',
      'expected a `markets` entry for "BTC_PERP", got none: positions there are watched, never reduced',
    ],
    [`{ BTC_PERP: ${entry('0.1')} }`, '"*_PERP"', 'for "*_PERP", got only BTC_PERP: positions elsewhere are'],
    [`{ BTC_PERP: ${entry('0.1')} }`, 'ETH_PERP', 'for "ETH_PERP", got none: positions there are'],
    [`{ "*_PERP": ${entry('0.1')} }`, 'ETH_PERP', undefined],
    [`{ "*_PERP": ${entry('0.1')} }`, '"B*_PERP"', undefined],
    [`{ "??_PERP": ${entry('0.1')} }`, '"B*_PERP"', 'for "B*_PERP", got only ??_PERP: positions elsewhere'],
    [`{ "*": ${entry('0.1')} }`, '"*"', undefined],
  ])('%s for %s', (entries, where, message) => {
    expect(warnings(markets(entries, where))).toEqual(
      message === undefined ? [] : [['market-without-entry', expect.stringContaining(message)]],
    );
  });

  test('of many accounts and rules are counted in one warning', () => {
    const text = markets('{}', 'BTC_PERP');
    const first = text.slice(text.indexOf('  - id: desk-1'), text.indexOf('rules:\n'));
    const crowd = Array.from({ length: 200 }, (_, index) => first.replace('desk-1', `desk-${index}`));
    const found = problemsOf(text.replace(first, crowd.join('')));
    expect(found.filter(({ code }) => code === 'market-without-entry')).toMatchObject([
      { message: expect.stringMatching(/ \(r of 200 accounts\)$/) as string },
    ]);
  });

  test('are not needed by rules that only watch or cancel', () => {
    const text = rule({ do: '[{ cancelAll: {} }, { notify: {} }]' }).replace(/markets: .*\n/, '');
    expect(codes(text)).toEqual([]);
  });

  test.each([
    ['0.1', '', []],
    ['5', '', []],
    ['6', '', ['step-coarser-than-slippage']],
    ['6', ', referencePrice: 1200', []],
    ['6', ', referencePrice: 1199', ['step-coarser-than-slippage']],
    ['0.0001', ', referencePrice: 0.01', ['step-coarser-than-slippage']],
  ])('price step %s%s at a slippage of 0.5 %%', (step, more, expected) => {
    expect(codes(markets(`{ BTC_PERP: ${entry(step, more)} }`, 'BTC_PERP'))).toEqual(expected);
  });
});

describe('accounts and the exchange', () => {
  test('an account without rules, one that enforces nothing, and an unused rule are warnings', () => {
    expect(codes(rule({}).replace('rules: [r]', 'rules: []'))).toEqual(['nothing-acts', 'unused']);
    expect(codes(`mode: enforce\n${rule({ do: '[{ notify: {} }]' })}`)).toEqual(['nothing-acts']);
    expect(codes(`mode: enforce\n${rule({ do: '[{ cancelAll: {} }]' })}`)).toEqual([]);
  });

  test.each([
    ['fillWithin: 20m', 'intentTtl to be longer than fillWithin'],
    ['intentTtl: 4s', 'intentTtl to be longer than fillWithin'],
  ])('acting %s', (key, message) => {
    const text = rule({ do: '[{ reduce: { by: 1% } }]' }).replace('cancel: always', `cancel: always, ${key}`);
    expect(warnings(text)).toEqual([['timing', expect.stringContaining(message)]]);
  });

  test('late orders that nothing waits for, and data that is always too old, are warnings', () => {
    const text = rule({ do: '[{ reduce: { by: 1% } }]' });
    const late = text.replace('example]', 'example], lateArrival: 0s');
    expect(codes(late)).toEqual(['timing']);
    expect(codes(late.replace('lateArrival', 'nonce: increasing, lateArrival'))).toEqual([]);
    expect(codes(text.replace('example]', 'example], readLag: 15s'))).toEqual(['timing']);
  });

  test('plain http (except on this machine) and a repeated address are warnings', () => {
    const urls = (...list: string[]) =>
      codes(rule({}).replace('[https://api.exchange.example]', `[${list.join(', ')}]`));
    expect(urls('http://api.exchange.example')).toEqual(['unencrypted']);
    expect(urls('http://127.0.0.1:8080', 'http://localhost:8080')).toEqual([]);
    expect(urls('https://a.example', 'https://a.example/')).toEqual(['unused']);
  });

  test('certificates that nobody checks: refused where it acts', () => {
    const env = { API_KEY: 'key-1', API_SECRET: 'secret-1', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const found = (text: string, given = { env }) =>
      problemsOf(text, given).map(({ severity, code, place }) => [severity, code, place.line]);
    const observing = rule({});
    expect(found(observing)).toEqual([['warning', 'unencrypted', 1]]);
    expect(found(`mode: enforce\n${observing}`)).toContainEqual(['error', 'unencrypted', 2]);
    const near = observing.replace('https://api.exchange.example', 'http://127.0.0.1:8080');
    expect(found(near)).toEqual([]);
    for (const more of [
      'redis: { url: "rediss://redis.example" }',
      'channels: { ops: { type: webhook, url: "https://hooks.example/x" } }',
      'heartbeat: { url: "https://watch.example/x" }',
    ])
      expect(found(`mode: enforce\n${more}\n${near}`)).toContainEqual(['error', 'unencrypted', 2]);
    expect(found(observing, { env: { ...env, NODE_TLS_REJECT_UNAUTHORIZED: '1' } })).toEqual([]);
  });

  test('an unused egress group is a warning', () => {
    expect(codes(`egress: { default: {}, eu: {} }\n${rule({})}`)).toEqual(['unused']);
  });

  test('a rule that needs a source the account does not read is an error', () => {
    const text = rule({ on: 'creditLine', when: '{ currentLtv: { above: 70% } }' });
    expect(linesOf(text.replace('rules: [r]', 'rules: [r]\n    watch: { creditLine: no }'))).toEqual([
      'breakwater.yaml:10:26 accounts[0].watch.creditLine: expected true, or no rule that needs it, got false although rule r needs it',
    ]);
  });

  test('a warning about a rule of a set names the rule, and points to its use', () => {
    const text = withRules('', [
      '{ use: balanced, with: { last-line: { when: { size: { below: 0 } } } } }',
    ]).replace('rules:\n', '');
    expect(linesOf(text)).toEqual([
      expect.stringMatching(
        /^breakwater.yaml:9:13 accounts\[0\]\.rules\[0\]: warning: expected below .* \(rule balanced\/last-line\)$/,
      ),
    ]);
  });
});

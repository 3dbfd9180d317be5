import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runsOf } from '../support/slice.ts';
import { linesOf, problemsOf, withRules } from './support.ts';

test('a wrong mode, a secret, a misspelt `on`, a threshold that is no number and an unknown order type are five problems', () => {
  const text = `mode: enforced
exchange: { baseUrls: [https://api.exchange.example] }
acting: { cancel: always }
markets:
  "*": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% }
accounts:
  - id: desk-1
    apiKey: aBcD1234aBcD1234aBcD
    apiSecret: { env: API_SECRET }
    rules: [near]
rules:
  - id: near
    on: positon
    when: { liquidationDistance: { below: five } }
    do:
      - cancelAll: { types: [margin, futurs] }
`;
  expect(linesOf(text)).toEqual([
    'breakwater.yaml:1:7 mode: expected one of observe, approve, enforce, got "enforced"; did you mean enforce?',
    'breakwater.yaml:8:13 accounts[0].apiKey: expected { env: NAME } or { file: PATH }: secrets are not written into this file, got a value in the file itself (not repeated here; if it was a real secret, replace it with a new one)',
    'breakwater.yaml:13:9 rules[0].on: expected one of position, creditLine, account, got "positon"; did you mean position?',
    'breakwater.yaml:14:43 rules[0].when.liquidationDistance.below: expected a ratio such as 5% or 0.05, got "five"',
    'breakwater.yaml:16:38 rules[0].do[0].cancelAll.types[1]: expected one of spot, margin, futures, got "futurs"; did you mean futures?',
  ]);
});

/** Marks each place of a text at which a problem must be reported. */
const MARK = '▸';

/** Checks that the problems of a text are exactly those marked in it. */
function expectMarked(marked: string): void {
  const before = marked.split(MARK).slice(0, -1);
  const expected = before.map((_, index) => {
    const lines = before
      .slice(0, index + 1)
      .join('')
      .split('\n');
    return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
  });
  const text = marked.replaceAll(MARK, '');
  const found = problemsOf(text).map(({ place }) => `${place.line}:${place.column}`);
  expect(found, `${linesOf(text).join('\n')}\n\n${text}`).toEqual(expected);
}

const START = 'on: position, when: { liquidationDistance: { below: 5% } }';

test('fifty mistakes are reported, and that the check stopped there', () => {
  const wrong = Array.from({ length: 300 }, (_, index) => `  - { id: r${index}, on: position, when: 1 }\n`);
  const problems = problemsOf(withRules(wrong.join(''), []));
  const last = problems.filter(({ code }) => code === 'too-many-mistakes');
  expect(problems.filter(({ severity }) => severity === 'error')).toHaveLength(51);
  expect(last.map(({ message }) => message)).toEqual([
    'expected fewer than 50 mistakes; the file was not checked any further',
  ]);
});

test('missing secrets hide no mistake, and one shared by two hundred accounts counts once', () => {
  const accounts = Array.from({ length: 200 }, (_, index) => index)
    .map((index) => `  - { id: a${index}, apiKey: { env: K }, apiSecret: { env: K }, rules: [r] }\n`)
    .join('');
  const text = withRules(`  - { id: r, ${START}, do: [{ notify: { channels: opps } }] }\n`, ['r']).replace(
    'accounts:\n',
    `accounts:\n${accounts}`,
  );
  const found = problemsOf(text).map(({ code }) => code);
  expect(found.filter((code) => code !== 'secret-missing' && code !== 'one-key-two-accounts')).toEqual([
    'unknown-reference',
  ]);
});

describe('a problem in a rule does not hide others', () => {
  test.each([
    [
      'a misspelt key `on`',
      '{ id: r, ▸onn: position, when: { liquidationDistance: { below: ▸x } }, for: ▸3 }',
    ],
    [
      'a misspelt value of `on`, by its likely meaning',
      '{ id: r, on: ▸creditline, when: { currentLtv: { above: ▸x } }, do: [{ ▸reduce: { by: ▸5 } }] }',
    ],
    [
      'an `on` without a likely meaning, as far as it does not depend on it',
      '{ id: r, on: ▸ship, where: { market: 5 }, when: { liquidationDistance: { below: 5 } }, do: [{ reduce: { by: ▸5 } }, { ▸notifi: {} }], for: ▸3 }',
    ],
    [
      'a missing `on`, as far as it does not depend on it',
      '▸{ id: r, when: { all: [{ currentLtv: { below: 5 } }, ▸7] }, severity: ▸loud }',
    ],
    [
      '`do` that is no list',
      '{ id: r, on: position, when: { liquidationDistance: { below: ▸x } }, do: ▸5, for: ▸3 }',
    ],
    [
      '`when` that is no mapping',
      '{ id: r, on: position, where: { market: ▸5 }, when: ▸[5%], do: [▸{}], limits: { perHour: ▸0 } }',
    ],
    [
      'a misspelt key, below that key too',
      '{ id: r, on: position, ▸wehn: { ▸liquidationDistnace: { ▸belwo: ▸five } } }',
    ],
    ['an unknown key', `{ id: r, ${START}, ▸colour: red, for: ▸3 }`],
    [
      'wrong values in an action with too many targets',
      `{ id: r, ${START}, do: [{ reduce: ▸{ by: ▸5, to: 0%, slippage: ▸x } }] }`,
    ],
    [
      'two actions in one item of the list',
      `{ id: r, ${START}, do: [▸{ reduce: { by: ▸x }, notify: { channels: ▸nobody } }] }`,
    ],
    [
      'wrong values in a condition with too many comparisons',
      '{ id: r, on: position, when: { liquidationDistance: ▸{ below: ▸5, above: ▸7 }, direction: ▸{ equals: ▸up, in: [long] } } }',
    ],
    [
      'a wrong action of a stage',
      `{ id: r, ${START}, escalate: ▸[{ after: 9s, do: ▸5 }, { after: 3s, do: [] }, ▸x, { after: ▸y, do: [▸z] }] }`,
    ],
    [
      'a wrong time zone of a window',
      `{ id: r, ${START}, active: ▸{ from: "1:00", to: "1:00", tz: ▸Nowhere } }`,
    ],
    [
      'an unknown channel',
      `{ id: r, ${START}, for: ▸3, do: [{ notify: { channels: [log, ▸ops] } }], escalate: [{ after: 1s, do: [{ notify: { channels: ▸ops } }] }] }`,
    ],
    ['a rule that is no mapping', `▸near\n  - ▸7\n  - { id: r, ${START}, for: ▸3 }`],
    ['an id that is there already', `{ id: r, ${START} }\n  - { id: ▸r, ${START}, for: ▸3 }`],
  ])('%s', (_what, rules) => expectMarked(withRules(`  - ${rules}\n`, ['r'])));

  test.each([
    [
      'a mistake in the rule itself',
      `{ id: r, ${START}, for: ▸3 }`,
      '{ use: r, with: { r: { keepFiringFor: ▸3, limits: { perHour: ▸0 } } } }',
    ],
    [
      'a wrong mode, and keys that cannot be changed',
      `{ id: r, ${START} }`,
      '{ use: r, mode: ▸enforc, with: { r: { ▸on: account, ▸id: x, severity: ▸loud } } }',
    ],
    [
      'a misspelt key, which the rule has as well',
      `{ id: r, ${START}, for: 3s }`,
      '{ use: r, with: { r: { ▸fro: ▸3, do: [{ notify: { channels: ▸ops } }] } } }',
    ],
    [
      'a misspelt key of the use',
      `{ id: r, ${START} }`,
      '{ use: r, ▸wiht: { r: { for: ▸3 }, ▸s: { for: 3 } } }',
    ],
    [
      'a misspelt name of the rule',
      `{ id: near, ${START} }`,
      '{ use: ▸naer, with: { near: { for: ▸3 } }, without: [▸far] }',
    ],
    [
      'an `on` without a likely meaning',
      '{ id: r, on: ▸ship, when: 5% }'.replace('5%', '▸5%'),
      '{ use: r, with: { r: { for: ▸3 } } }',
    ],
  ])('in the changes of a rule by an account: %s', (_what, rule, use) =>
    expectMarked(withRules(`  - ${rule}\n`, [use])),
  );

  test('in channels: a misspelt or unknown type', () => {
    const channels = `channels:
  ops: { type: ▸slak, url: ▸https://x.example, timeout: ▸5 }
  own: { ▸typ: webhook, url: ▸ftp://x }
  far: { type: ▸pigeon, url: 5, timeout: ▸5, chat: 7 }
`;
    expectMarked(`${channels}${withRules(`  - { id: r, ${START}, for: ▸3 }\n`, ['r'])}`);
  });
});

describe('a consequence of another problem is not reported', () => {
  test.each([
    ['a rule is refused: its name is known', 'r', '{ id: r, on: position, when: ▸5 }'],
    ['an id is misspelt', 'r', `{ ▸idd: r, ${START} }`],
    ['an id is missing', 'r', `▸{ ${START} }`],
    ['an id is no text', 'r', `{ id: ▸[r], ${START} }`],
    ['an id must not be one', 'r', `{ id: ▸"r?", ${START} }`],
    [
      'two rules have one id: the second may be what an account means',
      'near, far',
      `{ id: near, ${START} }\n  - { id: ▸near, ${START} }`,
    ],
    ['a rule has a merge key', 'r', `{ id: r, ▸<<: { ${START} } }`],
    ['an alias has no anchor', 'r', '{ id: r, on: position, when: ▸*near }'],
    ['an account misspells a name: that rule is used', '▸naer', `{ id: near, ${START} }`],
    ['an account misspells a name, and uses the rule as well', 'near, ▸naer', `{ id: near, ${START} }`],
    [
      'a key of a use is wrong: the rule is used',
      '{ use: r, mode: ▸enforc, with: ▸5 }',
      `{ id: r, ${START} }`,
    ],
    ['a use cannot be read: it may be that of the rule', '▸5', `{ id: r, ${START} }`],
    [
      'an unknown key is beside what seems to be missing',
      'r',
      '{ id: r, on: position, when: { ▸colour: red }, do: [{ reduce: { ▸percentage: 5% } }, { ▸telephone: {} }] }',
    ],
  ])('%s', (_what, use, rules) => expectMarked(withRules(`  - ${rules}\n`, [use])));

  test('with rules that are no list no rule name is known', () => {
    expectMarked(withRules('', ['r']).replace('rules:\n', `rules: ▸{ r: { ${START} } }\n`));
  });

  test("with an account's rules that are no list any rule may be meant", () => {
    expectMarked(withRules(`  - { id: r, ${START} }\n`, []).replace('rules: []', 'rules: ▸r'));
  });

  test("with a wrong cadence in the file an account's cadence may still fit", () => {
    const rules = withRules(`  - { id: r, ${START} }\n`, ['r'], '    cadence: { calm: 900ms }\n');
    expectMarked(`cadence: { calm: ▸1, alert: 500ms }\n${rules}`);
  });

  test('a section with a misspelt name still defines its contents', () => {
    const rules = `  - { id: r, ${START}, do: [{ notify: { channels: ops } }] }\n`;
    const text = withRules(rules, ['r'], '    egress: eu\n')
      .replace(/^rules:/m, '▸ruls:')
      .replace(/^accounts:/m, '▸acounts:');
    const channels = '▸chanels: { ops: { type: webhook, url: https://x.example } }';
    expectMarked(`${channels}\n▸egres: { eu: {} }\n${text}`);
  });

  test('a channel with a wrong name may be the one that rules mean', () => {
    const channels = 'channels: { ▸"o ps": { type: webhook, url: https://x.example } }';
    const rules = `  - { id: r, ${START}, do: [{ notify: { channels: ops } }] }\n`;
    expectMarked(`${channels}\n${withRules(rules, ['r'])}`);
  });

  test('an acting rule that is refused or misspelt still counts as a rule of the account', () => {
    const tell = `  - { id: tell, ${START}, do: [{ notify: {} }] }\n`;
    const act = `  - { id: act, ${START}, do: [{ reduce: { by: ▸5 } }] }\n`;
    expectMarked(withRules(tell, ['tell'], '    mode: enforce\n').replace('id: desk', '▸id: desk'));
    expectMarked(withRules(tell + act, ['tell', 'act'], '    mode: enforce\n'));
    expectMarked(withRules(tell + act.replace('▸5', '5%'), ['tell', '▸atc'], '    mode: enforce\n'));
  });
});

/** A line and its variants: one mistake each, independent of those in other lines. */
const line = (right: string, ...wrong: readonly string[]): readonly string[] => [right, ...wrong];

const LINES = [
  line('mode: observe', 'mode: ▸enforced', '▸mdoe: observe', '▸colour: red'),
  line('exchange:', '▸exchnage:'),
  line(
    '  baseUrls: [https://api.exchange.example]',
    '  baseUrls: [▸ftp://x]',
    '  ▸baseUrl: [https://x.example]',
  ),
  line('  nonce: unique', '  nonce: ▸uniq', '  ▸nonec: unique'),
  line('acting:', '▸actin:'),
  line('  cancel: always', '  cancel: ▸sometimes'),
  line('  fillWithin: 5s', '  fillWithin: ▸5', '  ▸fillWithn: 5s'),
  line('markets:', '▸market:'),
  line('  "*":'),
  line('    amountStep: 0.001', '    amountStep: ▸none', '    ▸amountStp: 0.001'),
  line('    priceStep: 0.1', '    priceStep: ▸-1'),
  line('    minAmount: 0.001', '    minAmount: ▸[]'),
  line('    maintenanceMargin: 3%', '    maintenanceMargin: ▸3'),
  line('channels:', '▸chanels:'),
  line('  ops:'),
  line('    type: webhook', '    type: ▸webhok', '    ▸tpye: webhook'),
  line('    url: https://own.example', '    url: ▸ftp://own', '    ▸urll: https://own.example'),
  line('    timeout: 10s', '    timeout: ▸10', '    ▸colour: red'),
  line('accounts:', '▸acounts:'),
  line('  - id: desk-1', '  - id: ▸1', '  - ▸idd: desk-1'),
  line('    apiKey: { env: API_KEY }', '    apiKey: ▸aBcD1234aBcD1234aBcD', '    ▸apiKy: { env: API_KEY }'),
  line('    apiSecret: { env: API_SECRET }', '    apiSecret: ▸5', '    apiSecret: ▸{ evn: API_SECRET }'),
  line('    mode: observe', '    mode: ▸enforc', '    ▸mdoe: observe', '    ▸colour: red'),
  line('    rules:', '    ▸ruels:'),
  line('      - near', '      - ▸naer', '      - ▸5', '      - use: ▸naer'),
  line('      - use: loan', '      - use: ▸laon', '      - ▸ues: loan'),
  line('        mode: observe', '        mode: ▸enforc', '        ▸colour: red'),
  line('        with:', '        ▸wiht:'),
  line('          loan:', '          ▸laon:'),
  line('            for: 10s', '            for: ▸10', '            ▸fro: 10s', '            ▸on: account'),
  line(
    '      - balanced/last-line',
    '      - ▸balanced/last-lin',
    '      - ▸balancd',
    '      - ▸ship/last-line',
  ),
  line(
    '    labels: { desk: arb }',
    '    labels: { desk: ▸[] }',
    '    labels: ▸arb',
    '    ▸lables: { desk: arb }',
  ),
  line('rules:', '▸rulez:'),
  line('  - id: near', '  - ▸idd: near'),
  line('    on: position', '    on: ▸positon', '    ▸onn: position', '    on: ▸Position'),
  line(
    '    where: { market: BTC_PERP }',
    '    where: { market: ▸btc }',
    '    where: ▸5',
    '    ▸were: { market: BTC_PERP }',
  ),
  line('    when:', '    ▸wehn:'),
  line('      all:', '      ▸al:'),
  line('        - liquidationDistance:', '        - ▸liquidationDistnace:'),
  line('            below: 5%', '            below: ▸5', '            ▸belwo: 5%'),
  line('            clearAbove: 7%', '            clearAbove: ▸seven', '            ▸colour: red'),
  line(
    '        - minutesToLiquidation: { below: 2h }',
    '        - ▸7',
    '        - ▸{}',
    '        - ▸currentLtv: {}',
  ),
  line('    for: 3s', '    for: ▸3', '    for: ▸[3s]', '    ▸four: 3s'),
  line('    do:', '    ▸doo:'),
  line(
    '      - cancelAll: { types: [margin] }',
    '      - cancelAll: { types: [▸futurs] }',
    '      - ▸cancelAl: {}',
    '      - ▸tell',
  ),
  line('      - reduce:', '      - ▸reduec:'),
  line('          untilDistance: 10%', '          untilDistance: ▸10', '          ▸untilDistanc: 10%'),
  line('          slippage: [0.5%, 1%]', '          slippage: [▸5, 1%]', '          ▸slipage: 1%'),
  line(
    '      - notify: { channels: [ops, log] }',
    '      - notify: { channels: [ops, ▸lgo] }',
    '      - notify: ▸ops',
  ),
  line('    escalate:', '    ▸esclate:'),
  line('      - after: 30s', '      - after: ▸30', '      - ▸aftr: 30s'),
  line(
    '        do: [{ reduce: { to: 0% } }]',
    '        do: [{ reduce: { to: ▸zero } }]',
    '        do: ▸{}',
    '        do: [{ reduce: ▸{} }]',
  ),
  line(
    '    limits: { cooldown: 5m }',
    '    limits: { cooldown: ▸5 }',
    '    limits: { ▸colour: red }',
    '    ▸limit: {}',
  ),
  line('    severity: critical', '    severity: ▸loud', '    ▸severty: critical', '    ▸colour: red'),
  line(
    '    active: { from: "1:00", to: "2:00" }',
    '    active: ▸{ from: "1:00", to: "1:00" }',
    '    active: { from: ▸1, to: "2:00" }',
  ),
  line('  - id: loan', '  - ▸idd: loan'),
  line('    on: creditLine', '    on: ▸creditline', '    ▸of: creditLine'),
  line(
    '    when: { currentLtv: { above: 70% } }',
    '    when: { currentLtv: { above: ▸70 } }',
    '    when: ▸[]',
  ),
  line('    do: [{ notify: { cure: [50%] } }]', '    do: [{ notify: { cure: [▸50] } }]', '    do: ▸notify'),
  line(''),
];

describe('k mistakes give k problems, each at its place', () => {
  const all = LINES.flatMap(([right, ...wrong], index) => wrong.map((text) => ({ index, right, text })));
  const planted = (mistakes: readonly { index: number; text: string }[]): string =>
    LINES.map(([right], index) => mistakes.find((mistake) => mistake.index === index)?.text ?? right).join(
      '\n',
    );

  test('none', () => expectMarked(planted([])));

  test.each(all)('one: $right -> $text', (mistake) => expectMarked(planted([mistake])));

  test('any number', () => {
    const some = fc.uniqueArray(fc.constantFrom(...all), {
      selector: ({ index }) => index,
      minLength: 2,
      maxLength: 40,
      size: 'max',
    });
    fc.assert(
      fc.property(some, (mistakes) => expectMarked(planted(mistakes))),
      { numRuns: runsOf(150) },
    );
  });
});

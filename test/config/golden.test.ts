import { describe, expect, test } from 'vitest';
import { linesOf, rule, withRules } from './support.ts';

describe('a file with several mistakes lists all of them, each with its line and column', () => {
  test('in every section at once', () => {
    const text = `mode: enforced
exchnage: {}
exchange:
  baseUrls: [ftp://x, "https://user:hunter2@a.example"]
  nonce: uniq
  timeouts: { attempt: 5 }
  limits:
    ordr: { limit: 5 }
redis: { url: "redis://:pa55word@db:6379" }
markets:
  BTC_PERP: { amountStep: 0,001, priceStep: -1, minAmount: 0.001 }
cadence: { calm: 1s, alert: 10s }
accounts:
  - id: 5
    apiKey: aBcD1234aBcD1234
    apiSecret: { file: missing.txt }
    egress: eu
    rules: [near, blanced, balanced/last-lin]
    watch: { positions: maybe }
  - id: desk-2
    apiKey: { env: API_KEY }
    rules: [near]
    watch: { positions: no }
rules:
  - id: near
    on: positions
  - id: near
    on: position
    when: { liquidationDistance: { below: 5 } }
`;
    expect(linesOf(text)).toEqual([
      `breakwater.yaml:1:7 mode: expected one of observe, approve, enforce, got "enforced"; did you mean enforce?`,
      `breakwater.yaml:2:1 exchnage: expected a known key, got "exchnage"; did you mean exchange?`,
      `breakwater.yaml:4:14 exchange.baseUrls[0]: expected an address that starts with https:// or http://, without user name and password, got "ftp://x"`,
      'breakwater.yaml:4:23 exchange.baseUrls[1]: expected an address that starts with https:// or http://, without user name and password, got one with credentials in it (not repeated here)',
      `breakwater.yaml:5:10 exchange.nonce: expected one of unique, increasing, window, got "uniq"; did you mean unique?`,
      'breakwater.yaml:6:24 exchange.timeouts.attempt: expected a duration such as 3s, 5m or 1h30m, from 100ms to 1m, got 5; did you mean 5s?',
      `breakwater.yaml:8:5 exchange.limits.ordr: expected limit, period and paths for a budget of a new name, or one of public, trade-account, main-account, transfers, positions, credit-line, hedge-mode, order, got "ordr"; did you mean order?`,
      'breakwater.yaml:9:15 redis.url: expected an address that starts with redis://, rediss:// or unix:///, or with +sentinel or +cluster before the colon and holds no password, or { env: NAME } or { file: PATH }, got an address with credentials in it (not repeated here)',
      'breakwater.yaml:11:3 markets.BTC_PERP.maintenanceMargin: expected a ratio such as 5% or 0.05, above 0 and up to 50%, got nothing',
      `breakwater.yaml:11:27 markets.BTC_PERP.amountStep: expected a positive decimal number such as "0.001", got 0`,
      `breakwater.yaml:11:29 markets.BTC_PERP.001: expected one of the keys amountStep, priceStep, minAmount, maintenanceMargin, basisAllowance, reductionCost, takerFee, money, referencePrice, got "001"`,
      `breakwater.yaml:11:45 markets.BTC_PERP.priceStep: expected a positive decimal number such as "0.001", got -1`,
      'breakwater.yaml:12:29 cadence.alert: expected alert to be at most as long as calm, got a longer time',
      'breakwater.yaml:14:9 accounts[0].id: expected an id: letters, digits, dots, dashes and underscores, at most 48, at least one letter, got 5',
      'breakwater.yaml:15:13 accounts[0].apiKey: expected { env: NAME } or { file: PATH }: secrets are not written into this file, got a value in the file itself (not repeated here; if it was a real secret, replace it with a new one)',
      `breakwater.yaml:17:13 accounts[0].egress: expected an egress group (default), got "eu"`,
      `breakwater.yaml:18:19 accounts[0].rules[1]: expected a rule of this file or a rule set (conservative, balanced, last-resort, credit-line, circuit-breaker), got "blanced"; did you mean balanced?`,
      `breakwater.yaml:18:28 accounts[0].rules[2]: expected a rule of the set balanced (liquidation-likely, near-liquidation, last-line, account-near-liquidation, account-last-line, margin-called, unclear-direction, standing-stop, account-standing-stop), got "last-lin"; did you mean last-line?`,
      `breakwater.yaml:19:25 accounts[0].watch.positions: expected true or false, got "maybe"`,
      'breakwater.yaml:20:5 accounts[1].apiSecret: expected { env: NAME } or { file: PATH }, got nothing',
      'breakwater.yaml:25:5 rules[0].when: expected a mapping (key: value), got nothing',
      `breakwater.yaml:26:9 rules[0].on: expected one of position, creditLine, account, got "positions"; did you mean position?`,
      `breakwater.yaml:27:9 rules[1].id: expected a different id for each rule, got "near" again (first at rules[0])`,
      'breakwater.yaml:29:43 rules[1].when.liquidationDistance.below: expected a ratio such as 5% or 0.05, got 5; did you mean 5%?',
    ]);
  });

  test('in rules, with the right words for each kind of subject', () => {
    const text = withRules(
      `  - id: near
    on: position
    where: { market: "*_PERP", asset: BTC }
    when:
      liquidationDistance: { below: 5, clearAbove: 7% }
      currentLtv: { above: 70% }
      any: [{ liquidationDistnace: { below: 5% } }]
    for: 3
    keepFiringFor: 5min
    do:
      - cancelAll: { types: [margin, futurs] }
      - reduce: { untilDistance: 10, slippage: 5 }
      - reduce: { by: 10%, to: 50% }
    limits: { cooldown: 10 }
    severty: critical
`,
      ['near'],
    );
    expect(linesOf(text)).toEqual([
      `breakwater.yaml:13:32 rules[0].where.asset: expected one of the keys market, direction, positionId, got "asset"`,
      'breakwater.yaml:15:37 rules[0].when.liquidationDistance.below: expected a ratio such as 5% or 0.05, got 5; did you mean 5%?',
      `breakwater.yaml:16:7 rules[0].when.currentLtv: expected a known key such as all, any, not, got "currentLtv" (a field of rules with on: creditLine)`,
      `breakwater.yaml:17:15 rules[0].when.any[0].liquidationDistnace: expected a known key, got "liquidationDistnace"; did you mean liquidationDistance?`,
      'breakwater.yaml:18:10 rules[0].for: expected a duration such as 3s, 5m or 1h30m, got 3; did you mean 3s?',
      `breakwater.yaml:19:20 rules[0].keepFiringFor: expected a duration such as 3s, 5m or 1h30m, got "5min"; did you mean 5m?`,
      `breakwater.yaml:21:38 rules[0].do[0].cancelAll.types[1]: expected one of spot, margin, futures, got "futurs"; did you mean futures?`,
      'breakwater.yaml:22:34 rules[0].do[1].reduce.untilDistance: expected a ratio such as 5% or 0.05, above 0, got 10; did you mean 10%?',
      'breakwater.yaml:22:48 rules[0].do[1].reduce.slippage: expected a ratio such as 5% or 0.05, above 0 and up to 50%, got 5; did you mean 5%?',
      'breakwater.yaml:23:17 rules[0].do[2].reduce: expected exactly one of by, to, toNotional and untilDistance, got by and to',
      'breakwater.yaml:24:25 rules[0].limits.cooldown: expected a duration such as 3s, 5m or 1h30m, got 10; did you mean 10s?',
      `breakwater.yaml:25:5 rules[0].severty: expected a known key, got "severty"; did you mean severity?`,
    ]);
  });

  test('duplicate keys, with the place of the first one', () => {
    const text = rule({}).replace('cancel: always', 'cancel: always, cancel: never');
    expect(linesOf(`${text}mode: observe\nmode: enforce\n`)).toEqual([
      `breakwater.yaml:2:27 acting.cancel: expected each key once, got "cancel" again (first in line 2)`,
      `breakwater.yaml:13:1 mode: expected each key once, got "mode" again (first in line 12)`,
    ]);
  });

  test('a mistake in a change to a rule of a set is reported at the change, not in the set', () => {
    const text = withRules('', ['{ use: balanced, with: { last-line: { for: 10 }, lastline: {} } }']).replace(
      'rules:\n',
      '',
    );
    expect(linesOf(text)).toEqual([
      'breakwater.yaml:9:56 accounts[0].rules[0].with.last-line.for: expected a duration such as 3s, 5m or 1h30m, got 10; did you mean 10s?',
      `breakwater.yaml:9:62 accounts[0].rules[0].with.lastline: expected a rule of balanced (liquidation-likely, near-liquidation, last-line, account-near-liquidation, account-last-line, margin-called, unclear-direction, standing-stop, account-standing-stop), got "lastline"; did you mean last-line?`,
    ]);
  });

  test('keys of features that do not exist are refused', () => {
    for (const key of ['schedule', 'deposit']) {
      expect(linesOf(`${key}: {}\n${rule({})}`)).toEqual([
        expect.stringMatching(new RegExp(`^breakwater.yaml:1:1 ${key}: expected .*, got "${key}"$`)),
      ]);
    }
  });
});

describe('units', () => {
  test.each([
    ['when: { liquidationDistance: { below: 1 } }', '; did you mean 100% or 1%?'],
    ['when: { liquidationDistance: { below: "5,5%" } }', '; did you mean 5.5%?'],
    ['when: { unprotectedSeconds: { above: 10 sec } }', '; did you mean 10s?'],
    ['for: 10 seconds', '; did you mean 10s?'],
    ['for: 5 Minutes', '; did you mean 5m?'],
    ['for: "10"', '; did you mean 10s?'],
    ['active: { from: "22:00", to: "06:00", tz: Europe/Londen }', '; did you mean Europe/London?'],
  ])('%s', (part, hint) => {
    const [key = '', value = ''] = part.split(/: (.*)/s);
    const text = key === 'when' ? rule({ when: value }) : rule({ more: `${key}: ${value}` });
    const lines = linesOf(text);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/: expected .*, got .*/);
    expect(lines[0]?.endsWith(hint)).toBe(true);
  });

  test('a bare number of seconds or minutes is allowed only if the name contains its unit', () => {
    const account = (when: string) => linesOf(rule({ on: 'account', when }));
    expect(account('{ dataAge: { above: 30 } }')[0]).toContain('did you mean 30s?');
    expect(account('{ dataAge: { above: 30s } }')).toEqual([]);
    expect(linesOf(rule({ when: '{ unprotectedSeconds: { above: 30 } }' }))).toEqual([]);
    expect(linesOf(rule({ when: '{ minutesToLiquidation: { below: 2h } }' }))).toEqual([]);
  });
});

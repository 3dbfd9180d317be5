import { describe, expect, test } from 'vitest';
import { compareConfigs, isUnchanged } from '../../src/config/compare-configs.ts';
import { ROOT_KEYS, type Section } from '../../src/config/root.ts';
import { loaded, rule, withRules } from './support.ts';

const text = rule({ do: '[{ reduce: { untilDistance: 10% } }]' });
const before = loaded(text);
const changes = (from: string, to: string, given?: Parameters<typeof loaded>[1]) => {
  expect(text).toContain(from);
  return compareConfigs(before, loaded(text.replace(from, to), given));
};

const NOTHING = {
  rules: { added: [], removed: [], changed: [], relabelled: [] },
  credentials: false,
  depositLink: false,
  settings: [],
  watch: false,
  egress: false,
};

const PERSON =
  'firstName: { env: P }, lastName: { env: P }, email: { env: MAIL }, birthDate: { env: DAY }, address: { line1: { env: P }, city: { env: P }, zipCode: { env: P }, countryCode: { env: LAND } }';
/** A change of each section: a line that is added, or a part of the file and what it becomes. */
const OF_SECTIONS: Readonly<Record<Section, string | readonly [from: string, to: string]>> = {
  mode: ['mode: approve', 'mode: enforce'],
  insecure: ['insecure: [redis]', 'insecure: [redis, web]'],
  exchange: ['api.exchange', 'api2.exchange'],
  redis: 'redis: { url: redis://127.0.0.1:6380 }',
  stateDir: 'stateDir: /var/lib/other',
  egress: 'egress: { default: { share: 50% } }',
  markets: ['priceStep: 0.1', 'priceStep: 0.2'],
  cadence: 'cadence: { calm: 7s }',
  acting: ['cancel: always', 'cancel: never'],
  approval: 'approval: { withoutAnswer: hold }',
  channels: 'channels: { own: { type: webhook, url: https://own.example/hook } }',
  notify: 'notify: { remindEvery: 10m }',
  web: 'web: { port: 9643 }',
  operators: 'operators: { key: { env: KEY } }',
  audit: 'audit: { headsFile: /var/heads }',
  log: 'log: { level: warn }',
  heartbeat: 'heartbeat: { url: https://ping.example/x }',
  depositLink: `depositLink: { ticker: USD, provider: CARD, customer: { ${PERSON} } }`,
  stress: 'stress: { at: "0 7 * * *" }',
  digest: 'digest: { at: "08:00" }',
  accounts: ['creditLine: yes', 'creditLine: no'],
  rules: ['below: 5%', 'below: 4%'],
};

describe('changes of a reload', () => {
  test('none if only comments and order differ', () => {
    const change = compareConfigs(before, loaded(`# a comment\n${text}\n`));
    expect(isUnchanged(change)).toBe(true);
    expect(change).toEqual({ added: [], removed: [], changed: [], sections: [], needsRestart: [] });
  });

  test.each([
    ['below: 5%', 'below: 4%'],
    ['clearAbove: 7%', 'clearAbove: 8%'],
    ['untilDistance: 10%', 'untilDistance: 11%'],
  ])('%s to %s: the rule starts fresh', (from, to) => {
    const [account] = changes(from, to).changed;
    expect(account).toEqual({
      ...NOTHING,
      accountId: 'desk-1',
      rules: { ...NOTHING.rules, changed: ['r'] },
    });
  });

  test.each([
    'severity: critical',
    'labels: { a: b }',
    'mode: enforce',
    'for: 1s',
    'keepFiringFor: 1s',
    'limits: { perHour: 1 }',
    'where: { direction: long }',
    'escalate: [{ after: 1s, do: [] }]',
    'active: { from: "1:00", to: "2:00" }',
  ])('%s keeps its state', (key) => {
    const [account] = changes('id: r,', `id: r, ${key},`).changed;
    expect(account?.rules).toEqual({ ...NOTHING.rules, relabelled: ['r'] });
  });

  test('another slippage by default keeps its state', () => {
    const [account] = changes('cancel: always', 'cancel: always, slippage: 3%').changed;
    expect(account?.rules).toEqual({ ...NOTHING.rules, relabelled: ['r'] });
  });

  test('settings are named', () => {
    const [account] = changes('cancel: always', 'cancel: never, fillWithin: 6s').changed;
    expect(account?.settings.toSorted()).toEqual(['cancel', 'fillWithinMs']);
  });

  test('credentials are listed without their values', () => {
    const rotated = changes('cancel', 'cancel', { env: { API_KEY: 'key-1', API_SECRET: 'rotated' } });
    expect(rotated.changed).toEqual([{ ...NOTHING, accountId: 'desk-1', credentials: true }]);
    expect(JSON.stringify(rotated)).not.toContain('rotated');
  });

  test('sections are listed, with those that need a restart', () => {
    const redis = compareConfigs(before, loaded(`redis: { url: redis://127.0.0.1:6380 }\n${text}`));
    expect(redis).toMatchObject({ sections: ['redis'], needsRestart: ['redis'], changed: [] });
    expect(compareConfigs(before, loaded(`web: { port: 9643 }\n${text}`))).toMatchObject({
      sections: ['web'],
      needsRestart: [],
    });
    expect(changes('priceStep: 0.1', 'priceStep: 0.2')).toMatchObject({
      sections: ['markets'],
      needsRestart: [],
    });
  });

  test.each(Object.keys(ROOT_KEYS) as Section[])('a change of %s alone was called none', (section) => {
    const rules =
      '  - { id: r, on: position, when: { liquidationDistance: { below: 5%, clearAbove: 7% } }, do: [] }\n';
    const all = `mode: approve\n${withRules(rules, ['r'], '    watch: { creditLine: yes }\n')}`;
    const env = {
      API_KEY: 'k',
      API_SECRET: 's',
      KEY: 'k'.repeat(32),
      P: 'Ann',
      MAIL: 'a@b.example',
      DAY: '1980-02-29',
      LAND: 'GB',
    };
    const change = OF_SECTIONS[section];
    const other = typeof change === 'string' ? `${change}\n${all}` : all.replace(...change);
    expect(other).not.toBe(all);
    expect(isUnchanged(compareConfigs(loaded(all, { env }), loaded(other, { env })))).toBe(false);
  });

  test('accounts that are added and removed are listed', () => {
    const change = changes('id: desk-1', 'id: desk-2');
    expect(change).toMatchObject({ added: ['desk-2'], removed: ['desk-1'], changed: [] });
  });
});

import { describe, expect, test } from 'vitest';
import { compareConfigs, isUnchanged } from '../../src/config/compare-configs.ts';
import { loaded, rule } from './support.ts';

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
    ['id: r,', 'id: r, for: 1s,'],
    ['id: r,', 'id: r, keepFiringFor: 1s,'],
    ['id: r,', 'id: r, limits: { perHour: 1 },'],
    ['id: r,', 'id: r, where: { direction: long },'],
    ['id: r,', 'id: r, escalate: [{ after: 1s, do: [] }],'],
    ['id: r,', 'id: r, active: { from: "1:00", to: "2:00" },'],
    ['cancel: always', 'cancel: always, slippage: 3%'],
  ])('%s to %s: the rule starts fresh', (from, to) => {
    const [account] = changes(from, to).changed;
    expect(account).toEqual({
      ...NOTHING,
      accountId: 'desk-1',
      rules: { ...NOTHING.rules, changed: ['r'] },
    });
  });

  test.each([['severity: critical'], ['labels: { a: b }'], ['mode: enforce']])(
    '%s keeps its state',
    (key) => {
      const [account] = changes('id: r,', `id: r, ${key},`).changed;
      expect(account?.rules).toEqual({ ...NOTHING.rules, relabelled: ['r'] });
    },
  );

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

  test('accounts that are added and removed are listed', () => {
    const change = changes('id: desk-1', 'id: desk-2');
    expect(change).toMatchObject({ added: ['desk-2'], removed: ['desk-1'], changed: [] });
  });
});

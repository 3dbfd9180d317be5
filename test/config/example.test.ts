import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { describedJsonSchema } from '../../scripts/documents/json-schema.ts';
import { nodeAt } from '../../src/config/yaml/document.ts';
import { parseYaml } from '../../src/config/yaml/parse.ts';
import { digitsOf } from '../../src/config/yaml/value.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import { checked, linesOf, loaded } from './support.ts';

const EXAMPLE = readFileSync(new URL('../../config/breakwater.example.yaml', import.meta.url), 'utf8');
/** The example with all optional keys: those start right after the #. */
const COMPLETE = EXAMPLE.replaceAll(/^( *)#(?=[a-z])/gm, '$1');

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const KEY = '-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n';
const GIVEN = {
  env: {
    DESK1_API_KEY: 'key',
    SLACK_WEBHOOK_URL: 'https://hooks.example/services/x',
    TELEGRAM_BOT_TOKEN: '1:x',
    HEARTBEAT_URL: 'https://hc.example/ping/x',
    HEARTBEAT_PROXY: 'http://proxy.example:3128',
    HOOK_URL: 'https://own.example/hook',
    ALERTMANAGER_AUTHORIZATION: 'Bearer x',
  },
  files: {
    '/run/secrets/hook': 'key of the hook\n',
    '/run/secrets/operators-key': 'a key of operators with 32 characters or more\n',
    '/run/secrets/read-token': 'a token of 16 characters or more\n',
    '/run/secrets/desk1': 'secret\n',
    '/run/secrets/desk1-addresses': 'bc1q\n',
    './ca.pem': PEM,
    './redis-client.crt': PEM,
    './redis-client.key': KEY,
    '/run/secrets/redis-url': 'rediss+sentinel://breakwater:sesame@a.internal,b.internal/main\n',
    '/run/secrets/sentinel': 'sesame\n',
    '/run/secrets/control-token': 'another token of 16 characters or more\n',
    '/run/secrets/customer-first-name': 'Ann\n',
    '/run/secrets/customer-last-name': 'Lee\n',
    '/run/secrets/customer-email': 'ann@example.org\n',
    '/run/secrets/customer-birth-date': '1980-02-29\n',
    '/run/secrets/customer-line1': '1 Some Street\n',
    '/run/secrets/customer-line2': 'Flat 2\n',
    '/run/secrets/customer-city': 'London\n',
    '/run/secrets/customer-zip-code': 'N1\n',
    '/run/secrets/customer-country': 'GB\n',
  },
};

describe('the example config', () => {
  test('loads without problems, as it is and with its optional keys', () => {
    expect(linesOf(EXAMPLE, GIVEN)).toEqual([]);
    expect(linesOf(COMPLETE, GIVEN)).toEqual([]);
    expect(COMPLETE).not.toBe(EXAMPLE);
  });

  test('can be checked without its secrets', () => {
    const { problems, accounts } = checked(EXAMPLE, { env: {} });
    expect(problems.map(({ severity, code }) => [severity, code])).toEqual(
      Array.from({ length: 7 }, () => ['warning', 'secret-missing']),
    );
    expect(accounts).toHaveLength(1);
  });

  test('names the schema for editors in its first line', () => {
    expect(EXAMPLE.split('\n')[0]).toBe('# yaml-language-server: $schema=./schema.json');
  });

  test('has every key of the schema', () => {
    const root = parseYaml(COMPLETE, 'example').document?.root ?? expect.fail();
    const missing = keyPaths(describedJsonSchema() as SchemaNode)
      .filter((path) => !path.startsWith('rules') && !TOLD_ONCE.test(path))
      .filter((path) => !exists(root, path.split('.')));
    expect(missing).toEqual([]);
    for (const key of [
      'where',
      'for',
      'keepFiringFor',
      'escalate',
      'limits',
      'severity',
      'labels',
      'mode',
      'active',
    ]) {
      expect([key, nodeAt(root, ['rules', 0, key]) !== undefined]).toEqual([key, true]);
    }
    for (const word of [
      'all:',
      'any:',
      'not:',
      'cancelAll:',
      'reduce:',
      'protect:',
      'notify:',
      'cure:',
      'positions:',
    ]) {
      expect(EXAMPLE).toContain(word);
    }
  });

  test('shows the actual defaults', () => {
    const minimal = loaded(
      'exchange: { baseUrls: [https://a.example] }\naccounts: [{ id: a, apiKey: { env: K }, apiSecret: { env: K } }]\n',
      { env: { K: 'k' } },
    );
    const example = loaded(
      EXAMPLE.replace('    acting: {', '    #acting: {').replace(/ {4}exchange: .*\n/, ''),
      GIVEN,
    );
    const { labels, accountId, cadence, marketSettings, ...settings } =
      example.accounts[0]?.settings ?? expect.fail();
    expect([labels, accountId, cadence, marketSettings('BTC_PERP')?.money]).toEqual([
      { desk: 'arb' },
      'desk-1',
      { calmMs: 5000, alertMs: 500 },
      'USDT',
    ]);
    expect(minimal.accounts[0]?.settings).toMatchObject(settings);
    expect(minimal.accounts[0]?.settings.cadence).toEqual({ calmMs: 10_000, alertMs: 1000 });
    expect(minimal.exchange).toMatchObject({ attemptTimeoutMs: 5000, callTimeoutMs: 10_000, limits: {} });
    expect(minimal.egress).toEqual({ default: { share: 1, reservedShare: 0.2 } });
    expect(minimal.redis).toBeUndefined();
    expect(minimal.mode).toBe('observe');
    expect(minimal.accounts[0]?.watch).toEqual({ sources: ['positions'], balances: [] });
  });

  test('is compiled with all its digits, and deeply frozen', () => {
    const config = loaded(COMPLETE, GIVEN);
    const [account] = config.accounts;
    expect(account?.rules.map(({ id }) => id)).toEqual([
      'near-liquidation',
      'margin-called',
      'ltv-high',
      'account-near-liquidation',
      'blind',
      'circuit-breaker/unexpected-withdrawal',
      'balanced/liquidation-likely',
      'balanced/near-liquidation',
      'balanced/last-line',
      'balanced/account-near-liquidation',
      'balanced/account-last-line',
      'balanced/unclear-direction',
      'balanced/standing-stop',
      'balanced/account-standing-stop',
    ]);
    expect(account?.settings).toMatchObject({
      nonceMode: 'window',
      cancel: 'never',
      withdrawalAllowList: ['bc1q'],
    });
    expect(account?.settings.marketSettings('BTC_PERP')?.amountStep).toBe('0.001');
    expect(account?.settings.marketSettings('DOGE_PERP')).toBeUndefined();
    expect(account?.watch.sources).toEqual([
      'positions',
      'creditLine',
      'mainBalance',
      'transfers',
      'spotOrders',
    ]);
    expect(config.exchange.certificateAuthorities).toBe(PEM);
    expect(() => compileRules(account?.rules ?? [], account?.settings ?? expect.fail())).not.toThrow();
    for (const part of everyObject(config)) expect(Object.isFrozen(part)).toBe(true);
  });

  test('an exact market wins over patterns, and patterns apply in their order', () => {
    const entry = (margin: string) =>
      `{ amountStep: 1, priceStep: 1, minAmount: 1, maintenanceMargin: ${margin} }`;
    const markets = `{ "B*": ${entry('1%')}, "*_PERP": ${entry('2%')}, BTC_PERP: ${entry('3%')} }`;
    const config = loaded(
      `exchange: { baseUrls: [https://a.example] }\nmarkets: ${markets}\naccounts: [{ id: a, apiKey: { env: K }, apiSecret: { env: K } }]\n`,
      { env: { K: 'k' } },
    );
    const margins = ['BTC_PERP', 'BNB_PERP', 'ETH_PERP', 'ETH_USDT'].map(
      (market) => config.accounts[0]?.settings.marketSettings(market)?.maintenanceMargin,
    );
    expect(margins).toEqual([0.03, 0.01, 0.02, undefined]);
  });
});

describe('the JSON Schema', () => {
  const schema = JSON.parse(
    readFileSync(new URL('../../config/schema.json', import.meta.url), 'utf8'),
  ) as Parameters<typeof z.fromJSONSchema>[0];
  const validator = z.fromJSONSchema(schema);
  const plain = (text: string): unknown =>
    JSON.parse(
      JSON.stringify(parseYaml(text, 'f').document?.root.value, (_key, value: unknown) => {
        const digits = digitsOf(value);
        return digits === undefined ? value : Number(digits);
      }),
    );

  test('accepts the example', () => {
    const result = validator.safeParse(plain(EXAMPLE));
    expect(result.error?.issues ?? []).toEqual([]);
  });

  test.each([
    ['mode: observe', 'mode: obsrve'],
    ['nonce: unique', 'nonce: 5'],
    ['lateArrival: 5s', 'lateArrival: 5 seconds'],
    ['apiKey: { env: DESK1_API_KEY }', 'apiKey: abc'],
    ['cadence:\n', 'cadnce:\n'],
    ['severity: critical', 'severity: high'],
    ['liquidationDistance: { below: 5%,', 'liquidationDistanc: { below: 5%,'],
  ])('refuses %s as %s', (from, to) => {
    expect(EXAMPLE).toContain(from);
    expect(validator.safeParse(plain(EXAMPLE.replace(from, to))).success).toBe(false);
  });
});

/** Sections that an account repeats, and selections of rules: shown where they come first. */
const TOLD_ONCE = /^accounts\.\*\.(exchange|acting|depositLink|rules\.\*\.where)\./;

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
}

/** `accounts.*.cadence.calm`: every path of keys, with `*` for the owner's names and for indices. */
function keyPaths(node: SchemaNode, path = ''): readonly string[] {
  const own = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const at = path === '' ? key : `${path}.${key}`;
    return [at].concat(keyPaths(child, at));
  });
  const more = [node.additionalProperties, node.items].flatMap((child) =>
    typeof child === 'object' ? keyPaths(child, `${path}.*`) : [],
  );
  return [...own, ...more];
}

function exists(node: NonNullable<ReturnType<typeof nodeAt>>, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return true;
  const next = key === '*' ? [...node.children.values()] : [node.children.get(key)];
  return next.some((child) => child !== undefined && exists(child, rest));
}

function* everyObject(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype) return;
  yield value;
  for (const inner of Object.values(value)) yield* everyObject(inner);
}

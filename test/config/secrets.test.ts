import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect, promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { nodeSurroundings } from '../../src/config/node-files.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { Secret } from '../../src/config/secret.ts';
import { BASE, checked, linesOf, loaded, rule } from './support.ts';

const SECRET = 'hunter2';
const good = rule({});

describe('a secret', () => {
  test('is shown only when it is revealed', () => {
    const secret = new Secret(SECRET);
    const shown = [inspect({ secret }, { showHidden: true }), JSON.stringify({ secret }), String(secret)];
    for (const text of shown) expect(text).not.toContain(SECRET);
    expect(secret.reveal()).toBe(SECRET);
  });

  test('of a loaded config appears in no inspection of it', () => {
    const config = loaded(good, { env: { API_KEY: 'the-key', API_SECRET: SECRET } });
    expect(config.accounts[0]?.apiSecret.reveal()).toBe(SECRET);
    const shown = inspect(config, { depth: 20, showHidden: true }) + JSON.stringify(config);
    expect(shown).not.toContain(SECRET);
    expect(shown).not.toContain('the-key');
  });
});

describe('a secret written into the file is refused and not repeated', () => {
  test.each([
    [`apiSecret: ${SECRET}`],
    [`apiSecret: [${SECRET}]`],
    [`apiSecret: { value: ${SECRET} }`],
    [`apiSecret: { env: "${SECRET} x" }`],
    ['apiSecret: { env: abcdef0123456789abcdef0123456789 }'],
    ['apiSecret: 12345678901234567890'],
    [`apiSecret: { env: API_SECRET, file: ${SECRET} }`],
  ])('%s', (line) => {
    const lines = linesOf(good.replace('apiSecret: { env: API_SECRET }', line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^breakwater\.yaml:8:16 accounts\[0\]\.apiSecret: expected .*env/);
    for (const secret of [SECRET, 'abcdef0123456789', '1234567890']) expect(lines[0]).not.toContain(secret);
  });

  test('a password in an address is refused and not repeated, too', () => {
    for (const url of ['redis://:hunter2@db:6379', 'redis://user:hunter2@db', 'rediss://hunter2@db']) {
      const lines = linesOf(`redis: { url: "${url}" }\n${good}`);
      expect(lines).toHaveLength(1);
      expect(lines[0]).not.toContain(SECRET);
    }
  });
});

describe('secret references', () => {
  test('to the environment and to files drop surrounding white space', () => {
    const text = good.replace('{ env: API_SECRET }', '{ file: secret.txt }');
    const config = loaded(text, { files: { 'secret.txt': `  ${SECRET}\n` } });
    expect(config.accounts[0]?.apiSecret.reveal()).toBe(SECRET);
    expect(config.accounts[0]?.apiKey.reveal()).toBe('key-1');
  });

  test('to missing values are refused when loading, and a warning when checking', () => {
    const text = good.replace('{ env: API_SECRET }', '{ file: nowhere.txt }');
    const given = { env: { API_KEY: ' ' } };
    const messages = [
      'expected a value in the environment variable API_KEY, got none: it is empty',
      'expected a readable file nowhere.txt, got no such file',
    ];
    expect(linesOf(text, given)).toEqual([
      `breakwater.yaml:7:13 accounts[0].apiKey: ${messages[0]}`,
      `breakwater.yaml:8:16 accounts[0].apiSecret: ${messages[1]}`,
    ]);
    const { problems, accounts } = checked(text, given);
    expect(problems.map(({ severity, message }) => [severity, message])).toEqual(
      messages.map((message) => ['warning', message]),
    );
    expect(accounts).toHaveLength(1);
  });

  test.each(['__proto__', 'constructor', 'toString'])(
    'to %s, a property of every object, are refused',
    (name) => {
      const text = good.replace('API_SECRET', name);
      expect(linesOf(text, { env: { API_KEY: 'key-1' } })).toEqual([
        `breakwater.yaml:8:16 accounts[0].apiSecret: expected a value in the environment variable ${name}, got none: it is not set`,
      ]);
    },
  );

  test('to a file that everybody can read are a warning', () => {
    const text = good.replace('{ env: API_SECRET }', '{ file: secret.txt }');
    const files = { 'secret.txt': SECRET };
    expect(linesOf(text, { files })).toEqual([]);
    expect(linesOf(text, { files, worldReadable: ['secret.txt'] })).toEqual([
      'breakwater.yaml:8:16 accounts[0].apiSecret: warning: expected a secret file that only its owner can read, got one that everybody on this machine can: chmod 600 secret.txt',
    ]);
  });

  test('to a secret of several lines, or to no address where one is needed, are refused', () => {
    const lines = linesOf(`redis: { url: { env: REDIS_URL } }\n${good}`, {
      env: { API_KEY: `${SECRET}\n${SECRET}`, API_SECRET: 'x', REDIS_URL: SECRET },
    });
    expect(lines).toEqual([
      'breakwater.yaml:1:15 redis.url: expected an address that starts with redis://, rediss:// or unix:///, or with +sentinel or +cluster before the colon behind it, got another text',
      'breakwater.yaml:8:13 accounts[0].apiKey: expected one line, got several (not repeated here)',
    ]);
  });

  test('to the addresses of an allow-list are read', () => {
    const text = good.replace('rules: [r]', 'rules: [r]\n    watch: { withdrawalAllowList: { file: list } }');
    const config = loaded(text, { files: { list: '# ours\nbc1qone\n\nbc1qtwo # the other\n' } });
    expect(config.accounts[0]?.settings.withdrawalAllowList).toEqual(['bc1qone', 'bc1qtwo']);
  });
});

describe('one key under two accounts', () => {
  const second = (mode: string): string => `  - id: desk-2
    mode: ${mode}
    apiKey: { env: SAME_KEY }
    apiSecret: { env: API_SECRET }
    rules: [r]
`;
  const given = { env: { API_KEY: 'same', SAME_KEY: 'same', API_SECRET: 'x' } };
  const text = (modes: readonly [string, string]): string =>
    good.replace('rules: [r]\n', `mode: ${modes[0]}\n    rules: [r]\n${second(modes[1])}`);
  const at = 'breakwater.yaml:13:13 accounts[1].apiKey:';

  test('is a warning while one of them only observes, even under different references', () => {
    expect(linesOf(text(['observe', 'enforce']), given)).toContain(
      `${at} warning: expected a key of its own for each account, got the key of desk-1`,
    );
  });

  test('is an error if both may act', () => {
    const lines = linesOf(text(['enforce', 'enforce']), given);
    expect(lines).toContain(
      `${at} expected a key of its own for each account, got the key of desk-1, and both may act by it`,
    );
    expect(lines.join('\n')).not.toContain('same');
  });

  test('is no problem if the values differ', () => {
    const lines = linesOf(text(['enforce', 'enforce']), { env: { ...given.env, SAME_KEY: 'other' } });
    expect(lines.filter((line) => line.includes('apiKey'))).toEqual([]);
  });
});

describe('files on disk', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'breakwater-config-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('are found relative to the config, and their mode is checked', () => {
    const file = path.join(folder, 'breakwater.yaml');
    writeFileSync(path.join(folder, 'key'), 'k', { mode: 0o600 });
    writeFileSync(path.join(folder, 'secret'), SECRET);
    chmodSync(path.join(folder, 'secret'), 0o644);
    writeFileSync(
      file,
      `${BASE}accounts:\n  - { id: a, apiKey: { file: key }, apiSecret: { file: ./secret }, rules: [credit-line] }\n`,
    );
    const result = loadConfig(file, nodeSurroundings({}));
    expect(result.kind).toBe('loaded');
    const warnings = result.kind === 'loaded' ? result.warnings.map(formatProblem) : [];
    expect(warnings).toEqual([expect.stringContaining('chmod 600 ./secret')]);
  });

  test('a FIFO as secret blocked the loop', async () => {
    await promisify(execFile)('mkfifo', [path.join(folder, 'key')]);
    const file = path.join(folder, 'breakwater.yaml');
    writeFileSync(
      file,
      `${BASE}accounts:\n  - { id: a, apiKey: { env: K }, apiSecret: { file: key }, rules: [credit-line] }\n`,
    );
    // In a process of its own, which can be ended: what waits for a pipe hears no timer.
    const source = `
      import { loadConfig } from './src/config/load-config.ts';
      import { nodeSurroundings } from './src/config/node-files.ts';
      console.log(JSON.stringify(loadConfig(${JSON.stringify(file)}, nodeSurroundings({ K: 'k' })).problems));`;
    const found = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', source], {
      timeout: 120_000,
      encoding: 'utf8',
    });
    expect(found).toContain('expected a readable file key, got a pipe or a device');
    expect(nodeSurroundings({}).readFile('/dev/zero')).toEqual({ kind: 'failed', why: 'a pipe or a device' });
  });

  test('that are folders, missing or too large are problems, not exceptions', () => {
    const surroundings = nodeSurroundings({});
    expect(surroundings.readFile(folder)).toEqual({ kind: 'failed', why: 'a folder' });
    expect(surroundings.readFile(path.join(folder, 'no'))).toEqual({ kind: 'failed', why: 'no such file' });
    const big = path.join(folder, 'big');
    writeFileSync(big, 'x'.repeat(1_048_577));
    expect(surroundings.readFile(big)).toEqual({ kind: 'failed', why: 'a file of 1048577 bytes' });
    expect(loadConfig(folder, surroundings).kind).toBe('refused');
  });
});

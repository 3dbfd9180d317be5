import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadWithoutSecrets } from '../../src/config/load-config.ts';
import { nodeSurroundings, othersMayWrite } from '../../src/config/node-files.ts';
import { checked, FILE, type Given, problemsOf, rule, surroundings } from './support.ts';

const ACTS = '[{ reduce: { by: 10% } }]';
const PASSWORD = 'planted-password';
const ENV = { API_KEY: 'key-1', API_SECRET: 'secret-1', TOKEN: 'a-token-of-16-characters', KEY: 'k' };

/** A config without problems; `more` is put in front of it. */
function config(mode: 'observe' | 'enforce', more: string, base = 'https://api.exchange.example'): string {
  const text = rule({ do: ACTS })
    .replace('https://api.exchange.example', base)
    .replace(/insecure: .*\n/, '');
  const redis = more.includes('redis:') ? '' : 'redis: { url: { env: REDIS } }\n';
  return `mode: ${mode}\n${redis}${more}\n${text}`;
}

function found(text: string, given: Given = {}): readonly string[] {
  const env = { REDIS: `rediss://:${PASSWORD}@redis.example`, ...ENV, ...given.env };
  const problems = problemsOf(text, { ...given, env });
  expect(JSON.stringify(problems)).not.toContain(PASSWORD);
  return problems.map(({ severity, code, path: at }) => `${severity} ${code} ${at}`);
}

const web = (host: string) => `web: { host: ${host}, token: { env: TOKEN } }`;
type Exposed = readonly [
  words: string,
  insecure: string,
  more: string,
  at: string,
  env?: Record<string, string>,
];
const EXPOSED: readonly Exposed[] = [
  [
    'a webhook over http',
    'channels',
    'channels: { a: { type: webhook, url: "http://hook.example/x" } }',
    'channels.a.url',
  ],
  [
    'a webhook behind a reference',
    'channels',
    'channels: { a: { type: slack, url: { env: HOOK } } }',
    'channels.a.url',
    { HOOK: 'http://hook.example/planted-password' },
  ],
  [
    'a webhook of Discord over http',
    'channels',
    'channels: { a: { type: discord, url: { env: HOOK } } }',
    'channels.a.url',
    { HOOK: 'http://hook.example/planted-password' },
  ],
  [
    'a workflow of Teams over http',
    'channels',
    'channels: { a: { type: teams, url: { env: HOOK } } }',
    'channels.a.url',
    { HOOK: 'http://flow.example/workflows/planted-password' },
  ],
  [
    'a bot over http',
    'channels',
    'channels: { a: { type: telegram, token: { env: KEY }, chat: "1", api: "http://bot.example" } }',
    'channels.a.api',
  ],
  [
    'PagerDuty over http',
    'channels',
    'channels: { a: { type: pagerduty, routingKey: { env: KEY }, api: "http://events.example" } }',
    'channels.a.api',
  ],
  [
    'Opsgenie over http',
    'channels',
    'channels: { a: { type: opsgenie, apiKey: { env: KEY }, api: "http://api.example" } }',
    'channels.a.api',
  ],
  [
    'an Alertmanager over http',
    'channels',
    'channels: { a: { type: alertmanager, urls: [http://127.0.0.1:1, http://am:9093] } }',
    'channels.a.urls[1]',
  ],
  [
    'the password of a proxy over http',
    'channels',
    'channels: { a: { type: webhook, url: "https://hook.example", proxy: { env: PROXY } } }',
    'channels.a.proxy',
    { PROXY: `http://u:${PASSWORD}@proxy.example` },
  ],
  [
    'the password of an egress proxy over http',
    'exchange',
    'egress: { default: { proxy: { env: PROXY } } }',
    'egress.default.proxy',
    { PROXY: `http://u:${PASSWORD}@proxy.example` },
  ],
  [
    'Redis without TLS on another machine',
    'redis',
    '',
    'redis.url',
    { REDIS: `redis://:${PASSWORD}@redis.example` },
  ],
  ['a heartbeat', 'channels', 'heartbeat: { url: "http://hc.example/ping/x" }', 'heartbeat.url'],
  [
    'the password of a proxy of a heartbeat',
    'channels',
    'heartbeat: { url: "https://hc.example/ping/x", proxy: { env: PROXY } }',
    'heartbeat.proxy',
    { PROXY: `http://user:${PASSWORD}@proxy.example` },
  ],
  ['tokens of the web server', 'web', web('0.0.0.0'), 'web.host'],
  ['the address people are sent to', 'web', 'web: { publicUrl: "http://desk.example" }', 'web.publicUrl'],
];

describe('what travels readably beyond this machine', () => {
  test.for(EXPOSED)(
    '%s: refused in enforce, warned of in observe, allowed by insecure: [%s]',
    ([_words, insecure, more, at, env = {}]) => {
      const given = { env };
      expect(found(config('enforce', more), given)).toEqual([`error unencrypted ${at}`]);
      expect(found(config('observe', more), given)).toEqual([`warning unencrypted ${at}`]);
      expect(found(config('enforce', `${more}\ninsecure: [${insecure}]`), given)).toEqual([]);
    },
  );

  test('an API key over http', () => {
    const base = 'http://exchange:8080';
    expect(found(config('enforce', '', base))).toEqual(['error unencrypted exchange.baseUrls[0]']);
    expect(found(config('observe', '', base))).toEqual(['warning unencrypted exchange.baseUrls[0]']);
    expect(found(config('enforce', 'insecure: [exchange]', base))).toEqual([]);
    expect(found(config('enforce', 'insecure: [redis, channels, web]', base))).toHaveLength(1);
  });

  test.each([
    web('127.0.0.1'),
    web('"::1"'),
    'channels: { a: { type: webhook, url: "http://localhost:1/x" }, b: { type: webhook, url: "http://[::1]:1/x" } }',
    'heartbeat: { url: "http://127.0.0.1:1/x" }',
    'channels: { a: { type: webhook, url: "https://h.example", proxy: "http://proxy.example" } }',
  ])('%s is fine', (more) => {
    expect(found(config('enforce', more))).toEqual([]);
  });
});

describe('a Redis without a password', () => {
  test('is refused in enforce mode, even on this machine, and a warning in observe mode on another one', () => {
    const refused = 'error redis-without-password redis.url';
    expect(found(config('enforce', 'redis: {}'))).toEqual([refused]);
    expect(found(config('enforce', 'redis: { url: "rediss://redis.example" }'))).toEqual([refused]);
    expect(found(config('enforce', 'redis: {}\ninsecure: [redis]'))).toEqual([]);
    expect(found(config('observe', 'redis: {}'))).toEqual([]);
    // Who can connect to a socket is decided by its permissions.
    expect(found(config('enforce', 'redis: { url: "unix:///run/redis.sock" }'))).toEqual([]);
    expect(found(config('observe', 'redis: { url: "rediss://redis.example" }'))).toEqual([
      refused.replace('error', 'warning'),
    ]);
  });

  test('is refused for an account without rules as well, where operator orders act by its mode', () => {
    const refused = ['error redis-without-password redis.url'];
    const exposed = (mode: 'observe' | 'enforce') =>
      found(config(mode, 'redis: {}').replace('rules: [r]', 'rules: []')).filter((at) =>
        at.includes('redis'),
      );
    expect([exposed('enforce'), exposed('observe')]).toEqual([refused, []]);
  });

  test('a Redis with a password on this machine needs no TLS', () => {
    expect(found(config('enforce', ''), { env: { REDIS: `redis://:${PASSWORD}@127.0.0.1` } })).toEqual([]);
  });

  test('is not checked if its address is unknown', () => {
    const text = config('enforce', '');
    expect(checked(text).problems.map(({ code }) => code)).toEqual(['secret-missing']);
  });
});

describe('files that others can access', () => {
  const files = { 'secret.txt': 'secret-1' };
  const text = (mode: 'observe' | 'enforce') =>
    config(mode, '').replace('{ env: API_SECRET }', '{ file: secret.txt }');

  test('a key file that everybody can read', () => {
    const given = { files, worldReadable: ['secret.txt'] };
    const at = 'secret-world-readable accounts[0].apiSecret';
    expect(found(text('enforce'), given)).toEqual([`error ${at}`]);
    expect(found(text('observe'), given)).toEqual([`warning ${at}`]);
  });

  test('secrets writable by others passed', () => {
    const given = { files, othersMayWrite: ['secret.txt'] };
    const at = 'secret-writable-by-others accounts[0].apiSecret';
    expect(found(text('enforce'), given)).toEqual([`error ${at}`]);
    expect(found(text('observe'), given)).toEqual([`warning ${at}`]);
  });

  test('a config file that others can change', () => {
    const given = { files, othersMayWrite: [FILE] };
    expect(found(text('enforce'), given)).toEqual(['error writable-by-others ']);
    expect(found(text('observe'), given)).toEqual(['warning writable-by-others ']);
  });

  test('a key file that everybody can read, by real file modes', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-exposure-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'key');
    writeFileSync(file, 'x');
    const isWorldReadable = (bits: number): boolean | undefined => {
      chmodSync(file, bits);
      const reading = nodeSurroundings({}).readFile(file);
      return reading.kind === 'read' ? reading.worldReadable : undefined;
    };
    expect([0o600, 0o640, 0o604, 0o644].map(isWorldReadable)).toEqual([false, false, true, true]);
  });

  test('by real file modes', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-exposure-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'config.yaml');
    writeFileSync(file, '');
    const mode = (bits: number): boolean | undefined => {
      chmodSync(file, bits);
      const reading = nodeSurroundings({}).readFile(file);
      return reading.kind === 'read' ? reading.othersMayWrite : undefined;
    };
    expect([mode(0o600), mode(0o644), mode(0o646)]).toEqual([false, false, true]);
  });

  test('a group whose only member is the owner counts as the owner', () => {
    expect(othersMayWrite({ mode: 0o100664, uid: 1000, gid: 1000 }, 1000)).toBe(false);
    expect(othersMayWrite({ mode: 0o100664, uid: 1000, gid: 100 }, 1000)).toBe(true);
  });

  test('a file of another user is one that others can change, except of root', () => {
    const ofUser = { mode: 0o100600, uid: 1000, gid: 1000 };
    expect([1000, 1001, 0].map((own) => othersMayWrite(ofUser, own))).toEqual([false, true, true]);
    expect(othersMayWrite({ ...ofUser, uid: 0, gid: 0 }, 1000)).toBe(false);
  });
});

test('an exposed file does not stop an operator from pausing', () => {
  const result = loadWithoutSecrets(FILE, surroundings(config('enforce', 'redis: {}'), { env: ENV }));
  expect(result).toMatchObject({ kind: 'usable', problems: [{ severity: 'warning' }] });
});

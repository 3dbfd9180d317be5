import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { prefixAt, readRedisAddress, showRedisAddress } from '../../src/config/redis-address.ts';
import { secretValues } from '../../src/config/secret.ts';
import { linesOf, loaded, rule } from './support.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const KEY = '-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n';
const KEYS = { API_KEY: 'k', API_SECRET: 's' };

function config(redis: string): string {
  return `redis: ${redis}\n${rule({ do: '[{ reduce: { by: 10%, slippage: 1% } }]' })}`;
}

const GIVEN = {
  env: { ...KEYS, REDIS: 'rediss://u:sesame@redis.example' },
  files: { 'ca.pem': PEM, 'own.crt': PEM, 'own.key': KEY },
};
const FILES = 'ca: ca.pem, cert: own.crt, key: own.key';

describe('a Redis address', () => {
  test.each([
    ['redis://h', { tls: false, hosts: [{ host: 'h', port: 6379 }], database: 0 }],
    ['rediss://h:1/3', { tls: true, hosts: [{ host: 'h', port: 1 }], database: 3 }],
    ['redis://[::1]:2/?family=6', { tls: false, hosts: [{ host: '::1', port: 2 }], database: 0, family: 6 }],
    ['redis://:p%40s@h', { tls: false, hosts: [{ host: 'h', port: 6379 }], password: 'p@s', database: 0 }],
    [
      'redis://u:p:q@h',
      { tls: false, hosts: [{ host: 'h', port: 6379 }], username: 'u', password: 'p:q', database: 0 },
    ],
    ['unix:///run/redis.sock', { tls: false, hosts: [], socketPath: '/run/redis.sock', database: 0 }],
    [
      'unix://u:p%40s@/a b.sock?db=2',
      { tls: false, hosts: [], socketPath: '/a b.sock', username: 'u', password: 'p@s', database: 2 },
    ],
    [
      'rediss+sentinel://u:p@a:1,b,[::1]:3/main/2',
      {
        tls: true,
        hosts: [
          { host: 'a', port: 1 },
          { host: 'b', port: 26_379 },
          { host: '::1', port: 3 },
        ],
        primary: 'main',
        username: 'u',
        password: 'p',
        database: 2,
      },
    ],
    [
      'rediss+cluster://u:p@a:1,[::1]/0',
      {
        tls: true,
        hosts: [
          { host: 'a', port: 1 },
          { host: '::1', port: 6379 },
        ],
        isCluster: true,
        username: 'u',
        password: 'p',
        database: 0,
      },
    ],
  ])('%s', (text, address) => {
    expect(readRedisAddress(text)).toEqual({ kind: 'address', address });
  });

  test.each([
    ['http://h', 'another text'],
    ['h:6379', 'another text'],
    ['redis://', 'one without a host, or with a wrong port'],
    ['redis://h:0', 'one without a host, or with a wrong port'],
    ['redis://h:99999', 'one without a host, or with a wrong port'],
    ['redis://h/x', 'one whose database is no number'],
    ['redis://a,b', 'one with several hosts but without +sentinel or +cluster'],
    ['redis://:%zz@h', 'a user or password that is not percent-encoded'],
    ['unix://run/redis.sock', 'another text'],
    ['unix:///redis.sock?db=x', 'one whose database is no number'],
    ['unix://:%zz@/redis.sock', 'a user or password that is not percent-encoded'],
    ['redis+sentinel://a,b', 'one without the name of the primary behind its hosts'],
    ['redis+cluster://a,b/1', 'one with a database, of which a cluster has none but 0'],
    ['redis+cluster://a/main', 'one whose database is no number'],
  ])('%s is refused', (text, got) => {
    expect(readRedisAddress(text)).toEqual({ kind: 'none', got });
  });

  test('of a socket is shown without its password, and reads as the same place', () => {
    const reading = readRedisAddress('unix://u:sesame@/run/redis.sock?db=2');
    if (reading.kind === 'none') return expect.fail(reading.got);
    const shown = showRedisAddress(reading.address);
    expect(shown).toBe('unix:///run/redis.sock?db=2');
    const { username: _user, password: _password, ...place } = reading.address;
    expect(readRedisAddress(shown)).toEqual({ kind: 'address', address: place });
  });

  test('of a cluster puts the prefix of all keys in braces, once', () => {
    const prefixOf = (url: string): string => loaded(config(`{ url: "${url}", prefix: bw }`)).redis!.prefix;
    expect(prefixOf('redis+cluster://127.0.0.1:1,127.0.0.1:2')).toBe('{bw}');
    expect(prefixOf('redis://127.0.0.1:1')).toBe('bw');
    expect(prefixAt({ isCluster: true }, '{bw}')).toBe('{bw}');
    expect(prefixAt({}, '{bw}')).toBe('bw');
    expect(
      showRedisAddress({ tls: true, isCluster: true, hosts: [{ host: 'h', port: 1 }], database: 0 }),
    ).toBe('rediss+cluster://h:1');
  });

  test('is shown without user and password, and reads as the same place', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,8}$/);
    const host = fc.tuple(
      fc.oneof(name, fc.constant('[::1]')),
      fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined }),
    );
    const secret = fc.string({ minLength: 12, unit: 'grapheme-ascii' }).map((text) => `~S3~${text}`);
    fc.assert(
      fc.property(
        fc.array(host, { minLength: 1 }),
        secret,
        fc.boolean(),
        fc.nat(15),
        (hosts, password, tls, db) => {
          const places = hosts.map(([at, port]) => (port === undefined ? at : `${at}:${port}`)).join(',');
          const scheme = `redis${tls ? 's' : ''}+sentinel`;
          const text = `${scheme}://us3r:${encodeURIComponent(password)}@${places}/main/${db}`;
          const reading = readRedisAddress(text);
          if (reading.kind === 'none') return expect.fail(`${text}: ${reading.got}`);
          expect(reading.address).toMatchObject({ username: 'us3r', password, tls, database: db });
          const shown = showRedisAddress(reading.address);
          expect(shown).not.toMatch(/us3r|~S3~/);
          const again = readRedisAddress(shown);
          const { username: _user, password: _password, ...place } = reading.address;
          expect(again).toEqual({ kind: 'address', address: place });
          const hidden = secretValues(
            loaded(config('{ url: { env: REDIS } }'), { env: { ...KEYS, REDIS: text } }),
          );
          expect(hidden).toEqual(expect.arrayContaining([password, encodeURIComponent(password)]));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('that is wrong is never repeated', () => {
    const unit = fc.constantFrom(...Array.from(':/@,?#%[]s3a'), 'redis', 's://', '+sentinel', '+cluster');
    const login = fc.string({ unit, maxLength: 12 });
    fc.assert(
      fc.property(login, login, (before, after) => {
        const text = `rediss+sentinel://${before}sesame${after}@h/main`;
        const written = linesOf(config(`{ url: ${JSON.stringify(text)} }`), GIVEN);
        const behind = linesOf(config('{ url: { env: REDIS } }'), { env: { ...KEYS, REDIS: text } });
        expect([...written, ...behind].join('\n')).not.toContain('sesame');
      }),
    );
  });
});

describe('certificates for Redis', () => {
  test('are read for a TLS address', () => {
    const redis = loaded(config(`{ url: { env: REDIS }, ${FILES} }`), GIVEN).redis!;
    expect({ ...redis.tls, key: redis.tls.key?.reveal() }).toEqual({ ca: PEM, cert: PEM, key: KEY });
    expect(JSON.stringify(redis)).not.toContain('MC4C');
  });

  test.each([
    [
      '{ url: "redis://127.0.0.1", ca: ca.pem }',
      'redis.ca: expected an address that starts with rediss (TLS) beside it, got another one',
    ],
    ['{ url: { env: REDIS }, cert: own.crt }', 'redis.cert: expected key beside it, got none'],
    ['{ url: { env: REDIS }, key: own.key }', 'redis.key: expected cert beside it, got none'],
    [
      '{ url: { env: REDIS }, ca: own.key }',
      'redis.ca: expected a file with certificates (PEM) at "own.key", got a file without "-----BEGIN CERTIFICATE-----"',
    ],
    [
      '{ url: { env: REDIS }, cert: own.crt, key: own.crt }',
      'redis.key: expected a file with a private key (PEM) at "own.crt", got a file without one',
    ],
    [
      '{ url: { env: REDIS }, cert: own.crt, key: locked.key }',
      'redis.key: expected a file with a private key (PEM) at "locked.key", got one with a passphrase',
    ],
    [
      '{ url: { env: REDIS }, cert: own.crt, key: nowhere }',
      'redis.key: expected a file with a private key (PEM) at "nowhere", got no such file',
    ],
  ])('%s is refused', (redis, line) => {
    const locked = KEY.replace('BEGIN PRIVATE', 'BEGIN ENCRYPTED PRIVATE');
    const given = { ...GIVEN, files: { ...GIVEN.files, 'locked.key': locked } };
    expect(linesOf(config(redis), given)).toEqual([expect.stringContaining(line)]);
  });

  test('a key that everybody can read is a warning, and an error in a config that acts', () => {
    const given = { ...GIVEN, worldReadable: ['own.key'] };
    const text = config(`{ url: { env: REDIS }, ${FILES} }`);
    const words = 'expected a secret file that only its owner can read';
    expect(linesOf(text, given)).toEqual([expect.stringContaining(`redis.key: warning: ${words}`)]);
    expect(linesOf(`mode: enforce\n${text}`, given)).toEqual([
      expect.stringContaining(`redis.key: ${words}`),
    ]);
  });
});

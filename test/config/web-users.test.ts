import { describe, expect, test } from 'vitest';
import { BASE, linesOf, loaded, problemsOf } from './support.ts';

const ACCOUNTS =
  'accounts: [{ id: a, apiKey: { env: API_KEY }, apiSecret: { env: API_SECRET }, rules: [balanced] }]\n';
const web = (keys: string): string => `${BASE}${ACCOUNTS}web: { ${keys} }\n`;
const HASH = `sha256:${'ab'.repeat(32)}`;

describe('who may use the web server', () => {
  test('users, proxies and a listener for probes are read; a user allows a public address', () => {
    const users = `users: { ann: { scopes: [control], tokenHash: "${HASH}" }, bob: {} }`;
    const proxies = 'trustedProxies: [10.0.0.2, 10.1.0.0/16, "2001:db8::/48"], identityHeader: X-User';
    const config = loaded(web(`host: 0.0.0.0, ${users}, ${proxies}, health: { port: 9644 }`)).web;
    expect(config).toMatchObject({
      users: { ann: { scopes: ['control'], tokenHash: HASH }, bob: { scopes: ['read'] } },
      trustedProxies: ['10.0.0.2', '10.1.0.0/16', '2001:db8::/48'],
      identityHeader: 'X-User',
      health: { host: '127.0.0.1', port: 9644 },
    });
  });

  test.each([
    [
      'a header that nobody may send',
      `identityHeader: X-User, users: { a: { tokenHash: "${HASH}" } }`,
      'web.identityHeader: expected web.trustedProxies',
    ],
    ['a user who cannot come in', 'users: { ann: {} }', 'run breakwater token ann'],
    [
      'two users with one token',
      `users: { a: { tokenHash: "${HASH}" }, b: { tokenHash: "${HASH}" } }`,
      'web.users.b.tokenHash: expected a token of their own for each user, got the one of a',
    ],
    [
      'a token instead of its hash',
      'users: { a: { tokenHash: bw_abc } }',
      'web.users.a.tokenHash: expected sha256:',
    ],
    ['an unknown scope', 'users: { a: { scopes: [admin] } }', 'expected one of read, control, operate'],
    ['no scope', 'users: { a: { scopes: [] } }', 'web.users.a.scopes'],
    ['the whole internet as a proxy', 'trustedProxies: [0.0.0.0/0]', 'web.trustedProxies[0]: expected an IP'],
    ['a name as a proxy', 'trustedProxies: [proxy.internal]', 'web.trustedProxies[0]: expected an IP'],
    ['probes without a port', 'health: {}', 'web.health.port'],
  ])('%s is refused', (_what, keys, expected) => {
    expect(linesOf(web(keys))).toContainEqual(expect.stringContaining(expected));
  });
});

describe('a proxy at a loopback address, which every user of the machine can use', () => {
  const users = `users: { ann: { tokenHash: "${HASH}" } }`;
  const warned = (keys: string): readonly string[] =>
    problemsOf(web(keys)).flatMap(({ code, path, message, severity }) =>
      code === 'anybody-is-the-proxy' ? [`${severity} ${path}: ${message}`] : [],
    );

  test.each(['127.0.0.1', '127.1.2.3', '127.0.0.0/8', '"::1"'])(
    '%s is a warning if it names users',
    (proxy) => {
      const found = warned(`${users}, trustedProxies: [10.0.0.2, ${proxy}], identityHeader: X-User`);
      expect(found).toEqual([
        expect.stringMatching(
          /^warning web\.trustedProxies\[1\]: .*every user of this machine can pose as anybody in X-User/,
        ),
      ]);
    },
  );

  test("is no warning if it only passes the client's address, nor at another address", () => {
    expect(warned(`${users}, trustedProxies: [127.0.0.1]`)).toEqual([]);
    expect(warned(`${users}, trustedProxies: [10.0.0.2], identityHeader: X-User`)).toEqual([]);
  });
});

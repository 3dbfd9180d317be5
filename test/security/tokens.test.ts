import { Agent, request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { OPERATOR_CHAIN } from '../../src/core/audit/audit-record.ts';
import { tokenHashOf } from '../../src/web/token.ts';
import {
  ask,
  CONTROL_TOKEN,
  type Fixture,
  type FixtureOptions,
  READ_TOKEN,
  startFixture,
} from '../web/fixture.ts';

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close();
});

async function start(web: NonNullable<FixtureOptions['web']> = {}): Promise<Fixture> {
  const fixture = await startFixture({ web: { token: READ_TOKEN, ...web } });
  open.push(fixture);
  return fixture;
}

/** Over few connections, as a hurried attacker does. */
async function tryTokens(
  fixture: Fixture,
  count: number,
  from: string,
): Promise<ReadonlyMap<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const statuses = new Map<number, number>();
  const one = (token: string) =>
    new Promise<number>((resolve, reject) => {
      request(
        {
          agent,
          host: '127.0.0.1',
          localAddress: from,
          port: fixture.server.port,
          path: '/api/v1/overview',
          headers: { authorization: `Bearer ${token}` },
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
        },
      )
        .on('error', reject)
        .end();
    });
  await Promise.all(
    Array.from({ length: 20 }, async (_, lane) => {
      for (let index = lane; index < count; index += 20) {
        const status = await one(`guess-${index}-of-some-length`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }),
  );
  agent.destroy();
  return statuses;
}

describe('thousands of wrong tokens', () => {
  test('are counted, named with their address, and slowed down', async () => {
    const refused: string[] = [];
    const fixture = await start({ onRefused: (why, client) => refused.push(`${why} ${client}`) });
    const statuses = await tryTokens(fixture, 2000, '127.0.0.2');
    // A burst, and the tokens refilled while it lasts.
    expect(statuses.get(401)).toBeGreaterThanOrEqual(20);
    expect(statuses.get(401)).toBeLessThan(60);
    expect((statuses.get(401) ?? 0) + (statuses.get(429) ?? 0)).toBe(2000);
    expect(new Set(refused)).toEqual(new Set(['wrongToken 127.0.0.2', 'slowedDown 127.0.0.2']));
    expect(refused.length).toBe(2000);
    const answer = await ask(fixture.server, '/api/v1/overview', { token: 'x', from: '127.0.0.2' });
    expect([answer.status, answer.headers['retry-after'], answer.json]).toEqual([
      429,
      '3',
      { error: { code: 'slowedDown', message: expect.stringContaining('try again later') } },
    ]);
  });

  test('slow down even the right one, but not clients elsewhere or known before', async () => {
    const fixture = await start();
    const status = async (token: string, from: string): Promise<number> =>
      (await ask(fixture.server, '/api/v1/overview', { token, from })).status;
    // A user at the same address, for example behind the same proxy, who worked there before.
    expect(await status(READ_TOKEN, '127.0.0.2')).toBe(200);
    await tryTokens(fixture, 300, '127.0.0.2');
    expect(await status(READ_TOKEN, '127.0.0.2')).toBe(200);
    // The answer does not reveal whether a guess is right.
    expect(await status(CONTROL_TOKEN, '127.0.0.2')).toBe(429);
    expect(await status(CONTROL_TOKEN, '127.0.0.1')).toBe(200);
    expect(await status('a-wrong-token-again', '127.0.0.1')).toBe(401);
    // Nor does the probe that shows more to readers.
    const probe = await ask(fixture.server, '/readyz', { token: CONTROL_TOKEN, from: '127.0.0.2' });
    expect(probe.json).toEqual({ ready: true });
    expect((await ask(fixture.server, '/healthz', { from: '127.0.0.2' })).status).toBe(200);
  });

  test('without a token nobody is slowed down', async () => {
    const fixture = await start();
    for (let count = 0; count < 60; count += 1)
      expect((await ask(fixture.server, '/api/v1/overview')).status).toBe(401);
    expect((await ask(fixture.server, '/api/v1/overview', { token: READ_TOKEN })).status).toBe(200);
  });
});

const TOKENS = {
  reader: 'a-token-of-the-reader',
  ann: 'a-token-of-ann-who-controls',
  bob: 'a-token-of-bob-who-operates',
};
const USERS = {
  reader: { scopes: ['read'], tokenHash: tokenHashOf(TOKENS.reader) },
  ann: { scopes: ['control'], tokenHash: tokenHashOf(TOKENS.ann) },
  bob: { scopes: ['operate'], tokenHash: tokenHashOf(TOKENS.bob) },
} as const;
const PAUSE = { accountId: null, author: 'somebody else', reason: 'r', forMs: 60_000 };

describe('users with a personal token', () => {
  test('may do what their scopes allow and nothing else', async () => {
    const fixture = await startFixture({
      web: { controlToken: undefined, users: USERS },
    });
    open.push(fixture);
    const status = async (path: string, token: string | undefined, body?: unknown): Promise<number> =>
      (
        await ask(fixture.server, path, {
          ...(token === undefined ? {} : { token }),
          ...(body === undefined ? {} : { body, method: 'POST' }),
        })
      ).status;
    const topUp = { subject: 'creditLine:USDT@1', amount: '1' };
    const found: Record<string, readonly number[]> = {};
    for (const [name, token] of [['nobody', undefined], ...Object.entries(TOKENS)] as const) {
      found[name] = [
        await status('/api/v1/overview', token),
        await status('/api/v1/pauses', token, PAUSE),
        await status('/api/v1/accounts/desk-1/top-ups', token, topUp),
      ];
    }
    // No top-up exists here: an allowed request gets 404.
    expect(found).toEqual({
      nobody: [401, 401, 401],
      reader: [200, 403, 403],
      ann: [200, 201, 403],
      bob: [200, 403, 404],
    });
    const refused = await ask(fixture.server, '/api/v1/pauses', {
      token: TOKENS.bob,
      body: PAUSE,
      method: 'POST',
    });
    expect(refused.json).toEqual({
      error: { code: 'scopeMissing', message: 'bob may read and operate; this needs the scope control' },
    });
    expect((await ask(fixture.server, '/api/v1/me', { token: TOKENS.ann })).json).toEqual({
      name: 'ann',
      scopes: ['read', 'control'],
      address: '127.0.0.1',
    });
    // The hash grants no access.
    expect(await status('/api/v1/overview', USERS.ann.tokenHash)).toBe(401);
  });

  test('are audited under their name and address, whatever name they claim', async () => {
    const fixture = await start({ users: USERS });
    const pause = async (token: string, from: string) =>
      (await ask(fixture.server, '/api/v1/pauses', { token, from, body: PAUSE, method: 'POST' })).json;
    expect(await pause(TOKENS.ann, '127.0.0.7')).toMatchObject({ author: 'ann (127.0.0.7)' });
    // A shared control token: the claimed name is recorded and marked as such.
    expect(await pause(CONTROL_TOKEN, '127.0.0.8')).toMatchObject({
      author: 'somebody else (control token, 127.0.0.8)',
    });
    const records = await fixture.state.audit.tail(OPERATOR_CHAIN, 2);
    expect(JSON.stringify(records)).toContain('ann (127.0.0.7)');
  });
});

describe('a reverse proxy', () => {
  const proxied = {
    users: { ...USERS, dave: { scopes: ['control'] } },
    trustedProxies: ['127.0.0.9'],
    identityHeader: 'X-Forwarded-User',
  } as const;

  test('names the user and the client address, if it is trusted', async () => {
    const fixture = await start(proxied);
    const me = async (from: string, headers: Readonly<Record<string, string>>) => {
      const { status, json } = await ask(fixture.server, '/api/v1/me', { from, headers });
      return status === 200 ? json : status;
    };
    const named = { 'x-forwarded-user': 'dave', 'x-forwarded-for': '203.0.113.5' };
    expect(await me('127.0.0.9', named)).toEqual({
      name: 'dave',
      scopes: ['read', 'control'],
      address: '203.0.113.5',
    });
    expect(await me('127.0.0.1', named)).toBe(401);
    expect(await me('127.0.0.9', { 'x-forwarded-for': '203.0.113.5' })).toBe(401);
    expect(await me('127.0.0.9', { 'x-forwarded-user': 'eve' })).toBe(401);
    expect(await me('127.0.0.9', { 'x-forwarded-user': 'dave, eve' })).toBe(401);
    const body = await ask(fixture.server, '/api/v1/pauses', {
      from: '127.0.0.9',
      headers: named,
      body: PAUSE,
      method: 'POST',
    });
    expect(body.json).toMatchObject({ author: 'dave (203.0.113.5)' });
    // A page of another site makes the browser of dave send the request, and the proxy passes it.
    const foreign = { ...named, origin: 'https://evil.example' };
    expect(await me('127.0.0.9', foreign)).toBe(403);
  });

  test('X-Forwarded-For was taken as it comes', async () => {
    const headers = {
      'x-forwarded-for': '203.0.113.5',
      forwarded: 'for=203.0.113.5',
      'x-real-ip': '203.0.113.5',
    };
    const addressOf = async (web: Parameters<typeof start>[0], from: string) =>
      (await ask((await start(web)).server, '/api/v1/me', { from, headers, token: TOKENS.ann })).json;
    // Without a trusted proxy, and from elsewhere than from it, it is only text.
    expect(await addressOf({ users: USERS }, '127.0.0.3')).toMatchObject({ address: '127.0.0.3' });
    expect(await addressOf(proxied, '127.0.0.3')).toMatchObject({ address: '127.0.0.3' });
    expect(await addressOf(proxied, '127.0.0.9')).toMatchObject({ address: '203.0.113.5' });
  });

  test('that is trusted is not slowed down for its clients, nor can a client impersonate another', async () => {
    const refused: string[] = [];
    const fixture = await start({ ...proxied, onRefused: (why, client) => refused.push(`${why} ${client}`) });
    const status = async (token: string, client: string): Promise<number> => {
      const headers = { 'x-forwarded-for': client };
      return (await ask(fixture.server, '/api/v1/overview', { from: '127.0.0.9', token, headers })).status;
    };
    for (let count = 0; count < 30; count += 1) await status('wrong', `198.51.100.${count}, 203.0.113.5`);
    expect(await status(READ_TOKEN, '203.0.113.5')).toBe(429);
    expect(await status(READ_TOKEN, '203.0.113.6')).toBe(200);
    expect(new Set(refused.map((line) => line.split(' ')[1]))).toEqual(new Set(['203.0.113.5']));
    // From elsewhere the header is only text.
    for (let count = 0; count < 30; count += 1)
      await ask(fixture.server, '/metrics', {
        token: 'w',
        from: '127.0.0.3',
        headers: { 'x-forwarded-for': '203.0.113.6' },
      });
    expect(await status(READ_TOKEN, '203.0.113.6')).toBe(200);
  });
});

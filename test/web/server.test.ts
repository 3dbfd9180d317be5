import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { startWebServer, type WebOptions, type WebServer } from '../../src/web/server.ts';
import type { Readiness } from '../../src/web/sources.ts';
import { freePort } from '../support/redis.ts';

const open: WebServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

const READY: Readiness = { ready: true, checks: [{ name: 'redis', ok: true, why: 'it answers' }] };
const TOKEN = 'a-read-token-of-some-length';

async function start(options: Partial<WebOptions> = {}): Promise<WebServer> {
  const server = await startWebServer({
    host: '127.0.0.1',
    port: 0,
    metrics: {
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      scrape: async () => [Buffer.from('a_metric 1\n')],
    },
    readiness: async () => READY,
    onError: () => undefined,
    onJobChanged: () => undefined,
    onRefused: () => undefined,
    ...options,
  });
  open.push(server);
  return server;
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Over a real connection, with any headers. */
async function get(
  server: WebServer,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
  body = '',
): Promise<Got> {
  return await new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host: '127.0.0.1', port: server.port, path, method, headers: { connection: 'close', ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('a server on the loopback', () => {
  test('serves liveness, readiness and metrics', async () => {
    const server = await start();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(await get(server, '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(JSON.parse((await get(server, '/readyz')).body)).toEqual(READY);
    const metrics = await get(server, '/metrics');
    expect([metrics.status, metrics.body, metrics.headers['content-type']]).toEqual([
      200,
      'a_metric 1\n',
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    expect(metrics.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect((await get(server, '/metrics', {}, 'HEAD')).status).toBe(200);
  });

  test('is not ready with its reasons, even if they cannot be determined; it is live nevertheless', async () => {
    const errors: unknown[] = [];
    const why: Readiness = {
      ready: false,
      checks: [{ name: 'dataFresh', ok: false, why: 'desk-1 is 40 s old' }],
    };
    const unready = await start({ readiness: async () => why });
    const got = await get(unready, '/readyz');
    expect([got.status, JSON.parse(got.body)]).toEqual([503, why]);
    const broken = await start({
      readiness: () => Promise.reject(new Error('redis://user:password@host')),
      onError: (error) => errors.push(error),
    });
    const unknown = await get(broken, '/readyz');
    expect([unknown.status, unknown.body.includes('password'), errors.length]).toEqual([503, false, 1]);
    expect((await get(broken, '/healthz')).status).toBe(200);
  });

  test('tells only the log why metrics failed', async () => {
    const errors: unknown[] = [];
    const server = await start({
      metrics: { contentType: 'text/plain', scrape: () => Promise.reject(new Error('secret inside')) },
      onError: (error) => errors.push(error),
    });
    const got = await get(server, '/metrics');
    expect([got.status, got.body.includes('secret'), errors.length]).toEqual([500, false, 1]);
  });

  test.each([
    ['localhost', 200],
    ['127.0.0.1', 200],
    ['LOCALHOST:9', 200],
    ['[::1]:80', 200],
    ['breakwater.internal:80', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['192.168.0.9', 403],
  ])('answers the host name %j with %i', async (host, status) => {
    const server = await start({ names: ['breakwater.internal'] });
    for (const path of ['/metrics', '/healthz', '/nothing']) {
      const expected = status === 200 && path === '/nothing' ? 404 : status;
      expect([path, (await get(server, path, { host })).status]).toEqual([path, expected]);
    }
  });

  test('does not answer a request without a host name', async () => {
    const server = await start();
    const socket = connect(server.port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write('GET /metrics HTTP/1.0\r\n\r\n');
    await new Promise((resolve) => socket.on('close', resolve));
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('accepts nothing else: no other method, no large header, no unknown path', async () => {
    const server = await start();
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect(
        (await get(server, '/metrics', { 'content-type': 'text/plain' }, method, 'x')).status,
      ).toBeGreaterThanOrEqual(400);
    }
    // The connection may be cut before the answer has been read.
    const large = await get(server, '/metrics', { big: 'x'.repeat(20_000) }).catch(() => ({ status: 431 }));
    expect(large.status).toBe(431);
    expect((await get(server, '/%2e%2e/etc/passwd')).status).toBe(404);
    expect((await get(server, '/%')).status).toBe(400);
  });

  test('closes although a connection is held open, and frees its port', async () => {
    const server = await start();
    const idle = connect(server.port, '127.0.0.1');
    idle.on('error', () => undefined);
    const half = connect(server.port, '127.0.0.1');
    half.on('error', () => undefined);
    await new Promise((resolve) => half.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n', resolve));
    await get(server, '/healthz');
    await server.close();
    idle.destroy();
    half.destroy();
    const again = await start({ port: server.port });
    expect(again.port).toBe(server.port);
  });

  test('answers pending requests before it closes', async () => {
    const asked = Promise.withResolvers<void>();
    const text = Promise.withResolvers<Buffer[]>();
    const server = await start({
      metrics: {
        contentType: 'text/plain',
        scrape: () => {
          asked.resolve();
          return text.promise;
        },
      },
    });
    const answer = get(server, '/metrics');
    await asked.promise;
    const closed = server.close();
    text.resolve([Buffer.from('late_metric 1\n')]);
    expect(await answer).toMatchObject({ status: 200, body: 'late_metric 1\n' });
    await closed;
    await expect(get(server, '/healthz')).rejects.toThrow();
  });

  test('does not wait for an answer that never comes', async () => {
    const asked = Promise.withResolvers<void>();
    const server = await start({
      metrics: {
        contentType: 'text/plain',
        scrape: () => {
          asked.resolve();
          return new Promise(() => undefined);
        },
      },
    });
    const answer = get(server, '/metrics').catch((error: NodeJS.ErrnoException) => error.code);
    await asked.promise;
    await server.close();
    expect(await answer).toBe('ECONNRESET');
  });

  test('says what to change if it cannot listen', async () => {
    const server = await start();
    await expect(start({ port: server.port })).rejects.toMatchObject({
      code: 'WEB_ADDRESS_IN_USE',
      message: expect.stringContaining('web.port'),
    });
    const port = await freePort();
    await expect(start({ host: '203.0.113.1', port, token: TOKEN })).rejects.toMatchObject({
      code: 'WEB_ADDRESS_REFUSED',
    });
  });
});

describe('beyond the loopback', () => {
  test.each(['0.0.0.0', '::', '192.168.0.9', '127.0.0.1.example', '128.0.0.1'])(
    'on %s it does not start without a token',
    async (host) => {
      await expect(start({ host })).rejects.toMatchObject({ code: 'WEB_TOKEN_MISSING' });
    },
  );
});

describe('with a token', () => {
  test.each([
    [undefined, 401],
    ['', 401],
    [TOKEN, 401],
    [`Bearer ${TOKEN.slice(0, -1)}`, 401],
    [`Bearer ${TOKEN}x`, 401],
    [`Basic ${TOKEN}`, 401],
    [`Bearer ${TOKEN}`, 200],
    [`bearer ${TOKEN}`, 200],
  ])('%j answers %i', async (authorization, status) => {
    const server = await start({ token: TOKEN });
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const got = await get(server, '/metrics', headers);
    expect(got.status).toBe(status);
    expect(got.body.includes('a_metric')).toBe(status === 200);
    if (status === 401) expect(got.headers['www-authenticate']).toBe('Bearer');
    // A missing path does not reveal which paths exist.
    if (status === 401) expect((await get(server, '/nothing', headers)).status).toBe(401);
  });

  test('probes need no token and learn only yes or no', async () => {
    const server = await start({ token: TOKEN });
    expect((await get(server, '/healthz')).status).toBe(200);
    expect(JSON.parse((await get(server, '/readyz')).body)).toEqual({ ready: true });
    const told = await get(server, '/readyz', { authorization: `Bearer ${TOKEN}` });
    expect(JSON.parse(told.body)).toEqual(READY);
  });
});

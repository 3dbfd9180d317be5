import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, request as httpRequest } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { PathFailure } from '../../../src/exchange/call/observer.ts';
import { openClient } from '../fixtures.ts';
import { always, startServer } from './raw-server.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) process.stderr.write('openssl is not installed: no certificate for the TLS tests\n');

const portOf = (server: { address(): unknown }) => (server.address() as { port: number }).port;

/** A proxy that forwards and tunnels, and records its requests. */
async function startProxy(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const proxy = createHttpServer((request, response) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization'] ?? ''}`);
    const { method = 'GET', headers } = request;
    const onward = httpRequest(request.url ?? '', { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(response);
    });
    request.pipe(onward);
  });
  proxy.on('connect', (request, socket: Socket) => {
    asked.push(`CONNECT ${request.url}`);
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => undefined);
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    proxy.closeAllConnections();
    proxy.close();
    await once(proxy, 'close');
  });
  return { url: `http://user:planted-password@127.0.0.1:${portOf(proxy)}`, asked };
}

/** @param name another name that the certificate is for */
async function startTls(name = 'localhost'): Promise<{ baseUrl: string; ca: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'breakwater-tls-'));
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const names = name === 'localhost' ? 'DNS:localhost,IP:127.0.0.1' : `DNS:${name}`;
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert];
  execFileSync('openssl', [...made, ...subject], { stdio: 'ignore' });
  const ca = readFileSync(cert, 'utf8');
  const server = createTlsServer({ key: readFileSync(key), cert: ca }, (_request, response) =>
    response.end('["pong"]'),
  );
  rmSync(directory, { recursive: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { baseUrl: `https://localhost:${portOf(server)}`, ca };
}

describe('network settings', () => {
  test('a proxy is used with its credentials, which are never shown', async () => {
    const server = await startServer(always(200, ['pong']));
    cleanups.push(() => server.close());
    const proxy = await startProxy();
    const client = openClient([server.baseUrl], { proxy: proxy.url });
    cleanups.push(() => client.close());
    expect(await client.ping()).toMatchObject({ kind: 'ok' });
    expect(await client.cancelAll({})).toMatchObject({ kind: 'accepted' });
    const authorization = `Basic ${Buffer.from('user:planted-password').toString('base64')}`;
    expect(proxy.asked).toEqual([
      `${server.baseUrl}/api/v4/public/ping ${authorization}`,
      `${server.baseUrl}/api/v4/order/cancel/all ${authorization}`,
    ]);
  });

  test('if the proxy is down, a command never left', async () => {
    const server = await startServer(always(200, ['pong']));
    cleanups.push(() => server.close());
    const client = openClient([server.baseUrl], { proxy: 'http://user:planted-password@127.0.0.1:9' });
    cleanups.push(() => client.close());
    const outcome = await client.cancelAll({}, { timeoutMs: 2000 });
    expect(outcome).toMatchObject({ kind: 'rejected', error: { effect: 'none' } });
    expect(JSON.stringify(outcome)).not.toContain('planted-password');
  });

  test.runIf(hasOpenssl)(
    'a custom CA is trusted, directly and through a tunnel; without it nothing is sent',
    async () => {
      const { baseUrl, ca } = await startTls();
      const proxy = await startProxy();
      const trusting = openClient([baseUrl], { ca });
      const tunnelled = openClient([baseUrl], { ca, proxy: proxy.url });
      const strict = openClient([baseUrl], { retry: { maxAttempts: 1 } });
      cleanups.push(() => Promise.all([trusting.close(), tunnelled.close(), strict.close()]));
      expect(await trusting.ping()).toMatchObject({ kind: 'ok' });
      expect(await tunnelled.ping()).toMatchObject({ kind: 'ok' });
      expect(proxy.asked[0]).toMatch(/^CONNECT localhost:/);
      expect(await strict.cancelAll({})).toMatchObject({
        kind: 'rejected',
        error: { name: 'certificateRefused' },
      });
    },
  );

  test.runIf(hasOpenssl).each([
    ['for another name', true],
    ['signed by nobody who is trusted', false],
  ])(
    'a certificate is %s: nothing is sent, the other base address is tried, and the cause is reported',
    async (_what, isTrusted) => {
      const wrong = await startTls('elsewhere.example');
      const fine = await startServer(always(200, []));
      cleanups.push(() => fine.close());
      const failures: PathFailure[] = [];
      const client = openClient([wrong.baseUrl, fine.baseUrl], {
        ...(isTrusted ? { ca: wrong.ca } : {}),
        observer: { onPathFailure: (failure) => failures.push(failure) },
      });
      cleanups.push(() => client.close());
      expect(await client.cancelAll({})).toMatchObject({
        kind: 'rejected',
        error: { name: 'certificateRefused', effect: 'none' },
      });
      expect(await client.openPositions()).toMatchObject({ kind: 'ok' });
      expect(await client.cancelAll({})).toMatchObject({ kind: 'accepted' });
      expect(failures).toMatchObject([
        {
          baseUrlIndex: 0,
          error: 'certificateRefused',
          message: expect.stringContaining('certificate') as string,
        },
      ]);
      expect(fine.received.map(({ path }) => path.split('/').at(-1))).toEqual(['open', 'all']);
    },
  );

  test('the base address may have a path', async () => {
    const server = await startServer(always(200, ['pong']));
    cleanups.push(() => server.close());
    const client = openClient([`${server.baseUrl}/exchange/`]);
    cleanups.push(() => client.close());
    await client.ping();
    expect(server.received[0]?.path).toBe('/exchange/api/v4/public/ping');
  });

  test('a closed client sends nothing more', async () => {
    const server = await startServer(always(200, ['pong']));
    cleanups.push(() => server.close());
    const client = openClient([server.baseUrl]);
    await client.ping();
    await client.close();
    expect(await client.ping()).toMatchObject({ kind: 'failed', error: { name: 'clientClosed' } });
    expect(await client.cancelAll({})).toMatchObject({ kind: 'rejected', error: { name: 'clientClosed' } });
    expect(server.received).toHaveLength(1);
  });
});

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { startHealthServer } from '../../src/web/health.ts';
import { ask, type Fixture, type FixtureOptions, startFixture } from '../web/fixture.ts';

/** Effects of a crowd on the web server, over real connections. Linux accepts all of 127.0.0.0/8 as local addresses. */

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(web: NonNullable<FixtureOptions['web']> = {}): Promise<Fixture> {
  const fixture = await startFixture({ web });
  closers.push(() => fixture.close());
  return fixture;
}

/** Less than the backlog of a listening socket: beyond it the kernel accepts connections that no server sees. */
const AT_ONCE = 100;

/** Connections that servers of this process have accepted: one in each turn of the event loop. */
let accepted = 0;
const count = (): void => void (accepted += 1);
subscribe('net.server.socket', count);
afterAll(() => void unsubscribe('net.server.socket', count));
const acceptedSince = (before: number): number => accepted - before;

/** Connections of one client that send nothing, or only the beginning of a request. */
async function crowd(port: number, size: number, from: string, said = ''): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  while (sockets.length < size) {
    const length = Math.min(AT_ONCE, size - sockets.length);
    const before = accepted;
    const batch = Array.from({ length }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: from });
      socket.on('error', () => undefined);
      return socket;
    });
    sockets.push(...batch);
    while (acceptedSince(before) < length) await turn();
  }
  for (const socket of sockets) if (said !== '') socket.write(said);
  // Read, so that a close by the server is noticed.
  await pause(50);
  return sockets;
}

async function health(port: number, from: string, path = '/healthz'): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  closers.push(() => void socket.destroy());
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  socket.on('error', () => undefined);
  // Not `once` of Node's events, which a reset ends with an error.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  await closed;
  return text.split('\r\n')[0] ?? '';
}

const openOf = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => !destroyed).length;

describe('1,000 idle connections of one client', () => {
  test.each([
    ['that say nothing', ''],
    ['that have begun a request', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A'],
  ])('%s keep nobody from /healthz, including that client', async (_what, said) => {
    const { server } = await start();
    const sockets = await crowd(server.port, 1000, '127.0.0.2', said);
    await expect.poll(() => openOf(sockets)).toBeLessThanOrEqual(100);
    for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.3'])
      expect([from, await health(server.port, from)]).toEqual([from, 'HTTP/1.1 200 OK']);
  });

  test('keep nobody from it either when spread over twenty clients', async () => {
    const { server } = await start();
    const crowds: (readonly Socket[])[] = [];
    for (let client = 2; client < 22; client += 1)
      crowds.push(await crowd(server.port, 90, `127.0.0.${client}`));
    await expect.poll(() => openOf(crowds.flat())).toBeLessThanOrEqual(1000);
    expect(await health(server.port, '127.0.0.1')).toBe('HTTP/1.1 200 OK');
  });

  test('are all accepted from a trusted proxy, up to the total', async () => {
    const { server } = await start({ trustedProxies: ['127.0.0.2'] });
    const others = await crowd(server.port, 300, '127.0.0.3');
    const proxied = await crowd(server.port, 300, '127.0.0.2');
    await expect.poll(() => openOf(others)).toBe(100);
    expect(openOf(proxied)).toBe(300);
    const more = await crowd(server.port, 1000, '127.0.0.2');
    await expect.poll(() => openOf([...others, ...proxied, ...more])).toBeLessThanOrEqual(1000);
    expect(await health(server.port, '127.0.0.1')).toBe('HTTP/1.1 200 OK');
  });

  test('do not close connections of others, nor active ones of the same client', async () => {
    const asked = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<void>();
    const scrape = async (): Promise<Uint8Array<ArrayBuffer>[]> => {
      asked.resolve();
      await ready.promise;
      return [];
    };
    const { server } = await start({ metrics: { contentType: 'text/plain', scrape } });
    const answers = ['127.0.0.1', '127.0.0.2'].map((from) => health(server.port, from, '/metrics'));
    await asked.promise;
    await pause(50);
    await crowd(server.port, 1000, '127.0.0.2');
    ready.resolve();
    expect(await Promise.all(answers)).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']);
  });
});

test('where all connections are busy, the separate listener still answers probes', async () => {
  const never = new Promise<never>(() => undefined);
  const { server } = await start({ metrics: { contentType: 'text/plain', scrape: () => never } });
  const probes = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    readiness: async () => ({ ready: false, checks: [{ name: 'redis', ok: false, why: 'desk-1 is old' }] }),
    onError: () => undefined,
  });
  closers.push(() => probes.close());
  const body = 'POST /api/v1/pauses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
  const busy = `${body}Authorization: Bearer a-control-token-of-some-length\r\nContent-Length: 50\r\n\r\n{`;
  for (let client = 2; client < 12; client += 1) await crowd(server.port, 99, `127.0.0.${client}`, busy);
  // Until the heads of all requests have been read.
  let client = 12;
  while ((await health(server.port, '127.0.0.1')) !== '') {
    await crowd(server.port, 20, `127.0.0.${client}`, busy);
    client += 1;
  }
  expect(await health(probes.port, '127.0.0.1')).toBe('HTTP/1.1 200 OK');
  const unready = await fetch(`${probes.url}/readyz`);
  // Probes learn yes or no, but no reason.
  expect([unready.status, await unready.text()]).toEqual([503, 'not ready\n']);
  expect((await fetch(`${probes.url}/metrics`)).status).toBe(404);
  await crowd(probes.port, 1000, '127.0.0.2');
  expect(await health(probes.port, '127.0.0.2')).toBe('HTTP/1.1 200 OK');
});

describe('1,100 stalled posts from 12 addresses locked the page out', () => {
  const stalled = (url: string, more = ''): string =>
    `POST ${url} HTTP/1.1\r\nHost: localhost\r\n${more}Content-Length: 50\r\n\r\n`;
  const json = 'Content-Type: application/json\r\n';
  const right = `${json}Authorization: Bearer a-control-token-of-some-length\r\n`;

  test.each([
    ['no route', stalled('/api/v1/nothing', json), '127.0.0.1'],
    ['no token', stalled('/api/v1/pauses', json), '127.0.0.1'],
    ['another origin', stalled('/api/v1/pauses', `${right}Origin: https://evil.example\r\n`), '127.0.0.1'],
    // What may be waited for is bounded: others are in another subnet.
    ['a right token', stalled('/api/v1/pauses', right), '127.0.1.1'],
  ])('with %s', async (_what, said, from) => {
    const { server } = await start();
    for (let client = 2; client < 14; client += 1) await crowd(server.port, 92, `127.0.0.${client}`, said);
    expect(await health(server.port, from)).toBe('HTTP/1.1 200 OK');
  });
});

const SCRAPE_MS = 100;

describe('/metrics asked 600 times at once', () => {
  test('is scraped once for all, and who finds no place is told when to come back', async () => {
    let scrapes = 0;
    const { server } = await start({
      metrics: {
        contentType: 'text/plain',
        async scrape() {
          scrapes += 1;
          await pause(SCRAPE_MS);
          return Array.from({ length: 20 }, (_, part) => Buffer.from(`a_metric ${part}\n`));
        },
      },
    });
    // Connections are bounded per client, and so are places for scrapes.
    const beganMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 600 }, async (_, index) => {
        const from = `127.0.0.${2 + (index % 10)}`;
        return await ask(server, '/metrics', { from, headers: { 'accept-encoding': 'identity' } });
      }),
    );
    const tookMs = performance.now() - beganMs;
    const whole = Array.from({ length: 20 }, (_, part) => `a_metric ${part}\n`).join('');
    const served = answers.filter(({ status }) => status === 200);
    expect(served.map(({ body }) => body)).toEqual(served.map(() => whole));
    expect(served.length).toBeGreaterThanOrEqual(8);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(
      refused.map(() => [503, '1']),
    );
    expect(served.length + refused.length).toBe(600);
    expect(refused.length).toBeGreaterThan(400);
    // Requests that arrive after a scrape is made share the next one; scrapes take a quarter of the time.
    expect(scrapes).toBeLessThanOrEqual(2 + tookMs / (4 * SCRAPE_MS));
    expect((await ask(server, '/metrics')).body).toBe(whole);
  });

  test('uses less than 40 % of the time under repeated requests', async () => {
    let busyMs = 0;
    const { server } = await start({
      metrics: {
        contentType: 'text/plain',
        async scrape() {
          const beganMs = performance.now();
          await pause(40);
          busyMs += performance.now() - beganMs;
          return [Buffer.from('a_metric 1\n')];
        },
      },
    });
    const beganMs = performance.now();
    const askers = Array.from({ length: 6 }, async () => {
      for (let count = 0; count < 8; count += 1) expect((await ask(server, '/metrics')).status).toBe(200);
    });
    await Promise.all(askers);
    // A quarter is intended; timers of a busy machine are late.
    expect(busyMs).toBeLessThan(0.4 * (performance.now() - beganMs));
  });

  test('a reader that takes nothing does not delay the others, and all get the same', async () => {
    let scrapes = 0;
    const { server } = await start({
      metrics: {
        contentType: 'text/plain',
        async scrape() {
          scrapes += 1;
          const scrape = scrapes;
          return Array.from({ length: 100 }, () => Buffer.alloc(50_000, `${scrape % 10}`));
        },
      },
    });
    const [silent] = await crowd(
      server.port,
      1,
      '127.0.0.2',
      'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n',
    );
    silent?.pause();
    const answers = await Promise.all(
      ['gzip', 'identity', 'gzip'].map(async (encoding) => {
        const answer = await fetch(`${server.url}/metrics`, { headers: { 'accept-encoding': encoding } });
        return await answer.text();
      }),
    );
    for (const text of answers) expect([text.length, new Set(text).size]).toEqual([5_000_000, 1]);
  });
});

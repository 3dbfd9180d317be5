import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Fixture, startFixture } from '../web/fixture.ts';

const open: Fixture[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const fixture of open.splice(0)) await fixture.close();
});

async function start(...options: Parameters<typeof startFixture>): Promise<Fixture> {
  const fixture = await startFixture(...options);
  open.push(fixture);
  return fixture;
}

interface Raw {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  readonly text: () => string;
}

/** A raw connection that sends only what it is given. */
async function raw(fixture: Fixture, said: string): Promise<Raw> {
  const socket = connect(fixture.server.port, '127.0.0.1');
  sockets.push(socket);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  // Not `once` of Node's events, which a reset ends with an error.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(said);
  return { socket, closed, text: () => text };
}

/** Both ends are in this process. */
function connections(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

describe('a slow client', () => {
  test('that delays the headers, the body, or reading the answer is disconnected', async () => {
    let made = 0;
    function* parts(): Generator<Buffer> {
      for (made = 0; made < 400; made += 1) yield randomBytes(100_000);
    }
    const huge = await start({
      web: { metrics: { contentType: 'text/plain', scrape: async () => parts() } },
    });
    const before = connections();
    const slowHeaders = await raw(huge, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A');
    const drip = setInterval(() => slowHeaders.socket.write('a'), 500);
    slowHeaders.socket.once('close', () => clearInterval(drip));
    const slowBody = await raw(
      huge,
      'POST /api/v1/pauses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n' +
        'Authorization: Bearer a-control-token-of-some-length\r\n\r\n{',
    );
    const silent = await raw(huge, '');
    const unread = await raw(huge, 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
    unread.socket.pause();
    const order: string[] = [];
    void slowHeaders.closed.then(() => order.push('headers'));
    void slowBody.closed.then(() => order.push('body'));
    await Promise.all([slowHeaders.closed, slowBody.closed, silent.closed]);
    // A head must arrive sooner than a body.
    expect(order).toEqual(['headers', 'body']);
    expect(slowHeaders.text()).toMatch(/^$|^HTTP\/1\.1 408 /);
    // The disconnect is visible only to a reader: buffered data arrives first, then the end.
    let seen = 0;
    unread.socket.on('data', (chunk: Buffer) => {
      seen += chunk.length;
    });
    // Our end still exists, the server's does not.
    await expect.poll(connections).toBeLessThan(before + 2);
    unread.socket.resume();
    await unread.closed;
    expect(seen).toBeLessThan(40_000_000);
    // Nor was it produced: an unread incompressible answer takes no memory.
    expect(made).toBeLessThan(200);
    expect(await huge.state.controls.list()).toEqual([]);
  });
});

test('a scrape whose reader left before it was ready produces nothing and leaves no timer', async () => {
  let made = 0;
  const asked = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  function* parts(): Generator<Buffer> {
    made += 1;
    yield Buffer.from('up 1\n');
  }
  const fixture = await start({
    web: {
      metrics: {
        contentType: 'text/plain',
        scrape: async () => {
          asked.resolve();
          await ready.promise;
          return parts();
        },
      },
    },
  });
  const before = connections();
  const { socket } = await raw(fixture, 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await asked.promise;
  socket.destroy();
  await expect.poll(connections).toBe(before);
  ready.resolve();
  const next = await raw(fixture, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  await next.closed;
  expect(made).toBe(0);
});

describe('an invalid request', () => {
  test.each([
    ['noise', '\u0000\u0001\u0002\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    [
      'two lengths',
      'POST /api/v1/pauses HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    ],
    [
      'a length and chunks',
      'POST /api/v1/pauses HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a header that goes on', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c: d\r\n\r\n'],
    ['large headers', `GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a long address', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['two names', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n'],
    ['an address of another server', 'GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    [
      'an address that cannot be read',
      'GET /%E0%A4%A HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    ],
    ['a tunnel', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    [
      'an upgrade',
      'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
    ],
  ])('%s does no harm', async (what, said) => {
    const fixture = await start();
    const { closed, text, socket } = await raw(fixture, said);
    socket.end();
    await closed;
    // An upgrade that is not accepted is an ordinary request.
    if (what !== 'an upgrade') expect(text()).not.toMatch(/^HTTP\/1\.1 2/);
    expect(text()).not.toMatch(/node_modules|at .*\.ts|Error:/);
    const next = await raw(fixture, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await next.closed;
    expect(next.text()).toMatch(/^HTTP\/1\.1 200 /);
    expect(fixture.errors).toEqual([]);
  });
});

import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { buffer as bytesOf, text as textOf } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { acceptsGzip } from '../../src/web/parts.ts';
import { startWebServer, type WebServer } from '../../src/web/server.ts';

const open: WebServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

const errors: unknown[] = [];

async function serve(parts: () => Iterable<Uint8Array>): Promise<WebServer> {
  errors.length = 0;
  const server = await startWebServer({
    host: '127.0.0.1',
    port: 0,
    metrics: { contentType: 'text/plain', scrape: async () => parts() },
    readiness: async () => ({ ready: true, checks: [] }),
    onError: (error) => errors.push(error),
    onJobChanged: () => undefined,
    onRefused: () => undefined,
  });
  open.push(server);
  return server;
}

async function ask(
  server: WebServer,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<{ readonly sent: ClientRequest; readonly reply: IncomingMessage }> {
  const sent = request(`${server.url}/metrics`, { method, headers: { connection: 'close', ...headers } });
  sent.on('error', () => undefined);
  sent.end();
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  return { sent, reply };
}

/** In one reused piece of memory, as scrapes are made. */
function* inOneBuffer(parts: number): Generator<Uint8Array> {
  const bytes = Buffer.alloc(50_000);
  for (let part = 0; part < parts; part += 1) {
    bytes.fill(`${part % 10}`);
    yield bytes;
  }
}

const whole = (parts: number): string =>
  Array.from({ length: parts }, (_, part) => `${part % 10}`.repeat(50_000)).join('');

test('output made in parts in one buffer arrives complete, compressed or not', async () => {
  const server = await serve(() => inOneBuffer(30));
  expect((await ask(server, {}, 'HEAD')).reply.headers).toMatchObject({ 'content-type': 'text/plain' });
  const plain = await ask(server);
  expect(plain.reply.headers).toMatchObject({
    'content-type': 'text/plain',
    vary: 'accept-encoding',
    'cache-control': 'no-store',
  });
  expect(plain.reply.headers).not.toHaveProperty('content-encoding');
  expect((await textOf(plain.reply)) === whole(30)).toBe(true);
  const { reply } = await ask(server, { 'accept-encoding': 'gzip' });
  expect(reply.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  const compressed = await bytesOf(reply);
  expect(compressed.length).toBeLessThan(50_000);
  expect(gunzipSync(compressed).toString() === whole(30)).toBe(true);
  expect(errors).toEqual([]);
});

test('a slow reader gets the same', async () => {
  const server = await serve(() => inOneBuffer(200));
  for (const encoding of ['identity', 'gzip']) {
    const { reply } = await ask(server, { 'accept-encoding': encoding });
    let seen = 0;
    const chunks: Buffer[] = [];
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      seen += 1;
      if (seen % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const bytes = Buffer.concat(chunks);
    expect((encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString() === whole(200)).toBe(true);
  }
});

test.each(['identity', 'gzip'])('a reader that goes away stops the work (%s)', async (encoding) => {
  let made = 0;
  const ended = Promise.withResolvers<void>();
  const server = await serve(function* () {
    try {
      for (;;) {
        made += 1;
        // Noise, so that compression does not make it small.
        yield crypto.getRandomValues(new Uint8Array(60_000));
      }
    } finally {
      ended.resolve();
    }
  });
  const { sent, reply } = await ask(server, { 'accept-encoding': encoding });
  await once(reply, 'data');
  reply.on('error', () => undefined);
  sent.destroy();
  await ended.promise;
  expect(made).toBeGreaterThan(0);
  // The next request is served as usual.
  expect((await ask(server, {}, 'HEAD')).reply.statusCode).toBe(200);
});

test('others are served while a long text is made', async () => {
  const over = new AbortController();
  const server = await serve(function* () {
    while (!over.signal.aborted) yield Buffer.alloc(1_000, 'x');
  });
  const { reply } = await ask(server);
  reply.resume();
  const health = await fetch(`${server.url}/healthz`);
  expect(await health.text()).toBe('ok\n');
  over.abort();
  await once(reply, 'end');
});

test('a failure in the middle breaks the answer off, and is reported', async () => {
  const server = await serve(function* () {
    yield Buffer.from('a_metric 1\n');
    throw new Error('a bug');
  });
  const { reply } = await ask(server);
  await expect(textOf(reply)).rejects.toThrow();
  expect(errors).toMatchObject([{ message: 'a bug' }]);
});

test.each([
  [undefined, false],
  ['', false],
  ['identity', false],
  ['gzip', true],
  ['GZIP', true],
  ['deflate, gzip;q=1.0, *;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000', false],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0, *', false],
  ['br', false],
  ['xgzip', false],
  ['gzip;q=nonsense', false],
])('with accept-encoding %j it compresses: %s', (header, compresses) => {
  expect(acceptsGzip(header)).toBe(compresses);
});

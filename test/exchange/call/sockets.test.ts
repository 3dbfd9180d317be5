import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createNetServer, type LookupFunction } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { Timers } from '../../../src/core/ports/clock.ts';
import { connectFailureOf, lastGoodLookup, openSockets } from '../../../src/exchange/call/sockets.ts';
import { Connections } from '../../../src/exchange/call/transport.ts';
import { systemClock, systemTimers } from '../../../src/exchange/system-clock.ts';
import { openClient, STOP } from '../fixtures.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const failure = (code: string, syscall = 'connect') => Object.assign(new Error(code), { code, syscall });
const portOf = (server: { address(): unknown }) => (server.address() as { port: number }).port;

describe('the cause of a connection that cannot be made, if it is certain', () => {
  test.each([
    [failure('ENOTFOUND', 'getaddrinfo'), 'nameNotResolved'],
    [failure('EAI_AGAIN', 'getaddrinfo'), 'nameNotResolved'],
    [failure('ERR_TLS_CERT_ALTNAME_INVALID'), 'certificateRefused'],
    [failure('CERT_HAS_EXPIRED'), 'certificateRefused'],
    [failure('DEPTH_ZERO_SELF_SIGNED_CERT'), 'certificateRefused'],
    [failure('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'certificateRefused'],
    [failure('ECONNREFUSED'), 'connectionRefused'],
    [failure('UND_ERR_CONNECT_TIMEOUT'), 'connectTimeout'],
    [failure('ETIMEDOUT'), 'connectTimeout'],
    [failure('ENETUNREACH'), 'connectFailed'],
    [new AggregateError([failure('ECONNREFUSED'), failure('ECONNREFUSED')]), 'connectionRefused'],
    [new AggregateError([failure('ECONNREFUSED'), failure('ETIMEDOUT')]), 'connectFailed'],
    [undefined, 'connectFailed'],
  ])('%s is %s', (error, reason) => {
    expect(connectFailureOf(error)).toBe(reason);
  });

  test('no listener, no answer in time, no such name', async () => {
    const closed = createNetServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const port = portOf(closed);
    closed.close();
    const retry = { maxAttempts: 1 };
    const refused = openClient([`http://127.0.0.1:${port}`], { retry });
    const unnamed = openClient(['http://exchange.invalid'], { retry });
    cleanups.push(
      () => refused.close(),
      () => unnamed.close(),
    );
    expect(await refused.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'connectionRefused', effect: 'none' },
    });
    expect(await unnamed.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'nameNotResolved', effect: 'none' },
    });
  });
});

describe('name resolution that fails', () => {
  const ask = (lookup: LookupFunction, hostname = 'exchange.test') =>
    new Promise<readonly unknown[]>((resolve) => {
      lookup(hostname, { all: false }, (...result) => resolve(result));
    });
  const immediate: Timers = {
    ...systemTimers,
    after: (_delayMs, action) => {
      queueMicrotask(action);
      return () => undefined;
    },
  };

  test('the last good address of that name is used', async () => {
    let works = true;
    const told: string[] = [];
    const lookup = lastGoodLookup(
      (hostname, _options, callback) => {
        if (works) callback(null, hostname === 'exchange.test' ? '127.0.0.1' : '127.0.0.2', 4);
        else callback(failure('EAI_AGAIN', 'getaddrinfo'), '', 0);
      },
      systemTimers,
      (hostname) => told.push(hostname),
    );
    expect(await ask(lookup)).toEqual([null, '127.0.0.1', 4]);
    expect(await ask(lookup, 'other.test')).toEqual([null, '127.0.0.2', 4]);
    works = false;
    expect(await ask(lookup)).toEqual([null, '127.0.0.1', 4]);
    expect(await ask(lookup, 'other.test')).toEqual([null, '127.0.0.2', 4]);
    expect((await ask(lookup, 'never-seen.test'))[0]).toMatchObject({ code: 'EAI_AGAIN' });
    // A name that was never resolved fails, and is reported so.
    expect(told).toEqual(['exchange.test', 'other.test']);
  });

  test('a silent name server is not waited for, and its late answer counts for the next lookup', async () => {
    const late: (() => void)[] = [];
    let first = true;
    const lookup = lastGoodLookup((_hostname, _options, callback) => {
      if (first) callback(null, '127.0.0.1', 4);
      else late.push(() => callback(null, '127.0.0.9', 4));
      first = false;
    }, immediate);
    await ask(lookup);
    expect(await ask(lookup)).toEqual([null, '127.0.0.1', 4]);
    for (const answer of late) answer();
    expect(await ask(lookup)).toEqual([null, '127.0.0.9', 4]);
  });

  test('at one base address: the other one is tried, and the failure is reported for the first', async () => {
    const server = createServer((_request, response) => void response.end('[]'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const resolve: LookupFunction = (hostname, { all }, callback) => {
      if (hostname === 'lost.test') callback(failure('ENOTFOUND', 'getaddrinfo'), '', 0);
      else if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
      else callback(null, '127.0.0.1', 4);
    };
    const failures: string[] = [];
    const client = openClient(['http://lost.test', `http://found.test:${portOf(server)}`], {
      // However long the attempts take, the pause of the first address is not over.
      clock: { ...systemClock, monotonicMs: () => 0 },
      sharedConnections: new Connections({
        open: (origin, settings) => openSockets(origin, settings, resolve),
        timers: systemTimers,
      }),
      observer: { onPathFailure: ({ baseUrlIndex, error }) => failures.push(`${baseUrlIndex} ${error}`) },
    });
    cleanups.push(async () => {
      await client.close();
      server.closeAllConnections();
      server.close();
    });
    expect(await client.openPositions()).toMatchObject({ kind: 'ok', timing: { attempts: 2 } });
    expect(await client.cancelAll({})).toMatchObject({ kind: 'accepted' });
    expect(failures).toEqual(['0 nameNotResolved']);
  });

  test('new connections use the last good address, and existing ones are kept', async () => {
    const server = createServer((request, response) => {
      // Every other connection ends with its reply, so that the next request needs a new one.
      response.writeHead(200, { Connection: request.url?.endsWith('ping') ? 'close' : 'keep-alive' });
      response.end(request.url?.endsWith('ping') ? '["pong"]' : '[]');
    });
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    let works = true;
    const resolve = lastGoodLookup((_hostname, { all }, callback) => {
      const error = failure('ENOTFOUND', 'getaddrinfo');
      if (!works) callback(error, '', 0);
      else if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
      else callback(null, '127.0.0.1', 4);
    }, systemTimers);
    const sharedConnections = new Connections({
      open: (origin, settings) => openSockets(origin, settings, resolve),
      timers: systemTimers,
    });
    const client = openClient([`http://exchange.test:${portOf(server)}`], { sharedConnections });
    cleanups.push(async () => {
      await client.close();
      server.closeAllConnections();
      server.close();
    });
    expect(await client.openPositions()).toMatchObject({ kind: 'ok' });
    works = false;
    // The connection has to become idle first.
    await setImmediate();
    const before = connections;
    expect(await client.openPositions()).toMatchObject({ kind: 'ok', timing: { attempts: 1 } });
    expect(connections).toBe(before);
    expect(await client.ping()).toMatchObject({ kind: 'ok', timing: { attempts: 1 } });
    expect(await client.ping()).toMatchObject({ kind: 'ok', timing: { attempts: 1 } });
    expect(connections).toBeGreaterThan(before);
  });
});

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { LookupFunction, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  connectFailureOf,
  lastGoodLookup,
  openSockets,
  type TransportSettings,
  type WireDispatcher,
} from '../../../src/exchange/call/sockets.ts';
import { Connections } from '../../../src/exchange/call/transport.ts';
import { systemTimers } from '../../../src/exchange/system-clock.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const SETTINGS: TransportSettings = { baseUrls: ['http://exchange.test'], maxReplyBytes: 1_000 };

describe('the last good address of a name', () => {
  /** A name server whose answers the test gives, in virtual time. */
  function opened() {
    const queue = new EventQueue();
    const { timers } = new MachineProcess(queue, new Machine(queue, 0));
    const asked: { key: string; answer: Parameters<LookupFunction>[2] }[] = [];
    const told: string[] = [];
    const lookup = lastGoodLookup(
      (hostname, { family, all, hints }, answer) => {
        asked.push({ key: [hostname, family, all, hints].join(), answer });
      },
      timers,
      (hostname) => told.push(hostname),
    );
    const got: string[] = [];
    const ask = (options: Parameters<LookupFunction>[1] = {}, hostname = 'exchange.test'): void =>
      lookup(hostname, options, (error, address) =>
        got.push(error === null ? (address as string) : error.message),
      );
    const answer = (address: string): void => asked.at(-1)?.answer(null, address, 4);
    const fail = (): void => asked.at(-1)?.answer(new Error('lost'), '', 0);
    const pass = (ms: number): Promise<boolean> => queue.run(queue.nowMs + ms, () => false);
    return { ask, answer, fail, pass, got, told, asked };
  }

  test('is used after a second without an answer, if there is one', async () => {
    const { ask, answer, pass, got, told } = opened();
    ask();
    await pass(60_000);
    expect([got, told]).toEqual([[], []]);
    answer('10.0.0.1');
    ask();
    await pass(999);
    expect([got, told]).toEqual([['10.0.0.1'], []]);
    await pass(1);
    expect([got, told]).toEqual([['10.0.0.1', '10.0.0.1'], ['exchange.test']]);
  });

  test('is given once: a late answer or failure counts for the next lookup only', async () => {
    const { ask, answer, fail, pass, got, told } = opened();
    ask();
    answer('10.0.0.1');
    ask();
    await pass(1_000);
    fail();
    expect([got, told]).toEqual([['10.0.0.1', '10.0.0.1'], ['exchange.test']]);
    answer('10.0.0.2');
    ask();
    fail();
    expect(got).toEqual(['10.0.0.1', '10.0.0.1', '10.0.0.2']);
    expect(told).toEqual(['exchange.test', 'exchange.test']);
  });

  test('is not used if an answer comes in time', async () => {
    const { ask, answer, pass, got, told } = opened();
    ask();
    answer('10.0.0.1');
    ask();
    await pass(500);
    answer('10.0.0.2');
    await pass(5_000);
    expect([got, told]).toEqual([['10.0.0.1', '10.0.0.2'], []]);
  });

  test('is kept per name and lookup options', () => {
    const { ask, answer, fail, got, asked } = opened();
    const ways = [{ family: 4 }, { family: 6 }, { all: true }, { hints: 8 }, {}];
    for (const [index, way] of ways.entries()) {
      ask(way);
      answer(`10.0.0.${index}`);
    }
    ask({}, 'other.test');
    fail();
    for (const way of ways) {
      ask(way);
      fail();
    }
    const addresses = ways.map((_, index) => `10.0.0.${index}`);
    expect(got).toEqual([...addresses, 'lost', ...addresses]);
    expect(asked[0]?.key).toBe('exchange.test,4,,');
  });

  test('is used without an observer, too', async () => {
    const timers = systemTimers;
    let fails = false;
    const lookup = lastGoodLookup((_name, _options, answer) => {
      if (fails) answer(new Error('lost'), '', 0);
      else answer(null, '10.0.0.1', 4);
    }, timers);
    for (fails of [false, true]) {
      const address = await new Promise((resolve) => lookup('a', {}, (_error, found) => resolve(found)));
      expect(address).toBe('10.0.0.1');
    }
  });
});

describe('connections to one origin', () => {
  /** The result of a request: a status and a body, or the code of an error. */
  function request(dispatcher: WireDispatcher, origin: string): Promise<string> {
    let text = '';
    return new Promise((resolve) => {
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, status) => {
          text = `${status} `;
        },
        onResponseData: (_controller, chunk) => {
          text += String(chunk);
        },
        onResponseEnd: () => resolve(text),
        onResponseError: (_controller, error) => resolve(connectFailureOf(error)),
      };
      dispatcher.dispatch({ origin, path: '/', method: 'GET' }, handler);
    });
  }

  async function listen(answer: (response: ServerResponse) => unknown) {
    const sockets: Socket[] = [];
    const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => void answer(response));
    server.on('connection', (socket: Socket) => sockets.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return { origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`, sockets };
  }

  const found: LookupFunction = (_hostname, { all }, callback) => {
    if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
    else callback(null, '127.0.0.1', 4);
  };

  function open(origin: string, changes: Partial<TransportSettings> = {}): WireDispatcher {
    const dispatcher = openSockets(origin, { ...SETTINGS, ...changes }, found);
    cleanups.push(() => dispatcher.close());
    return dispatcher;
  }

  test.each([
    [2, 2],
    [undefined, 6],
  ])('are at most %s for six requests at once: %i', async (connections, most) => {
    const held: ServerResponse[] = [];
    const { origin, sockets } = await listen((response) => held.push(response));
    const dispatcher = open(origin, connections === undefined ? {} : { connections });
    const replies = Array.from({ length: 6 }, () => request(dispatcher, origin));
    await vi.waitUntil(() => held.length === most);
    // Each connection gets its next request only after its reply.
    for (let answered = 0; answered < 6; answered += 1) {
      await vi.waitUntil(() => held.length > answered);
      held[answered]?.end('x');
    }
    expect(await Promise.all(replies)).toEqual(Array.from({ length: 6 }, () => '200 x'));
    expect(sockets).toHaveLength(most);
  });

  test('wait for a reply and for all of its body as long as the request lives', async () => {
    const { origin } = await listen(async (response) => {
      await delay(30);
      response.write('a');
      await delay(30);
      response.end('b');
    });
    expect(await request(open(origin), origin)).toBe('200 ab');
  });
});

describe('clients share connections', () => {
  function opened() {
    const log: string[] = [];
    const connections = new Connections({
      open: (origin, { proxy }) => {
        log.push(`opens ${origin}${proxy === undefined ? '' : ` by ${proxy}`}`);
        return { dispatch: () => true, close: async () => void log.push(`closes ${origin}`) };
      },
      timers: systemTimers,
    });
    return { log, connections };
  }

  test('if addresses, proxy and certificates are equal, in any order of keys and with any bound of replies', async () => {
    const { log, connections } = opened();
    const first = connections.take({ ...SETTINGS, proxy: 'http://p', ca: ['x'] });
    const second = connections.take({ ca: ['x'], ...SETTINGS, proxy: 'http://p', maxReplyBytes: 7 });
    expect(second.origins).toBe(first.origins);
    expect(log).toEqual(['opens http://exchange.test by http://p']);
    await first.release();
    expect(log).toHaveLength(1);
    expect(connections.take({ ...SETTINGS, proxy: 'http://p', ca: ['x'] }).origins).toBe(first.origins);
    await second.release();
    expect(log).toHaveLength(1);
  });

  test.each<[string, Partial<TransportSettings>]>([
    ['addresses', { baseUrls: ['http://exchange.test', 'http://other.test'] }],
    ['proxy', { proxy: 'http://p' }],
    ['certificates', { ca: 'x' }],
    ['number', { connections: 3 }],
  ])('but not if they differ in %s', (_what, changes) => {
    const { connections } = opened();
    const origins = connections.take(SETTINGS).origins;
    expect(connections.take({ ...SETTINGS, ...changes }).origins).not.toBe(origins);
  });

  test('until the last client has released them; a later one gets new connections', async () => {
    const { log, connections } = opened();
    const settings = { ...SETTINGS, baseUrls: ['http://a.test/x', 'http://b.test/'] };
    const both = [connections.take(settings), connections.take(settings)];
    for (const { release } of both) await release();
    const opens = ['opens http://a.test', 'opens http://b.test'];
    expect(log).toEqual([...opens, 'closes http://a.test', 'closes http://b.test']);
    const { origins, release } = connections.take(settings);
    expect(origins).not.toBe(both[0]?.origins);
    expect(origins.map(({ origin, prefix }) => origin + prefix)).toEqual([
      'http://a.test/x',
      'http://b.test',
    ]);
    await release();
    expect(log).toHaveLength(8);
  });
});

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { CancelAllRequest } from '../../../src/core/ports/exchange.ts';
import type { NonceStore } from '../../../src/core/ports/nonce-store.ts';
import type { RateLimitStore } from '../../../src/core/ports/rate-limit-store.ts';
import { BaseUrls } from '../../../src/exchange/call/base-urls.ts';
import type { CallEvent } from '../../../src/exchange/call/observer.ts';
import type { ExchangeClientOptions } from '../../../src/exchange/client.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { manualClock } from '../../state/support/manual-clock.ts';
import { unlessHeldUp } from '../../support/working-time.ts';
import { openClient, PLACED_ORDER, POSITION, STOP, TRANSFER } from '../fixtures.ts';
import { type Answer, always, type RawServer, send, startServer } from './raw-server.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(answer: Answer): Promise<RawServer> {
  const server = await startServer(answer);
  cleanups.push(() => server.close());
  return server;
}

function open(baseUrls: readonly string[], changes: Partial<ExchangeClientOptions> = {}) {
  const client = openClient(baseUrls, changes);
  cleanups.push(() => client.close());
  return client;
}

describe('a request that was sent is never taken for unsent', () => {
  test.each(['EHOSTUNREACH', 'ENETUNREACH', 'ECONNREFUSED'])(
    'a connection that breaks with %s after it carried an order leaves an unknown outcome',
    async (code) => {
      const sockets: { destroy(error: Error): void }[] = [];
      const remember = (message: unknown) => {
        sockets.push((message as { socket: (typeof sockets)[number] }).socket);
      };
      subscribe('undici:client:connected', remember);
      cleanups.push(() => void unsubscribe('undici:client:connected', remember));
      const server = await serve(() => {
        for (const socket of sockets) socket.destroy(Object.assign(new Error(`read ${code}`), { code }));
      });
      const outcome = await open([server.baseUrl]).reduceOnlyStop(STOP);
      expect(server.received).toHaveLength(1);
      expect(outcome).toMatchObject({ kind: 'unknown', error: { effect: 'possible' } });
    },
  );

  test('an order offered to a second connection is not written there', async () => {
    const aborted: number[] = [];
    const controller = (name: number) => ({ abort: () => void aborted.push(name) });
    const dispatch = vi.spyOn(Pool.prototype, 'dispatch').mockImplementation((_options, handler) => {
      for (const name of [1, 2]) {
        handler.onRequestStart?.(controller(name) as unknown as Dispatcher.DispatchController, {});
      }
      return true;
    });
    cleanups.push(() => dispatch.mockRestore());
    const outcome = await open(['http://127.0.0.1:1']).reduceOnlyStop(STOP);
    expect(outcome).toMatchObject({ kind: 'unknown', error: { name: 'connectionLost' } });
    expect(aborted).toEqual([2]);
  });

  test('a code and a message with a success status are no certain refusal; success: false is one', async () => {
    const server = await serve(always(200, { code: 30, message: 'Order is being processed' }));
    const client = open([server.baseUrl]);
    expect((await client.reduceOnlyStop(STOP)).kind).toBe('unknown');
    expect((await client.cancelAll({})).kind).toBe('unknown');
    server.answer = always(200, { success: false, code: 30, message: 'Validation failed' });
    expect((await client.reduceOnlyStop(STOP)).kind).toBe('rejected');
  });

  test('errors without a message with a success status are no success', async () => {
    const server = await serve(always(200, { code: 30, errors: { market: ['unknown'] } }));
    expect((await open([server.baseUrl]).cancelAll({})).kind).toBe('unknown');
  });

  test('a message about the nonce with a success status does not repeat an order', async () => {
    const server = await serve(always(200, { code: 1, message: 'accepted, nonce stored' }));
    expect((await open([server.baseUrl]).reduceOnlyStop(STOP)).kind).toBe('unknown');
    expect(server.received).toHaveLength(1);
  });

  test('a command without time left is not sent', async () => {
    const server = await serve(always(200, []));
    const client = open([server.baseUrl]);
    // Opens a connection, and leaves nonces and permits at hand.
    for (let round = 0; round < 14; round += 1) await client.cancelAll({});
    const before = server.received.length;
    const outcome = await client.cancelAll({}, { timeoutMs: 0 });
    expect(outcome).toMatchObject({ kind: 'rejected', error: { name: 'timeout', effect: 'none' } });
    await delay(20);
    expect(server.received).toHaveLength(before);
  });
});

test('an order cancelled at creation is reported to the observer as rejected, too', async () => {
  const server = await serve(always(200, { ...PLACED_ORDER, status: 'CANCELLED' }));
  const events: CallEvent[] = [];
  const client = open([server.baseUrl], { observer: { onCall: (event) => void events.push(event) } });
  expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'rejected' });
  expect(events).toMatchObject([{ outcome: 'rejected', error: 'cancelledOnCreation' }]);
});

test('a list of types emptied while the cancel waits does not turn it into a cancel of everything', async () => {
  const server = await serve(always(200, []));
  const types: NonNullable<CancelAllRequest['types']>[number][] = ['spot'];
  const outcome = open([server.baseUrl]).cancelAll({ types });
  types.length = 0;
  expect((await outcome).kind).toBe('accepted');
  expect(server.received[0]?.body['type']).toEqual(['spot']);
});

describe('time', () => {
  const never = () => new Promise<never>(() => undefined);
  const nonces: NonceStore = {
    reserve: never,
    reserveWindow: never,
    enterMutex: never,
    renewMutex: never,
    leaveMutex: never,
    onMutexSignal: () => () => undefined,
  };
  const limits: RateLimitStore = { take: never, penalize: never };

  test.each(['unique', 'window', 'increasing'] as const)(
    'a store that does not answer holds a call no longer than its own time or its abort (%s)',
    async (mode) => {
      const server = await serve(always(200, []));
      const lost: unknown[] = [];
      const client = open([server.baseUrl], {
        nonce: { mode, store: nonces },
        limiter: { store: limits, fallback: createMemoryRateLimitStore(systemClock) },
        timeouts: { storeMs: 2000 },
        observer: { onStore: (event) => void lost.push(event) },
      });
      expect(await client.cancelAll({}, { timeoutMs: 30 })).toMatchObject({
        kind: 'rejected',
        error: { name: 'timeout' },
      });
      const giveUp = new AbortController();
      const outcome = client.cancelAll({}, { signal: giveUp.signal });
      setTimeout(() => giveUp.abort(), 10);
      expect(await outcome).toMatchObject({ kind: 'rejected', error: { name: 'aborted', effect: 'none' } });
      // If the calls had waited for the stores, those would count as lost by now.
      expect(lost).toEqual([]);
      expect(server.received).toHaveLength(0);
    },
  );

  test('a timeout longer than a timer allows does not end a call at once', async () => {
    const server = await serve(always(200, [POSITION]));
    const client = open([server.baseUrl], { timeouts: { attemptMs: 1e10, callMs: Infinity } });
    expect((await client.openPositions()).kind).toBe('ok');
    expect((await client.openPositions({}, { timeoutMs: 1e12 })).kind).toBe('ok');
  });

  test.each<[string, Partial<ExchangeClientOptions>]>([
    ['timeouts.attemptMs', { timeouts: { attemptMs: Number.NaN } }],
    ['timeouts.callMs', { timeouts: { callMs: 0 } }],
    ['pool.connections', { pool: { connections: 0 } }],
    ['pool.maxReplyBytes', { pool: { maxReplyBytes: -1 } }],
    ['retry.maxAttempts', { retry: { maxAttempts: 0 } }],
    ['proxy', { proxy: 'socks5://user:planted-password@127.0.0.1:1' }],
  ])('an impossible %s is refused by name', (name, changes) => {
    const attempt = () => openClient(['http://127.0.0.1:1'], changes);
    expect(attempt).toThrow(name);
    expect(attempt).not.toThrow('planted-password');
  });
});

test.each<[string, Answer]>([
  ['a maintenance page', always(200, '<html>back soon</html>')],
  ['a redirect', always(302, '', { Location: 'http://127.0.0.1:1/elsewhere' })],
])('a base URL that answers with %s is left for the other one', async (_what, answer) => {
  const [ill, well] = [await serve(answer), await serve(always(200, []))];
  const client = open([ill.baseUrl, well.baseUrl]);
  const first = await client.cancelAll({});
  expect(first).toMatchObject({ kind: 'unknown', error: { effect: 'possible' } });
  expect((await client.cancelAll({})).kind).toBe('accepted');
  expect([ill.received.length, well.received.length]).toEqual([1, 1]);
});

describe('in increasing mode', () => {
  test('urgent calls of one client do not make another client wait until all are done', async () => {
    const server = await serve((_request, response) => void setTimeout(() => send(response, 200, []), 2));
    const store = createMemoryNonceStore(systemClock);
    const [busy, other] = [1, 2].map(() => open([server.baseUrl], { nonce: { mode: 'increasing', store } }));
    const urgent = { priority: 'protective' } as const;
    let done = 0;
    const many = Array.from({ length: 200 }, async () => {
      const outcome = await busy?.cancelAll({}, urgent);
      done += 1;
      return outcome?.kind;
    });
    expect((await other?.cancelAll({}, urgent))?.kind).toBe('accepted');
    expect(done).toBeLessThan(100);
    expect(new Set(await Promise.all(many))).toEqual(new Set(['accepted']));
    const nonces = server.received.map(({ body }) => Number(body['nonce']));
    expect(nonces).toEqual(nonces.toSorted((a, b) => a - b));
  });
});

describe('in window mode', () => {
  test('after a store has lost its data no process uses one of its own nonces again', async () => {
    const server = await serve(always(200, []));
    let memory = createMemoryNonceStore(systemClock);
    const store = Object.assign(Object.create(memory) as typeof memory, {
      reserveWindow: (...range: Parameters<typeof memory.reserveWindow>) => memory.reserveWindow(...range),
    });
    const client = open([server.baseUrl], { nonce: { mode: 'window', store } });
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(Array.from({ length: 60 }, () => client.openPositions()));
      memory = createMemoryNonceStore(systemClock);
    }
    const nonces = server.received.map(({ body }) => body['nonce']);
    expect(nonces).toHaveLength(240);
    expect(new Set(nonces).size).toBe(240);
    // Nonces ending in 9 belong to processes without their store.
    expect(nonces.filter((nonce) => String(nonce).endsWith('9'))).toEqual([]);
  });
});

test('requests that fail together count as one failure of their base URL', () => {
  const clock = manualClock();
  const baseUrls = new BaseUrls(2, clock, () => 1);
  for (let request = 0; request < 50; request += 1) baseUrls.failed(0);
  expect(baseUrls.pick('read')).toBe(1);
  clock.advance(501);
  expect(baseUrls.pick('read')).toBe(0);
});

test('a number in place of the attached stops is not read as none attached', async () => {
  const server = await serve(always(200, [{ ...POSITION, tpsl: 5 }]));
  const outcome = await open([server.baseUrl]).openPositions();
  expect(outcome).toMatchObject({ kind: 'ok', value: { records: [{}], complete: true } });
  expect(outcome.kind === 'ok' && outcome.value.records[0]).not.toHaveProperty('tpsl');
});

test('an unsorted history is read to its end, not to the first old record', async () => {
  const at = (createdAt: number, index: number) => ({ ...TRANSFER, createdAt, transaction_id: `t-${index}` });
  const records = Array.from({ length: 700 }, (_, index) => at(index % 2 === 0 ? 3000 : 1000, index));
  const server = await serve(({ body }, response) => {
    const { offset, limit } = body as { offset: number; limit: number };
    const page = records.slice(offset, offset + limit);
    send(response, 200, { limit, offset, total: 700, records: page });
  });
  const outcome = await open([server.baseUrl]).transfers({ since: 2000 });
  expect(outcome).toMatchObject({ kind: 'ok', value: { complete: true } });
  expect(outcome.kind === 'ok' && outcome.value.records.length).toBe(350);
});

test('a history whose pages repeat is not complete', async () => {
  const server = await serve((_request, response) => {
    const records = Array.from({ length: 500 }, (_, index) => ({
      transaction_id: `t-${index}`,
      unique_id: null,
      createdAt: 1_700_000_000 - index,
      ticker: 'BTC',
      method: 1,
      amount: '1',
      status: 3,
      network: null,
    }));
    send(response, 200, { limit: 500, offset: 0, total: 1200, records });
  });
  const outcome = await open([server.baseUrl]).transfers();
  expect(outcome).toMatchObject({ kind: 'ok', value: { complete: false } });
});

test("a call leaves no listener on its caller's signal", async () => {
  const server = await serve(always(200, []));
  const { signal } = new AbortController();
  const client = open([server.baseUrl]);
  await client.cancelAll({}, { signal });
  await client.openPositions({}, { signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a request longer than the mutex lease keeps the mutex', async () => {
  await unlessHeldUp(100, async () => {
    let inFlight = 0;
    let most = 0;
    const server = await serve((_request, response) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      setTimeout(() => {
        inFlight -= 1;
        send(response, 200, []);
      }, 1500);
    });
    const store = createMemoryNonceStore(systemClock);
    const nonce = { mode: 'increasing', store, leaseMs: 600 } as const;
    const clients = [1, 2].map(() => open([server.baseUrl], { nonce }));
    const outcomes = await Promise.all(clients.map((client) => client.cancelAll({})));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'accepted']);
    expect(most).toBe(1);
  });
});

test('a 429 with Retry-After is a limit, and is not waited for beyond the call', async () => {
  const server = await serve(always(429, { message: 'Too many requests.' }, { 'Retry-After': '60' }));
  const nonce = { mode: 'window', store: createMemoryNonceStore(systemClock) } as const;
  const client = open([server.baseUrl], { nonce, timeouts: { callMs: 30_000 } });
  expect(await client.openPositions()).toMatchObject({ error: { name: 'rateLimited' }, attempts: 1 });
  expect(server.received).toHaveLength(1);
});

test('nonces of the window that others used are skipped after two refusals', async () => {
  const usedUpTo = Date.now() + 500;
  const server = await serve(({ body }, response) => {
    if (Number(body['nonce']) > usedUpTo) send(response, 200, []);
    else send(response, 429, { message: 'Too many requests.' });
  });
  const nonce = { mode: 'window', store: createMemoryNonceStore(systemClock) } as const;
  expect((await open([server.baseUrl], { nonce }).cancelAll({})).kind).toBe('accepted');
});

test('an order without a client order id is never sent again, not even after a 429', async () => {
  let refusals = 0;
  const server = await serve((_request, response) => {
    refusals += 1;
    if (refusals === 1) send(response, 429, { message: 'Too many requests.' });
    else send(response, 200, PLACED_ORDER);
  });
  const nonce = { mode: 'window', store: createMemoryNonceStore(systemClock) } as const;
  const client = open([server.baseUrl], { nonce });
  const { clientOrderId: _, ...nameless } = STOP;
  expect(await client.stopLimit({ ...nameless, reduceOnly: true })).toMatchObject({
    kind: 'rejected',
    error: { name: 'nonceRefused' },
  });
  expect(server.received).toHaveLength(1);
  refusals = 0;
  expect((await client.reduceOnlyStop(STOP)).kind).toBe('accepted');
  expect(server.received).toHaveLength(3);
});

function answerAll(held: (() => void)[]): void {
  for (const answer of held.splice(0)) answer();
}

describe('with few connections', () => {
  test.each(['unique', 'window'] as const)(
    'a protective call does not wait behind reads (%s)',
    async (mode) => {
      const held: (() => void)[] = [];
      const server = await serve(({ path }, response) => {
        if (path.endsWith('cancel/all')) send(response, 200, []);
        else held.push(() => send(response, 200, []));
      });
      const nonce = { mode, store: createMemoryNonceStore(systemClock) };
      const client = open([server.baseUrl], { nonce, pool: { connections: 2 } });
      const reads = Array.from({ length: 6 }, () => client.openPositions());
      while (held.length < 2) await delay(2);
      expect((await client.cancelAll({}, { priority: 'protective' })).kind).toBe('accepted');
      expect(held).toHaveLength(2);
      const answering = setInterval(() => answerAll(held), 2);
      cleanups.push(() => clearInterval(answering));
      expect(new Set((await Promise.all(reads)).map(({ kind }) => kind))).toEqual(new Set(['ok']));
    },
  );

  test('no permit is taken before there is a connection for it', async () => {
    const held: (() => void)[] = [];
    const server = await serve((_request, response) => void held.push(() => send(response, 200, [])));
    const memory = createMemoryRateLimitStore(systemClock);
    let permits = 0;
    const store: RateLimitStore = {
      take: async (request) => {
        permits += request.count;
        return memory.take(request);
      },
      penalize: (penalty) => memory.penalize(penalty),
    };
    const limiter = { store, fallback: memory };
    const client = open([server.baseUrl], { limiter, pool: { connections: 2 }, retry: { maxAttempts: 1 } });
    const giveUp = new AbortController();
    const reads = Array.from({ length: 6 }, () => client.openPositions({}, { signal: giveUp.signal }));
    while (held.length < 2) await delay(2);
    giveUp.abort();
    const outcomes = await Promise.all(reads);
    const effects = outcomes.map((outcome) => outcome.kind === 'failed' && outcome.error.effect);
    expect(effects.filter((effect) => effect === 'none')).toHaveLength(4);
    expect(permits).toBe(2);
    // All slots have been given back.
    const again = Array.from({ length: 4 }, () => client.openPositions());
    const answering = setInterval(() => answerAll(held), 2);
    cleanups.push(() => clearInterval(answering));
    expect((await Promise.all(again)).map(({ kind }) => kind)).toEqual(['ok', 'ok', 'ok', 'ok']);
  });

  test('calls that wait for a connection when the client closes end with clientClosed', async () => {
    const held: (() => void)[] = [];
    const server = await serve((_request, response) => void held.push(() => send(response, 200, [])));
    const client = open([server.baseUrl], { pool: { connections: 1 } });
    const calls = Array.from({ length: 3 }, () => client.cancelAll({}));
    while (held.length < 1) await delay(2);
    const closed = client.close();
    answerAll(held);
    await closed;
    expect(await Promise.all(calls)).toMatchObject([
      { kind: 'accepted' },
      { kind: 'rejected', error: { name: 'clientClosed' } },
      { kind: 'rejected', error: { name: 'clientClosed' } },
    ]);
  });
});

import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NonceMode } from '../../../src/exchange/nonce/nonce-modes.ts';
import { createRedisNonceStore } from '../../../src/state/nonce/nonce-redis.ts';
import { type PrivateRedis, startRedis } from '../../state/support/redis-server.ts';
import { sliceOf } from '../../support/slice.ts';
import { type Answer, send, startServer } from '../call/raw-server.ts';
import { API_KEY, openClient } from '../fixtures.ts';
import type { WorkerResult, WorkerTask } from './nonce-worker.ts';

let redis: PrivateRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const MODES = ['unique', 'increasing', 'window'] as const;
const PROCESSES = 4;
const CALLS = 250;
const REFUSED = { message: 'Too many requests.' };

/** Accepts the nonces that the mode allows, as strictly as the exchange may. */
function strictExchange(mode: NonceMode) {
  const nonces: string[] = [];
  const used = new Set<string>();
  let last = 0n;
  let refused = 0;
  let late = 0;
  const answer: Answer = ({ body }, response) => {
    const nonce = body['nonce'] as string;
    nonces.push(nonce);
    const fresh = mode === 'increasing' ? BigInt(nonce) > last : !used.has(nonce);
    // On a busy machine a request may travel longer than the window; the client then sends it again.
    const isLate = mode === 'window' && Number(nonce) < Date.now() - 5000;
    const wrong = mode === 'window' && (body['nonceWindow'] !== true || Number(nonce) > Date.now() + 5000);
    const accepted = fresh && !isLate && !wrong;
    used.add(nonce);
    if (BigInt(nonce) > last) last = BigInt(nonce);
    if (!accepted && fresh && isLate && !wrong) late += 1;
    else if (!accepted) refused += 1;
    // Replies take unequal times, so that requests could overtake each other.
    setTimeout(() => send(response, accepted ? 200 : 429, accepted ? {} : REFUSED), nonces.length % 3);
  };
  return { answer: answer satisfies Answer, nonces, refused: () => refused, late: () => late };
}

async function runWorker(task: WorkerTask): Promise<WorkerResult> {
  const child = fork(new URL('nonce-worker.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.send(task);
  const [result] = (await once(child, 'message')) as [WorkerResult];
  await once(child, 'exit');
  return result;
}

describe('1,000 calls at once from 4 processes on one key', () => {
  test.each(sliceOf(MODES, 3, 'modes of nonces'))('%s: no nonce twice, none refused', async (mode) => {
    const exchange = strictExchange(mode);
    const server = await startServer(exchange.answer);
    const tasks = Array.from({ length: PROCESSES }, (_, ordinal) => ({
      baseUrl: server.baseUrl,
      redisUrl: redis.url,
      mode,
      ordinal,
      calls: CALLS,
    }));
    const results = await Promise.all(tasks.map(runWorker));
    await server.close();
    expect(results).toMatchObject(tasks.map(() => ({ ok: CALLS, failures: [] })));
    const noncesRefused = results.reduce((sum, result) => sum + result.noncesRefused, 0);
    expect([exchange.refused(), noncesRefused - exchange.late()]).toEqual([0, 0]);
    expect(exchange.nonces).toHaveLength(PROCESSES * CALLS + exchange.late());
    expect(new Set(exchange.nonces).size).toBe(exchange.nonces.length);
  });
});

describe('the mutex of `increasing` mode', () => {
  test('an urgent call makes a read in flight give way, in the same process and in another one', async () => {
    const stores = [1, 2].map(() => createRedisNonceStore({ redis: redis.connect() }));
    const held: string[] = [];
    const order: string[] = [];
    const server = await startServer(({ path, body }, response) => {
      const name = path.split('/').at(-1) ?? '';
      order.push(`${name} ${String(body['nonce'])}`);
      // The first read of each kind is never answered: it has to give way.
      if (name !== 'all' && !held.includes(name)) held.push(name);
      else send(response, 200, name === 'all' ? [] : {});
    });
    const clients = stores.map((store) =>
      openClient([server.baseUrl], {
        nonce: { mode: 'increasing', store, leaseMs: 5000 },
        timeouts: { storeMs: 5000 },
      }),
    );
    const [own, other] = clients;
    if (own === undefined || other === undefined) throw new Error('two clients');
    const balance = own.mainBalance();
    while (!held.includes('balance')) await delay(2);
    expect(await own.cancelAll({}, { priority: 'protective', timeoutMs: 20_000 })).toMatchObject({
      kind: 'accepted',
    });
    expect(await balance).toMatchObject({ kind: 'ok' });
    const positions = own.openPositions();
    while (!held.includes('open')) await delay(2);
    expect(await other.cancelAll({}, { priority: 'protective', timeoutMs: 20_000 })).toMatchObject({
      kind: 'accepted',
    });
    expect(await positions).toMatchObject({ kind: 'ok' });
    expect(order.map((entry) => entry.split(' ')[0])).toEqual([
      'balance',
      'all',
      'balance',
      'open',
      'all',
      'open',
    ]);
    const nonces = order.map((entry) => Number(entry.split(' ')[1]));
    expect(nonces).toEqual(nonces.toSorted((a, b) => a - b));
    await Promise.all(clients.map((client) => client.close()));
    await Promise.all(stores.map((store) => store.close()));
    await server.close();
  });

  test('a holder that vanished blocks nobody longer than its lease', async () => {
    const store = createRedisNonceStore({ redis: redis.connect(), prefix: 'vanished' });
    const key = createHash('sha256').update(API_KEY).digest('hex').slice(0, 32);
    await store.enterMutex(key, { owner: 'vanished', floor: 1, leaseMs: 400, urgent: false });
    const server = await startServer((_request, response) => send(response, 200, {}));
    const client = openClient([server.baseUrl], {
      nonce: { mode: 'increasing', store },
      timeouts: { storeMs: 5000 },
    });
    expect(await client.mainBalance({ timeoutMs: 10_000 })).toMatchObject({ kind: 'ok' });
    await client.close();
    await store.close();
    await server.close();
  });

  test('an urgent call waiting for another process does not ask again because of its own signal', async () => {
    const store = createRedisNonceStore({ redis: redis.connect(), prefix: 'hearing' });
    const key = createHash('sha256').update(API_KEY).digest('hex').slice(0, 32);
    await store.enterMutex(key, { owner: 'another', floor: 1, leaseMs: 1_000, urgent: false });
    let asked = 0;
    const counted: typeof store = {
      ...store,
      enterMutex: (...request) => {
        asked += 1;
        return store.enterMutex(...request);
      },
    };
    const server = await startServer((_request, response) => send(response, 200, []));
    const client = openClient([server.baseUrl], {
      nonce: { mode: 'increasing', store: counted },
      timeouts: { storeMs: 5000 },
    });
    const startedMs = performance.now();
    expect(await client.cancelAll({}, { priority: 'protective', timeoutMs: 10_000 })).toMatchObject({
      kind: 'accepted',
    });
    const waitedMs = performance.now() - startedMs;
    // It looks again every 15 ms, and when the mutex is signalled as free.
    expect(asked).toBeLessThan(10 + waitedMs / 10);
    await client.close();
    await store.close();
    await server.close();
  });

  test('a call that gives up waiting leaves the mutex to the others', async () => {
    const store = createRedisNonceStore({ redis: redis.connect(), prefix: 'waiting' });
    const held: (() => void)[] = [];
    const server = await startServer(({ path }, response) => {
      if (path.endsWith('/all')) held.push(() => send(response, 200, []));
      else send(response, 200, {});
    });
    const client = openClient([server.baseUrl], {
      nonce: { mode: 'increasing', store },
      timeouts: { storeMs: 5000 },
    });
    const cancel = client.cancelAll({});
    while (held.length === 0) await delay(2);
    const impatient = await client.mainBalance({ timeoutMs: 60 });
    expect(impatient).toMatchObject({
      kind: 'failed',
      attempts: 0,
      error: { name: 'timeout', effect: 'none' },
    });
    held[0]?.();
    expect(await cancel).toMatchObject({ kind: 'accepted' });
    expect(await client.mainBalance()).toMatchObject({ kind: 'ok' });
    await client.close();
    await store.close();
    await server.close();
  });
});

describe('without Redis', () => {
  test.each(MODES)('%s: calls go on from memory, without nonces of other processes', async (mode) => {
    const exchange = strictExchange('unique');
    const server = await startServer(exchange.answer);
    const own = await startRedis();
    const changes: boolean[] = [];
    const stores = [0, 1].map(() => createRedisNonceStore({ redis: own.connect(), prefix: `lost-${mode}` }));
    const clients = stores.map((store, ordinal) =>
      openClient([server.baseUrl], {
        nonce: { mode, store, ordinal, leaseMs: 500 },
        observer: { onStore: ({ available }) => changes.push(available) },
      }),
    );
    const round = async (calls: number) => {
      const all = clients.flatMap((client) => Array.from({ length: calls }, () => client.mainBalance()));
      return (await Promise.all(all)).every(({ kind }) => kind === 'ok');
    };
    expect(await round(10)).toBe(true);
    await own.stop();
    expect(await round(10)).toBe(true);
    expect(changes).toContain(false);
    expect(new Set(exchange.nonces).size).toBe(exchange.nonces.length);
    await Promise.all(clients.map((client) => client.close()));
    await Promise.all(stores.map((store) => store.close()));
    await server.close();
  });
});

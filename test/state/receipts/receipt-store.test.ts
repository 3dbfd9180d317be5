import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Receipt, ReceiptStore } from '../../../src/core/ports/delivery.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryReceiptStore } from '../../../src/state/receipts/receipts-memory.ts';
import { createRedisReceiptStore } from '../../../src/state/receipts/receipts-redis.ts';
import { manualClock } from '../support/manual-clock.ts';
import { type PrivateRedis, startRedis } from '../support/redis-server.ts';

let server: PrivateRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

let prefixes = 0;
const STORES: Readonly<Record<string, (keepMs?: number) => ReceiptStore>> = {
  memory: (keepMs) => createMemoryReceiptStore(systemClock, keepMs === undefined ? {} : { keepMs }),
  redis: (keepMs) =>
    createRedisReceiptStore({
      redis: server.connect(),
      prefix: `t${++prefixes}`,
      ...(keepMs === undefined ? {} : { keepMs }),
    }),
};

const DELIVERED: Receipt = { kind: 'delivered', atMs: 5, saidAtMs: 4, final: false, reference: '77' };
const FAILED: Receipt = { kind: 'failed', atMs: 6, final: true, reason: 'notFound', words: 'HTTP 404' };
const LONG = 60_000;

describe.each(Object.entries(STORES))('receipts in %s', (_name, open) => {
  test('are visible to the next holder of the thread, for any ids', async () => {
    const store = open();
    const ids = ['firing:0', 'owner', 'until', '__proto__x', 'm:a'];
    for (const id of ids) {
      expect(await store.hold('t', 'a', LONG)).toMatchObject({ kind: 'held' });
      expect(await store.settle('t', 'a', { [id]: DELIVERED })).toBe(true);
    }
    const all = Object.fromEntries(ids.map((id) => [id, DELIVERED]));
    expect(await store.hold('t', 'b', LONG)).toEqual({ kind: 'held', receipts: all });
    expect(await store.settle('t', 'b', { failed: FAILED })).toBe(true);
    expect(await store.peek(['t', 'other', 't'])).toEqual([
      { ...all, failed: FAILED },
      {},
      { ...all, failed: FAILED },
    ]);
  });

  test('only one holds a thread; another thread is free, and the same owner may hold again', async () => {
    const store = open();
    expect(await store.hold('t', 'a', LONG)).toEqual({ kind: 'held', receipts: {} });
    const busy = await store.hold('t', 'b', LONG);
    expect(busy.kind).toBe('busy');
    if (busy.kind === 'busy') expect(busy.retryInMs).toBeLessThanOrEqual(LONG);
    expect((await store.hold('u', 'b', LONG)).kind).toBe('held');
    expect((await store.hold('t', 'a', LONG)).kind).toBe('held');
    expect(await store.settle('t', 'a', {})).toBe(true);
    expect((await store.hold('t', 'b', LONG)).kind).toBe('held');
  });

  test('exactly one of many that ask at once gets the thread', async () => {
    const store = open();
    const holds = await Promise.all(
      Array.from({ length: 20 }, (_, owner) => store.hold('t', `o${owner}`, LONG)),
    );
    expect(holds.filter(({ kind }) => kind === 'held')).toHaveLength(1);
  });

  test('a hold ends with its lease; what the slow owner did is kept, and the new hold stands', async () => {
    const store = open();
    await store.hold('t', 'slow', 30);
    await delay(60);
    expect((await store.hold('t', 'next', LONG)).kind).toBe('held');
    expect(await store.settle('t', 'slow', { late: DELIVERED })).toBe(false);
    expect((await store.hold('t', 'third', LONG)).kind).toBe('busy');
    expect(await store.peek(['t'])).toEqual([{ late: DELIVERED }]);
  });

  test('are forgotten when nobody has used the thread for long', async () => {
    const store = open(50);
    await store.hold('t', 'a', 10);
    await store.settle('t', 'a', { m: DELIVERED });
    await delay(120);
    await store.hold('u', 'a', 10);
    expect(await store.peek(['t'])).toEqual([{}]);
  });

  test('are all there after any events in any order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ thread: fc.nat(2), id: fc.nat(9), holds: fc.boolean() }), { maxLength: 25 }),
        async (steps) => {
          const store = open();
          const expected: Record<string, Receipt>[] = [{}, {}, {}];
          for (const [index, { thread, id, holds }] of steps.entries()) {
            const receipt: Receipt = { ...DELIVERED, atMs: index };
            if (holds) await store.hold(`t${thread}`, 'a', LONG);
            expect(await store.settle(`t${thread}`, 'a', { [`m${id}`]: receipt })).toBe(holds);
            (expected[thread] ?? {})[`m${id}`] = receipt;
          }
          expect(await store.peek(['t0', 't1', 't2'])).toEqual(expected);
        },
      ),
      { numRuns: 20 },
    );
  });
});

describe('receipts of two stores on one Redis', () => {
  test('are shared, but not with another installation', async () => {
    const [one, two, foreign] = ['p', 'p', 'q'].map((prefix) =>
      createRedisReceiptStore({ redis: server.connect(), prefix }),
    );
    await one?.hold('t', 'a', LONG);
    expect((await two?.hold('t', 'b', LONG))?.kind).toBe('busy');
    expect((await foreign?.hold('t', 'b', LONG))?.kind).toBe('held');
    await one?.settle('t', 'a', { m: DELIVERED });
    expect(await two?.peek(['t'])).toEqual([{ m: DELIVERED }]);
    expect(await foreign?.peek(['t'])).toEqual([{}]);
  });
});

test('receipts in memory do not pile up', async () => {
  const clock = manualClock();
  const store = createMemoryReceiptStore(clock, { keepMs: 1000 });
  for (let index = 0; index < 50; index++) {
    await store.hold(`t${index}`, 'a', 10);
    await store.settle(`t${index}`, 'a', { m: DELIVERED });
    clock.advance(100);
  }
  const left = await store.peek(Array.from({ length: 50 }, (_, index) => `t${index}`));
  expect(left.filter((receipts) => Object.keys(receipts).length > 0).length).toBeLessThanOrEqual(11);
});

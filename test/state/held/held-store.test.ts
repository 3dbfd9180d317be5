import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createMemoryHeldStore,
  createRedisHeldStore,
  createStandbyHeldStore,
  type HeldStore,
  MOST_HELD,
} from '../../../src/state/held/held-store.ts';
import { type PrivateRedis, startRedis } from '../support/redis-server.ts';

let server: PrivateRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

let prefixes = 0;
const STORES: Readonly<Record<string, () => HeldStore>> = {
  memory: createMemoryHeldStore,
  redis: () => createRedisHeldStore({ redis: server.connect(), prefix: `t${++prefixes}` }),
  standby: () =>
    createStandbyHeldStore(
      createRedisHeldStore({ redis: server.connect(), prefix: `t${++prefixes}` }),
      () => false,
    ),
};

describe.each(Object.entries(STORES))('held texts in %s', (_name, open) => {
  test('of texts with one name the newest is kept, in any order of arrival, and repeated ones do not count', async () => {
    const store = open();
    const names = ['__proto__x', '["ops","a|b"]', '5|5|x'];
    for (const name of names) {
      for (const atMs of [5, 7, 6, 7]) expect(await store.put(name, atMs, `{"${atMs}|\n"}`)).toBe(true);
    }
    const all = await store.all();
    expect(all.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    for (const one of all) expect(one).toMatchObject({ atMs: 7, count: 2, text: '{"7|\n"}' });
  });

  test('a text replaced by a newer one is not dropped', async () => {
    const store = open();
    await store.put('a', 5, 'old');
    const before = await store.all();
    await store.put('a', 6, 'new');
    await store.drop(before);
    expect(await store.all()).toEqual([{ name: 'a', atMs: 6, count: 2, text: 'new' }]);
    await store.drop(await store.all());
    expect(await store.all()).toEqual([]);
  });

  test('texts beyond the bound are refused, not lost silently', async () => {
    const store = open();
    for (let count = 0; count < MOST_HELD; count += 1) await store.put(`n${count}`, 1, 'x');
    expect(await store.put('one more', 1, 'x')).toBe(false);
    expect(await store.put('n7', 2, 'y')).toBe(true);
    expect(await store.all()).toHaveLength(MOST_HELD);
  });
});

test('a process alone takes no new texts, and keeps those it put into a Redis that came back empty', async () => {
  const redis = server.connect();
  const shared = createRedisHeldStore({ redis, prefix: 'alone' });
  let isAlone = false;
  const [one, two] = [0, 1].map(() => createStandbyHeldStore(shared, () => isAlone)) as [
    HeldStore,
    HeldStore,
  ];
  await one.put('mine', 1, 'x');
  await two.put('theirs', 1, 'x');
  isAlone = true;
  expect(await one.put('new', 2, 'x')).toBe(false);
  expect((await one.all()).map(({ name }) => name)).toEqual(['mine']);
  isAlone = false;
  expect((await one.all()).map(({ name }) => name)).toEqual(['mine', 'theirs']);
  await redis.del('alone:{held}');
  expect((await one.all()).map(({ name }) => name)).toEqual(['mine']);
});

test('foreign values are ignored', async () => {
  const redis = server.connect();
  const store = createRedisHeldStore({ redis, prefix: 'odd' });
  await redis.hset('odd:{held}', { a: 'nonsense', b: '1|x|y', c: '9|1|fine', d: '' });
  expect(await store.all()).toEqual([{ name: 'c', atMs: 9, count: 1, text: 'fine' }]);
  for (const name of ['a', 'b', 'd']) expect(await store.put(name, 3, 'now')).toBe(true);
  expect(await store.all()).toHaveLength(4);
});

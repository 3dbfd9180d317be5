import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createMemoryUpdateCursors,
  createRedisUpdateCursors,
  createStandbyUpdateCursors,
  type UpdateCursors,
} from '../../../src/state/bot/update-cursor.ts';
import { type PrivateRedis, startRedis } from '../support/redis-server.ts';

let server: PrivateRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('one process listens at a time, and the next one goes on from its cursor', async () => {
  const redis = server.connect();
  const cursors = createRedisUpdateCursors({ redis, prefix: 't' });
  expect(await cursors.take('b', 'one', 60_000)).toEqual({ offset: 0, caughtUpMs: 0 });
  expect(await cursors.take('b', 'two', 60_000)).toBeUndefined();
  expect(await cursors.advance('b', 'two', { offset: 9, caughtUpMs: 9 })).toBe(false);
  expect(await cursors.advance('b', 'one', { offset: 5, caughtUpMs: 7.5 })).toBe(true);
  const underWay = { offset: 5, caughtUpMs: 7, underWay: '-1001' };
  expect(await cursors.advance('b', 'one', underWay)).toBe(true);
  expect(await cursors.take('b', 'one', 60_000)).toEqual(underWay);
  expect(await cursors.advance('b', 'one', { offset: 5, caughtUpMs: 7.5 })).toBe(true);
  await cursors.leave('b', 'two');
  expect(await cursors.take('b', 'two', 60_000)).toBeUndefined();
  await cursors.leave('b', 'one');
  expect(await cursors.take('b', 'two', 60_000)).toEqual({ offset: 5, caughtUpMs: 7 });
  expect(await cursors.take('other', 'one', 60_000)).toEqual({ offset: 0, caughtUpMs: 0 });
});

test('an expired listener loses its turn, and an invalid cursor counts as none', async () => {
  const redis = server.connect();
  const cursors = createRedisUpdateCursors({ redis, prefix: 'u' });
  await cursors.take('b', 'one', 60_000);
  await cursors.advance('b', 'one', { offset: 5, caughtUpMs: 7 });
  await redis.pexpire('u:{bot/b}:turn', 0);
  expect(await cursors.take('b', 'two', 60_000)).toEqual({ offset: 5, caughtUpMs: 7 });
  for (const text of ['', '5', '5|', '-1|7', '5|7|', '5|7|x', '1e9|7', '9999999999999999|1']) {
    await redis.set('u:{bot/b}:cursor', text);
    expect(await cursors.take('b', 'two', 60_000)).toEqual({ offset: 0, caughtUpMs: 0 });
  }
});

test('alone, the first process goes on and the others do not listen; afterwards the newer cursor counts', async () => {
  const shared = createMemoryUpdateCursors();
  let isAlone = false;
  const [first, second] = [0, 1].map((ordinal) =>
    createStandbyUpdateCursors(shared, () => isAlone, ordinal),
  ) as [UpdateCursors, UpdateCursors];
  await first.advance('b', 'one', { offset: 5, caughtUpMs: 7.5 });
  isAlone = true;
  expect(await second.take('b', 'two', 1_000)).toBeUndefined();
  expect(await first.take('b', 'one', 1_000)).toEqual({ offset: 5, caughtUpMs: 7.5 });
  await first.advance('b', 'one', { offset: 6, caughtUpMs: 9 });
  isAlone = false;
  expect(await shared.take('b', 'two', 1_000)).toEqual({ offset: 5, caughtUpMs: 7.5 });
  expect(await first.take('b', 'one', 1_000)).toEqual({ offset: 6, caughtUpMs: 9 });
  await second.advance('b', 'two', { offset: 0, caughtUpMs: 10 });
  expect(await first.take('b', 'one', 1_000)).toEqual({ offset: 0, caughtUpMs: 10 });
});

test('an update that ended while the store was lost is no longer under way, and one begun then is not, either', async () => {
  const shared = createMemoryUpdateCursors();
  let lost = false;
  const advance: UpdateCursors['advance'] = async (...args) => {
    if (lost) throw new Error('the store is lost');
    return await shared.advance(...args);
  };
  const cursors = createStandbyUpdateCursors({ ...shared, advance }, () => false, 0);
  const [begun, ended] = [
    { offset: 6, caughtUpMs: 7, underWay: '77' },
    { offset: 6, caughtUpMs: 7 },
  ];
  await cursors.advance('b', 'one', begun);
  expect(await cursors.take('b', 'one', 1_000)).toEqual(begun);
  lost = true;
  await expect(cursors.advance('b', 'one', ended)).rejects.toThrow('lost');
  expect(await cursors.take('b', 'one', 1_000)).toEqual(ended);
  await expect(cursors.advance('b', 'one', { ...begun, offset: 7 })).rejects.toThrow('lost');
  expect(await cursors.take('b', 'one', 1_000)).toEqual(ended);
});

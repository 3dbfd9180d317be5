import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRedisUpdateCursors } from '../../../src/state/bot/update-cursor.ts';
import { type PrivateRedis, startRedis } from '../support/redis-server.ts';

let server: PrivateRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('one listens at a time, and the next one goes on from where it was', async () => {
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

test('who is gone loses its turn, and what is no cursor counts as none', async () => {
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

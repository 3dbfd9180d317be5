import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucketOf, type StateStore } from '../../../src/core/ports/state-store.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { bucketKeys } from '../../../src/state/account/keys.ts';
import { createMemoryPlace, createMemoryState, createRedisState } from '../../../src/state/state.ts';
import { type PrivateRedis, startPrivateRedis } from '../../support/redis.ts';
import { manualClock } from '../support/manual-clock.ts';
import { connectTo } from '../support/place.ts';

const ACCOUNT = 'stepped';
const BUCKET = bucketOf(ACCOUNT);
const CLAIM_MS = 8_000;

let redis: PrivateRedis;
beforeAll(async () => {
  redis = await startPrivateRedis();
});
afterAll(() => redis.stop());

async function taken(store: StateStore): Promise<number> {
  const request = { accountIds: [ACCOUNT], claimMs: CLAIM_MS, maxAheadMs: 10_000 };
  return (await store.takeDue(BUCKET, request)).accounts.length;
}

async function expectDueOnce(store: StateStore, stepBack: () => Promise<void> | void): Promise<void> {
  expect(await taken(store)).toBe(1);
  expect(await taken(store)).toBe(0);
  await stepBack();
  expect(await taken(store)).toBe(1);
  expect(await taken(store)).toBe(0);
}

test('in memory, a clock that stepped back by less than a claim makes no account wait for the old time', async () => {
  const clock = manualClock();
  const stepping = { ...clock, monotonicMs: () => clock.nowMs() };
  const { store } = createMemoryState({ clock: stepping }, createMemoryPlace({ clock: stepping }));
  await expectDueOnce(store, () => clock.stepWall(-5_000));
});

test('in Redis, a clock that stepped back by less than a claim makes no account wait for the old time', async () => {
  const connection = connectTo(redis.url);
  const state = createRedisState({
    redis: connection,
    prefix: redis.prefix,
    clock: systemClock,
    timeoutMs: 60_000,
  });
  try {
    await expectDueOnce(state.store, async () => {
      // The server's clock cannot be set here, so its last known time is set ahead instead.
      const { due } = bucketKeys(redis.prefix, BUCKET);
      await connection.zadd(due, Date.now() + 5_000, '@clock');
    });
  } finally {
    state.close();
    connection.disconnect();
  }
});

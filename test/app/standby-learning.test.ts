import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { StandbyLearning } from '../../src/app/standby-learning.ts';
import { type AccountCommit, bucketOf } from '../../src/core/ports/state-store.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { AccountBook } from '../../src/pipeline/pipeline-context.ts';
import { createMemoryPlace, createMemoryState, createStandby, type State } from '../../src/state/state.ts';
import { commit, episodeOf, evaluation, lane, load, note } from '../state/support/place.ts';

const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const SECOND_MS = 1_000;
const PLACING = {
  kind: 'placing',
  reason: 'reduce',
  words: 'sell 1',
  alarm: false,
  accountId: 'desk',
  atMs: 1,
} as const;

function bookOf(ids: readonly string[]): AccountBook {
  const byBucket = Map.groupBy(ids, bucketOf);
  return { get: () => undefined, inBucket: (bucket) => byBucket.get(bucket) ?? [] };
}

function open(ids: readonly string[]) {
  const place = createMemoryPlace(OPTIONS);
  const { backend } = place;
  const asked = { views: 0, stands: [] as string[] };
  const [view, stands] = [backend.view.bind(backend), backend.stands.bind(backend)];
  backend.view = (...args) => {
    asked.views += 1;
    return view(...args);
  };
  backend.stands = (bucket, accountIds) => {
    asked.stands.push(...accountIds);
    return stands(bucket, accountIds);
  };
  const standby = createStandby(backend, OPTIONS);
  standby.hasCompany = true;
  const own = createMemoryState(OPTIONS, { backend: standby });
  let nowMs = 0;
  const learning = new StandbyLearning({
    backend: standby,
    store: own.store,
    clock: { monotonicMs: () => nowMs },
    accounts: () => bookOf(ids),
  });
  const look = async (): Promise<void> => {
    asked.views = 0;
    asked.stands = [];
    learning.learnAccounts();
    for (let turn = 0; turn < 10; turn++) await setImmediate();
  };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { own, other: createMemoryState(OPTIONS, place), standby, asked, look, pass };
}

async function decide(state: State, accountId: string, episode: number): Promise<void> {
  const base = await load(state, accountId);
  const documents = { evaluation: evaluation(accountId, episode) };
  await commit(state, { base, documents, audit: [note(`decided ${episode}`)] });
}

describe('a process knows the decisions of others before the shared store is lost', () => {
  let scene: ReturnType<typeof open>;
  beforeEach(() => {
    scene = open(['desk']);
  });

  test('loads an account that it never polled, and again after it changes', async () => {
    const { own, other, standby, look, pass } = scene;
    await decide(other, 'desk', 1);
    await look();
    await decide(other, 'desk', 2);
    pass(SECOND_MS);
    await look();
    standby.takeOver();
    expect(episodeOf(await load(own, 'desk'))).toBe(2);
  });

  test('reads a decision once, and does not read polls that decide nothing', async () => {
    const { other, asked, look, pass } = scene;
    await decide(other, 'desk', 1);
    await look();
    expect(asked.views).toBe(1);
    await commit(other, { base: await load(other, 'desk'), quiet: 1 });
    pass(SECOND_MS);
    await look();
    expect(asked).toEqual({ views: 0, stands: ['desk'] });
  });

  test('reads a commit to another market behind a later commit of this process', async () => {
    const { own, other, standby, look, pass } = scene;
    await decide(other, 'desk', 1);
    await look();
    const base = await load(own, 'desk');
    const moved = (market: string, attempt: number): AccountCommit => ({
      base,
      lanes: new Map([[market, lane(base, market, attempt)]]),
      audit: [{ kind: 'action', event: { ...PLACING, market } }],
    });
    await commit(other, { ...moved('ETH_PERP', 3), base: await load(other, 'desk') });
    await commit(own, moved('BTC_PERP', 5));
    pass(SECOND_MS);
    await look();
    standby.takeOver();
    const { lanes } = await load(own, 'desk');
    expect([lanes.get('ETH_PERP')?.attempt, lanes.get('BTC_PERP')?.attempt]).toEqual([3, 5]);
  });

  test('compares at most once a second, and not while it is the only process', async () => {
    const { standby, asked, look, pass } = scene;
    await look();
    pass(SECOND_MS - 1);
    await look();
    expect(asked.stands).toEqual([]);
    standby.hasCompany = false;
    pass(1);
    await look();
    expect(asked.stands).toEqual([]);
  });
});

test('compares part of many accounts at a time, and all of them in turn', async () => {
  const ids = Array.from({ length: 1_000 }, (_, number) => `account-${number}`);
  const { asked, look, pass } = open(ids);
  const seen = new Set<string>();
  for (let round = 0; round < 5; round++) {
    await look();
    expect(asked.stands.length).toBeLessThan(250);
    for (const id of asked.stands) seen.add(id);
    pass(SECOND_MS);
  }
  expect(seen.size).toBe(ids.length);
});

import { describe, expect, test } from 'vitest';
import { type ActJob, actJobSchema } from '../../src/queues/payloads.ts';
import { startWorker } from '../../src/queues/worker.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { eventually } from '../pipeline/world.ts';
import { openQueueWorld, type QueueWorld } from './support.ts';

function runs(world: QueueWorld, work: (job: ActJob) => Promise<void>) {
  const worker = startWorker('act', world.settings, actJobSchema, work);
  closeAfterTest(() => worker.close(AbortSignal.timeout(5_000)));
  return worker;
}

const LANE = { accountId: 'desk-1', market: 'BTC_PERP' };

describe('a lane in the queue', () => {
  test('waits once, however often it is handed over', async () => {
    const world = await openQueueWorld();
    for (let index = 0; index < 5; index++) await world.queues.lanes.dispatch([LANE, LANE]);
    await world.queues.lanes.dispatch([
      { ...LANE, market: 'ETH_PERP' },
      { ...LANE, market: null },
    ]);
    const seen: ActJob[] = [];
    runs(world, async (job) => void seen.push(job));
    await eventually(() => seen.length >= 3, 'three runs');
    await eventually(
      async () => (await jobKeys(world)).length === 0,
      'nothing left',
      () => seen,
    );
    expect(new Set(seen.map(({ market }) => market))).toEqual(new Set(['BTC_PERP', 'ETH_PERP', null]));
    expect(seen).toHaveLength(3);
  });

  test('handed over while it runs, runs once more afterwards, and never twice at a time', async () => {
    const world = await openQueueWorld();
    let running = 0;
    let most = 0;
    let count = 0;
    const gate = Promise.withResolvers<void>();
    runs(world, async () => {
      running += 1;
      count += 1;
      most = Math.max(most, running);
      await gate.promise;
      running -= 1;
    });
    await world.queues.lanes.dispatch([LANE]);
    await eventually(() => count === 1, 'the first run');
    for (let index = 0; index < 4; index++) await world.queues.lanes.dispatch([LANE]);
    gate.resolve();
    await eventually(
      async () => count === 2 && (await jobKeys(world)).length === 0,
      'the second run and no more',
    );
    expect(most).toBe(1);
  });

  test('accepts new jobs after an ended one, failed or not', async () => {
    const world = await openQueueWorld();
    let count = 0;
    runs(world, async () => {
      count += 1;
      if (count === 1) throw new Error('on purpose');
    });
    for (let wanted = 1; wanted <= 3; wanted++) {
      await world.queues.lanes.dispatch([LANE]);
      await eventually(() => count === wanted, `run ${wanted}`);
      await eventually(async () => (await jobKeys(world)).length === 0, 'nothing left');
    }
    expect(world.events.filter(({ kind }) => kind === 'jobFailed')).toHaveLength(1);
  });

  test('encodes ids of accounts and markets that BullMQ would refuse or mix up', async () => {
    const world = await openQueueWorld();
    const lanes = [
      { accountId: '42', market: null },
      { accountId: 'a:b', market: 'c' },
      { accountId: 'a', market: 'b:c' },
      { accountId: 'a.at.b', market: null },
      { accountId: 'a', market: 'b' },
    ];
    await world.queues.lanes.dispatch(lanes);
    const seen: ActJob[] = [];
    runs(world, async (job) => void seen.push(job));
    await eventually(
      () => seen.length === lanes.length,
      'all of them',
      () => seen,
    );
  });
});

async function jobKeys({ redis, settings }: QueueWorld): Promise<readonly string[]> {
  const keys = await redis.keys(`${settings.prefix}:{queues}:act:*`);
  return keys.filter((key) => !/:(meta|events|id|stalled-check|marker|pc)$/.test(key));
}

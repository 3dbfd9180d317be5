import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import {
  breachPrice,
  CROWD,
  callsBetween,
  crowdAccount,
  crowdConfig,
  crowdMarkets,
  LEADER,
  storeCalls,
} from '../support/crowd.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { startSlowRedis } from '../support/slow-redis.ts';
import { notHeldUp } from '../support/working-time.ts';
import { openScene, ours } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const REDIS_MS = 2;
/** After a longer one orders are rightly priced anew. */
const HELD_UP_MS = 500;

/** Breaches all markets of the account at once, and waits until each has its order and its lane has nothing to do. */
async function breachAll(count: number) {
  const simulator = await openScene({
    readings: { marginModel: 'isolated' },
    accounts: [crowdAccount(count)],
    config: { markets: crowdMarkets(count) },
  });
  const server = await startPrivateRedis();
  closeAfterTest(() => server.stop());
  const slow = await startSlowRedis(server.url, REDIS_MS);
  closeAfterTest(() => slow.stop());
  const redis = { url: slow.url, prefix: server.prefix.replace(/:$/, '') };
  const world = await openDaemonWorld(simulator, { accounts: {}, rules: '' }, { redis });
  await world.write(crowdConfig({ count, simulator, redis }));
  const daemon = await world.start();
  const { events } = world;
  const why = () => troubles(events);
  // A market without earlier actions is in doubt until a late arrival would have passed.
  await eventually(() => events.filter(({ kind }) => kind === 'evaluated').length >= 6, 'polls', why);
  events.length = 0;
  const before = storeCalls(slow);
  simulator.setPrice(LEADER, breachPrice(simulator));
  await eventually(() => ours(simulator, CROWD).length >= count, 'an order in each market', why);
  const runs = () => events.flatMap((event) => (event.kind === 'laneRun' ? [event] : []));
  const rests = () => new Set(runs().flatMap(({ end, market }) => (end === 'idle' ? [market] : [])));
  await eventually(() => rests().size >= count, 'lanes at rest', why);
  const seen = {
    callsPerOrder: callsBetween(before, storeCalls(slow)) / count,
    ends: new Set(runs().map(({ end }) => end)),
    doubts: events.filter((event) => event.kind === 'audited' && event.event.kind === 'doubt'),
    contended: events.filter((event) => event.kind === 'pollFailed' && event.why !== 'aborted'),
    overtaken: events.filter((event) => event.kind === 'pollFailed' && event.why === 'aborted'),
    orders: ours(simulator, CROWD),
    polls: events.filter(({ kind }) => kind === 'evaluated').length,
  };
  await daemon.stop('seen', 60_000);
  return seen;
}

test('60 markets in one account, Redis 2 ms away: no lane run gives up, no false doubts, no poll starves', async () => {
  const lone = await notHeldUp(HELD_UP_MS, 4, () => breachAll(1));
  const crowd = await notHeldUp(HELD_UP_MS, 4, () => breachAll(60));
  expect(new Set(crowd.orders.map(({ market }) => market)).size).toBe(60);
  expect(crowd.orders).toHaveLength(60);
  expect([...crowd.ends]).toEqual(['idle']);
  expect(crowd.doubts).toEqual([]);
  expect(crowd.contended).toEqual([]);
  // Wait for another poll.
  expect(crowd.overtaken.length).toBeLessThanOrEqual(crowd.polls + 1);
  expect(crowd.polls).toBeGreaterThan(0);
  expect(lone.callsPerOrder).toBeGreaterThan(0);
  // A lane that runs during a poll reads and commits once more.
  expect(crowd.callsPerOrder).toBeLessThanOrEqual(lone.callsPerOrder + 1);
});

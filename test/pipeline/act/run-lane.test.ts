import { channel } from 'node:diagnostics_channel';
import { expect, test } from 'vitest';
import type { LaneRef, SeenAccount } from '../../../src/core/ports/lane-dispatcher.ts';
import type { AccountCommit } from '../../../src/core/ports/state-store.ts';
import type { DaemonEvent } from '../../../src/core/ports/telemetry.ts';
import { ALWAYS } from '../../../src/pipeline/act/lane-turns.ts';
import { runLane } from '../../../src/pipeline/act/run-lane.ts';
import type { PipelineContext } from '../../../src/pipeline/pipeline-context.ts';
import { POINT_PREFIX } from '../../../src/pipeline/points.ts';
import { PollGuard } from '../../../src/pipeline/poll/poll-account.ts';
import { pollBucket } from '../../../src/pipeline/poll/poll-tick.ts';
import { SharedTime } from '../../../src/pipeline/shared-time.ts';
import { openExchange } from '../../contract/support/world.ts';
import { bound, eventually, openWorld, type World } from '../world.ts';

const RULE = `  - id: half
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [DO]
`;
const REDUCE = '{ reduce: { by: 50%, slippage: 1% } }';
const LANE: LaneRef = { accountId: 'long', market: 'BTC_PERP' };
/** No order is followed up during a test, however slow the machine. */
const NO_FOLLOW_UP = '{ fillWithin: 10m }';
const NEVER = new AbortController().signal;

/** An account whose rule fires at the first poll, and a poll that hands over its lanes, but begins none. */
async function openScene(actions: string, exchange = '', acting = NO_FOLLOW_UP, cadence?: string) {
  const simulator = await openExchange({ speed: 1 });
  const rules = RULE.replace('DO', actions);
  const world = openWorld(simulator, {
    accounts: { long: { rules: ['half'] } },
    rules,
    exchange,
    acting,
    ...(cadence === undefined ? {} : { cadence }),
  });
  const handed: (SeenAccount | undefined)[] = [];
  const context: PipelineContext = {
    ...world.context,
    lanes: { dispatch: async (_lanes, seen) => void handed.push(seen) },
  };
  const poll = async (by: PipelineContext = context): Promise<void> => {
    for (const bucket of world.accounts.buckets()) {
      await world.state.store.makeDue('long', 0);
      await pollBucket(by, new PollGuard(), { bucket, everyMs: 50, lagMs: 0 });
    }
    // On a slow machine a late read is judged on its own, not beside the next poll.
    await by.memory.settled();
  };
  const requests = () => simulator.requestLog({ account: 'long' }).map(({ endpoint }) => endpoint);
  return { simulator, world, context, handed, poll, requests };
}

/** The same after its first poll that hands over; on a slow machine that may take several polls. */
async function openFired(exchange?: string) {
  const scene = await openScene(REDUCE, exchange);
  for (let polls = 0; polls < 5 && scene.handed.length === 0; polls++) await scene.poll();
  const [seen] = scene.handed;
  if (seen === undefined) throw new Error('the lane was not handed over with what was seen');
  const before = scene.requests().length;
  return { ...scene, seen, requests: () => scene.requests().slice(before) };
}

/** A context that records commits and reads. */
function watched(context: PipelineContext) {
  const commits: AccountCommit[] = [];
  let reads = 0;
  const { store } = context;
  const watching: PipelineContext['store'] = {
    ...bound(store),
    read: (accountId) => {
      reads += 1;
      return store.read(accountId);
    },
    commit: (changes) => {
      commits.push(...changes);
      return store.commit(changes);
    },
  };
  return { context: { ...context, store: watching }, commits, reads: () => reads };
}

const audited = (world: World): readonly string[] =>
  world.events.flatMap((event) =>
    event.kind === 'audited' ? [`${event.event.kind}:${event.event.reason}`] : [],
  );
const ends = (events: readonly DaemonEvent[]) =>
  events.flatMap((event) => (event.kind === 'laneRun' ? [event.end] : []));

test('a lane begun with its poll reads nothing from the store, and commits each outcome with the next step', async () => {
  const { context, seen, requests } = await openFired('  nonce: increasing');
  const watching = watched(context);
  expect(await runLane(watching.context, LANE, NEVER, seen)).toBe('idle');
  expect(requests()).toEqual(['openPositions', 'stopLimit']);
  expect(watching.reads()).toBe(0);
  const inProgress = watching.commits.map(
    ({ lanes }) => lanes?.get('BTC_PERP')?.inProgress?.step.kind ?? null,
  );
  expect(inProgress).toEqual([null, 'place', null]);
});

test('while lanes settle before a hand-back, a poll decides but begins none, and is due again within a second', async () => {
  const { world, context, handed, poll } = await openScene(
    REDUCE,
    '',
    NO_FOLLOW_UP,
    '{ calm: 60s, alert: 30s }',
  );
  const settling = { ...context, turns: { ...ALWAYS, isSettling: true } };
  await poll(settling);
  expect(audited(world)).toContainEqual(expect.stringMatching(/^intentOpened:/));
  expect(handed).toEqual([]);
  const [bucket = 0] = world.accounts.buckets();
  const { nextDueInMs } = await context.store.takeDue(bucket, {
    accountIds: ['long'],
    claimMs: 1,
    maxAheadMs: 3_600_000,
  });
  expect(nextDueInMs).toBeLessThanOrEqual(1_000);
  await poll();
  expect(handed).toHaveLength(1);
});

test('a lane that runs when a hand-back is due ends after its next answer, and goes on later', async () => {
  const { context, seen, requests } = await openFired('  nonce: increasing');
  // Redis returns while the positions are read.
  const turns = {
    ...ALWAYS,
    get isSettling() {
      return requests().includes('openPositions');
    },
  };
  expect(await runLane({ ...context, turns }, LANE, NEVER, seen)).toBe('later');
  expect(requests()).toEqual(['openPositions']);
  expect(await runLane(context, LANE, NEVER)).toBe('idle');
  expect(requests().filter((endpoint) => endpoint === 'stopLimit')).toHaveLength(1);
});

test("a lane begun with a poll older than another's action places nothing twice", async () => {
  const { simulator, context, seen } = await openFired();
  const orders = () => simulator.ledger({ accountId: 'long', kinds: ['order_placed'] });
  await runLane(context, LANE, NEVER);
  expect(orders()).toHaveLength(1);
  await runLane(context, LANE, NEVER, seen);
  expect(orders()).toHaveLength(1);
});

test('a run begun with an older poll treats what a process left in progress as unknown, too', async () => {
  const { simulator, world, context, seen } = await openFired();
  const orders = () => simulator.ledger({ accountId: 'long', kinds: ['order_placed'] });
  const account = context.accounts.get('long');
  if (account === undefined) throw new Error('no account');
  // As if it had died after the exchange got the order: the outcome is not recorded and the lane not released.
  const dying = {
    ...account,
    exchange: {
      ...account.exchange,
      reduceOnlyStop: async (...args: Parameters<typeof account.exchange.reduceOnlyStop>) => {
        await account.exchange.reduceOnlyStop(...args);
        throw new Error('died');
      },
    },
  };
  const accounts = { get: () => dying, inBucket: () => [] };
  await expect(runLane({ ...context, accounts }, LANE, NEVER)).rejects.toThrow('died');
  expect(orders()).toHaveLength(1);
  expect(audited(world)).not.toContain('doubt:processDied');
  const before = simulator.requestLog({ account: 'long' }).length;
  await runLane(context, LANE, NEVER, seen);
  expect(audited(world)).toContain('doubt:processDied');
  const endpoints = simulator
    .requestLog({ account: 'long' })
    .slice(before)
    .map(({ endpoint }) => endpoint);
  expect(endpoints.filter((endpoint) => endpoint !== 'openPositions')).toEqual(['stopLimit']);
  expect(simulator.model.openOrders('long')).toHaveLength(1);
});

test('a job whose lane is already done reads once and holds nothing', async () => {
  const { world, context, seen, requests } = await openFired();
  await runLane(context, LANE, NEVER, seen);
  const before = requests().length;
  const watching = watched(context);
  const asked: string[] = [];
  const { leases } = context.store;
  const store = {
    ...watching.context.store,
    leases: {
      ...leases,
      acquire: async (...args: Parameters<typeof leases.acquire>) => (
        asked.push('acquire'), await leases.acquire(...args)
      ),
    },
  };
  await runLane({ ...watching.context, store }, LANE, NEVER);
  expect(ends(world.events)).toEqual(['idle', 'idle']);
  expect([watching.reads(), watching.commits, asked]).toEqual([1, [], []]);
  expect(requests()).toHaveLength(before);
});

test('a lane whose own read was refused again and again did not see what polls read meanwhile', async () => {
  const { simulator, context, seen, poll } = await openFired();
  const account = context.accounts.get('long');
  if (account === undefined) throw new Error('no account');
  let asked = 0;
  let givenUp = 0;
  const unanswered: typeof account.exchange.openPositions = (_query, { signal } = {}) =>
    new Promise((resolve) => {
      asked += 1;
      signal?.addEventListener('abort', () => {
        givenUp += 1;
        resolve({ kind: 'failed', error: { name: 'aborted' } } as never);
      });
    });
  const deaf = { ...account, exchange: { ...account.exchange, openPositions: unanswered } };
  const run = runLane({ ...context, accounts: { get: () => deaf, inBucket: () => [] } }, LANE, NEVER, seen);
  await eventually(() => asked > 0, 'the lane reads');
  await poll();
  await run;
  expect(simulator.ledger({ accountId: 'long', kinds: ['order_placed'] })).toHaveLength(1);
  expect([asked, givenUp]).toEqual([1, 1]);
});

test('a pause between the poll and its lane keeps the lane from sending anything', async () => {
  const { world, context, seen, requests } = await openFired('  nonce: increasing');
  await world.state.controls.put({
    kind: 'pause',
    accountId: null,
    author: 'test',
    reason: 'a test',
    expiresAtMs: null,
  });
  await runLane(context, LANE, NEVER, seen);
  expect(requests()).toEqual([]);
});

test('a notice is handed over once, although its mark meets a lane that changes the account at the same time', async () => {
  const { world, context, handed, poll } = await openScene(`{ notify: { channels: [log] } }, ${REDUCE}`);
  const { store } = context;
  let wasMet = false;
  const meeting = async (changes: readonly AccountCommit[]) => {
    const isMark = changes.some(({ documents, due }) => documents?.alerts !== undefined && due === undefined);
    if (isMark && !wasMet) {
      wasMet = true;
      await runLane(context, LANE, NEVER, handed[0]);
    }
    return await store.commit(changes);
  };
  await poll({ ...context, store: { ...watched(context).context.store, commit: meeting } });
  await poll();
  expect(wasMet).toBe(true);
  expect(world.notices.map(({ kind, ruleId }) => [kind, ruleId])).toEqual([['firing', 'half']]);
});

test('a notice is handed over once, although its mark comes after the hand-back', async () => {
  const { world, context, poll } = await openScene('{ notify: { channels: [log] } }');
  const { store } = context;
  let wasMet = false;
  const meeting = async (changes: readonly AccountCommit[]) => {
    if (
      !wasMet &&
      changes.some(({ documents, due }) => documents?.alerts !== undefined && due === undefined)
    ) {
      wasMet = true;
      world.state.store.forgetAll();
    }
    return await store.commit(changes);
  };
  await poll({ ...context, store: { ...watched(context).context.store, commit: meeting } });
  await poll();
  expect(wasMet).toBe(true);
  expect(world.notices.map(({ kind, ruleId }) => [kind, ruleId])).toEqual([['firing', 'half']]);
});

test('a read under way when its commit meets a poll counts: it was sent after the reply that it must follow', async () => {
  const { simulator, world, context, seen, requests } = await openFired('  nonce: increasing');
  const { store } = context;
  // The poll's read is ignored as well, as nothing was known of the market yet.
  const ignored = audited(world).filter((one) => one === 'readIgnored:tooEarly').length;
  let wasMet = false;
  const meeting = async (changes: readonly AccountCommit[]) => {
    const isAfterCancel = changes.some(({ lanes }) => lanes?.get('BTC_PERP')?.inProgress === null);
    if (isAfterCancel && !wasMet) {
      wasMet = true;
      await eventually(() => requests().includes('openPositions'), 'the read on its way');
      const before = world.context.time.nowMs();
      await eventually(() => world.context.time.nowMs() > before, 'the next millisecond');
      const { load } = await store.read('long');
      if (load.kind === 'refused') throw new Error(load.problem.message);
      const lane = load.account.lanes.get('BTC_PERP')!;
      const lanes = new Map([['BTC_PERP', { ...lane, roundTripMs: 7 }]]);
      await store.commit([{ base: load.account, lanes, quiet: 1 }]);
    }
    return await store.commit(changes);
  };
  const met = { ...context, store: { ...watched(context).context.store, commit: meeting } };
  expect(await runLane(met, LANE, NEVER, seen)).toBe('idle');
  expect(wasMet).toBe(true);
  expect(requests()).toEqual(['openPositions', 'stopLimit']);
  expect(audited(world).filter((one) => one === 'readIgnored:tooEarly')).toHaveLength(ignored);
  expect(simulator.model.openOrders('long')).toHaveLength(1);
});

test('a lane written by a clock ahead of this one waits for its fence once, not again after each part of the wait', async () => {
  const { world, context, poll, requests } = await openScene(REDUCE, '', '{ fillWithin: 1s }');
  const { time, clock } = world.context;
  const wrong = new SharedTime(clock, 'wrong');
  const nowMs = clock.monotonicMs();
  wrong.adopt({ storeMs: time.ofMonotonic(nowMs) + 3_600_000, askedAtMs: nowMs, answeredAtMs: nowMs });
  await poll({ ...context, time: wrong });
  // Its wait is over after a few parts.
  const over = new AbortController();
  let pieces = 0;
  const waiting = channel(`${POINT_PREFIX}lane.waiting`);
  const count = (): void => {
    pieces += 1;
    if (pieces > 40) over.abort();
  };
  waiting.subscribe(count);
  await runLane(context, LANE, over.signal);
  waiting.unsubscribe(count);
  expect(requests().slice(1, 3)).toEqual(['openPositions', 'stopLimit']);
});

test("a lane changed by its run while a poll decided is updated, and does not make the poll's commit fail", async () => {
  const { world, context, handed, poll } = await openScene(REDUCE);
  await poll();
  const { store } = context;
  const laneOf = async () => {
    const { load } = await store.read('long');
    if (load.kind === 'refused') throw new Error(load.problem.message);
    return { account: load.account, lane: load.account.lanes.get('BTC_PERP')! };
  };
  const before = await laneOf();
  const results: string[] = [];
  let wasMet = false;
  const meeting = async (changes: readonly AccountCommit[]) => {
    const isPoll = changes.some(({ due, lanes }) => due !== undefined && lanes?.has('BTC_PERP') === true);
    if (isPoll && !wasMet) {
      wasMet = true;
      const { account, lane } = await laneOf();
      await store.commit([{ base: account, lanes: new Map([['BTC_PERP', { ...lane, attempt: 99 }]]) }]);
    }
    const made = await store.commit(changes);
    results.push(
      ...made.map((result) => (result.kind === 'committed' ? result.leftOut.join() : result.kind)),
    );
    return made;
  };
  await poll({ ...context, store: { ...watched(context).context.store, commit: meeting } });
  expect(wasMet).toBe(true);
  expect(results).toEqual(['BTC_PERP', '']);
  const { account, lane } = await laneOf();
  expect(lane.attempt).toBe(99);
  expect(lane.latestRead?.sentAtMs).toBeGreaterThan(before.lane.latestRead?.sentAtMs ?? 0);
  expect(account.version).toBe(before.account.version + 1);
  // The lane is handed over in the state that it was updated to.
  expect(handed.at(-1)?.stored.lanes.get('BTC_PERP')?.attempt).toBe(99);
  expect(world.events.filter(({ kind }) => kind === 'pollFailed')).toEqual([]);
});

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { LaneRef } from '../../../src/core/ports/lane-dispatcher.ts';
import { acquire } from '../../../src/pipeline/act/lane-session.ts';
import { type ActingTurns, ALWAYS } from '../../../src/pipeline/act/lane-turns.ts';
import { runLane } from '../../../src/pipeline/act/run-lane.ts';
import type { PipelineContext } from '../../../src/pipeline/pipeline-context.ts';
import { PollGuard } from '../../../src/pipeline/poll/poll-account.ts';
import { pollBucket } from '../../../src/pipeline/poll/poll-tick.ts';
import type { RunningSimulator } from '../../../src/simulator/start-simulated-exchange.ts';
import { openExchange } from '../../contract/support/world.ts';
import { bound, eventually, openWorld } from '../world.ts';

const RULES = `  - id: half
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 60s
    do: [{ cancelAll: { types: [spot], scope: account } }, { reduce: { by: 50%, slippage: 1% } }]
  - id: fallen
    on: position
    when: { liquidationDistance: { below: 25% } }
    do: [{ reduce: { to: 10%, slippage: 1% } }]
`;
/** No test takes as long. */
const ATTEMPT_MS = 60_000;
const PUT_OFF = { kind: 'status', status: 429 } as const;
const ALL: LaneRef = { accountId: 'long', market: null };
const NEVER = new AbortController().signal;

async function openScene(effect: typeof PUT_OFF | { readonly kind: 'hang' }) {
  const simulator = await openExchange({ speed: 1 });
  const fault = simulator.injectFault({ effect, target: { endpoint: 'cancelAll' } });
  const world = openWorld(simulator, {
    accounts: { long: { rules: ['half', 'fallen'] } },
    rules: RULES,
    exchange: `  timeouts: { attempt: ${ATTEMPT_MS}ms, call: ${ATTEMPT_MS}ms }`,
  });
  const requests = () => simulator.requestLog({ account: 'long' }).map(({ endpoint }) => endpoint);
  return { simulator, fault, world, requests };
}

const cancelsServed = (simulator: RunningSimulator) =>
  simulator.requestLog({ outcome: 'served' }).filter(({ endpoint }) => endpoint === 'cancelAll');

/** A scene whose polls hand over lanes, but begin none. */
async function openFired() {
  const scene = await openScene(PUT_OFF);
  const handed: LaneRef[] = [];
  const lanes: PipelineContext['lanes'] = { dispatch: async (asked) => void handed.push(...asked) };
  const context: PipelineContext = { ...scene.world.context, lanes };
  const isHanded = () => handed.some(({ market }) => market === null);
  for (let polls = 0; polls < 5 && !isHanded(); polls++) {
    for (const bucket of scene.world.accounts.buckets()) {
      await scene.world.state.store.makeDue('long', 0);
      await pollBucket(context, new PollGuard(), { bucket, everyMs: 50, lagMs: 0 });
    }
  }
  expect(isHanded()).toBe(true);
  handed.length = 0;
  const holders = async () => {
    const { load } = await context.store.read('long');
    return load.kind === 'loaded' ? [...load.account.lanes.values()].map(({ heldBy }) => heldBy) : [];
  };
  return { ...scene, context, handed, holders };
}

test.each([
  ['put off again and again', PUT_OFF],
  ['never answered', { kind: 'hang' } as const],
])("an account-wide cancel that is %s blocks no lane's order", async (_how, effect) => {
  const { simulator, fault, world, requests } = await openScene(effect);
  world.start();
  await eventually(() => requests().includes('cancelAll'), 'an attempt at the cancel');
  // A quarter of the way to liquidation is left: a reduction begins while the cancel waits to be repeated.
  simulator.setPrice('BTC_PERP', '50000');
  const fellMs = performance.now();
  const idsOf = (ruleId: string) =>
    world.events.flatMap((event) =>
      event.kind === 'audited' && event.event.kind === 'placing' && event.event.ruleId === ruleId
        ? (event.event.order?.clientOrderId ?? [])
        : [],
    );
  // On a busy machine its reply may come too late, and the daemon does not know that it stands.
  await eventually(
    () =>
      simulator
        .requestLog({ outcome: 'served' })
        .some(({ clientOrderId, status }) => status === 200 && idsOf('fallen').includes(clientOrderId ?? '')),
    'an order',
    () => [requests().filter((endpoint) => endpoint !== 'openPositions'), world.errors],
  );
  expect(performance.now() - fellMs).toBeLessThan(ATTEMPT_MS / 2);
  expect(cancelsServed(simulator)).toEqual([]);
  simulator.clearFaults(fault);
  // The cancel is not forgotten.
  await eventually(() => cancelsServed(simulator).length > 0, 'the cancel');
});

/** Turns that end when this holds, because of another process or a hand-back. */
function turnsEnding(what: 'isTurn' | 'isSettling', hasEnded: () => boolean): ActingTurns {
  return {
    ...ALWAYS,
    isTurn: () => what !== 'isTurn' || !hasEnded(),
    get isSettling() {
      return what === 'isSettling' && hasEnded();
    },
  };
}

test('an account-wide run that repeats a cancel ends when a hand-back is due', async () => {
  const { context, requests, handed, holders } = await openFired();
  const turns = turnsEnding('isSettling', () => requests().includes('cancelAll'));
  let calls = 0;
  const account = context.accounts.get('long')!;
  const exchange = {
    ...account.exchange,
    cancelAll: (...args: Parameters<typeof account.exchange.cancelAll>) => {
      calls += 1;
      return account.exchange.cancelAll(...args);
    },
  };
  const accounts = { get: () => ({ ...account, exchange }), inBucket: () => [] };
  expect(await runLane({ ...context, accounts, turns }, ALL, NEVER)).toBe('later');
  expect(calls).toBe(1);
  expect(await holders()).toEqual([null]);
  // The lanes that were held go on.
  expect(handed).toContainEqual({ accountId: 'long', market: 'BTC_PERP' });
});

test.each(['isTurn', 'isSettling'] as const)(
  'an account-wide run whose turn ends (%s) while it holds the lanes releases them and sends nothing',
  async (what) => {
    const { context, requests, holders } = await openFired();
    let isHeld = false;
    const commit: typeof context.store.commit = async (changes) => {
      const results = await context.store.commit(changes);
      isHeld ||= changes.some(({ lanes }) => lanes?.get('BTC_PERP')?.heldBy === 'account');
      return results;
    };
    const { store } = context;
    const watching = { ...bound(store), commit };
    const turns = turnsEnding(what, () => isHeld);
    expect(await runLane({ ...context, store: watching, turns }, ALL, NEVER)).toBe('later');
    expect(isHeld).toBe(true);
    expect(requests()).not.toContain('cancelAll');
    expect(await holders()).toEqual([null]);
  },
);

test('an account-wide run that waits for one lane holds the others only for a moment, and cancels when that one is free', async () => {
  const { context: usual, simulator, fault, handed } = await openFired();
  simulator.clearFaults(fault);
  const longestWaitMs = 60_000;
  const context = { ...usual, settings: { ...usual.settings, longestWaitMs } };
  const wanted = { context, account: context.accounts.get('long')!, signal: NEVER, seen: undefined };
  const busy = await acquire({ ...wanted, market: 'ETH_PERP' });
  const beganMs = performance.now();
  const run = runLane(context, ALL, NEVER);
  await eventually(() => busy?.isWanted === true, 'the wish for all lanes');
  const other = await acquire({ ...wanted, market: 'BTC_PERP' });
  expect(other).toBeDefined();
  expect(performance.now() - beganMs).toBeLessThan(longestWaitMs / 2);
  // The lane it interrupted is handed over again.
  expect(handed).toContainEqual({ accountId: 'long', market: 'BTC_PERP' });
  await Promise.all([busy?.release(), other?.release()]);
  expect(await run).toBe('idle');
  expect(cancelsServed(simulator)).toHaveLength(1);
});

/** The same context, and the markets of the leases that it takes and has released. */
function followLeases(context: PipelineContext) {
  const taken: (string | null)[] = [];
  const released: (string | null)[] = [];
  const leases: PipelineContext['store']['leases'] = {
    acquire: (...args) => {
      taken.push(args[1]);
      return context.store.leases.acquire(...args);
    },
    renew: (...args) => context.store.leases.renew(...args),
    release: async (...args) => {
      await context.store.leases.release(...args);
      released.push(args[0].market);
    },
  };
  return { taken, released, followed: { ...context, store: { ...bound(context.store), leases } } };
}

/** What is due after a pause never is. */
function standingStill(time: PipelineContext['time']): PipelineContext['time'] {
  const [moment, instant] = [time.moment(), time.instant()];
  return {
    nowMs: () => moment.nowMs,
    moment: () => moment,
    instant: () => instant,
    notice: () => undefined,
    ofMonotonic: (monotonicMs) => time.ofMonotonic(monotonicMs),
    errorMs: time.errorMs,
  };
}

test('no lease is held while an account-wide cancel waits to be repeated', async () => {
  const { context, requests } = await openFired();
  const { taken, released, followed } = followLeases({ ...context, time: standingStill(context.time) });
  const over = new AbortController();
  const run = runLane(followed, ALL, over.signal);
  await eventually(() => released.length === 1, 'the first attempt');
  expect(requests()).toContain('cancelAll');
  // A second run, as from a poll of another process.
  const other = runLane(followed, ALL, over.signal);
  await sleep(1_000);
  over.abort();
  expect(await Promise.all([run, other])).toEqual(['stopped', 'stopped']);
  expect(taken).toEqual([null]);
});

test('an account-wide run that begins when the process stops takes no lease', async () => {
  const { context, requests } = await openFired();
  const { taken, followed } = followLeases(context);
  expect(await runLane(followed, ALL, AbortSignal.abort())).toBe('stopped');
  expect(taken).toEqual([]);
  expect(requests()).not.toContain('cancelAll');
});

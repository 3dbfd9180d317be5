import { expect, test } from 'vitest';
import type { LaneRef } from '../../../src/core/ports/lane-dispatcher.ts';
import { acquire } from '../../../src/pipeline/act/lane-session.ts';
import { type ActingTurns, ALWAYS } from '../../../src/pipeline/act/lane-turns.ts';
import { runLane } from '../../../src/pipeline/act/run-lane.ts';
import type { PipelineContext } from '../../../src/pipeline/pipeline-context.ts';
import { PollGuard } from '../../../src/pipeline/poll/poll-account.ts';
import { pollBucket } from '../../../src/pipeline/poll/poll-tick.ts';
import { openExchange } from '../../contract/support/world.ts';
import { eventually, openWorld } from '../world.ts';

const RULES = `  - id: half
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 60s
    do: [{ cancelAll: { types: [spot], scope: account } }, { reduce: { by: 50%, slippage: 1% } }]
`;
const PUT_OFF = { kind: 'status', status: 429 } as const;
const ALL: LaneRef = { accountId: 'long', market: null };
const NEVER = new AbortController().signal;

async function openScene(effect: typeof PUT_OFF | { readonly kind: 'hang' }) {
  const simulator = await openExchange({ speed: 1 });
  const fault = simulator.injectFault({ effect, target: { endpoint: 'cancelAll' } });
  const world = openWorld(simulator, { accounts: { long: { rules: ['half'] } }, rules: RULES });
  const requests = () => simulator.requestLog({ account: 'long' }).map(({ endpoint }) => endpoint);
  return { simulator, fault, world, requests };
}

/** The same with a poll whose lanes are handed over, but not begun. */
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
])('an account-wide cancel that is %s keeps no lane from its order', async (_how, effect) => {
  const { simulator, fault, world, requests } = await openScene(effect);
  world.start();
  const orders = () => simulator.ledger({ accountId: 'long', kinds: ['order_placed'] });
  await eventually(
    () => orders().length > 0,
    'an order',
    () => [requests().filter((endpoint) => endpoint !== 'openPositions'), world.errors],
  );
  expect(requests()).toContain('cancelAll');
  expect(
    simulator.requestLog({ outcome: 'served' }).filter(({ endpoint }) => endpoint === 'cancelAll'),
  ).toEqual([]);
  simulator.clearFaults(fault);
  // The cancel itself is not forgotten for that.
  await eventually(
    () => simulator.requestLog({ outcome: 'served' }).some(({ endpoint }) => endpoint === 'cancelAll'),
    'the cancel',
  );
});

/** Another process has its turn, or what was done alone is to be handed back, from when this holds. */
function turnsEnding(what: 'isTurn' | 'isSettling', hasEnded: () => boolean): ActingTurns {
  return {
    ...ALWAYS,
    isTurn: () => what !== 'isTurn' || !hasEnded(),
    get isSettling() {
      return what === 'isSettling' && hasEnded();
    },
  };
}

test('an account-wide run that repeats what is put off ends when what was done alone is to be handed back', async () => {
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
  // What was held goes on by itself.
  expect(handed).toContainEqual({ accountId: 'long', market: 'BTC_PERP' });
});

test.each(['isTurn', 'isSettling'] as const)(
  'an account-wide run whose turn ends (%s) while it holds the lanes lets them go and sends nothing',
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

function bound(store: PipelineContext['store']): PipelineContext['store'] {
  return {
    leases: store.leases,
    takeDue: (bucket, request) => store.takeDue(bucket, request),
    holdClaims: (bucket, ids, claimMs) => store.holdClaims(bucket, ids, claimMs),
    readBucket: (bucket, ids) => store.readBucket(bucket, ids),
    read: (accountId) => store.read(accountId),
    commit: (changes) => store.commit(changes),
    makeDue: (accountId, inMs) => store.makeDue(accountId, inMs),
    remembered: (accountId) => store.remembered(accountId),
    discard: (accountId, request) => store.discard(accountId, request),
    forget: (accountId) => store.forget(accountId),
  };
}

test('an account-wide run that waits for one lane keeps the others for a moment only', async () => {
  const { world } = await openScene(PUT_OFF);
  const longestWaitMs = 60_000;
  const context = { ...world.context, settings: { ...world.context.settings, longestWaitMs } };
  const account = context.accounts.get('long')!;
  const wanted = { context, account, signal: NEVER, seen: undefined };
  const busy = await acquire({ ...wanted, market: 'ETH_PERP' });
  const beganMs = performance.now();
  const [all, other] = await Promise.all([
    acquire({ ...wanted, market: null }),
    acquire({ ...wanted, market: 'BTC_PERP' }),
  ]);
  expect(performance.now() - beganMs).toBeLessThan(longestWaitMs / 2);
  expect(all).toBeUndefined();
  expect(other).toBeDefined();
  await Promise.all([busy?.release(), other?.release()]);
});

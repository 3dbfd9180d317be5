import { afterEach, describe, expect, test } from 'vitest';
import { PollTicks } from '../../src/app/poll-ticks.ts';
import { Standby } from '../../src/app/standby.ts';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';
import type { PipelineContext } from '../../src/pipeline/pipeline-context.ts';
import { createMemoryPlace, createMemoryState, createStandby } from '../../src/state/state.ts';
import { EventQueue } from '../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../src/world/machine.ts';
import { load } from '../state/support/place.ts';

/** Handing back after a time alone: polls, lanes, and records that could not continue their chain. */

const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const SEGMENT = [{ number: 1, text: '{"words":"sold"}', hash: 'h' }];

let opened: (Standby | PollTicks)[] = [];
afterEach(async () => {
  for (const part of opened) await part.stop();
  opened = [];
});

/** A process that shares its store (unless `isAlone`) and has records of these accounts to attach. */
function open(accountIds: readonly string[], { isAlone = false } = {}) {
  const { backend: shared } = createMemoryPlace(OPTIONS);
  const backend = createStandby(shared, OPTIONS);
  const state = createMemoryState(OPTIONS, { backend });
  backend.unattached.add(accountIds.map((accountId) => ({ accountId, how: 'superseded', segment: SEGMENT })));
  if (isAlone) backend.takeOver();
  const events: DaemonEvent[] = [];
  let probes = 0;
  const ticks = new PollTicks({
    clock: systemClock,
    timers: systemTimers,
    telemetry: { emit: () => undefined },
    context: () => ({}) as PipelineContext,
    schedules: () => [],
    standby: backend,
  });
  const standby = new Standby({
    backend,
    store: state.store,
    clock: systemClock,
    timers: systemTimers,
    telemetry: { emit: (event) => void events.push(event) },
    handBackOthers: async () => undefined,
    probe: async () => (probes += 1),
    ticks,
    ordinal: 0,
    lanesSettled: async () => undefined,
    join: async () => undefined,
    runLane: async () => undefined,
  });
  opened.push(standby, ticks);
  standby.start({} as PipelineContext);
  const attached = async (accountId: string): Promise<number> =>
    (await state.audit.tail(accountId, 100)).filter(
      ({ record: { content } }) => content.kind === 'note' && content.about === 'carriedAlone',
    ).length;
  return { shared, backend, state, standby, events, attached, probes: () => probes };
}

test('an account whose records cannot be attached blocks no other, is reported once, and is retried until they are', async () => {
  const { shared, backend, state, events, attached, probes } = open(['refused', 'well']);
  await load(state, 'refused');
  const view = shared.view.bind(shared);
  shared.view = async (...asked) => {
    const raw = await view(...asked);
    const accounts = raw.accounts.map((account) =>
      account.accountId === 'refused' ? { ...account, header: 'nonsense' } : account,
    );
    return { ...raw, accounts };
  };
  await expect.poll(() => attached('well')).toBe(1);
  const before = probes();
  await expect.poll(probes).toBeGreaterThan(before + 2);
  expect(events).toEqual([
    {
      kind: 'workerError',
      queue: 'poll',
      error: expect.objectContaining({ message: expect.stringMatching(/1 records of refused/) }),
    },
  ]);
  expect(backend.unattached.all.map(({ accountId }) => accountId)).toEqual(['refused']);
  shared.view = view;
  await expect.poll(() => attached('refused')).toBe(1);
  await expect.poll(() => backend.unattached.all).toEqual([]);
  expect(await attached('well')).toBe(1);
});

test('a stop waits for the attachment under way, and begins no other', async () => {
  const { shared, backend, standby, events, attached } = open(['first', 'second']);
  const { promise: isWriting, resolve: writes } = Promise.withResolvers<void>();
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const commit = shared.commit.bind(shared);
  shared.commit = async (...args) => {
    writes();
    await mayGoOn;
    return await commit(...args);
  };
  await isWriting;
  let hasStopped = false;
  const stopped = standby.stop().then(() => {
    hasStopped = true;
  });
  await systemClock.sleep(50);
  expect(hasStopped).toBe(false);
  goOn();
  await stopped;
  expect(await Promise.all([attached('first'), attached('second')])).toEqual([1, 0]);
  expect(backend.unattached.all.map(({ accountId }) => accountId)).toEqual(['second']);
  expect(events).toEqual([]);
});

test('lanes taken while alone count as free from the hand-back on', async () => {
  const startedMs = systemClock.monotonicMs();
  const { backend, standby } = open([], { isAlone: true });
  expect(standby.turns.lanesSinceMs).toBe(Number.NEGATIVE_INFINITY);
  await expect.poll(() => backend.isAlone).toBe(false);
  expect(standby.turns.lanesSinceMs).toBeGreaterThan(startedMs);
});

describe('a process that is alone, in virtual time', () => {
  const EVERY_MS = 1_000;
  const PROBE_MS = 400;
  const STEADY_MS = 2_000;
  const ID = 'any';
  const never = (): Promise<never> => new Promise(() => undefined);

  /** Polls one unknown account; a poll takes no time unless `endPoll` makes it. */
  function openAlone() {
    const queue = new EventQueue();
    const { clock, timers } = new MachineProcess(queue, new Machine(queue, 0));
    const options = { clock, sharedNowMs: () => clock.nowMs() };
    const { backend: shared } = createMemoryPlace(options);
    const backend = createStandby(shared, options);
    const { store } = createMemoryState(options, { backend });
    backend.takeOver();
    const scene = {
      isUp: true,
      schedules: [{ buckets: [bucketOf(ID)], everyMs: EVERY_MS }],
      lanesEnd: async (): Promise<void> => undefined,
      join: async (): Promise<void> => undefined,
      endPoll: async (): Promise<void> => undefined,
      handBackOthers: async (): Promise<void> => undefined,
    };
    const polledMs: number[] = [];
    const events: DaemonEvent[] = [];
    const takeDue: typeof store.takeDue = async (...asked) => {
      polledMs.push(queue.nowMs);
      await scene.endPoll();
      return await store.takeDue(...asked);
    };
    const telemetry = { emit: (event: DaemonEvent) => void events.push(event) };
    const ticks = new PollTicks({
      clock,
      timers,
      telemetry,
      context: () => context,
      schedules: () => scene.schedules,
      standby: backend,
    });
    const standby = new Standby({
      backend,
      store,
      clock,
      timers,
      telemetry,
      handBackOthers: () => scene.handBackOthers(),
      probe: async () => {
        if (!scene.isUp) throw new Error('lost');
      },
      ticks,
      ordinal: 0,
      lanesSettled: () => scene.lanesEnd(),
      join: () => scene.join(),
      runLane: async () => undefined,
    });
    const context = {
      accounts: { get: () => undefined, inBucket: () => [ID] },
      store: { takeDue },
      time: { notice: () => undefined },
      settings: { claimMs: 1_500 },
      telemetry: { emit: () => undefined },
      clock,
      timers,
    } as unknown as PipelineContext;
    standby.start(context);
    /** The queue gives a tick. */
    const give = () => ticks.take({ everyMs: EVERY_MS, meantMs: 0, delaysMs: new Map([[bucketOf(ID), 0]]) });
    /** Times between polls, and from the last one until now. */
    const gapsMs = (): readonly number[] =>
      [...polledMs, queue.nowMs].map((atMs, index) => atMs - (polledMs[index - 1] ?? 0));
    return {
      scene,
      events,
      clock,
      backend,
      standby,
      give,
      polledMs,
      gapsMs,
      pass: (ms: number) => queue.run(queue.nowMs + ms, () => false),
    };
  }

  test('keeps polling while lanes do not end, and begins lanes at once when the store is lost again', async () => {
    const { scene, backend, standby, gapsMs, pass } = openAlone();
    scene.lanesEnd = never;
    await pass(STEADY_MS + 2 * PROBE_MS);
    expect(standby.turns.isSettling).toBe(true);
    scene.isUp = false;
    await pass(2 * PROBE_MS);
    expect(standby.turns.isSettling).toBe(false);
    await pass(20_000);
    expect(Math.max(...gapsMs())).toBeLessThanOrEqual(EVERY_MS);
    expect(backend.isAlone).toBe(true);
    scene.lanesEnd = async () => undefined;
    scene.isUp = true;
    await pass(STEADY_MS + 2 * PROBE_MS);
    expect(backend.isAlone).toBe(false);
    expect(standby.turns.isSettling).toBe(false);
  });

  test('hands back once lanes have ended: begins none for three seconds before, and waits ten at most', async () => {
    const { scene, backend, standby, gapsMs, pass } = openAlone();
    const { promise: lanesEnd, resolve: endLanes } = Promise.withResolvers<void>();
    scene.lanesEnd = () => lanesEnd;
    await pass(STEADY_MS - PROBE_MS);
    expect(standby.turns.isSettling).toBe(false);
    await pass(2 * PROBE_MS + 2_500);
    expect(standby.turns.isSettling).toBe(true);
    await pass(2_500);
    expect(standby.turns.isSettling).toBe(false);
    expect(backend.isAlone).toBe(true);
    expect(Math.max(...gapsMs())).toBeLessThanOrEqual(EVERY_MS);
    const { promise: joins, resolve: join } = Promise.withResolvers<void>();
    scene.join = () => joins;
    endLanes();
    await pass(2 * PROBE_MS);
    expect([backend.isAlone, standby.turns.isSettling]).toEqual([true, true]);
    join();
    await pass(PROBE_MS);
    expect([backend.isAlone, standby.turns.isSettling]).toEqual([false, false]);

    const stuck = openAlone();
    stuck.scene.lanesEnd = never;
    await stuck.pass(STEADY_MS + 9_500);
    expect(stuck.backend.isAlone).toBe(true);
    await stuck.pass(2_000);
    expect(stuck.backend.isAlone).toBe(false);
  });

  test('polls until its work is handed back, then waits up to a second for a running poll, and begins no lane', async () => {
    const { scene, backend, standby, give, polledMs, gapsMs, pass } = openAlone();
    const { promise: joins, resolve: join } = Promise.withResolvers<void>();
    scene.join = () => joins;
    await pass(10_000);
    expect(Math.max(...gapsMs())).toBeLessThanOrEqual(EVERY_MS);
    expect([backend.isAlone, standby.turns.isSettling]).toEqual([true, true]);
    const { promise: pollEnds, resolve: endPoll } = Promise.withResolvers<void>();
    scene.endPoll = () => pollEnds;
    scene.handBackOthers = never;
    await pass(EVERY_MS);
    const polls = polledMs.length;
    join();
    await pass(900);
    expect([backend.isAlone, standby.turns.isSettling, polledMs.length]).toEqual([true, true, polls]);
    await pass(200);
    expect([backend.isAlone, standby.turns.isSettling]).toEqual([false, false]);
    endPoll();
    for (let tick = 0; tick < 10; tick++) {
      await give();
      await pass(EVERY_MS);
    }
    expect(polledMs).toHaveLength(polls + 10);
    await pass(2_000);
    expect(polledMs.length).toBeGreaterThan(polls + 10);
  });

  test('goes on as before when the store is lost during the hand-back', async () => {
    const { scene, events, clock, backend, standby, gapsMs, pass } = openAlone();
    const takesMs = 1_500;
    backend.handBack = async () => {
      await clock.sleep(takesMs);
      throw new Error('lost again');
    };
    await pass(STEADY_MS + 2 * PROBE_MS);
    scene.isUp = false;
    await pass(10_000);
    expect([backend.isAlone, standby.turns.isSettling]).toEqual([true, false]);
    expect(events.filter(({ kind }) => kind === 'workerError')).toHaveLength(1);
    expect(Math.max(...gapsMs())).toBeLessThanOrEqual(EVERY_MS + takesMs);
    expect(Math.max(...gapsMs().slice(-5))).toBeLessThanOrEqual(EVERY_MS);
  });

  test('polls an account that a new config adds before Redis is back', async () => {
    const { scene, polledMs, pass } = openAlone();
    scene.isUp = false;
    const { schedules } = scene;
    scene.schedules = [];
    await pass(2 * EVERY_MS);
    const before = polledMs.length;
    await pass(5_000);
    expect(polledMs).toHaveLength(before);
    scene.schedules = schedules;
    await pass(EVERY_MS);
    expect(polledMs.length).toBeGreaterThan(before);
  });

  test('polls each account at the same rate after a hand-back and another loss within a second', async () => {
    const { scene, backend, polledMs, pass } = openAlone();
    while (backend.isAlone) await pass(50);
    scene.isUp = false;
    await pass(2 * PROBE_MS);
    expect(backend.isAlone).toBe(true);
    const before = polledMs.length;
    await pass(10_000);
    expect(polledMs.length - before).toBeLessThanOrEqual(11);
  });
});

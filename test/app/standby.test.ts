import { afterEach, expect, test } from 'vitest';
import { Standby } from '../../src/app/standby.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';
import type { PipelineContext } from '../../src/pipeline/pipeline-context.ts';
import { PollGuard } from '../../src/pipeline/poll/poll-account.ts';
import { createMemoryPlace, createMemoryState, createStandby } from '../../src/state/state.ts';
import { load } from '../state/support/place.ts';

/** The end of being alone: what becomes of lanes, and of records that could not continue their chain. */

const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const SEGMENT = [{ number: 1, text: '{"words":"sold"}', hash: 'h' }];
const FAR_MS = 20_000;

let opened: Standby[] = [];
afterEach(async () => {
  for (const standby of opened) await standby.stop();
  opened = [];
});

/** A process that shares its store, unless it is alone, and has records to attach of these accounts. */
function open(accountIds: readonly string[], { isAlone = false } = {}) {
  const { backend: shared } = createMemoryPlace(OPTIONS);
  const backend = createStandby(shared, OPTIONS);
  const state = createMemoryState(OPTIONS, { backend });
  backend.unattached.add(accountIds.map((accountId) => ({ accountId, how: 'superseded', segment: SEGMENT })));
  if (isAlone) backend.takeOver();
  const events: DaemonEvent[] = [];
  let probes = 0;
  const standby = new Standby({
    backend,
    store: state.store,
    clock: systemClock,
    timers: systemTimers,
    telemetry: { emit: (event) => void events.push(event) },
    handBackOthers: async () => undefined,
    probe: async () => (probes += 1),
    schedules: () => [],
    ordinal: 0,
    guard: new PollGuard(),
    lanesSettled: async () => undefined,
    join: async () => undefined,
    runLane: async () => undefined,
  });
  opened.push(standby);
  standby.start({} as PipelineContext);
  const attached = async (accountId: string): Promise<number> =>
    (await state.audit.tail(accountId, 100)).filter(
      ({ record: { content } }) => content.kind === 'note' && content.about === 'carriedAlone',
    ).length;
  return { shared, backend, state, standby, events, attached, probes: () => probes };
}

test('an account whose records cannot be attached holds up no other, is told once, and is tried until they are', async () => {
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
  await expect.poll(() => attached('well'), { timeout: FAR_MS }).toBe(1);
  const before = probes();
  await expect.poll(probes, { timeout: FAR_MS }).toBeGreaterThan(before + 2);
  expect(events).toEqual([
    {
      kind: 'workerError',
      queue: 'poll',
      error: expect.objectContaining({ message: expect.stringMatching(/1 records of refused/) }),
    },
  ]);
  expect(backend.unattached.all.map(({ accountId }) => accountId)).toEqual(['refused']);
  shared.view = view;
  await expect.poll(() => attached('refused'), { timeout: FAR_MS }).toBe(1);
  await expect.poll(() => backend.unattached.all).toEqual([]);
  expect(await attached('well')).toBe(1);
});

test('a stop waits for what is being attached, and begins no other', async () => {
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

test('lanes that were taken alone are not held any more from when that is handed back', async () => {
  const startedMs = systemClock.monotonicMs();
  const { backend, standby } = open([], { isAlone: true });
  expect(standby.turns.lanesSinceMs).toBe(Number.NEGATIVE_INFINITY);
  await expect.poll(() => backend.isAlone, { timeout: FAR_MS }).toBe(false);
  expect(standby.turns.lanesSinceMs).toBeGreaterThan(startedMs);
});

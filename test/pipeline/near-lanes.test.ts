import { expect, test } from 'vitest';
import type { LaneRef, SeenAccount } from '../../src/core/ports/work.ts';
import { NearLanes } from '../../src/pipeline/near-lanes.ts';

const LANE: LaneRef = { accountId: 'desk-1', market: 'BTC_PERP' };
const OTHER: LaneRef = { accountId: 'desk-1', market: 'ETH_PERP' };
const OWN: LaneRef = { accountId: 'desk-1', market: null };
const JOB_AFTER_MS = 700;
/** What it says is handed on, not looked at. */
const SEEN = {} as SeenAccount;

interface Run {
  readonly lane: LaneRef;
  readonly seen: SeenAccount | undefined;
  readonly end: PromiseWithResolvers<void>;
}

function openLanes() {
  const runs: Run[] = [];
  const queued: (readonly LaneRef[])[] = [];
  const errors: unknown[] = [];
  const over = new AbortController();
  const timers: { delayMs: number; call: () => void; isOff: boolean }[] = [];
  const faults: Error[] = [];
  const lanes = new NearLanes({
    queue: {
      async dispatch(handed) {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        queued.push(handed);
      },
    },
    run: (lane, seen) => {
      const end = Promise.withResolvers<void>();
      runs.push({ lane, seen, end });
      return end.promise;
    },
    onError: (error, lane) => errors.push([error, lane]),
    timers: {
      after(delayMs, call) {
        const timer = { delayMs, call, isOff: false };
        timers.push(timer);
        return () => void (timer.isOff = true);
      },
    },
    jobAfterMs: JOB_AFTER_MS,
    signal: over.signal,
  });
  return { lanes, runs, queued, errors, over, timers, faults };
}

/** Everything that follows without waiting for anything has followed. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what is handed over with what was seen begins at once, and its job is queued when the run has ended', async () => {
  const { lanes, runs, queued, timers } = openLanes();
  await lanes.dispatch([LANE, OTHER], SEEN);
  expect(runs.map(({ lane, seen }) => [lane, seen])).toEqual([
    [LANE, SEEN],
    [OTHER, SEEN],
  ]);
  await turn();
  expect(queued).toEqual([]);
  runs[1]?.end.resolve();
  await turn();
  expect(queued).toEqual([[OTHER]]);
  runs[0]?.end.resolve();
  await turn();
  expect(queued).toEqual([[OTHER], [LANE]]);
  expect(timers.map(({ isOff }) => isOff)).toEqual([true, true]);
});

test('a run that goes on for long gets its job meanwhile, and no second one when it ends', async () => {
  const { lanes, runs, queued, timers } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([JOB_AFTER_MS]);
  timers[0]?.call();
  await turn();
  expect(queued).toEqual([[LANE]]);
  runs[0]?.end.resolve();
  await turn();
  expect(queued).toEqual([[LANE]]);
});

test('what is handed over while its lane runs here is found by the job that is still to come, or gets one', async () => {
  const { lanes, runs, queued, timers } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  await lanes.dispatch([LANE], SEEN);
  expect(runs).toHaveLength(1);
  expect(queued).toEqual([]);
  timers[0]?.call();
  await turn();
  expect(queued).toEqual([[LANE]]);
  // That job may have come and gone elsewhere: the next hand-over does not count on it.
  await lanes.dispatch([LANE], SEEN);
  expect(runs).toHaveLength(1);
  expect(queued).toEqual([[LANE], [LANE]]);
});

test('what is handed over without it waits for its job', async () => {
  const { lanes, runs, queued } = openLanes();
  await lanes.dispatch([LANE]);
  expect(runs).toEqual([]);
  expect(queued).toEqual([[LANE]]);
});

test('a job that arrives while its lane runs here waits for that run, and then runs it again from what is stored', async () => {
  const { lanes, runs } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  let isEnded = false;
  const job = lanes.run(LANE).then(() => (isEnded = true));
  await turn();
  expect(runs).toHaveLength(1);
  runs[0]?.end.resolve();
  await turn();
  expect(runs[1]).toMatchObject({ lane: LANE, seen: undefined });
  expect(isEnded).toBe(false);
  runs[1]?.end.resolve();
  await job;
});

test('a lane never runs twice at a time here, whoever asks for it', async () => {
  const { lanes, runs, queued } = openLanes();
  const jobs = [lanes.run(LANE), lanes.run(LANE)];
  await lanes.dispatch([LANE], SEEN);
  await turn();
  expect(runs).toHaveLength(1);
  // The job of the last hand-over stands in the queue.
  expect(queued).toEqual([[LANE]]);
  runs[0]?.end.resolve();
  await turn();
  expect(runs).toHaveLength(2);
  runs[1]?.end.resolve();
  await Promise.all(jobs);
  expect(runs).toHaveLength(2);
});

test('a run that fails is told of, and its job runs the lane again', async () => {
  const { lanes, runs, queued, errors } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  const lost = new Error('the store is lost');
  runs[0]?.end.reject(lost);
  await turn();
  expect(errors).toEqual([[lost, LANE]]);
  expect(queued).toEqual([[LANE]]);
  const job = lanes.run(LANE);
  expect(runs).toHaveLength(2);
  runs[1]?.end.reject(lost);
  // This one is the queue's to tell of.
  await expect(job).rejects.toBe(lost);
  expect(errors).toHaveLength(1);
  // It is no longer taken for running.
  await lanes.dispatch([LANE], SEEN);
  expect(runs).toHaveLength(3);
});

test('a job that could not be queued is told of', async () => {
  const { lanes, runs, errors, faults } = openLanes();
  const lost = new Error('the queue is lost');
  faults.push(lost);
  await lanes.dispatch([LANE], SEEN);
  runs[0]?.end.resolve();
  await turn();
  expect(errors).toEqual([[lost, LANE]]);
  await lanes.settled();
});

test('where the lane of the account is to run, the markets wait for it', async () => {
  const { lanes, runs, queued } = openLanes();
  await lanes.dispatch([OWN, LANE, OTHER], SEEN);
  expect(runs.map(({ lane }) => lane)).toEqual([OWN]);
  expect(queued).toEqual([[LANE, OTHER]]);
  runs[0]?.end.resolve();
  await turn();
  expect(queued).toEqual([[LANE, OTHER], [OWN]]);
});

test('a process that is ending begins nothing any more, and its end waits for what runs and its jobs', async () => {
  const { lanes, runs, queued, over } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  over.abort();
  await lanes.dispatch([OTHER], SEEN);
  expect(runs).toHaveLength(1);
  expect(queued).toEqual([[OTHER]]);
  let isSettled = false;
  const settled = lanes.settled().then(() => (isSettled = true));
  await turn();
  expect(isSettled).toBe(false);
  runs[0]?.end.resolve();
  await settled;
  expect(queued).toEqual([[OTHER], [LANE]]);
});

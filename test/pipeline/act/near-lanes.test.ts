import { expect, test } from 'vitest';
import type { LaneRef, SeenAccount } from '../../../src/core/ports/lane-dispatcher.ts';
import type { LaneRunEnd } from '../../../src/core/ports/telemetry.ts';
import { NearLanes } from '../../../src/pipeline/act/near-lanes.ts';

const LANE: LaneRef = { accountId: 'desk-1', market: 'BTC_PERP' };
const OTHER: LaneRef = { accountId: 'desk-1', market: 'ETH_PERP' };
const OWN: LaneRef = { accountId: 'desk-1', market: null };
const JOB_AFTER_MS = 700;
const NEXT_POLL_WITHIN_MS = 2_000;

/** The only part that is looked at; the rest is handed on. */
function seenWith(nextPollMs: number | undefined): SeenAccount {
  const passage = { at: { wallMs: 0, monotonicMs: 0, clockId: 'c' }, plannedMs: nextPollMs };
  const evaluation = nextPollMs === undefined ? {} : { passage };
  return { stored: { documents: { evaluation } } } as unknown as SeenAccount;
}

/** A poll's result for an account that is polled again soon. */
const SEEN = seenWith(NEXT_POLL_WITHIN_MS);

interface Run {
  readonly lane: LaneRef;
  readonly seen: SeenAccount | undefined;
  readonly end: PromiseWithResolvers<LaneRunEnd>;
}

function openLanes() {
  const runs: Run[] = [];
  const queued: (readonly LaneRef[])[] = [];
  const errors: unknown[] = [];
  const over = new AbortController();
  const timers: { delayMs: number; call: () => void; isOff: boolean }[] = [];
  const faults: Error[] = [];
  const delay: { until: Promise<void> | undefined } = { until: undefined };
  const lanes = new NearLanes({
    queue: {
      async dispatch(handed) {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        if (delay.until !== undefined) await delay.until;
        queued.push(handed);
      },
    },
    run: (lane, seen) => {
      const end = Promise.withResolvers<LaneRunEnd>();
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
    nextPollWithinMs: NEXT_POLL_WITHIN_MS,
    signal: over.signal,
  });
  return { lanes, runs, queued, errors, over, timers, faults, delay };
}

/** Lets everything run that is ready. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a lane handed over with its poll begins at once, and its job is queued when the run has ended', async () => {
  const { lanes, runs, queued, timers } = openLanes();
  await lanes.dispatch([LANE, OTHER], SEEN);
  expect(runs.map(({ lane, seen }) => [lane, seen])).toEqual([
    [LANE, SEEN],
    [OTHER, SEEN],
  ]);
  await turn();
  expect(queued).toEqual([]);
  runs[1]?.end.resolve('idle');
  await turn();
  expect(queued).toEqual([[OTHER]]);
  runs[0]?.end.resolve('idle');
  await turn();
  expect(queued).toEqual([[OTHER], [LANE]]);
  expect(timers.map(({ isOff }) => isOff)).toEqual([true, true]);
});

test('a long run gets its job meanwhile, and no second one when it ends', async () => {
  const { lanes, runs, queued, timers } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([JOB_AFTER_MS]);
  timers[0]?.call();
  await turn();
  expect(queued).toEqual([[LANE]]);
  runs[0]?.end.resolve('idle');
  await turn();
  expect(queued).toEqual([[LANE]]);
});

test('a hand-over during a run is covered by the job still to come, or gets its own', async () => {
  const { lanes, runs, queued, timers } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  await lanes.dispatch([LANE], SEEN);
  expect(runs).toHaveLength(1);
  expect(queued).toEqual([]);
  timers[0]?.call();
  await turn();
  expect(queued).toEqual([[LANE]]);
  // That job may have been done elsewhere, so the next hand-over does not count on it.
  await lanes.dispatch([LANE], SEEN);
  expect(runs).toHaveLength(1);
  expect(queued).toEqual([[LANE], [LANE]]);
});

test.each([NEXT_POLL_WITHIN_MS + 1, undefined])(
  'if the next poll is too late to take over from a process that dies, the job is queued at once: %s ms',
  async (nextPollMs) => {
    const { lanes, runs, queued, timers } = openLanes();
    const seen = seenWith(nextPollMs);
    await lanes.dispatch([LANE, OTHER], seen);
    expect(runs.map(({ lane }) => lane)).toEqual([LANE, OTHER]);
    expect(queued).toEqual([[LANE, OTHER]]);
    expect(timers).toEqual([]);
    for (const { end } of runs) end.resolve('idle');
    await turn();
    expect(queued).toEqual([[LANE, OTHER]]);
    // The same holds if a run handed over by an earlier poll still owes a job.
    await lanes.dispatch([LANE], SEEN);
    await lanes.dispatch([LANE], seen);
    expect(runs).toHaveLength(3);
    expect(queued).toEqual([[LANE, OTHER], [LANE]]);
  },
);

test('a hand-over during the run of a job gets its own job', async () => {
  const { lanes, runs, queued, timers } = openLanes();
  const job = lanes.run(LANE);
  await lanes.dispatch([LANE], SEEN);
  expect(queued).toEqual([[LANE]]);
  runs[0]?.end.resolve('idle');
  await job;
  await turn();
  expect(queued).toEqual([[LANE]]);
  expect(timers).toEqual([]);
});

test('a lane handed over without its poll waits for its job', async () => {
  const { lanes, runs, queued } = openLanes();
  await lanes.dispatch([LANE]);
  expect(runs).toEqual([]);
  expect(queued).toEqual([[LANE]]);
});

test('a job that arrives during a run here waits for it, and then runs the lane again from the store', async () => {
  const { lanes, runs } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  let isEnded = false;
  const job = lanes.run(LANE).then(() => (isEnded = true));
  await turn();
  expect(runs).toHaveLength(1);
  runs[0]?.end.resolve('idle');
  await turn();
  expect(runs[1]).toMatchObject({ lane: LANE, seen: undefined });
  expect(isEnded).toBe(false);
  runs[1]?.end.resolve('idle');
  await job;
});

test('a lane never runs twice at the same time in one process', async () => {
  const { lanes, runs, queued } = openLanes();
  const jobs = [lanes.run(LANE), lanes.run(LANE)];
  await lanes.dispatch([LANE], SEEN);
  await turn();
  expect(runs).toHaveLength(1);
  // The job of the last hand-over is in the queue.
  expect(queued).toEqual([[LANE]]);
  runs[0]?.end.resolve('idle');
  await turn();
  expect(runs).toHaveLength(2);
  runs[1]?.end.resolve('idle');
  await Promise.all(jobs);
  expect(runs).toHaveLength(2);
});

test('a failed run is reported, and its job runs the lane again', async () => {
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
  // The queue reports this failure.
  await expect(job).rejects.toBe(lost);
  expect(errors).toHaveLength(1);
  // The lane no longer counts as running.
  await lanes.dispatch([LANE], SEEN);
  expect(runs).toHaveLength(3);
});

test('a job that could not be queued is reported', async () => {
  const { lanes, runs, errors, faults } = openLanes();
  const lost = new Error('the queue is lost');
  faults.push(lost);
  await lanes.dispatch([LANE], SEEN);
  runs[0]?.end.resolve('idle');
  await turn();
  expect(errors).toEqual([[lost, LANE]]);
  await lanes.settled();
});

test('a hand-over fails if a job that its lane needs cannot be queued', async () => {
  const { lanes, runs, errors, faults } = openLanes();
  const lost = new Error('the queue is lost');
  faults.push(lost, lost);
  await expect(lanes.dispatch([LANE])).rejects.toBe(lost);
  await expect(lanes.dispatch([LANE], seenWith(undefined))).rejects.toBe(lost);
  // The run begins anyway.
  expect(runs).toHaveLength(1);
  expect(errors).toEqual([]);
});

test('if the account lane is to run, the market lanes wait for it', async () => {
  const { lanes, runs, queued } = openLanes();
  await lanes.dispatch([OWN, LANE, OTHER], SEEN);
  expect(runs.map(({ lane }) => lane)).toEqual([OWN]);
  expect(queued).toEqual([[LANE, OTHER]]);
  runs[0]?.end.resolve('idle');
  await turn();
  expect(queued).toEqual([[LANE, OTHER], [OWN]]);
});

test('an ending process begins no run, and its end waits for current runs and their jobs', async () => {
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
  runs[0]?.end.resolve('stopped');
  await settled;
  expect(queued).toEqual([[OTHER], [LANE]]);
});

test('an ending process leaves no job for a lane that is done', async () => {
  const { lanes, runs, queued, over } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  over.abort();
  runs[0]?.end.resolve('idle');
  await lanes.settled();
  expect(queued).toEqual([]);
});

test('an ending process leaves the job of a lane that was handed over again during its run', async () => {
  const { lanes, runs, queued, over } = openLanes();
  await lanes.dispatch([LANE], SEEN);
  await lanes.dispatch([LANE], SEEN);
  over.abort();
  runs[0]?.end.resolve('idle');
  await lanes.settled();
  expect(queued).toEqual([[LANE]]);
});

test('the end never comes before the job of a run that has just ended is queued', async () => {
  const found: number[] = [];
  // Ends one microtask later each time: there is no gap between the end of a run and its job.
  for (let later = 0; later < 12; later++) {
    const { lanes, runs, queued, delay } = openLanes();
    await lanes.dispatch([LANE], SEEN);
    delay.until = turn();
    runs[0]?.end.resolve('idle');
    for (let step = 0; step < later; step++) await Promise.resolve();
    await lanes.settled();
    found.push(queued.length);
  }
  expect(found).toEqual(Array(12).fill(1));
});

test('the end waits for a job on its way to the queue', async () => {
  const { lanes, runs, delay } = openLanes();
  const onItsWay = Promise.withResolvers<void>();
  delay.until = onItsWay.promise;
  await lanes.dispatch([LANE], SEEN);
  runs[0]?.end.resolve('idle');
  let isSettled = false;
  const settled = lanes.settled().then(() => (isSettled = true));
  await turn();
  expect(isSettled).toBe(false);
  onItsWay.resolve();
  await settled;
});

import { expect, test } from 'vitest';
import { EventQueue } from '../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../src/world/machine.ts';

const START_MS = Date.UTC(2026, 0, 1);

function open(clock = {}) {
  const queue = new EventQueue();
  const machine = new Machine(queue, START_MS, clock);
  return { queue, machine, process: new MachineProcess(queue, machine) };
}

test('events run in order of time, then of arrival, and all promises run between two of them', async () => {
  const { queue } = open();
  const seen: string[] = [];
  const chain = async (name: string, length: number) => {
    for (let step = 0; step < length; step++) await Promise.resolve();
    seen.push(name);
  };
  queue.at(20, () => void chain('c', 0));
  queue.at(10, () => void chain('a', 50));
  queue.at(10, () => void chain('b', 1));
  const off = queue.at(15, () => seen.push('called off'));
  off();
  expect(await queue.run(30, () => false)).toBe(false);
  expect(seen).toEqual(['a', 'b', 'c']);
  expect(queue.nowMs).toBe(30);
});

test('a condition stops time where it holds, and an exception in an event ends the run', async () => {
  const { queue } = open();
  let count = 0;
  for (let atMs = 1; atMs <= 5_000; atMs++) queue.at(atMs, () => (count += 1));
  expect(await queue.run(10_000, () => count === 3_000)).toBe(true);
  expect(queue.nowMs).toBe(3_000);
  queue.at(3_000.5, () => {
    throw new Error('a defect');
  });
  await expect(queue.run(10_000, () => false)).rejects.toThrow('a defect');
});

test('a sleep ends in its time, or at once with the reason of its signal', async () => {
  const { queue, process } = open();
  const { clock } = process;
  const seen: [string, number][] = [];
  const abort = new AbortController();
  clock.sleep(100).then(
    () => seen.push(['slept', queue.nowMs]),
    () => undefined,
  );
  clock.sleep(1_000, abort.signal).catch((error: Error) => seen.push([error.message, queue.nowMs]));
  clock.sleep(1_000, AbortSignal.abort(new Error('before'))).catch((error: Error) => {
    seen.push([error.message, queue.nowMs]);
  });
  queue.at(40, () => abort.abort(new Error('given up')));
  await queue.run(5_000, () => false);
  expect(seen).toEqual([
    ['before', 0],
    ['given up', 40],
    ['slept', 100],
  ]);
});

test('clocks of a machine are skewed, drift and step; the monotonic one never steps', async () => {
  const { queue, machine } = open({ skewMs: -1_500, driftPpm: 100 });
  const bootMs = machine.monotonicMs();
  await queue.run(10_000_000, () => false);
  expect(machine.wallMs() - START_MS).toBe(10_000_000 + 1_000 - 1_500);
  expect(machine.monotonicMs() - bootMs).toBeCloseTo(10_001_000, 3);
  machine.stepWall(-60_000);
  expect(machine.wallMs() - START_MS).toBe(10_000_000 - 500 - 60_000);
  expect(machine.monotonicMs() - bootMs).toBeCloseTo(10_001_000, 3);
  // With a fast clock a wait is shorter.
  let firedMs = 0;
  machine.after(1_000_100, () => (firedMs = queue.nowMs));
  await queue.run(20_000_000, () => false);
  expect(firedMs).toBe(10_000_000 + 1_000_000);
});

test('events of a suspended process wait in order; those of a dead one are dropped', async () => {
  const { queue, process } = open();
  const seen: [string, number][] = [];
  process.timers.after(10, () => seen.push(['a', queue.nowMs]));
  process.timers.after(20, () => {
    seen.push(['b', queue.nowMs]);
    process.timers.after(5, () => seen.push(['c', queue.nowMs]));
  });
  queue.at(5, () => process.suspend());
  queue.at(100, () => process.resume());
  await queue.run(104, () => false);
  expect(seen).toEqual([
    ['a', 100],
    ['b', 100],
  ]);
  process.kill();
  process.resume();
  await queue.run(1_000, () => false);
  expect(seen).toHaveLength(2);
});

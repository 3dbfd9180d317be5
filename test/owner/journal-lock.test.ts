import { describe, expect, test } from 'vitest';
import { JournalLock, type LockParts } from '../../src/owner/journal-lock.ts';
import { manualClock } from '../state/support/manual-clock.ts';
import { createFaultyDisk, type FaultyDisk } from './support/faulty-disk.ts';
import { ManualTimers } from './support/own-process.ts';

/** A process that takes the lock; while it waits, `meanwhile` happens. */
function processOn(disk: FaultyDisk, id: string, more: Partial<LockParts> = {}) {
  const timers = new ManualTimers();
  const clock = manualClock();
  const lost: string[] = [];
  const parts: LockParts = {
    disk,
    clock,
    timers,
    id,
    host: 'here',
    pid: 7,
    isRunning: () => true,
    onLost: (holder) => void lost.push(holder),
    ...more,
  };
  const beat = async (): Promise<void> => {
    clock.advance(1_000);
    timers.end(1_000);
    await settled();
  };
  return { parts, clock, lost, beat, take: () => JournalLock.take(parts) };
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
}

describe('the lock of a journal', () => {
  test('is refused while another process renews it, in words that name that process', async () => {
    const disk = createFaultyDisk();
    const first = processOn(disk, 'first');
    await first.take();
    const second = processOn(disk.restarted(), 'second', { pid: 8 });
    const { clock } = second;
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (delayMs) => {
      await first.beat();
      await sleep(delayMs);
    };
    await expect(second.take()).rejects.toThrow(/process 7 on here.*stateDir/);
  });

  test.each([
    ['of this machine that has ended, at once', { isRunning: () => false }, 100],
    ['of this machine that had the same number, at once', { pid: 7 }, 100],
    ['of another machine, once it was not renewed for 2.5 s', { host: 'there', pid: 8 }, 2_600],
  ])('is taken from a process %s', async (_, parts, waitedMs) => {
    const disk = createFaultyDisk();
    await processOn(disk, 'first').take();
    const second = processOn(disk.restarted(), 'second', { pid: 8, ...parts });
    const before = second.clock.monotonicMs();
    const lock = await second.take();
    expect([lock.isHeld, second.clock.monotonicMs() - before]).toEqual([true, waitedMs]);
  });

  test('is lost to a process that took it from one that stood still, which does not act in between', async () => {
    const disk = createFaultyDisk();
    const first = processOn(disk, 'first');
    const lock = await first.take();
    await first.beat();
    expect(lock.isHeld).toBe(true);
    // Suspended: its timers do not end.
    first.clock.advance(2_500);
    expect(lock.isHeld).toBe(false);
    await processOn(disk.restarted(), 'second', { pid: 8, isRunning: () => false }).take();
    await first.beat();
    expect([lock.isHeld, first.lost]).toEqual([false, ['process 8 on here']]);
    await lock.release();
    expect(disk.files.has('lock.json')).toBe(true);
  });

  test('is held again by a process that stood still and finds it as it was', async () => {
    const first = processOn(createFaultyDisk(), 'first');
    const lock = await first.take();
    first.clock.advance(60_000);
    const asking = first.beat();
    expect(lock.isHeld).toBe(false);
    await asking;
    expect([lock.isHeld, first.lost]).toEqual([true, []]);
  });

  test('stays where the disk fails or hangs: acting goes on', async () => {
    const disk = createFaultyDisk();
    const first = processOn(disk, 'first');
    const lock = await first.take();
    disk.failing = new Error('I/O error');
    for (let beats = 0; beats < 5; beats++) await first.beat();
    expect(lock.isHeld).toBe(true);
    disk.failing = undefined;
    disk.hangs = true;
    for (let beats = 0; beats < 5; beats++) await first.beat();
    expect(lock.isHeld).toBe(true);
  });

  test('is given up by a release, and a torn one is nobody’s', async () => {
    const disk = createFaultyDisk();
    const lock = await processOn(disk, 'first').take();
    await lock.release();
    expect(disk.files.size).toBe(0);
    disk.files.set('lock.json', '{"id":"fi');
    const second = processOn(disk, 'second');
    expect((await second.take()).isHeld).toBe(true);
    expect(second.clock.monotonicMs()).toBe(1_100);
  });

  test('is taken by one of two that take it at once', async () => {
    const disk = createFaultyDisk();
    const both = ['one', 'two'].map((id, index) => {
      const process = processOn(disk, id, { pid: 10 + index });
      process.clock.sleep = settled;
      return process.take();
    });
    const results = await Promise.allSettled(both);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

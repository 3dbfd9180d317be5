import { describe, expect, test } from 'vitest';
import { unlessAborted, within } from '../../../src/core/ports/within.ts';

/** Timers that fire on request. */
function manualTimers() {
  const waiting = new Set<() => void>();
  return {
    after(_delayMs: number, call: () => void) {
      waiting.add(call);
      return () => void waiting.delete(call);
    },
    fire: () => {
      for (const call of waiting) {
        waiting.delete(call);
        call();
      }
    },
    count: () => waiting.size,
  };
}

describe('within', () => {
  test('settles like the work, and calls its timer off', async () => {
    const timers = manualTimers();
    expect(await within(timers, 50, Promise.resolve(7))).toBe(7);
    await expect(within(timers, 50, Promise.reject(new Error('its own')))).rejects.toThrow('its own');
    expect(timers.count()).toBe(0);
  });

  test('gives up after its time, and drops what the work does later', async () => {
    const timers = manualTimers();
    const work = Promise.withResolvers<number>();
    const waits = within(timers, 50, work.promise);
    const falls = within(timers, 50, work.promise, () => 'late');
    timers.fire();
    await expect(waits).rejects.toThrow('no answer within 50 ms');
    expect(await falls).toBe('late');
    expect(timers.count()).toBe(0);
    // An unhandled rejection would fail the run.
    work.reject(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('unlessAborted', () => {
  test('ends with the signal, also with one that is aborted already', async () => {
    const never = new Promise<number>(() => undefined);
    const controller = new AbortController();
    const waits = unlessAborted(controller.signal, never, () => 'stopped');
    controller.abort();
    expect(await waits).toBe('stopped');
    await expect(unlessAborted(controller.signal, never)).rejects.toThrow('no answer in time');
  });

  test('settles like the work until then', async () => {
    expect(await unlessAborted(new AbortController().signal, Promise.resolve(7))).toBe(7);
  });
});

import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';

test('an aborted sleep rejects at once with the reason, and leaves no listener behind', async () => {
  const asleep = new AbortController();
  const slept = systemClock.sleep(60_000, asleep.signal);
  asleep.abort(new RangeError('enough'));
  await expect(slept).rejects.toThrow(RangeError);
  expect(getEventListeners(asleep.signal, 'abort')).toEqual([]);
  await expect(systemClock.sleep(60_000, asleep.signal)).rejects.toThrow(RangeError);
});

test('a sleep that is not aborted ends in its time', async () => {
  const before = systemClock.monotonicMs();
  await systemClock.sleep(5);
  await systemClock.sleep(5, new AbortController().signal);
  // Timers may come a millisecond early.
  expect(systemClock.monotonicMs() - before).toBeGreaterThanOrEqual(8);
});

test('afterTurn runs its callback after this turn, unless it is cancelled', async () => {
  const came: string[] = [];
  systemTimers.afterTurn(() => came.push('first'));
  systemTimers.afterTurn(() => came.push('called off'))();
  systemTimers.after(60_000, () => came.push('far'))();
  systemTimers.afterTurn(() => came.push('last'));
  expect(came).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(came).toEqual(['first', 'last']);
});

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, Timers } from '../core/ports/clock.ts';
import { Deadline, Deadlines } from './call/deadlines.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(delayMs, signal) {
    signal?.throwIfAborted();
    try {
      await delay(delayMs, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      throw signal?.reason ?? error;
    }
  },
};

/** Creates timers that share one list, which is cheapest if they are about equally long. */
export function createSystemTimers(): Timers {
  const callbacks = new Deadlines();
  return {
    after(delayMs, call) {
      const callback = new Deadline(call);
      callbacks.add(callback, delayMs);
      return () => callbacks.remove(callback);
    },
    afterTurn(call) {
      const immediate = setImmediate(call);
      return () => clearImmediate(immediate);
    },
  };
}

export const systemTimers: Timers = createSystemTimers();

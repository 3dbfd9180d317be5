import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../core/ports/clock.ts';

/** The clocks of this machine. */
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

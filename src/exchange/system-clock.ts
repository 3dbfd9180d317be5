import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, Timers } from '../core/ports/clock.ts';

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

/** The platform's timers fire at once if set to more than this. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after(delayMs, call) {
    const timer = setTimeout(call, Math.min(Math.ceil(delayMs), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  afterTurn(call) {
    const immediate = setImmediate(call);
    return () => clearImmediate(immediate);
  },
};

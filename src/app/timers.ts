import type { Timers } from '../pipeline/account.ts';

/** The timers of this machine. */
export const systemTimers: Timers = {
  after(delayMs, call) {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

import { Deadline, Deadlines } from '../exchange/call/deadlines.ts';
import type { Timers } from '../pipeline/pipeline-context.ts';

class Callback extends Deadline {
  readonly #call: () => void;

  constructor(call: () => void) {
    super();
    this.#call = call;
  }

  override expire(): void {
    this.#call();
  }
}

const callbacks = new Deadlines();

/** The timers of this machine. */
export const systemTimers: Timers = {
  after(delayMs, call) {
    const callback = new Callback(call);
    callbacks.add(callback, delayMs);
    return () => callbacks.remove(callback);
  },
};

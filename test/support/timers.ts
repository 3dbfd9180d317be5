import { createHook } from 'node:async_hooks';

/** Enough for the frames above the caller that started a timer, plus those of vitest and Node below it. */
const FRAMES = 30;

interface Started {
  readonly timer: NodeJS.Timeout;
  /** Formatted only on request, because formatting is expensive. */
  readonly trace: { readonly stack?: string };
}

const running = new Map<number, Started>();

const hook = createHook({
  init: function init(id: number, type: string, _trigger: number, resource: object): void {
    if (type !== 'Timeout') return;
    const trace = {};
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = FRAMES;
    Error.captureStackTrace(trace, init);
    Error.stackTraceLimit = limit;
    running.set(id, { timer: resource as NodeJS.Timeout, trace });
  },
  destroy: (id) => {
    running.delete(id);
  },
  trackPromises: false,
});
/** Tracks every timer of this process until `stopFollowing`, including those of libraries and of Node itself. */
export function followTimers(): void {
  hook.enable();
}

export function stopFollowing(): void {
  hook.disable();
  running.clear();
}

/** The clock that all code sleeps by. */
const CLOCK = '/src/exchange/system-clock.ts';

/** Index of the frame that started a timer: after those of Node and of the clock. */
function callerOf(stack: string | undefined): string {
  const frames = (stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  const caller = frames.find((line) => !line.includes('node:') && !line.includes(CLOCK));
  return (caller ?? 'Node itself').replace('    at ', '').trim();
}

/** The test runner starts timers at any time, and ends them itself. */
function isRunners(caller: string): boolean {
  return /\/node_modules\/(?:vitest|@vitest)\//.test(caller);
}

/** Timers that keep this process alive and do not belong to the test runner, by identity: where each was started. */
export function runningTimers(): Map<number, string> {
  const found = new Map<number, string>();
  for (const [id, { timer, trace }] of running) {
    if (!timer.hasRef()) continue;
    const caller = callerOf(trace.stack);
    if (!isRunners(caller)) found.set(id, caller);
  }
  return found;
}

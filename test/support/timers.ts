import { createHook } from 'node:async_hooks';

/** Frames above the one that asked for a timer, and vitest's and node's own below it, fit into this. */
const FRAMES = 30;

interface Started {
  readonly timer: NodeJS.Timeout;
  /** Formatted only when asked for: that is the expensive part. */
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
/** Follows every timer of this process until `stopFollowing`, also those of libraries and of Node itself. */
export function followTimers(): void {
  hook.enable();
}

export function stopFollowing(): void {
  hook.disable();
  running.clear();
}

/** The clock that everybody sleeps by. */
const CLOCK = '/src/exchange/system-clock.ts';

/** Where in a stack the code begins that asked for a timer: past Node's own frames, and those of the clock. */
function callerOf(stack: string | undefined): string {
  const frames = (stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  const caller = frames.find((line) => !line.includes('node:') && !line.includes(CLOCK));
  return (caller ?? 'Node itself').replace('    at ', '').trim();
}

/** The test runner starts timers at all times, and ends them by itself. */
function isRunners(caller: string): boolean {
  return /\/node_modules\/(?:vitest|@vitest)\//.test(caller);
}

/** Timers that keep this process alive and are not the test runner's own, by identity: where each was started. */
export function runningTimers(): Map<number, string> {
  const found = new Map<number, string>();
  for (const [id, { timer, trace }] of running) {
    if (!timer.hasRef()) continue;
    const caller = callerOf(trace.stack);
    if (!isRunners(caller)) found.set(id, caller);
  }
  return found;
}

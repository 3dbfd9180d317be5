import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Bounds V8's young generation, in which objects begin. V8 doubles it whenever much survives, as while modules are loaded,
 * up to 128 MB on machines with much memory, and gives hardly anything back: most of what a daemon of three accounts held
 * was pages of it that were written once. Here it stays as V8 starts with it (2 MB) until the daemon watches, and then
 * doubles only up to `MOST_BYTES`. `--max-semi-space-size` would say the same, but is taken by the command line of Node alone.
 */
export interface YoungGeneration {
  /** The daemon is started: from now on it may grow, within its bound. */
  follow(): void;
  /** As V8 has it. */
  release(): void;
}

/** Twice the largest garbage of polls that are under way at the same time, at 1,000 polls a second. */
const MOST_BYTES = 8 * 1_048_576;
const LOOK_MS = 1_000;

export function boundYoungGeneration(): YoungGeneration {
  let factor = 2;
  const growBy = (next: 1 | 2): void => {
    if (next === factor) return;
    factor = next;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  growBy(1);
  let timer: NodeJS.Timeout | undefined;
  return {
    follow() {
      const look = (): void => growBy(youngBytes() < MOST_BYTES ? 2 : 1);
      look();
      timer ??= setInterval(look, LOOK_MS).unref();
    },
    release() {
      clearInterval(timer);
      growBy(2);
    },
  };
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

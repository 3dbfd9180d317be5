import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

const MB = 1_048_576;
const LEAST_BYTES = 2 * MB;
const MOST_BYTES = 16 * MB;
/** What polls under way at the same time leave behind has to die young at 1,000 accounts, too. */
const BYTES_PER_ACCOUNT = MOST_BYTES / 1_000;
const LOOK_MS = 1_000;

/**
 * Bounds V8's young generation, in which objects begin. V8 doubles it whenever much survives, as while modules are loaded,
 * up to 128 MB on machines with much memory, and gives hardly anything back: most of what a daemon of three accounts held
 * was pages of it that were written once. Here it stays as V8 starts with it (2 MB) until the daemon watches, and then
 * doubles only until it has `MOST_BYTES`, or less where few accounts are watched. `--max-semi-space-size` would say the
 * same, but is taken by the command line of Node alone.
 */
export function boundYoungGeneration() {
  let factor = 2;
  const growBy = (next: 1 | 2): void => {
    if (next === factor) return;
    factor = next;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  growBy(1);
  let timer: NodeJS.Timeout | undefined;
  return {
    /** The daemon is started: from now on it may grow, within the bound for so many accounts. */
    follow(accounts: () => number): void {
      const look = (): void => growBy(2 * youngBytes() < boundFor(accounts()) ? 2 : 1);
      look();
      timer ??= setInterval(look, LOOK_MS).unref();
    },
    /** As V8 has it. */
    release(): void {
      clearInterval(timer);
      growBy(2);
    },
  };
}

function boundFor(accounts: number): number {
  return Math.min(Math.max(accounts * BYTES_PER_ACCOUNT, LEAST_BYTES), MOST_BYTES);
}

/** Held now. The half that is empty between two collections may be missing. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

const MB = 1_048_576;
const LEAST_BYTES = 2 * MB;
const MOST_BYTES = 16 * MB;
/** Garbage of concurrent polls has to die young at 1,000 accounts, too. */
const BYTES_PER_ACCOUNT = MOST_BYTES / 1_000;
const LOOK_MS = 1_000;

/**
 * Bounds V8's young generation, in which objects are allocated. V8 doubles it whenever much survives, as while modules
 * are loaded, up to 128 MB on machines with much memory, and returns hardly any of it: most memory of a daemon with
 * three accounts was such pages, written once. Here it keeps V8's initial size (2 MB) until the daemon watches. Then it
 * doubles only up to `MOST_BYTES`, or less if few accounts are watched. `--max-semi-space-size` would do the same, but
 * only Node's command line accepts it.
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
    /** Call it when the daemon has started: lets the generation grow within the bound for this many accounts. */
    follow(accounts: () => number): void {
      const look = (): void => growBy(2 * youngBytes() < boundFor(accounts()) ? 2 : 1);
      look();
      timer ??= setInterval(look, LOOK_MS).unref();
    },
    /** Restores V8's default. */
    release(): void {
      clearInterval(timer);
      growBy(2);
    },
  };
}

function boundFor(accounts: number): number {
  return Math.min(Math.max(accounts * BYTES_PER_ACCOUNT, LEAST_BYTES), MOST_BYTES);
}

/** Bytes held at present. The half that is empty between two collections may be missing. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

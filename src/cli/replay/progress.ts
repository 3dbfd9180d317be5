import { type CliIo, paint, printNote } from '../io.ts';

const WIDTH = 24;
const EVERY_MS = 100;
const CLEAR_LINE = '\r\u001B[K';

/** A progress line on standard error that is redrawn in place; nothing if that is not a terminal. */
export function createProgress(io: Pick<CliIo, 'stderr' | 'isTty' | 'env'>, nowMs: () => number = Date.now) {
  if (!io.isTty.stderr || io.env['TERM'] === 'dumb') return { show: () => undefined, end: () => undefined };
  let shownAtMs = Number.NEGATIVE_INFINITY;
  return {
    show(share: number, what: string): void {
      if (nowMs() - shownAtMs < EVERY_MS) return;
      shownAtMs = nowMs();
      const done = Math.round(Math.min(1, share) * WIDTH);
      const bar = `${'━'.repeat(done)}${'─'.repeat(WIDTH - done)}`;
      io.stderr.write(`${CLEAR_LINE}${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${what}`);
    },
    /** Removes the line. */
    end(): void {
      if (shownAtMs > 0) io.stderr.write(CLEAR_LINE);
    },
  };
}

interface Opened<T> {
  /** Notes on the input for the reader. */
  readonly notes: readonly string[];
  run(options: {
    readonly signal: AbortSignal;
    readonly onProgress: (share: number, what: string) => void;
  }): Promise<T>;
}

export async function runWithProgress<T>(io: CliIo, opened: Opened<T>): Promise<T> {
  for (const note of opened.notes) printNote(io, paint(io, 'stderr', 'dim', note));
  const progress = createProgress(io);
  return await opened
    .run({ signal: io.signal, onProgress: (share, what) => progress.show(share, what) })
    .finally(() => progress.end());
}

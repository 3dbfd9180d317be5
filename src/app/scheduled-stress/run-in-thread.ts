import { Worker } from 'node:worker_threads';
import { unlessAborted } from '../../core/ports/within.ts';
import type { StressCase } from '../../replay/stress/stress.ts';
import { threadProgram } from '../thread-program.ts';
import type { StressThreadInput, StressThreadWord } from './play-held-book.ts';

export interface ThreadBounds {
  readonly timeLimitMs: number;
  readonly signal: AbortSignal;
}

/** The thread's input cannot be played, for example because the config on disk has changed. */
export class StressRefusedError extends Error {
  readonly code = 'stress-refused';

  constructor(lines: readonly string[]) {
    super(lines.join('; '));
    this.name = 'StressRefusedError';
  }
}

const PROGRAM = threadProgram('stress-thread', import.meta.url);

/** A book that needs more fails alone and leaves the daemon's memory alone. */
const LIMITS = { maxOldGenerationSizeMb: 512 };

/** Has no secrets. Passes the compile cache on, as compiling is half the cost of a small book. */
function threadEnvironment(): NodeJS.ProcessEnv {
  const folder = process.env['NODE_COMPILE_CACHE'];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

/**
 * Plays in a thread, which has ended when this settles; `cases` are those played by then. `late`: it ended at its time
 * limit. `stopped`: by the signal. @throws StressRefusedError, or the thread's own error
 */
export async function runInThread(input: StressThreadInput, { timeLimitMs, signal }: ThreadBounds) {
  if (signal.aborted) return { end: 'stopped' as const, cases: [] };
  const worker = new Worker(PROGRAM, {
    name: 'stress',
    workerData: input,
    env: threadEnvironment(),
    resourceLimits: LIMITS,
  });
  const cases: StressCase[] = [];
  const bound = AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]);
  try {
    const end = await unlessAborted(bound, played(worker, cases), () =>
      signal.aborted ? 'stopped' : 'late',
    );
    return { end, cases };
  } finally {
    await worker.terminate();
  }
}

function played(worker: Worker, cases: StressCase[]): Promise<'finished'> {
  return new Promise((resolve, reject) => {
    worker.on('message', (word: StressThreadWord) => {
      if (word.kind === 'played') cases.push(word.played);
      else reject(new StressRefusedError(word.lines));
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      if (code === 0) resolve('finished');
      else reject(new Error(`the thread of the stress test ended with ${code}`));
    });
  });
}

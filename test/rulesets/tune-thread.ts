import { parentPort, workerData } from 'node:worker_threads';
import { candidateConfig } from './candidate-config.ts';
import { playBare, playCase } from './play-case.ts';
import type { TunePlan } from './search.ts';
import type { TuneAnswer, TuneWork } from './tune-pool.ts';

/** Worker thread of a search: plays one case after another. */

const port = parentPort;
if (port === null) throw new Error('tune-thread.ts runs in a worker thread');
const { cases, base } = workerData as Pick<TunePlan, 'cases' | 'base'>;

port.on('message', (work: TuneWork) => {
  void answerTo(work).then((answer) => port.postMessage(answer));
});

async function answerTo({ index, candidate, durationMs }: TuneWork): Promise<TuneAnswer> {
  try {
    const one = cases[index];
    if (one === undefined) throw new RangeError(`there is no case ${index}`);
    const outcome =
      candidate === undefined
        ? await playBare(one)
        : await playCase(
            one,
            { file: base.file, text: candidateConfig(base.text, candidate, one.account.id) },
            durationMs,
          );
    return { kind: 'played', outcome };
  } catch (error) {
    const { message, code } = error as { readonly message: string; readonly code?: unknown };
    return { kind: 'failed', message, ...(typeof code === 'string' ? { code } : {}) };
  }
}

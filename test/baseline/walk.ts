import { Worker } from 'node:worker_threads';
import { answerOf } from '../support/threads.ts';
import type { Figure } from './figures.ts';

/** How a tick walks through the code: each function counts once, where it is first entered. */
export interface Walk {
  readonly functions: number;
  readonly files: number;
  /** How often the walk comes back to a file that it had already left. */
  readonly returns: number;
}

/** By the kind of tick; or why there is none. */
export type WalkAnswer = Readonly<Record<'calm' | 'reducing', Walk>> | { readonly error: string };

/** Counts a walk: the files of functions, in the order in which they were entered. */
export function walkOf(entered: readonly { readonly name: string; readonly file: string }[]): Walk {
  const [functions, files] = [new Set<string>(), new Set<string>()];
  let [returns, at] = [0, ''];
  for (const { name, file } of entered) {
    if (functions.has(`${file} ${name}`)) continue;
    functions.add(`${file} ${name}`);
    if (file === at) continue;
    if (files.has(file)) returns += 1;
    files.add(file);
    at = file;
  }
  return { functions: functions.size, files: files.size, returns };
}

/** Plays a world in a thread that follows which functions are entered. @throws an error when it meets no such tick */
export async function measureWalk(signal: AbortSignal): Promise<readonly Figure[]> {
  const worker = new Worker(new URL('./walk-thread.ts', import.meta.url));
  try {
    const answer = await answerOf<WalkAnswer>(worker, signal);
    if ('error' in answer) throw new Error(answer.error);
    const { calm, reducing } = answer;
    return [...figuresOf('a calm tick', calm), ...figuresOf('a tick that decides to reduce', reducing)];
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  } finally {
    await worker.terminate();
  }
}

function figuresOf(tick: string, { functions, files, returns }: Walk): readonly Figure[] {
  return [
    { part: 'walk', what: `${tick}: files`, value: files },
    { part: 'walk', what: `${tick}: returns to a file already left`, value: returns },
    { part: 'walk', what: `${tick}: functions`, value: functions },
  ];
}

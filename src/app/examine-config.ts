import { Worker } from 'node:worker_threads';
import { type LoadResult, loadConfig } from '../config/load-config.ts';
import { nodeSurroundings } from '../config/node-files.ts';
import type { Problem } from '../config/problem.ts';
import type { ConfigSurroundings, FileReading } from '../config/surroundings.ts';
import { unlessAborted } from '../core/ports/within.ts';
import { threadProgram } from './thread-program.ts';

export interface ExaminedInput {
  readonly file: string;
  readonly reading: FileReading;
  readonly env: ConfigSurroundings['env'];
  readonly needsKeys: boolean;
}

/** What the thread posts. Empty: the config can be loaded. */
export type ExaminedWord = readonly Problem[];

/** A shorter text of any content blocks the event loop for less than 50 ms; `npm run fuzz` checks that. */
export const LONG_CONFIG_CHARACTERS = 20_000;
const TIME_LIMIT_MS = 120_000;

const PROGRAM = threadProgram('config-thread', import.meta.url);

/**
 * Loads a config while the daemon runs. A long text is examined in a thread first, so that a refused one never blocks
 * the event loop; a usable one is then loaded here, from the same text.
 * @throws the reason of the signal
 */
export async function examineConfig(
  file: string,
  env: ConfigSurroundings['env'],
  signal: AbortSignal,
  needsKeys = true,
): Promise<LoadResult> {
  const surroundings = nodeSurroundings(env);
  const reading = surroundings.readFile(file);
  if (reading.kind === 'read' && reading.text.length > LONG_CONFIG_CHARACTERS) {
    const problems = await examinedInThread({ file, reading, env, needsKeys }, signal);
    if (problems.length > 0) return { kind: 'refused', problems };
  }
  return loadConfig(file, readAs(surroundings, file, reading), needsKeys);
}

/** Surroundings in which `file` has the text already read, not its present one. */
export function readAs(
  surroundings: ConfigSurroundings,
  file: string,
  reading: FileReading,
): ConfigSurroundings {
  return { ...surroundings, readFile: (asked) => (asked === file ? reading : surroundings.readFile(asked)) };
}

async function examinedInThread(input: ExaminedInput, signal: AbortSignal): Promise<readonly Problem[]> {
  signal.throwIfAborted();
  const worker = new Worker(PROGRAM, { name: 'config', workerData: input, env: {} });
  const ended = Promise.withResolvers<readonly Problem[]>();
  const refuse = (why: string): void => ended.resolve([unexamined(input.file, why)]);
  worker.once('message', (problems: ExaminedWord) => ended.resolve(problems));
  worker.once('error', (error) => refuse(`one at which its reader failed: ${(error as Error).message}`));
  worker.once('exit', (code) => refuse(`one at which its reader ended with ${code}`));
  try {
    const late = AbortSignal.timeout(TIME_LIMIT_MS);
    return await unlessAborted(AbortSignal.any([signal, late]), ended.promise, () => {
      signal.throwIfAborted();
      return [unexamined(input.file, `one that takes longer than ${TIME_LIMIT_MS} ms`)];
    });
  } finally {
    await worker.terminate();
  }
}

function unexamined(file: string, got: string): Problem {
  const message = `expected a config file here, got ${got}`;
  const place = { file, line: 1, column: 1 };
  return { severity: 'error', code: 'file-unreadable', place, path: '', message };
}

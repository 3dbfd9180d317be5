import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { ExaminedInput, ExaminedWord } from './examine-config.ts';

/** Worker thread that examines a long config. */

const port = parentPort;
if (port === null) throw new Error('config-thread.ts runs in a worker thread');
// On Linux the priority applies to this thread only: polls go first.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const [{ loadConfig }, { nodeSurroundings }, { readAs }] = await Promise.all([
  import('../config/load-config.ts'),
  import('../config/node-files.ts'),
  import('./examine-config.ts'),
]);
const { file, reading, env, needsKeys } = workerData as ExaminedInput;
const result = loadConfig(file, readAs(nodeSurroundings(env), file, reading), needsKeys);
const word: ExaminedWord = result.kind === 'refused' ? result.problems : [];
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
port.postMessage(word);

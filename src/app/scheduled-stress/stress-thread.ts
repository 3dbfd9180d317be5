import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { StressThreadInput } from './play-held-book.ts';

/** The program of the thread in which a stress test runs. */

const port = parentPort;
if (port === null) throw new Error('stress-thread.ts runs in a worker thread');
// On Linux a priority is a thread's own: polls come first on a busy machine. Elsewhere it would be the process's. Not
// the lowest, which gets next to nothing where others are busy all the time. Before the rest is loaded, as loading it
// takes a second of processor time.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const { playHeldBook } = await import('./play-held-book.ts');
await playHeldBook(workerData as StressThreadInput, (word) => port.postMessage(word));

import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { StressThreadInput } from './play-held-book.ts';

/** The program of the thread in which a stress test runs. */

const port = parentPort;
if (port === null) throw new Error('stress-thread.ts runs in a worker thread');
// On Linux a priority is a thread's own: polls come first. Set before the rest is loaded, which takes a second.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const { playHeldBook } = await import('./play-held-book.ts');
await playHeldBook(workerData as StressThreadInput, (word) => port.postMessage(word));

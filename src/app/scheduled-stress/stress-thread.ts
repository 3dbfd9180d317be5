import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { StressThreadInput } from './play-held-book.ts';

/** Worker thread of a stress test. */

const port = parentPort;
if (port === null) throw new Error('stress-thread.ts runs in a worker thread');
// On Linux the priority applies to this thread only: polls go first. Set before loading the rest, which takes a second.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const { playHeldBook } = await import('./play-held-book.ts');
await playHeldBook(workerData as StressThreadInput, (word) => port.postMessage(word));

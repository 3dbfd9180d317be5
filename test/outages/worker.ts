import { parentPort } from 'node:worker_threads';
import type { Outage } from './outage.ts';
import { play } from './play.ts';

/** Plays the outages that it receives, one after another, and answers with each result. */
const port = parentPort;
const over = new AbortController();
port?.on('message', (asked: Outage | 'stop') => {
  if (asked === 'stop') return over.abort();
  play(asked, over.signal).then(
    (judged) => port.postMessage(judged),
    // An outage that cannot be played to its end is a finding as well.
    (error: unknown) =>
      port.postMessage({ outage: asked, broken: String(error), isStopped: over.signal.aborted }),
  );
});

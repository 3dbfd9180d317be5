import { parentPort } from 'node:worker_threads';
import { faultWorld } from './fault-world.ts';
import { judge } from './judge.ts';

/** Plays the worlds whose seeds it receives, one after another, and answers with each result. */
const port = parentPort;
port?.on('message', (seed: number) => {
  judge(faultWorld(seed)).then(
    (judged) => port.postMessage(judged),
    // A world that cannot be played to its end is a finding as well.
    (error: unknown) => port.postMessage({ seed, broken: String(error) }),
  );
});

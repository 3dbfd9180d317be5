import { randomInt } from 'node:crypto';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    fastCheckSeed: number;
  }
}

/** One seed for all properties of a run, printed so that a failure can be replayed. */
export function setup(project: TestProject): void {
  const given = process.env['FC_SEED'];
  const seed = given === undefined || given === '' ? randomInt(2 ** 31) : Number(given);
  if (!Number.isInteger(seed)) throw new Error(`FC_SEED must be a whole number; found ${given}.`);
  process.stderr.write(`Property tests run with FC_SEED=${seed}; the same seed replays them.\n`);
  project.provide('fastCheckSeed', seed);
}

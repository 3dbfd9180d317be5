import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    fastCheckSeed: number;
  }
}

/** One seed for all properties and slices of a run, printed so that a failure can be replayed. */
export function setup(project: TestProject): void {
  const given = process.env['FC_SEED'];
  const seed = given === undefined || given === '' ? seedOfCommit() : Number(given);
  if (!Number.isInteger(seed)) throw new Error(`FC_SEED must be a whole number; found ${given}.`);
  process.stderr.write(`Property tests and slices run with FC_SEED=${seed}; the same seed replays them.\n`);
  project.provide('fastCheckSeed', seed);
}

/**
 * The seed follows from the commit, so that a second run repeats the first and the next commit tries something else.
 */
function seedOfCommit(): number {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number.parseInt(commit.slice(0, 7), 16);
  } catch {
    // Not a Git checkout.
    return 1;
  }
}

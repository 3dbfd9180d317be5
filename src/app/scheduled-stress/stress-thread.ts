import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { StartingBook } from '../../replay/positions/starting-account.ts';
import { CONDITIONS } from '../../replay/scenarios/conditions.ts';
import { SCENARIO_LIBRARY } from '../../replay/scenarios/library.ts';
import { runStress, type StressCase } from '../../replay/stress/stress.ts';
import { stressPlan } from '../replay/open-stress.ts';
import { bookOf, ReplayInputError } from '../replay/replay-input.ts';

/** The program of the thread in which a stress test runs: what it is handed, and what it says. */

export interface StressThreadInput {
  readonly configFile: string;
  readonly accounts: readonly StartingBook[];
  readonly scenarios: readonly string[];
  readonly conditions: readonly string[];
}

export type StressThreadWord =
  | { readonly kind: 'played'; readonly played: StressCase }
  | { readonly kind: 'refused'; readonly lines: readonly string[] };

/** Always the same: from one run to the next only what the accounts hold makes a difference. */
const SEED = 1;

async function main(input: StressThreadInput, say: (word: StressThreadWord) => void): Promise<void> {
  // On Linux a priority is a thread's own: polls come first on a busy machine. Elsewhere it would be the process's.
  // Not the lowest, which gets next to nothing where others are busy all the time.
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const { configFile, accounts } = input;
  const chosen = (ids: readonly string[], { id }: { readonly id: string }): boolean => ids.includes(id);
  // No secrets are needed, so none are handed to the thread.
  const book = await bookOf(configFile, accounts, {});
  const plan = stressPlan(configFile, book, {
    seed: SEED,
    prices: {},
    scenarios: SCENARIO_LIBRARY.filter((one) => chosen(input.scenarios, one)),
    conditions: CONDITIONS.filter((one) => chosen(input.conditions, one)),
    grid: [],
    betas: {},
    notes: [],
  });
  await runStress(plan, {
    nowMs: () => performance.now(),
    onCase: (played) => say({ kind: 'played', played }),
  });
}

const port = parentPort;
if (port === null) throw new Error('stress-thread.ts runs in a worker thread');
try {
  await main(workerData as StressThreadInput, (word) => port.postMessage(word));
} catch (error) {
  if (!(error instanceof ReplayInputError)) throw error;
  port.postMessage({ kind: 'refused', lines: error.lines } satisfies StressThreadWord);
}

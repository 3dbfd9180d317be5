import type { StartingBook } from '../../replay/positions/starting-account.ts';
import { CONDITIONS } from '../../replay/scenarios/conditions.ts';
import { SCENARIO_LIBRARY } from '../../replay/scenarios/library.ts';
import { runStress, type StressCase } from '../../replay/stress/stress.ts';
import { stressPlan } from '../replay/open-stress.ts';
import { bookOf, ReplayInputError } from '../replay/replay-input.ts';

export interface StressThreadInput {
  readonly configFile: string;
  readonly accounts: readonly StartingBook[];
  readonly scenarios: readonly string[];
  readonly conditions: readonly string[];
}

export type StressThreadWord =
  | { readonly kind: 'played'; readonly played: StressCase }
  | { readonly kind: 'refused'; readonly lines: readonly string[] };

/** Constant: runs differ only by the holdings. */
const SEED = 1;

/** Plays the cases of the config against the holdings. */
export async function playHeldBook(
  input: StressThreadInput,
  say: (word: StressThreadWord) => void,
): Promise<void> {
  const { configFile, accounts } = input;
  const chosen = (ids: readonly string[], { id }: { readonly id: string }): boolean => ids.includes(id);
  try {
    // Needs no secrets, so the thread gets none.
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
  } catch (error) {
    if (!(error instanceof ReplayInputError)) throw error;
    say({ kind: 'refused', lines: error.lines });
  }
}

import path from 'node:path';
import { performance } from 'node:perf_hooks';
import type { StartingAccount } from '../../replay/positions/starting-account.ts';
import { ANCHORS, type CandidateSpace, candidatesOf } from '../../replay/tune/candidates.ts';
import { reachOf } from '../../replay/tune/reach.ts';
import { searchFront, type TuneHooks, type TunePlan, type TuneRecord } from '../../replay/tune/search.ts';
import type { Candidate } from '../../replay/tune/tune-case.ts';
import { tuneCases } from '../../replay/tune/tune-cases.ts';
import { walkWindow, windowAt, windowsOf } from '../../replay/tune/tune-windows.ts';
import type { PathModel } from '../../simulator/prices/price-path.ts';
import type { LatencySpec } from '../../world/chance.ts';
import { type Holdings, pricesOf, ReplayInputError, readBook, termsOf } from '../replay/replay-input.ts';
import { openTunePool } from './tune-pool.ts';

export interface TuneOptions {
  readonly config: string;
  readonly prices: readonly { readonly market: string; readonly file: string }[];
  readonly holdings: Holdings;
  readonly paths: readonly PathModel[];
  readonly space: CandidateSpace;
  /** Length of a window of prices. */
  readonly windowMs: number;
  /** Maximum number of wild windows played, and of calm ones. */
  readonly windows: number;
  /** Quiet windows from the simulator's random walk, for each of three volatilities. */
  readonly walks: number;
  readonly latency: LatencySpec;
  readonly seed: number;
  readonly threads: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface OpenTune {
  readonly notes: readonly string[];
  run(hooks: Omit<TuneHooks, 'nowMs'>): Promise<TuneRecord>;
}

/** Standard deviation of a price per day, in the quietest, usual and lively trading. */
const WALKS = [0.01, 0.025, 0.05] as const;
const OWN_RULES = 'the rules of the config';

/** Reads and checks all inputs of a search over an operator's book. @throws ReplayInputError */
export async function openTune(options: TuneOptions): Promise<OpenTune> {
  const { config: file, prices, env, seed, windowMs } = options;
  const book = await readBook(file, options.holdings, env);
  const read = await pricesOf(prices);
  const held = book.accounts.flatMap(({ positions }) => positions.map(({ market }) => market));
  const unpriced = [...new Set(held)].filter((market) => !prices.some((one) => one.market === market));
  if (unpriced.length > 0)
    throw new ReplayInputError(unpriced.map((market) => `expected --prices ${market}=FILE, found none`));
  const lengthMs = Math.min(windowMs, read.toMs - read.fromMs);
  const { wild, calm } = windowsOf('prices', read.markets, { lengthMs, count: options.windows });
  const whole = windowAt('prices', read.markets, read.fromMs, lengthMs);
  const starts = read.markets.map(({ market, first }) => ({ market, start: first }));
  const walks = Array.from({ length: options.walks }, (_, number) =>
    WALKS.map((dailyVolatility) => walkWindow(starts, { dailyVolatility, durationMs: lengthMs, number })),
  ).flat();
  const base = { file: path.resolve(file), text: book.acting.text };
  const plan: TunePlan = {
    cases: tuneCases({
      // Trades are no candles, so no wild window is found: the beginning is played.
      wild: wild.length === 0 && whole !== undefined ? [whole] : wild,
      quiet: [...calm, ...walks],
      models: options.paths,
      terms: termsOf(book.config, held),
      conditions: { latency: options.latency, faults: [] },
      seed,
      accounts: book.accounts.map((account) => ({ book: account.id, over: () => withoutEntries(account) })),
    }),
    candidates: [...ANCHORS, ownRules(base), ...candidatesOf(options.space)],
    base,
    seed,
  };
  return {
    notes: [...book.notes, ...read.notes],
    async run(hooks) {
      const pool = openTunePool(plan, options.threads);
      const stop = (): void => void pool.close();
      hooks.signal.addEventListener('abort', stop, { once: true });
      try {
        return await searchFront(plan, pool, { ...hooks, nowMs: () => performance.now() });
      } finally {
        hooks.signal.removeEventListener('abort', stop);
        await pool.close();
      }
    },
  };
}

/** Over prices of another time a position starts at their first price: only its size and collateral count. */
function withoutEntries(account: StartingAccount): StartingAccount {
  const positions = account.positions.map(({ market, side, amount }) => ({ market, side, amount }));
  return { ...account, positions };
}

/** The accounts' present rules, for every table. */
function ownRules(base: TunePlan['base']): Candidate {
  const own: Candidate = { name: OWN_RULES, rules: [], uses: 'own', isAnchor: true };
  const reach = reachOf(base, own);
  return reach === undefined ? own : { ...own, reach };
}

import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { stockOf } from '../../core/quantities/units.ts';
import { pricedMarkets } from '../../replay/exposure.ts';
import type { StartingBook } from '../../replay/positions/starting-account.ts';
import { condensed } from '../../replay/scenarios/condensed.ts';
import { CONDITIONS } from '../../replay/scenarios/conditions.ts';
import { SCENARIO_LIBRARY, SHOCK_GRID } from '../../replay/scenarios/library.ts';
import type { Scenario } from '../../replay/scenarios/scenario.ts';
import { runStress, type StressHooks, type StressPlan } from '../../replay/stress/stress.ts';
import type { ReplayOptions } from './open-replay.ts';
import { type Book, ReplayInputError, readBook, termsOf } from './replay-input.ts';

export interface StressOptions extends Pick<ReplayOptions, 'config' | 'holdings' | 'seed' | 'env'> {
  /** Start prices by market; they override those of the holdings. */
  readonly prices: Readonly<Record<string, string>>;
  /** How many times as far as the majors a market moves, if that is not usual for its coin. */
  readonly betas: Readonly<Record<string, number>>;
  /** Ids; empty: all scenarios and the grid. */
  readonly scenarios: readonly string[];
}

/** All scenarios, for help and lists. */
export const STRESS_SCENARIOS: readonly Scenario[] = [...SCENARIO_LIBRARY, ...SHOCK_GRID];

/** Start of every scenario; no result depends on the date. */
const START_MS = Date.UTC(2026, 0, 1);

/** Reads and checks all inputs of a stress test. @throws ReplayInputError */
export async function openStress(options: StressOptions) {
  const { config: file, env, seed } = options;
  const book = await readBook(file, options.holdings, env);
  refuseStrangers(book.accounts, options);
  const wanted = (scenario: Scenario): boolean =>
    options.scenarios.length === 0 || options.scenarios.includes(scenario.id);
  const notes = [...book.notes, ...CONDITIONS.map(({ id, about }) => `Exchange ${id}: ${about}.`)];
  const plan = stressPlan(file, book, {
    seed,
    prices: options.prices,
    scenarios: SCENARIO_LIBRARY.filter(wanted),
    conditions: CONDITIONS,
    grid: SHOCK_GRID.filter(wanted),
    betas: options.betas,
    notes,
  });
  return {
    notes: book.notes,
    run: (hooks: Omit<StressHooks, 'nowMs'>) => runStress(plan, { ...hooks, nowMs: () => performance.now() }),
  };
}

export type OpenStress = Awaited<ReturnType<typeof openStress>>;

/** Refuses a price or beta of a market that matters to no account: most likely its name is mistyped. */
function refuseStrangers(accounts: readonly StartingBook[], { prices, betas }: StressOptions): void {
  const markets = pricedMarkets(accounts);
  const coins = new Set(markets.map(stockOf));
  const problems = [
    ...Object.keys(prices)
      .filter((market) => !coins.has(stockOf(market)))
      .map((market) => `--price ${market}`),
    ...Object.keys(betas)
      .filter((market) => !markets.includes(market))
      .map((market) => `--beta ${market}`),
  ];
  if (problems.length > 0)
    throw new ReplayInputError(
      problems.map((one) => `${one}: expected a market that matters to the accounts (${markets.join(', ')})`),
    );
}

type Choice = Pick<StressPlan, 'seed' | 'prices' | 'scenarios' | 'conditions' | 'grid' | 'betas' | 'notes'>;

/** The cases to play against a book; `choice.prices` override those of the book. @throws ReplayInputError */
export function stressPlan(configFile: string, book: Book, choice: Choice): StressPlan {
  const { accounts, config, acting } = book;
  const markets = accounts.flatMap(({ positions }) => positions.map(({ market }) => market));
  return {
    ...choice,
    scenarios: choice.scenarios.map(condensed),
    startMs: START_MS,
    accounts,
    prices: startPrices(accounts, choice.prices),
    terms: termsOf(config, markets),
    config: { file: path.resolve(configFile), text: acting.text },
  };
}

/** Start price of every market: the given one, else the mark, the entry, or the price of the coin's other market. */
function startPrices(
  accounts: readonly StartingBook[],
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const seen = new Map<string, string>();
  for (const { positions, markPrices } of accounts) {
    for (const { market, entry } of positions)
      if (entry !== undefined && !seen.has(market)) seen.set(market, entry);
    for (const [market, price] of Object.entries(markPrices)) seen.set(market, String(price));
  }
  for (const [market, price] of Object.entries(given)) seen.set(market, price);
  const missing: string[] = [];
  const prices = pricedMarkets(accounts).flatMap((market) => {
    const sibling = [...seen].find(([other]) => stockOf(other) === stockOf(market))?.[1];
    const price = seen.get(market) ?? sibling;
    if (price === undefined) missing.push(market);
    return price === undefined ? [] : [[market, price] as const];
  });
  if (missing.length === 0) return Object.fromEntries(prices);
  throw new ReplayInputError(
    missing.map((market) => `${market}: expected its present price, found none: add --price ${market}=PRICE`),
  );
}

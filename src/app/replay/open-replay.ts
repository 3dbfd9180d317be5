import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { stockOf } from '../../core/quantities/units.ts';
import type { StartingBook } from '../../replay/positions/starting-account.ts';
import type { MarketPrices } from '../../replay/price-files.ts';
import { OWN_CONFIG } from '../../replay/record.ts';
import { type ReplayHooks, runReplay } from '../../replay/replay.ts';
import type { RunConditions } from '../../replay/run/plan.ts';
import { parseFaultText } from '../../simulator/http/fault-text.ts';
import type { FaultSpec } from '../../simulator/http/faults.ts';
import type { PathModel } from '../../simulator/prices/price-path.ts';
import { type Holdings, pricesOf, ReplayInputError, readBook, readRival, termsOf } from './replay-input.ts';

export interface ReplayOptions extends Omit<RunConditions, 'readings' | 'faults'> {
  readonly config: string;
  readonly prices: readonly { readonly market: string; readonly file: string }[];
  readonly holdings: Holdings;
  readonly against: readonly string[];
  readonly paths: readonly PathModel[];
  readonly seed: number;
  /** Unix milliseconds. */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly readings: Readonly<Record<string, unknown>>;
  /** As `kind,key=value,...` */
  readonly faults: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Reads and checks all inputs of a replay. @throws ReplayInputError, SimulatorError */
export async function openReplay(options: ReplayOptions) {
  const { prices, config: file, env } = options;
  const book = await readBook(file, options.holdings, env);
  const read = await pricesOf(prices, options);
  refuseUnpriced(book.accounts, prices);
  const held = book.accounts.flatMap(({ positions }) => positions.map(({ market }) => market));
  const terms = termsOf(book.config, [...held, ...prices.map(({ market }) => market)]);
  const rivals = await Promise.all(
    options.against.map(async (name) => ({
      name,
      file: name,
      text: (await readRival(name, book.accounts, env)).text,
    })),
  );
  const faults = options.faults.map((text) => parseFaultText(text) as FaultSpec);
  const notes = [...book.notes, ...read.notes, ...jumpNotes(book.accounts, read.markets)];
  const plan = {
    title: `Replay of ${read.markets.map(({ market }) => market).join(', ')}`,
    seed: options.seed,
    accounts: book.accounts,
    markets: read.markets,
    fromMs: read.fromMs,
    toMs: read.toMs,
    paths: options.paths,
    variants: [{ name: OWN_CONFIG, file: path.resolve(file), text: book.acting.text }, ...rivals],
    terms,
    conditions: {
      latency: options.latency,
      readings: options.readings,
      faults,
      ...(options.depth === undefined ? {} : { depth: options.depth }),
    },
    notes,
  };
  return {
    notes,
    accounts: book.accounts.map(({ id }) => id),
    run: (hooks: Omit<ReplayHooks, 'nowMs'>) => runReplay(plan, { ...hooks, nowMs: () => performance.now() }),
  };
}

export type OpenReplay = Awaited<ReturnType<typeof openReplay>>;

function refuseUnpriced(accounts: readonly StartingBook[], prices: ReplayOptions['prices']): void {
  const coins = new Set(prices.map(({ market }) => stockOf(market)));
  const problems = accounts.flatMap(({ id, positions }) =>
    positions
      .filter(({ market }) => !coins.has(stockOf(market)))
      .map(({ market }) => `account ${id} holds ${market}: expected --prices ${market}=FILE, found none`),
  );
  if (problems.length > 0) throw new ReplayInputError([...new Set(problems)]);
}

/** A larger jump gets a note: present positions over prices of another time begin with one. */
const NOTABLE_JUMP = 0.05;

function jumpNotes(accounts: readonly StartingBook[], markets: readonly MarketPrices[]): readonly string[] {
  return accounts.flatMap(({ id, markPrices }) =>
    markets.flatMap(({ market, first }) => {
      const mark = markPrices[market];
      if (mark === undefined || Math.abs(Number(first) / mark - 1) < NOTABLE_JUMP) return [];
      return [
        `Account ${id}: ${market} begins at ${first}, and was at ${mark} when its positions were read; stress plays crashes from present prices.`,
      ];
    }),
  );
}

import { type PathModel, pathSource } from '../simulator/prices/price-path.ts';
import type { PriceSource } from '../simulator/prices/price-source.ts';
import type { MarketTerms } from '../world/spec.ts';
import { movedMarkets, netCoins } from './exposure.ts';
import type { StartingAccount } from './positions/starting-account.ts';
import type { MarketPrices } from './price-files.ts';
import { type ReplayRecord, type RunRecord, UNPROTECTED } from './record.ts';
import { type ConfigText, priceStepOf, type RunConditions, type RunPlan } from './run/plan.ts';
import { LOOK_FOR_CURVES_MS, runWorld } from './run/run-world.ts';

export interface ReplayPlan extends Pick<ReplayRecord, 'title' | 'seed' | 'fromMs' | 'toMs' | 'notes'> {
  readonly accounts: readonly StartingAccount[];
  readonly markets: readonly MarketPrices[];
  readonly paths: readonly PathModel[];
  /** Variants besides `unprotected`, which always comes first. */
  readonly variants: readonly ({ readonly name: string } & ConfigText)[];
  readonly terms: Readonly<Record<string, MarketTerms>>;
  readonly conditions: RunConditions;
}

export interface ReplayHooks {
  readonly signal?: AbortSignal;
  /** Share of the whole replay that is done, 0 to 1, and what is being played. */
  readonly onProgress?: (share: number, what: string) => void;
  /** Milliseconds of real time, from any origin. */
  readonly nowMs: () => number;
}

/** Plays every variant over every path. If stopped early, the record says how far all of them came. */
export async function runReplay(plan: ReplayPlan, hooks: ReplayHooks): Promise<ReplayRecord> {
  const startedMs = hooks.nowMs();
  const durationMs = plan.toMs - plan.fromMs;
  const list = plansOf(plan);
  const runs: RunRecord[] = [];
  const notes = [...plan.notes];
  let stoppedAtMs: number | undefined;
  for (const [index, one] of list.entries()) {
    if (hooks.signal?.aborted === true) {
      stoppedAtMs ??= plan.fromMs;
      break;
    }
    const name = `${one.variant}, ${one.path}`;
    const { record, elapsedMs, errors } = await runWorld(one, {
      signal: hooks.signal,
      onProgress: (atMs) => hooks.onProgress?.((index + atMs / durationMs) / list.length, name),
    });
    runs.push(record);
    for (const error of errors.slice(0, 3))
      notes.push(`${name}: ${error instanceof Error ? error.message : String(error)}.`);
    if (elapsedMs < durationMs) stoppedAtMs = plan.fromMs + elapsedMs;
  }
  const { title, seed, fromMs, toMs } = plan;
  const wallMs = Math.round(hooks.nowMs() - startedMs);
  const stopped = stoppedAtMs === undefined ? {} : { stoppedAtMs };
  return { title, seed, wallMs, fromMs, toMs, ...stopped, notes, runs };
}

function plansOf(plan: ReplayPlan): readonly RunPlan[] {
  const { seed, fromMs: startMs, toMs, accounts, conditions, terms, markets } = plan;
  const hasCandles = markets.some(({ series }) => series.kind === 'candles');
  const paths: readonly (PathModel | 'trades')[] = hasCandles ? plan.paths : ['trades'];
  const startPrices = Object.fromEntries(
    movedMarkets(markets, accounts).map(({ market, prices }) => [market, prices.first]),
  );
  const planOf = (path: PathModel | 'trades', variant?: ReplayPlan['variants'][number]): RunPlan => ({
    variant: variant?.name ?? UNPROTECTED,
    path,
    seed,
    startMs,
    durationMs: toMs - startMs,
    accounts,
    markets: terms,
    startPrices,
    sources: sourcesOf(plan, path),
    conditions,
    lookMs: LOOK_FOR_CURVES_MS,
    config: variant,
  });
  return paths.flatMap((path) => [undefined, ...plan.variants].map((variant) => planOf(path, variant)));
}

function sourcesOf(plan: ReplayPlan, path: PathModel | 'trades'): ReadonlyMap<string, PriceSource> {
  return new Map(
    movedMarkets(plan.markets, plan.accounts).map(({ market, prices }) => [
      market,
      pathSource({
        series: prices.series,
        model: path === 'trades' ? 'adverse' : path,
        // The extreme that hurts the net holdings of this coin over all accounts.
        adverse: netCoins(prices.market, plan.accounts) < 0 ? 'high' : 'low',
        priceStep: priceStepOf(plan.terms, prices.market),
        seed: plan.seed,
        market: prices.market,
      }),
    ]),
  );
}

import type { StartingAccount } from '../../src/replay/positions/starting-account.ts';
import type { RunConditions } from '../../src/replay/run/plan.ts';
import type { PathModel } from '../../src/simulator/prices/price-path.ts';
import type { MarketTerms } from '../../src/world/spec.ts';
import type { TuneCase } from './tune-case.ts';
import type { PriceWindow } from './tune-windows.ts';

export interface CaseChoice {
  readonly wild: readonly PriceWindow[];
  readonly quiet: readonly PriceWindow[];
  readonly models: readonly PathModel[];
  readonly terms: Readonly<Record<string, MarketTerms>>;
  readonly conditions: RunConditions;
  readonly seed: number;
  /** The holdings of each book over a window; undefined: the book does not fit these markets. */
  readonly accounts: readonly {
    readonly book: string;
    readonly over: (window: PriceWindow) => StartingAccount | undefined;
  }[];
}

/** Number of quiet windows over which accounts with several positions are played. */
const MOST_PLAYED = 6;

/** Every account over every window, on each path through the candles; over quiet windows on one path only. */
export function tuneCases(choice: CaseChoice): readonly TuneCase[] {
  const { wild, quiet, models } = choice;
  return [
    ...wild.flatMap((window) => models.flatMap((model) => casesOver(choice, window, 'market', model))),
    ...quiet.flatMap((window, index) =>
      casesOver(choice, window, 'quiet', 'bridge').filter(
        // With several positions every case must be played: a few suffice.
        ({ account }) => account.positions.length === 1 || index < MOST_PLAYED,
      ),
    ),
  ];
}

function casesOver(
  { accounts, terms, conditions, seed }: CaseChoice,
  window: PriceWindow,
  kind: TuneCase['kind'],
  model: PathModel,
): readonly TuneCase[] {
  const { id, pace, prices, fromMs, durationMs } = window;
  return accounts.flatMap(({ book, over }) => {
    const account = over(window);
    if (account === undefined) return [];
    const about = { book, kind, account, prices, model, terms, fromMs, durationMs, conditions, seed };
    return [Object.assign(about, { id: `${book}, ${id}, ${model}` }, kind === 'quiet' && pace && { pace })];
  });
}

import { fileURLToPath } from 'node:url';
import { MADE_FOR_LEVERAGE, POSITION_SETS } from '../../src/config/rules/fitting-set.ts';
import type { PathModel } from '../../src/simulator/prices/price-path.ts';
import type { LatencySpec } from '../../src/world/chance.ts';
import { accountOfBook, BOOK_ACCOUNT, STANDARD_BOOKS, type TuneBook } from './books.ts';
import { ANCHORS, type CandidateSpace, candidatesOf } from './candidates.ts';
import type { CrashPrices } from './files.ts';
import { reachOf } from './reach.ts';
import type { TunePlan } from './search.ts';
import type { Candidate } from './tune-case.ts';
import { tuneCases } from './tune-cases.ts';
import { walkWindow, windowsOf } from './tune-windows.ts';

const TERMS = {
  BTC_PERP: { amountStep: '0.001', priceStep: '0.1', minAmount: '0.001', maintenanceMargin: '0.03' },
  ETH_PERP: { amountStep: '0.01', priceStep: '0.01', minAmount: '0.01', maintenanceMargin: '0.03' },
} as const;

/** A day of quiet, usual, and lively trading: daily standard deviation of the price. */
export const WALKS = [0.01, 0.025, 0.05] as const;
const WALK_MS = 2 * 3_600_000;
const WALK_STARTS = [
  { market: 'BTC_PERP', start: '60000' },
  { market: 'ETH_PERP', start: '3000' },
];

const BASE = JSON.stringify({
  mode: 'enforce',
  exchange: { baseUrls: ['https://one.example', 'https://two.example'] },
  markets: TERMS,
  accounts: [{ id: BOOK_ACCOUNT, apiKey: { env: 'KEY' }, apiSecret: { env: 'SECRET' }, rules: [] }],
  rules: [],
});

/** The shipped sets that act on positions, and the highest leverage that docs/rule-sets.md recommends. */
export const SHIPPED: readonly Candidate[] = POSITION_SETS.map((name) => ({
  name,
  rules: [],
  uses: [{ use: name }],
  madeFor: STANDARD_BOOKS.filter(({ leverage }) => leverage <= MADE_FOR_LEVERAGE[name]).map(
    (book) => book.name,
  ),
}));

/** What a search covers in an hour: thresholds, steps, waits and standing stops, a few of each. */
export const COARSE_SPACE: CandidateSpace = {
  covers: [
    null,
    { at: 0.9 },
    {
      ladder: [
        { at: 0.6, close: 0.5 },
        { at: 0.85, close: 'rest' },
      ],
    },
  ],
  thresholds: [null, 0.03, 0.06],
  steps: [{ times: 2 }, { until: 0.3 }, { by: 1 }],
  holds: ['0s', '10s'],
};

export interface SetChoice {
  readonly crashes: readonly CrashPrices[];
  readonly books: readonly TuneBook[];
  readonly models: readonly PathModel[];
  /** Wild windows of each crash, and calm ones. */
  readonly wild: number;
  readonly calm: number;
  readonly lengthMs: number;
  /** Quiet windows of two hours of the simulator's random walk, for each volatility. */
  readonly walks: number;
  readonly dailyVolatilities: readonly number[];
  readonly latency: LatencySpec;
  readonly depth?: string;
  /** Sets that take part in every round, besides the anchors. */
  readonly kept: readonly Candidate[];
  readonly space: CandidateSpace | null;
  readonly seed: number;
}

/** The measurement behind the shipped sets: standard books over real crashes and quiet days. */
export function setPlan(choice: SetChoice): TunePlan {
  const { crashes, books, models, lengthMs, seed } = choice;
  const wild = crashes.flatMap(
    ({ id, markets }) => windowsOf(id, markets, { lengthMs, count: choice.wild }).wild,
  );
  const calm = crashes.flatMap(
    ({ id, markets }) => windowsOf(id, markets, { lengthMs, count: choice.calm }).calm,
  );
  const walks = Array.from({ length: choice.walks }, (_, number) =>
    choice.dailyVolatilities.map((dailyVolatility) =>
      walkWindow(WALK_STARTS, { dailyVolatility, durationMs: WALK_MS, number }),
    ),
  ).flat();
  const cases = tuneCases({
    wild,
    quiet: [...calm, ...walks],
    models,
    terms: TERMS,
    conditions: {
      latency: choice.latency,
      faults: [],
      ...(choice.depth === undefined ? {} : { depth: choice.depth }),
    },
    seed,
    accounts: books.map((book) => ({
      book: book.name,
      over: ({ prices }) => accountOfBook(book, prices, TERMS),
    })),
  });
  const searched = choice.space === null ? [] : candidatesOf(choice.space);
  const base = { file: fileURLToPath(new URL('../../config/breakwater.yaml', import.meta.url)), text: BASE };
  const kept = choice.kept.map((candidate) => {
    const reach = reachOf(base, candidate);
    return Object.assign({}, candidate, { isAnchor: true }, reach && { reach });
  });
  return {
    cases,
    candidates: [...ANCHORS, ...kept, ...searched],
    base,
    seed,
  };
}

/** `5x`, `5x long`, `short`; undefined if it is none of these. */
export function booksNamed(words: readonly string[]): readonly TuneBook[] | undefined {
  if (words.length === 0) return STANDARD_BOOKS;
  const chosen = STANDARD_BOOKS.filter(({ name, leverage, shape }) =>
    words.some((word) => word === name || word === `${leverage}x` || word === shape),
  );
  const isKnown = (word: string): boolean =>
    STANDARD_BOOKS.some(({ name, leverage, shape }) => [name, `${leverage}x`, shape].includes(word));
  return words.every(isKnown) ? chosen : undefined;
}

import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { AccountSpec, DaemonSpec, TimedEvent } from '../../src/world/spec.ts';
import { between, FIRST, LATEST_EVENT_MS, pick, TROUBLED_MS } from './parts.ts';

export interface Cast {
  readonly config: string;
  readonly daemons: readonly DaemonSpec[];
  readonly accounts: readonly AccountSpec[];
  /** What the owner of the first account trades, and the market that trouble comes to. */
  readonly traded: Traded;
}

export interface Traded {
  readonly market: string;
  readonly amount: string;
  /** Under hedge mode of accounts drawn; absent: as the exchange takes it. */
  readonly positionSide?: 'LONG' | 'SHORT';
}

export function eventsOf(random: SeededRandom, cast: Cast): readonly TimedEvent[] {
  const kinds = Array.from({ length: random.below(5) }, () => pick(random, EVENT_KINDS));
  const events = kinds.flatMap((make) => {
    const atMs = between(random, 1_000, LATEST_EVENT_MS);
    return make(random, { ...cast, atMs, laterMs: atMs + between(random, 200, 10_000) });
  });
  // No daemon starts with an invalid file.
  const restarts = events.some(({ kind }) => kind === 'start');
  return events.filter((event) => !(restarts && event.kind === 'reload' && event.config.includes(BROKEN)));
}

const BROKEN = 'on: nothing';

interface Moment extends Cast {
  readonly atMs: number;
  readonly laterMs: number;
}

type MakeEvents = (random: SeededRandom, moment: Moment) => readonly TimedEvent[];

/** Events of a host, the store, the market or the account; each ends before the quiet time. */
const EVENT_KINDS: readonly MakeEvents[] = [
  (random, { atMs, laterMs, daemons }) => {
    const daemon = pick(random, daemons).name;
    return [
      { atMs, kind: 'suspend', daemon },
      { atMs: laterMs, kind: 'resume', daemon },
    ];
  },
  (random, { atMs, laterMs, daemons }) => {
    const daemon = pick(random, daemons).name;
    const kind = pick(random, ['kill', 'kill', 'stop'] as const);
    return [
      { atMs, kind, daemon },
      { atMs: laterMs, kind: 'start', daemon },
    ];
  },
  (random, { atMs, daemons }) => {
    const byMs = between(random, -60_000, 60_000);
    return [{ atMs, kind: 'stepClock', daemon: pick(random, daemons).name, byMs }];
  },
  (random, { atMs, laterMs, daemons, config }) => {
    const daemon = pick(random, daemons).name;
    const broken = config.replace('on: position', BROKEN);
    const changed = config.replace('fillWithin: 2s', 'fillWithin: 3s');
    return [
      { atMs, kind: 'reload', daemon, config: pick(random, [broken, changed]) },
      { atMs: laterMs, kind: 'reload', daemon, config },
    ];
  },
  (_random, { atMs, laterMs }) => [
    { atMs, kind: 'store', state: 'down' },
    { atMs: laterMs, kind: 'store', state: 'up' },
  ],
  (random, { atMs }) => [{ atMs, kind: 'stepStoreClock', byMs: between(random, -5_000, 5_000) }],
  (random, { atMs, laterMs }) => {
    const index = random.below(2);
    return [
      {
        atMs,
        kind: 'region',
        index,
        state: { mode: pick(random, ['down', 'hang', 'unavailable'] as const) },
      },
      { atMs: laterMs, kind: 'region', index, state: { mode: 'up' } },
    ];
  },
  (random, { accounts }) => {
    const account = pick(random, [null, ...accounts.map(({ id }) => id)]);
    const atMs = between(random, 1_000, 15_000);
    return [
      { atMs, kind: 'pause', account },
      { atMs: between(random, atMs + 200, TROUBLED_MS), kind: 'unpause', account },
    ];
  },
  (random, { atMs }) => [
    { atMs, kind: 'silence', account: null, rule: pick(random, ['near', 'half']), forMs: 8_000 },
  ],
  (random, { atMs, traded: { market } }) => {
    const target = { kind: 'by', fraction: between(random, 10, 60) / 100 } as const;
    return [{ atMs, kind: 'reduce', account: FIRST, markets: [market], target, slippage: 0.01 }];
  },
  (random, { atMs, traded }) => {
    const side = pick(random, ['buy', 'sell'] as const);
    return [{ atMs, kind: 'trade', account: FIRST, side, ...traded }];
  },
  (_random, { atMs }) => [{ atMs, kind: 'cancelAll', account: FIRST }],
  (random, { atMs, laterMs, traded: { market, amount } }) => {
    const forMs = laterMs - atMs;
    const condition = pick(random, [
      { kind: 'depth', market, factor: '0', forMs },
      { kind: 'depth', market, factor: '0.05', spread: '0.004', forMs },
      { kind: 'basis', market, ratio: '-0.004', forMs },
      { kind: 'basis', market, ratio: '0.004', forMs },
      { kind: 'halt', market, forMs },
      { kind: 'dropOrders', market, account: FIRST },
      { kind: 'deleverage', market, account: FIRST, amount },
    ] as const);
    return [{ atMs, kind: 'condition', condition }];
  },
];

import {
  CANDLES_PLAY,
  playCandles,
  playScenario,
  playWalk,
  SCENARIO_PLAY,
  WALK_PLAY,
} from '../scenarios/play.ts';
import { SCENARIOS } from '../scenarios/scenarios.ts';
import { type ControlRoute, route } from './route.ts';

/** What moves the prices by itself. */
export const SOURCE_ROUTES: readonly ControlRoute[] = [
  route({ endpoint: 'GET /scenarios', doc: 'The scripted scenarios.', run: () => SCENARIOS }),
  route({
    endpoint: 'POST /scenarios/:name',
    doc: 'Plays a scenario from now on, in one market or in all that lead others.',
    input: SCENARIO_PLAY,
    example: { market: 'BTC_USDT', magnitude: '0.25', durationMs: 60_000 },
    run: ({ exchange, name, input }) => ({
      playing: name,
      markets: playScenario(exchange, { ...input, name }, exchange.seed),
    }),
  }),
  route({
    endpoint: 'POST /candles',
    doc: 'Plays CSV text from now on: timestamp_ms,open,high,low,close,volume, or trades: timestamp_ms,price,amount.',
    input: CANDLES_PLAY,
    example: {
      market: 'BTC_USDT',
      csv: 'timestamp_ms,open,high,low,close,volume\n0,60000,60100,59000,59500,12\n',
    },
    run: ({ exchange, input }) => ({ markets: playCandles(exchange, input) }),
  }),
  route({
    endpoint: 'POST /walk',
    doc: 'A seeded random walk with jumps from now on.',
    input: WALK_PLAY,
    example: { dailyVolatility: 0.1, jumpsPerDay: 50, jumpSize: 0.03 },
    run: ({ exchange, input }) => ({ markets: playWalk(exchange, input, exchange.seed) }),
  }),
];

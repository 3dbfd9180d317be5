import { z } from 'zod';
import { playCandles, playScenario, playWalk } from '../scenarios/play.ts';
import { SCENARIOS } from '../scenarios/scenarios.ts';
import { positiveDecimal } from '../schemas.ts';
import { type ControlRoute, route } from './route.ts';

const MARKET = z.string().optional();
const TICK = z.number().int().min(1).max(3_600_000).optional();

/** What moves the prices by itself. */
export const SOURCE_ROUTES: readonly ControlRoute[] = [
  route({ endpoint: 'GET /scenarios', doc: 'The scripted scenarios.', run: () => SCENARIOS }),
  route({
    endpoint: 'POST /scenarios/:name',
    doc: 'Plays a scenario from now on, in one market or in all that lead others.',
    input: z.strictObject({
      market: MARKET,
      magnitude: positiveDecimal.optional(),
      durationMs: z.number().int().min(1).optional(),
      tickMs: TICK,
      noise: z.number().min(0).max(0.1).optional(),
    }),
    example: { market: 'BTC_USDT', magnitude: '0.25', durationMs: 60_000 },
    run: ({ exchange, name, input }) => ({
      playing: name,
      markets: playScenario(exchange, { ...input, name }, exchange.seed),
    }),
  }),
  route({
    endpoint: 'POST /candles',
    doc: 'Plays CSV text from now on: timestamp_ms,open,high,low,close,volume, or trades: timestamp_ms,price,amount.',
    input: z.strictObject({
      csv: z.string(),
      market: MARKET,
      adverse: z.enum(['low', 'high']).optional(),
      tickMs: TICK,
    }),
    example: {
      market: 'BTC_USDT',
      csv: 'timestamp_ms,open,high,low,close,volume\n0,60000,60100,59000,59500,12\n',
    },
    run: ({ exchange, input }) => ({ markets: playCandles(exchange, input) }),
  }),
  route({
    endpoint: 'POST /walk',
    doc: 'A seeded random walk with jumps from now on.',
    input: z.strictObject({
      market: MARKET,
      dailyVolatility: z.number().min(0).max(10).optional(),
      jumpsPerDay: z.number().min(0).max(86_400).optional(),
      jumpSize: z.number().min(0).max(0.5).optional(),
      tickMs: TICK,
      seed: z.number().int().min(0).optional(),
    }),
    example: { dailyVolatility: 0.1, jumpsPerDay: 50, jumpSize: 0.03 },
    run: ({ exchange, input }) => ({ markets: playWalk(exchange, input, exchange.seed) }),
  }),
];

import { z } from 'zod';
import { playCandles, playScenario, playWalk } from '../scenarios/play.ts';
import { SCENARIOS } from '../scenarios/scenarios.ts';
import type { SimulatedExchange } from '../simulated-exchange.ts';
import { type ControlRoute, parseWith, positiveDecimal } from './route.ts';

const TICK = z.number().int().min(1).max(3_600_000).optional();
const SCENARIO = z.strictObject({
  market: z.string().optional(),
  magnitude: positiveDecimal.optional(),
  durationMs: z.number().int().min(1).optional(),
  tickMs: TICK,
  noise: z.number().min(0).max(0.1).optional(),
});
const CANDLES = z.strictObject({
  csv: z.string(),
  market: z.string().optional(),
  adverse: z.enum(['low', 'high']).optional(),
  tickMs: TICK,
});
const WALK = z.strictObject({
  market: z.string().optional(),
  dailyVolatility: z.number().min(0).max(10).optional(),
  jumpsPerDay: z.number().min(0).max(86_400).optional(),
  jumpSize: z.number().min(0).max(0.5).optional(),
  tickMs: TICK,
  seed: z.number().int().min(0).optional(),
});

/** What moves the prices by itself. */
export function sourceRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/scenarios',
      doc: 'The scripted scenarios.',
      run: () => SCENARIOS,
    },
    {
      method: 'POST',
      path: '/scenarios/:name',
      doc: 'Plays a scenario from now on, in one market or in all that lead others.',
      example: { market: 'BTC_USDT', magnitude: '0.25', durationMs: 60_000 },
      run: ({ params, body }) => {
        const options = parseWith(SCENARIO, body, 'body');
        const name = params['name'] ?? '';
        return { playing: name, markets: playScenario(exchange, { ...options, name }, exchange.seed) };
      },
    },
    {
      method: 'POST',
      path: '/candles',
      doc: 'Plays CSV text from now on: timestamp_ms,open,high,low,close,volume, or trades: timestamp_ms,price,amount.',
      example: {
        market: 'BTC_USDT',
        csv: 'timestamp_ms,open,high,low,close,volume\n0,60000,60100,59000,59500,12\n',
      },
      run: ({ body }) => ({ markets: playCandles(exchange, parseWith(CANDLES, body, 'body')) }),
    },
    {
      method: 'POST',
      path: '/walk',
      doc: 'A seeded random walk with jumps from now on.',
      example: { dailyVolatility: 0.1, jumpsPerDay: 50, jumpSize: 0.03 },
      run: ({ body }) => ({ markets: playWalk(exchange, parseWith(WALK, body, 'body'), exchange.seed) }),
    },
  ];
}

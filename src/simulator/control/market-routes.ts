import { z } from 'zod';
import {
  CANDLES_PLAY,
  playCandles,
  playScenario,
  playWalk,
  SCENARIO_PLAY,
  WALK_PLAY,
} from '../scenarios/play.ts';
import { SCENARIOS } from '../scenarios/scenarios.ts';
import { decimalText, milliseconds, optional, positiveDecimal } from '../schemas.ts';
import type { SimulatedExchange } from '../simulated-exchange.ts';
import { invalid, marketOf, routes } from './route.ts';

export const MARKET_ROUTES = routes({
  'GET /clock': {
    doc: 'Exchange time, its speed, and server time.',
    run: clockState,
  },
  'PATCH /clock': {
    doc: 'Speed of exchange time: 1 is real time, 60 a minute per second, 0 stands still.',
    input: z.strictObject({ speed: z.number().min(0).max(1_000_000) }),
    example: { speed: 60 },
    run: ({ exchange, input }) => exchange.clock.setSpeed(input.speed),
    answer: clockState,
  },
  'POST /clock/step': {
    doc: 'Moves exchange time ahead by so many milliseconds, and the market with it.',
    input: z.strictObject({ ms: milliseconds }),
    example: { ms: 1000 },
    run: ({ exchange, input }) => exchange.advance(input.ms),
    answer: clockState,
  },
  'POST /clock/freeze': {
    doc: 'Stops exchange time; steps still move it.',
    run: ({ exchange }) => exchange.clock.setSpeed(0),
    answer: clockState,
  },
  'PATCH /server-time': {
    doc: 'Skews the Date header and the time that nonce windows are judged by.',
    input: z.strictObject({ skewMs: z.number().int().min(-86_400_000).max(86_400_000) }),
    example: { skewMs: -3000 },
    run: ({ exchange, input }) => Object.assign(exchange, { serverTimeSkewMs: input.skewMs }),
    answer: clockState,
  },
  'GET /markets': {
    doc: 'Every market with its last, mark, bid and ask price.',
    run: ({ exchange }) => exchange.catchUp(),
    answer: ({ exchange }) => exchange.model.markets(),
  },
  'PUT /prices': {
    doc: 'Sets prices, each at once and as a gap. What moves a market goes on from there; BTC_PERP follows BTC_USDT.',
    input: z.record(z.string(), positiveDecimal),
    example: { BTC_USDT: '58000', ETH_USDT: '2400.5' },
    run: ({ exchange, input }) => {
      const prices = Object.entries(input);
      if (prices.length === 0) throw invalid('body: names no market');
      for (const [market] of prices) marketOf(exchange, market);
      for (const [market, price] of prices) exchange.setPrice(market, price);
      return exchange.model.markets();
    },
  },
  'PUT /markets/:market/price': {
    doc: 'Sets one price, at once and as a gap; mark and last override it one by one.',
    input: z.strictObject({
      price: positiveDecimal,
      ...optional({ mark: positiveDecimal, last: positiveDecimal }),
    }),
    example: { price: '58000', mark: '58010' },
    run: ({ exchange, market, input: { price, ...overrides } }) =>
      exchange.setPrice(market, price, overrides),
    answer: ({ exchange, market }) => exchange.model.market(market),
  },
  'PUT /markets/:market/funding-rate': {
    doc: 'Funding rate: per interval on _PERP markets, per day on the borrowed amount elsewhere.',
    input: z.strictObject({ rate: decimalText }),
    example: { rate: '0.0001' },
    run: ({ exchange, market, input }) =>
      exchange.change((model) => model.setFundingRate(market, input.rate)),
    answer: ({ exchange, market }) => exchange.model.market(market),
  },
  'DELETE /markets/:market/source': {
    doc: 'Stops what moves the price of a market: walk, scenario or candles.',
    run: ({ exchange, market }) => exchange.setPriceSource(market, null),
    answer: () => ({ stopped: true }),
  },
  'GET /scenarios': { doc: 'The scripted scenarios.', run: () => SCENARIOS },
  'POST /scenarios/:name': {
    doc: 'Plays a scenario from now on, in one market or in all that lead others.',
    input: SCENARIO_PLAY,
    example: { market: 'BTC_USDT', magnitude: '0.25', durationMs: 60_000 },
    run: ({ exchange, name, input }) => ({
      playing: name,
      markets: playScenario(exchange, { ...input, name }, exchange.seed),
    }),
  },
  'POST /candles': {
    doc: 'Plays CSV text from now on: timestamp_ms,open,high,low,close,volume, or trades: timestamp_ms,price,amount.',
    input: CANDLES_PLAY,
    example: {
      market: 'BTC_USDT',
      csv: 'timestamp_ms,open,high,low,close,volume\n0,60000,60100,59000,59500,12\n',
    },
    run: ({ exchange, input }) => ({ markets: playCandles(exchange, input) }),
  },
  'POST /walk': {
    doc: 'A seeded random walk with jumps from now on.',
    input: WALK_PLAY,
    example: { dailyVolatility: 0.1, jumpsPerDay: 50, jumpSize: 0.03 },
    run: ({ exchange, input }) => ({ markets: playWalk(exchange, input, exchange.seed) }),
  },
});

function clockState({ exchange }: { readonly exchange: SimulatedExchange }) {
  exchange.catchUp();
  return {
    nowMs: exchange.model.nowMs(),
    speed: exchange.clock.speed,
    serverTimeMs: exchange.serverTimeMs(),
    serverTimeSkewMs: exchange.serverTimeSkewMs,
  };
}

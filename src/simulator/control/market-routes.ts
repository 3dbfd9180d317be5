import { z } from 'zod';
import { decimalText, milliseconds, positiveDecimal } from '../schemas.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { type ControlRoute, marketOf, route } from './route.ts';

/** Time and prices. */
export const MARKET_ROUTES: readonly ControlRoute[] = [
  route({
    endpoint: 'GET /clock',
    doc: 'Exchange time, its speed, and server time.',
    run: ({ exchange }) => clockState(exchange),
  }),
  route({
    endpoint: 'PATCH /clock',
    doc: 'Speed of exchange time: 1 is real time, 60 a minute per second, 0 stands still.',
    input: z.strictObject({ speed: z.number().min(0).max(1_000_000) }),
    example: { speed: 60 },
    run: ({ exchange, input }) => {
      exchange.clock.setSpeed(input.speed);
      return clockState(exchange);
    },
  }),
  route({
    endpoint: 'POST /clock/step',
    doc: 'Moves exchange time ahead by so many milliseconds, and the market with it.',
    input: z.strictObject({ ms: milliseconds }),
    example: { ms: 1000 },
    run: ({ exchange, input }) => {
      exchange.advance(input.ms);
      return clockState(exchange);
    },
  }),
  route({
    endpoint: 'POST /clock/freeze',
    doc: 'Stops exchange time; steps still move it.',
    run: ({ exchange }) => {
      exchange.clock.setSpeed(0);
      return clockState(exchange);
    },
  }),
  route({
    endpoint: 'PATCH /server-time',
    doc: 'Skews the Date header and the time that nonce windows are judged by.',
    input: z.strictObject({ skewMs: z.number().int().min(-86_400_000).max(86_400_000) }),
    example: { skewMs: -3000 },
    run: ({ exchange, input }) => {
      exchange.serverTimeSkewMs = input.skewMs;
      return clockState(exchange);
    },
  }),
  route({
    endpoint: 'GET /markets',
    doc: 'Every market with its last, mark, bid and ask price.',
    run: ({ exchange }) => {
      exchange.catchUp();
      return exchange.model.markets();
    },
  }),
  route({
    endpoint: 'PUT /prices',
    doc: 'Sets prices, each at once and as a gap. What moves a market goes on from there; BTC_PERP follows BTC_USDT.',
    input: z.record(z.string(), positiveDecimal),
    example: { BTC_USDT: '58000', ETH_USDT: '2400.5' },
    run: ({ exchange, input }) => {
      const prices = Object.entries(input);
      if (prices.length === 0) throw new SimulatorError('invalid-input', 'body: names no market');
      for (const [market] of prices) marketOf(exchange, market);
      for (const [market, price] of prices) exchange.setPrice(market, price);
      return exchange.model.markets();
    },
  }),
  route({
    endpoint: 'PUT /markets/:market/price',
    doc: 'Sets one price, at once and as a gap; mark and last override it one by one.',
    input: z.strictObject({
      price: positiveDecimal,
      mark: positiveDecimal.exactOptional(),
      last: positiveDecimal.exactOptional(),
    }),
    example: { price: '58000', mark: '58010' },
    run: ({ exchange, market, input: { price, ...overrides } }) => {
      exchange.setPrice(market, price, overrides);
      return exchange.model.market(market);
    },
  }),
  route({
    endpoint: 'PUT /markets/:market/funding-rate',
    doc: 'Funding rate: per interval on _PERP markets, per day on the borrowed amount elsewhere.',
    input: z.strictObject({ rate: decimalText }),
    example: { rate: '0.0001' },
    run: ({ exchange, market, input }) => {
      exchange.change((model) => model.setFundingRate(market, input.rate));
      return exchange.model.market(market);
    },
  }),
  route({
    endpoint: 'DELETE /markets/:market/source',
    doc: 'Stops what moves the price of a market: walk, scenario or candles.',
    run: ({ exchange, market }) => {
      exchange.setPriceSource(market, null);
      return { stopped: true };
    },
  }),
];

function clockState(exchange: SimulatedExchange) {
  exchange.catchUp();
  return {
    nowMs: exchange.model.nowMs(),
    speed: exchange.clock.speed,
    serverTimeMs: exchange.serverTimeMs(),
    serverTimeSkewMs: exchange.serverTimeSkewMs,
  };
}

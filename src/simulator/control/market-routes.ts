import { z } from 'zod';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import {
  type ControlRoute,
  decimalText,
  marketOf,
  milliseconds,
  parseWith,
  positiveDecimal,
} from './route.ts';

const PRICE = z.strictObject({
  price: positiveDecimal,
  mark: positiveDecimal.optional(),
  last: positiveDecimal.optional(),
});
const PRICES = z.record(z.string(), positiveDecimal);
const RATE = z.strictObject({ rate: decimalText });
const SPEED = z.strictObject({ speed: z.number().min(0).max(1_000_000) });
const STEP = z.strictObject({ ms: milliseconds });
const SKEW = z.strictObject({ skewMs: z.number().int().min(-86_400_000).max(86_400_000) });

/** Time and prices. */
export function marketRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [...clockRoutes(exchange), ...priceRoutes(exchange)];
}

function clockRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  const clockState = () => {
    exchange.catchUp();
    return {
      nowMs: exchange.model.nowMs(),
      speed: exchange.clock.speed,
      serverTimeMs: exchange.serverTimeMs(),
      serverTimeSkewMs: exchange.serverTimeSkewMs,
    };
  };
  return [
    { method: 'GET', path: '/clock', doc: 'Exchange time, its speed, and server time.', run: clockState },
    {
      method: 'PATCH',
      path: '/clock',
      doc: 'Speed of exchange time: 1 is real time, 60 a minute per second, 0 stands still.',
      example: { speed: 60 },
      run: ({ body }) => {
        exchange.clock.setSpeed(parseWith(SPEED, body, 'body').speed);
        return clockState();
      },
    },
    {
      method: 'POST',
      path: '/clock/step',
      doc: 'Moves exchange time ahead by so many milliseconds, and the market with it.',
      example: { ms: 1000 },
      run: ({ body }) => {
        exchange.advance(parseWith(STEP, body, 'body').ms);
        return clockState();
      },
    },
    {
      method: 'POST',
      path: '/clock/freeze',
      doc: 'Stops exchange time; steps still move it.',
      run: () => {
        exchange.clock.setSpeed(0);
        return clockState();
      },
    },
    {
      method: 'PATCH',
      path: '/server-time',
      doc: 'Skews the Date header and the time that nonce windows are judged by.',
      example: { skewMs: -3000 },
      run: ({ body }) => {
        exchange.serverTimeSkewMs = parseWith(SKEW, body, 'body').skewMs;
        return clockState();
      },
    },
  ];
}

function priceRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/markets',
      doc: 'Every market with its last, mark, bid and ask price.',
      run: () => {
        exchange.catchUp();
        return exchange.model.markets();
      },
    },
    {
      method: 'PUT',
      path: '/prices',
      doc: 'Sets prices, each at once and as a gap. What moves a market goes on from there; BTC_PERP follows BTC_USDT.',
      example: { BTC_USDT: '58000', ETH_USDT: '2400.5' },
      run: ({ body }) => {
        const prices = Object.entries(parseWith(PRICES, body, 'body'));
        if (prices.length === 0) throw new SimulatorError('invalid-input', 'body: names no market');
        for (const [market] of prices) marketOf(exchange, market);
        for (const [market, price] of prices) exchange.setPrice(market, price);
        return exchange.model.markets();
      },
    },
    {
      method: 'PUT',
      path: '/markets/:market/price',
      doc: 'Sets one price, at once and as a gap; mark and last override it one by one.',
      example: { price: '58000', mark: '58010' },
      run: ({ params, body }) => {
        const market = marketOf(exchange, params['market'] ?? '');
        const { price, mark, last } = parseWith(PRICE, body, 'body');
        exchange.setPrice(market, price, {
          ...(mark === undefined ? {} : { mark }),
          ...(last === undefined ? {} : { last }),
        });
        return exchange.model.market(market);
      },
    },
    {
      method: 'PUT',
      path: '/markets/:market/funding-rate',
      doc: 'Funding rate: per interval on _PERP markets, per day on the borrowed amount elsewhere.',
      example: { rate: '0.0001' },
      run: ({ params, body }) => {
        const market = marketOf(exchange, params['market'] ?? '');
        const { rate } = parseWith(RATE, body, 'body');
        exchange.change((model) => model.setFundingRate(market, rate));
        return exchange.model.market(market);
      },
    },
    {
      method: 'DELETE',
      path: '/markets/:market/source',
      doc: 'Stops what moves the price of a market: walk, scenario or candles.',
      run: ({ params }) => {
        exchange.setPriceSource(marketOf(exchange, params['market'] ?? ''), null);
        return { stopped: true };
      },
    },
  ];
}

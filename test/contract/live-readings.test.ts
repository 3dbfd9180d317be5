import { describe, expect, it } from 'vitest';
import type { FiatDepositRequest, ReadOutcome, RecordList } from '../../src/core/ports/exchange.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { READING_CHOICES } from '../../src/simulator/model/readings.ts';
import { blamed, summary } from './support/outcomes.ts';
import { startTampering } from './support/tamper.ts';
import { accountNamed, connect, d, openExchange, placed, STOP } from './support/world.ts';

/** Readings that the live service adds to the specification: the client gives the same result for each. */

type Choices = typeof READING_CHOICES;
const values = <K extends keyof Choices>(name: K): Choices[K]['values'] => READING_CHOICES[name].values;
const text = (value: string) => value as FiatDepositRequest['amount'];

function listOf<T extends RecordList<unknown>>(outcome: ReadOutcome<T>): T {
  if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
  return outcome.value;
}

describe('a stop whose activation the market has passed', () => {
  /** A sell stop waits for the market to fall to its activation; the market is already below this one. */
  const PASSED = { ...STOP, activationPrice: text('61000'), price: text('59000') };

  it.each([
    ['opposite', 'accepted', '0.5'],
    ['atOnce', 'accepted', '0.4'],
    ['refused', 'rejected priceInvalid 33 400 none', '0.5'],
  ] as const)('%s: %s, and the position is %s', async (wrongSideActivation, expected, left) => {
    const exchange = await openExchange({ readings: { wrongSideActivation } });
    const { client, drift } = connect(exchange, 'long');
    expect(summary(await client.reduceOnlyStop(PASSED))).toBe(expected);
    expect(placed(exchange)).toHaveLength(expected === 'accepted' ? 1 : 0);
    exchange.setPrice('BTC_PERP', '59900');
    expect(listOf(await client.openPositions()).records[0]?.amount).toBe(left);
    expect(drift).toEqual([]);
  });
});

describe('room for a second reduce-only order', () => {
  const first = { ...STOP, amount: text('0.4'), clientOrderId: 'first' };
  const second = { ...STOP, amount: text('0.3'), clientOrderId: 'second' };

  it.each([
    ['position', 'accepted', '0.3', undefined],
    ['trimmed', 'accepted', '0.1', '0.3'],
    ['refused', 'rejected reduceOnlyRefused 116 400 none', undefined, undefined],
  ] as const)('%s: %s', async (reduceOnlyRoom, expected, amount, adjustedFrom) => {
    const exchange = await openExchange({ readings: { reduceOnlyRoom } });
    const { client } = connect(exchange, 'long');
    expect(await client.reduceOnlyStop(first)).toMatchObject({ kind: 'accepted', value: { amount: '0.4' } });
    const outcome = await client.reduceOnlyStop(second);
    expect(summary(outcome)).toBe(expected);
    if (outcome.kind === 'accepted') {
      const { value } = outcome;
      expect([value.amount, value.adjustedFrom]).toEqual([amount, adjustedFrom]);
      expect(exchange.model.openOrders('long').map((order) => order.left.toFixed())).toEqual(['0.4', amount]);
    }
  });

  it.each(['trimmed', 'refused'])('%s: without any room it is refused with 116', async (reduceOnlyRoom) => {
    const exchange = await openExchange({ readings: { reduceOnlyRoom } });
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop({ ...first, amount: text('0.5') });
    expect(summary(await client.reduceOnlyStop(second))).toBe('rejected reduceOnlyRefused 116 400 none');
  });
});

describe('positions', () => {
  it.each(values('openingPositions'))(
    'that an order is about to open are %s, and count neither as records nor as faults',
    async (openingPositions) => {
      const exchange = await openExchange({ readings: { openingPositions } });
      const order = { market: 'ETH_PERP', side: 'buy', amount: d('1'), price: d('2000') } as const;
      exchange.exchange.change((model) => model.placeCollateralOrder('long', order));
      const { client, drift } = connect(exchange, 'long');
      const list = listOf(await client.openPositions());
      expect(list.records.map(({ market }) => market)).toEqual(['BTC_PERP']);
      expect([list.complete, list.setAside]).toEqual([true, []]);
      expect(list.notOpenYet?.map(({ market }) => market)).toEqual(
        openingPositions === 'listed' ? ['ETH_PERP'] : undefined,
      );
      expect(drift).toEqual([]);
    },
  );

  it.each(values('noLiquidationState'))('that are safe show it by %s', async (noLiquidationState) => {
    const exchange = await openExchange({ readings: { noLiquidationState } });
    const { client, drift } = connect(exchange, 'long');
    expect(listOf(await client.openPositions()).records[0]?.liquidationState).toBeNull();
    exchange.setPrice('BTC_PERP', '41500');
    expect(listOf(await client.openPositions()).records[0]?.liquidationState).toEqual({
      known: true,
      value: 'margin_call',
    });
    expect(drift).toEqual([]);
  });

  it.each(values('positionLeverage'))('have a leverage that is %s, and are read whole', async (leverage) => {
    const exchange = await openExchange({ readings: { positionLeverage: leverage } });
    const { client, drift } = connect(exchange, 'long');
    const { records, complete } = listOf(await client.openPositions());
    expect([records.length, records[0]?.amount, complete]).toEqual([1, '0.5', true]);
    expect(drift).toEqual([]);
  });
});

describe('requests', () => {
  it.each(values('nonceType'))('have nonces that are accepted when they may be %s', async (nonceType) => {
    const exchange = await openExchange({ readings: { nonceType } });
    const { client } = connect(exchange, 'long');
    expect(summary(await client.openPositions())).toBe('ok');
    expect(summary(await client.reduceOnlyStop(STOP))).toBe('accepted');
  });

  it.each([
    ['snake', 'spec', 'accepted'],
    ['snake', 'camel', 'rejected validationFailed 0 400 none'],
    ['camel', 'camel', 'accepted'],
    ['camel', 'spec', 'rejected validationFailed 0 400 none'],
    ['either', 'spec', 'accepted'],
    ['either', 'camel', 'accepted'],
  ] as const)(
    'for a deposit link, where the unique id is %s and the dialect %s: %s',
    async (uniqueIdSpelling, dialect, expected) => {
      const exchange = await openExchange({ readings: { uniqueIdSpelling } });
      const { client } = connect(exchange, 'flat', { dialect });
      const request = { ticker: 'UAH', provider: 'BANKLINK', amount: text('50'), uniqueId: 'deposit-1' };
      const outcome = await client.fiatDepositLink(request);
      expect([summary(outcome), blamed(outcome)]).toEqual([
        expected,
        expected === 'accepted' ? [] : ['uniqueId'],
      ]);
    },
  );

  it.each([
    ['validation', 'marketInvalid 30'],
    ['31', 'marketInvalid 31'],
  ] as const)('for a market that does not exist, code %s: %s', async (unknownMarketCode, error) => {
    const exchange = await openExchange({ readings: { unknownMarketCode } });
    const { client } = connect(exchange, 'long');
    const outcomes = [
      await client.openPositions({ market: 'NO_PERP' }),
      await client.spotOrders({ market: 'NO_PERP' }),
      await client.cancelAll({ market: 'NO_PERP' }),
    ];
    expect(outcomes.map((outcome) => [summary(outcome), blamed(outcome)])).toEqual([
      [`failed ${error} 400 none`, ['market']],
      [`failed ${error} 400 none`, ['market']],
      [`rejected ${error} 400 none`, ['market']],
    ]);
  });

  it.each(values('userAgent'))('have a User-Agent, which is %s', async (userAgent) => {
    const exchange = await openExchange({ readings: { userAgent } });
    expect(summary(await connect(exchange, 'long').client.reduceOnlyStop(STOP))).toBe('accepted');
    expect(summary(await connect(exchange, 'long', { version: '1.2.3' }).client.openPositions())).toBe('ok');
  });

  it('without a User-Agent are challenged by the gateway, which is no statement about the key', async () => {
    const exchange = await openExchange({ readings: { userAgent: 'demanded' } });
    const account = accountNamed(exchange, 'long');
    const proxy = await startTampering(exchange.baseUrl, account.apiSecret);
    const isNamed = ([name]: readonly string[]): boolean => name?.toLowerCase() !== 'user-agent';
    proxy.tampering = {
      headers: (headers) => Object.fromEntries(Object.entries(headers).filter(isNamed)),
    };
    const { client } = connect({ baseUrls: [proxy.url], accounts: [account] }, 'long');
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'gatewayRefused', httpStatus: 403, effect: 'none', gateway: true },
    });
    expect(placed(exchange)).toEqual([]);
  });
});

describe('replies', () => {
  it.each([
    ['json', 'nonceRefused', undefined],
    ['html', 'rateLimited', true],
    ['empty', 'rateLimited', true],
  ] as const)(
    'above a rate limit come as %s and are taken for %s; the order is not in the books',
    async (rateLimitReply, name, gateway) => {
      const limits = [{ path: '/api/v4/order/*', requests: 1, periodMs: 60_000 }];
      const exchange = await openExchange({ limits, readings: { rateLimitReply } });
      const { client, calls } = connect(exchange, 'long');
      expect(summary(await client.cancelAll({}))).toBe('accepted');
      const outcome = await client.reduceOnlyStop(STOP);
      expect(outcome).toMatchObject({ kind: 'rejected', error: { httpStatus: 429, effect: 'none' } });
      const error = outcome.kind === 'rejected' ? outcome.error : undefined;
      // In JSON it equals a stale nonce: repeated twice, then taken for a limit.
      expect([name === 'nonceRefused' ? calls[1]?.noncesRefused : 0, error?.gateway]).toEqual([
        name === 'nonceRefused' ? 2 : 0,
        gateway,
      ]);
      expect(calls[1]?.limitsHit).toBe(1);
      expect(placed(exchange)).toEqual([]);
    },
  );

  it.each(values('compression'))(
    'compressed as %s by default come uncompressed, as the client asks for identity',
    async (compression) => {
      const exchange = await openExchange({ readings: { compression } });
      const { client } = connect(exchange, 'long');
      expect(listOf(await client.openPositions()).records).toHaveLength(1);
      expect(summary(await client.reduceOnlyStop(STOP))).toBe('accepted');
    },
  );

  it.each([
    ['all', 'spec', 3, undefined],
    ['month', 'spec', 1, undefined],
    ['month', 'camel', 2, 'period'],
  ] as const)(
    'of the order history reach back %s, dialect %s: %i orders, cut: %s',
    async (orderHistoryReach, dialect, count, cut) => {
      const DAY_MS = 86_400_000;
      const exchange = await openExchange({ readings: { orderHistoryReach } });
      const buy = () =>
        exchange.exchange.change((model) =>
          model.placeSpotOrder('long', { market: 'BTC_USDT', side: 'buy', amount: d('0.001') }),
        );
      const sinceS = Math.floor(exchange.model.nowMs() / 1_000) - 86_400;
      buy();
      exchange.advance(150 * DAY_MS);
      buy();
      exchange.advance(60 * DAY_MS);
      buy();
      // The dates in a request come from the clock of this machine.
      const skewMs = exchange.model.nowMs() - Date.now();
      const clock = { ...systemClock, nowMs: () => Date.now() + skewMs };
      const { client } = connect(exchange, 'long', { dialect, clock });
      const list = listOf(await client.spotOrders({ since: sinceS }));
      expect([list.records.length, list.cut]).toEqual([count, cut]);
      expect(list.complete).toBe(cut === undefined);
    },
  );

  it('have microseconds in the times of orders', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    const outcome = await client.reduceOnlyStop(STOP);
    const timestamp = outcome.kind === 'accepted' ? outcome.value.timestamp : undefined;
    expect(String(timestamp)).toMatch(/^\d{10}\.\d{4,6}$/);
  });
});

describe('the last prices of public data', () => {
  it('are read without a key, for perpetual markets, up to a second old', async () => {
    const exchange = await openExchange({ readings: { publicPrices: 'shown' } });
    const { client, drift } = connect(exchange, 'long');
    const read = async () => {
      const outcome = await client.lastPrices();
      return outcome.kind === 'ok' ? outcome.value['BTC_PERP'] : summary(outcome);
    };
    const before = await read();
    exchange.setPrice('BTC_PERP', '59000');
    expect(await read()).toBe(before);
    exchange.advance(1_000);
    expect(await read()).toBe('59000');
    expect(drift).toEqual([]);
  });

  it('are absent as specified', async () => {
    const { client } = connect(await openExchange(), 'long');
    expect((await client.lastPrices()).kind).toBe('failed');
  });
});

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import { accountNamed, call, EMPTY, LONG, nextNonce, PATHS, STOP, send, sign, simulator } from './support.ts';

async function exchange(readings: Record<string, unknown> = {}) {
  const running = await simulator({ accounts: [LONG, EMPTY], readings });
  const keys = accountNamed(running, 'long');
  return {
    running,
    keys,
    long: (path: string, params: Record<string, unknown> = {}) => call(running.baseUrl, keys, path, params),
  };
}

describe('positions', () => {
  test('of an order about to open one: a record with nulls and its other fields', async () => {
    const { running, long } = await exchange({ openingPositions: 'listed' });
    const order = { market: 'ETH_PERP', side: 'buy', amount: decimal('1'), price: decimal('2000') } as const;
    running.exchange.change((model) => model.placeCollateralOrder('long', order));
    const { json } = await long(PATHS.positions);
    expect(json).toHaveLength(2);
    expect(Object.keys(json[1]).sort()).toEqual(Object.keys(json[0]).sort());
    expect(json[1]).toMatchObject({
      market: 'ETH_PERP',
      positionSide: 'BOTH',
      amount: null,
      basePrice: null,
      pnl: null,
      pnlPercent: null,
      liquidationPrice: null,
      liquidationState: null,
      freeMargin: json[0].freeMargin,
    });
    expect((await long(PATHS.positions, { market: 'BTC_PERP' })).json).toHaveLength(1);
  });

  test.each([
    ['null', null],
    ['empty', ''],
  ])('have the liquidation state of a safe position as %s', async (noLiquidationState, expected) => {
    const { running, long } = await exchange({ noLiquidationState });
    expect((await long(PATHS.positions)).json[0].liquidationState).toBe(expected);
    running.setPrice('BTC_PERP', '41500');
    expect((await long(PATHS.positions)).json[0].liquidationState).toBe('margin_call');
  });

  test.each(['absent', 'present'])('have a field leverage: %s', async (positionLeverage) => {
    const { long } = await exchange({ positionLeverage });
    expect((await long(PATHS.positions)).json[0].leverage).toBe(
      positionLeverage === 'present' ? 10 : undefined,
    );
  });
});

describe('requests', () => {
  test.each([
    ['string', 401],
    ['stringOrNumber', 200],
  ])('accept a numeric nonce where the reading allows it: %s: %i', async (nonceType, status) => {
    const { long } = await exchange({ nonceType });
    expect((await long(PATHS.positions, { nonce: Number(nextNonce()) })).status).toBe(status);
    expect((await long(PATHS.positions, { nonce: 1.5 })).status).toBe(401);
    expect((await long(PATHS.positions)).status).toBe(200);
  });

  test('with a numeric nonce are refused if it was used as text before', async () => {
    const { long } = await exchange({ nonceType: 'stringOrNumber' });
    const nonce = nextNonce();
    expect((await long(PATHS.positions, { nonce })).status).toBe(200);
    expect((await long(PATHS.positions, { nonce: Number(nonce) })).json.message).toContain(
      'already been used',
    );
  });

  test.each([
    ['snake', { unique_id: 200, uniqueId: 400 }],
    ['camel', { unique_id: 400, uniqueId: 200 }],
    ['either', { unique_id: 200, uniqueId: 200 }],
  ])('for a deposit link have the unique id as %s', async (uniqueIdSpelling, expected) => {
    const { long } = await exchange({ uniqueIdSpelling });
    for (const [field, status] of Object.entries(expected)) {
      const params = { ticker: 'UAH', provider: 'BANKLINK', amount: '100', [field]: `id-${field}` };
      const answer = await long(PATHS.fiat, params);
      expect({ field, status: answer.status }).toEqual({ field, status });
      if (status === 400) expect(answer.json.errors).toHaveProperty('uniqueId');
    }
  });

  test.each([
    ['validation', 30],
    ['31', 31],
  ])('that name an unknown market have the code of the reading: %s', async (unknownMarketCode, code) => {
    const { long } = await exchange({ unknownMarketCode });
    for (const path of [PATHS.orders, PATHS.positions, PATHS.cancelAll]) {
      expect((await long(path, { market: 'NO_PERP' })).json.code).toBe(code);
    }
    expect((await long(PATHS.orders, { market: 'NO_PERP', limit: 0 })).json.code).toBe(30);
  });

  test('without User-Agent are challenged by the gateway where it demands one', async () => {
    const { running, keys } = await exchange({ userAgent: 'demanded' });
    const answer = await call(running.baseUrl, keys, PATHS.stopLimit, STOP);
    expect(answer).toMatchObject({ status: 403, json: undefined });
    expect(answer.headers['content-type']).toContain('text/html');
    expect(running.ledger({ kinds: ['order_placed'] })).toEqual([]);
    const named = { headers: { 'user-agent': 'a test' } };
    expect((await call(running.baseUrl, keys, PATHS.stopLimit, STOP, named)).status).toBe(200);
  });
});

describe('replies', () => {
  test.each([
    ['json', /^\{.*Too many requests/],
    ['html', /^<html>/],
    ['empty', /^$/],
  ])('above a rate limit come as %s', async (rateLimitReply, body) => {
    const { running, long } = await exchange({ rateLimitReply });
    running.exchange.limiter.replace([{ path: '*', requests: 1, periodMs: 10_000 }]);
    await long(PATHS.positions);
    const answer = await long(PATHS.positions);
    expect(answer.status).toBe(429);
    expect(answer.text).toMatch(body);
  });

  test.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ])(
    'come as %s without a requested encoding, and plain if identity is requested',
    async (compression, unpack) => {
      const { running, keys } = await exchange({ compression });
      const request = JSON.stringify({ request: PATHS.positions, nonce: nextNonce() });
      const url = `${running.baseUrl}${PATHS.positions}`;
      // fetch and node:http differ in their default encodings; node:http requests none.
      const answer = await send(url, { method: 'POST', headers: sign(keys, request), body: request });
      expect(answer.headers['content-encoding']).toBe(compression);
      expect(JSON.parse(unpack(answer.bytes).toString())).toHaveLength(1);
      const plain = await call(
        running.baseUrl,
        keys,
        PATHS.positions,
        {},
        { headers: { 'accept-encoding': 'identity' } },
      );
      expect(plain.headers).not.toHaveProperty('content-encoding');
      expect(plain.json).toHaveLength(1);
    },
  );

  test('of the order history go back a month, or from date to date', async () => {
    const DAY_MS = 86_400_000;
    const { running, long } = await exchange({ orderHistoryReach: 'month' });
    const startS = running.model.nowMs() / 1_000;
    const buy = () =>
      running.exchange.change((model) =>
        model.placeSpotOrder('long', { market: 'BTC_USDT', side: 'buy', amount: decimal('0.001') }),
      );
    const shown = async (params: Record<string, unknown> = {}) => {
      const { json } = await long(PATHS.orders, params);
      return json.errors === undefined ? (json.BTC_USDT ?? []).length : Object.keys(json.errors).join();
    };
    buy();
    running.advance(32 * DAY_MS);
    buy();
    expect(await shown()).toBe(1);
    expect(await shown({ startDate: startS, endDate: startS + 86_400 })).toBe(1);
    expect(await shown({ startDate: startS, endDate: startS + 31 * 86_400 })).toBe(1);
    expect(await shown({ startDate: startS })).toBe('startDate');
    expect(await shown({ startDate: startS - 180 * 86_400, endDate: startS })).toBe('startDate');
    running.setReadings({ orderHistoryReach: 'all' });
    expect(await shown()).toBe(2);
  });

  test('have microseconds in the times of orders', async () => {
    const { long } = await exchange();
    const { json } = await long(PATHS.stopLimit, STOP);
    expect(String(json.timestamp)).toMatch(/^\d+\.\d{4,6}$/);
    expect(json.timestamp * 1e6).toBeCloseTo(Math.round(json.timestamp * 1e6), 0);
  });
});

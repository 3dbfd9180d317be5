import { describe, expect, test } from 'vitest';
import type { RunningSimulator } from '../../../src/simulator/start-simulated-exchange.ts';
import {
  type Answer,
  accountNamed,
  call,
  control,
  EMPTY,
  failureOf,
  HEDGED,
  LONG,
  PATHS,
  STOP,
  send,
  simulator,
} from './support.ts';

async function exchange() {
  const running = await simulator({ accounts: [LONG, HEDGED, EMPTY] });
  const at = (method: string, path: string, body?: unknown): Promise<Answer> =>
    control(running, method, path, body);
  return { running, at, long: accountNamed(running, 'long') };
}

function priceOf(running: RunningSimulator, market: string): string | undefined {
  return running.model.market(market)?.last.toFixed();
}

describe('access', () => {
  test('refuses pages of other sites, and foreign names that resolve here', async () => {
    const { running } = await exchange();
    const { port, host } = new URL(running.controlUrl);
    const foreign = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { host: 'evil.example' },
      { host: `127.0.0.1.evil.example:${port}` },
      { host: `evil.example:${port}`, origin: `http://evil.example:${port}` },
    ];
    for (const headers of foreign) {
      const keys = await send(`${running.controlUrl}/accounts`, { headers });
      expect([keys.status, keys.json.error.code]).toEqual([403, 'foreign-page']);
      expect(keys.text).not.toContain(running.accounts[0]?.apiSecret);
      const crash = await send(`${running.controlUrl}/scenarios/crash`, { method: 'POST', headers });
      expect(crash.status).toBe(403);
    }
    running.advance(600_000);
    expect(priceOf(running, 'BTC_USDT')).toBe('60000');
    for (const headers of [{}, { origin: running.controlUrl }, { host: `localhost:${port}` }, { host }]) {
      expect((await send(`${running.controlUrl}/health`, { headers })).status).toBe(200);
    }
  });
});

describe('beyond the loopback', () => {
  test('it needs the token of this start, whatever the name; only the probe does not', async () => {
    const running = await simulator({ accounts: [LONG], host: '0.0.0.0', seed: 7 });
    const again = await simulator({ accounts: [LONG], host: '0.0.0.0', seed: 7 });
    const { controlToken } = running;
    // The seed gives the keys, but not the token.
    expect(controlToken).toMatch(/^[\w-]{32}$/);
    expect(controlToken).not.toBe(again.controlToken);
    for (const token of [undefined, '', 'x', again.controlToken]) {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      for (const path of ['/accounts', '/state', '/', '/nothing']) {
        const answer = await send(`${running.controlUrl}${path}`, { headers });
        expect([path, answer.status, answer.json.error.code]).toEqual([path, 401, 'token-needed']);
        expect(answer.text).not.toContain(running.accounts[0]?.apiSecret);
      }
      expect((await send(`${running.controlUrl}/scenarios/crash`, { method: 'POST', headers })).status).toBe(
        401,
      );
    }
    running.advance(600_000);
    expect(priceOf(running, 'BTC_USDT')).toBe('60000');
    expect((await send(`${running.controlUrl}/health`)).status).toBe(200);
    const headers = { authorization: `Bearer ${controlToken}` };
    expect((await send(`${running.controlUrl}/state`, { headers })).status).toBe(200);
  });

  test('with its token it answers under any name, as from another container, but no page of another site', async () => {
    const running = await simulator({ accounts: [LONG], host: '0.0.0.0' });
    const statusOf = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await send(`${running.controlUrl}${path}`, { headers: { host: 'simulator:8081', ...headers } }))
        .status;
    const authorization = `Bearer ${running.controlToken}`;
    expect(await statusOf('/state', { authorization })).toBe(200);
    expect(await statusOf('/state', { authorization, origin: 'http://simulator:8081' })).toBe(200);
    expect(await statusOf('/state', { authorization, origin: 'https://evil.example' })).toBe(403);
    expect(await statusOf('/state', {})).toBe(401);
    expect(await statusOf('/health', {})).toBe(200);
  });
});

describe('discovery', () => {
  test('GET / lists every operation with an explanation, and every listed one exists', async () => {
    const { at } = await exchange();
    const { json } = await at('GET', '/');
    expect(json.endpoints.length).toBeGreaterThan(40);
    for (const { method, path, doc, example } of json.endpoints) {
      expect(doc.length).toBeGreaterThan(10);
      const url = path.replaceAll(/:\w+/g, 'none');
      const answer = await at(
        method,
        url,
        method === 'GET' || method === 'DELETE' ? undefined : (example ?? {}),
      );
      expect(answer.json?.error?.message ?? '').not.toMatch(/lists what there is/);
      expect(answer.status).not.toBe(500);
    }
  });

  test('health and state', async () => {
    const { running, at } = await exchange();
    expect((await at('GET', '/health')).json).toEqual({ status: 'ok', internalErrors: [] });
    const { json } = await at('GET', '/state');
    expect(json).toMatchObject({ baseUrls: running.baseUrls, speed: 0, readings: { nonceRule: 'unique' } });
    expect(json.accounts.map((each: { accountId: string }) => each.accountId)).toEqual([
      'long',
      'hedged',
      'empty',
    ]);
    expect(json.markets[0]).toEqual({ name: 'BTC_USDT', last: '60000', mark: '60000' });
  });

  test.each([
    ['GET', '/nothing', undefined, 404, /GET \/nothing; GET \/ lists/],
    ['PUT', '/prices', { DOGE: '5' }, 404, /no market "DOGE"; there are BTC_USDT/],
    ['PUT', '/prices', { BTC_PERP: 5 }, 400, /body\.BTC_PERP: .*string/],
    ['PUT', '/prices', { BTC_PERP: '-5' }, 400, /body\.BTC_PERP: must be greater than 0/],
    ['PUT', '/prices', {}, 400, /names no market/],
    ['PATCH', '/clock', { speed: -1 }, 400, /body\.speed/],
    ['PATCH', '/clock', { sped: 1 }, 400, /body.*sped/],
    ['POST', '/clock/step', { ms: 1.5 }, 400, /body\.ms/],
    ['POST', '/faults', { effect: { kind: 'flood' } }, 400, /body\.effect\.kind/],
    [
      'POST',
      '/faults',
      { effect: { kind: 'reset' }, target: { endpoint: 'x' } },
      400,
      /none of ping, assets/,
    ],
    ['POST', '/faults', { effect: { kind: 'reset' }, target: { account: 'x' } }, 400, /no account "x"/],
    ['POST', '/faults', { effect: { kind: 'reset' }, probability: 2 }, 400, /body\.probability/],
    ['PATCH', '/readings', { shortAmount: 'maybe' }, 400, /not one of signed, unsigned/],
    ['PATCH', '/readings', { nothing: 'x' }, 400, /unknown reading "nothing"; known: profile, marginModel/],
    ['PATCH', '/readings', { marginModel: 'isolated' }, 409, /cannot change while positions are open/],
    ['PUT', '/regions/7', { mode: 'up' }, 404, /no base address 7/],
    ['PUT', '/regions/0', { mode: 'slow' }, 400, /delayMs/],
    ['GET', '/accounts/nobody', undefined, 404, /no account "nobody"/],
    ['POST', '/accounts', { id: 'a b', collateral: {} }, 400, /account id "a b"/],
    ['POST', '/accounts', { id: 'long', collateral: {} }, 409, /exists already/],
    ['POST', '/accounts/long/deposits', { ticker: 'NOCOIN', amount: '5' }, 422, /code 0.*ticker/],
    ['POST', '/accounts/long/withdrawals', { ticker: 'USDT', amount: '500000' }, 422, /code 10/],
    ['POST', '/accounts/long/positions/close', { market: 'ETH_PERP' }, 404, /no such position in ETH_PERP/],
    ['POST', '/accounts/hedged/positions/close', { market: 'BTC_PERP' }, 400, /two positions.*direction/],
    [
      'POST',
      '/accounts/long/collateral-orders',
      { market: 'BTC_PERP', side: 'buy', amount: '1', activationPrice: '5' },
      400,
      /price/,
    ],
    ['DELETE', '/accounts/long/orders/5', undefined, 422, /./],
    ['POST', '/scenarios/nova', {}, 400, /no scenario "nova"; there are crash/],
    ['POST', '/scenarios/crash', { magnitude: '2' }, 400, /magnitude/],
    ['POST', '/candles', { csv: 'a,b\n' }, 400, /prices:1: expected/],
    ['POST', '/fiat-deposits/none/pay', {}, 404, /no such deposit link/],
    ['GET', '/requests?outcome=maybe', undefined, 400, /query\.outcome/],
    ['GET', '/ledger?limit=x', undefined, 400, /query\.limit/],
  ] as const)('%s %s %j: %i', async (method, path, body, status, message) => {
    const { at } = await exchange();
    const answer = await at(method, path, body);
    expect(answer.json?.error?.message ?? answer.text).toMatch(message);
    expect(answer.status).toBe(status);
  });

  test('invalid JSON is refused in words', async () => {
    const { running } = await exchange();
    const answer = await send(`${running.controlUrl}/prices`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{"BTC_PERP"',
    });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid-input']);
  });
});

describe('time and prices', () => {
  test('prices, one by one and several at once; mark apart', async () => {
    const { running, at } = await exchange();
    await at('PUT', '/prices', { BTC_PERP: '58000', ETH_PERP: '2400.5' });
    expect([priceOf(running, 'BTC_PERP'), priceOf(running, 'ETH_PERP')]).toEqual(['58000', '2400.5']);
    await at('PUT', '/markets/BTC_PERP/price', { price: '57000', mark: '57010' });
    expect(running.model.market('BTC_PERP')?.mark.toFixed()).toBe('57010');
    await at('PUT', '/markets/BTC_PERP/funding-rate', { rate: '-0.0003' });
    expect((await at('GET', '/markets')).json).toHaveLength(4);
  });

  test('step, speed, freeze, skew', async () => {
    const { running, at } = await exchange();
    const start = running.model.nowMs();
    expect((await at('POST', '/clock/step', { ms: 1_500 })).json.nowMs).toBe(start + 1_500);
    await at('PATCH', '/clock', { speed: 100_000 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { json } = await at('POST', '/clock/freeze');
    expect(json.speed).toBe(0);
    expect(json.nowMs).toBeGreaterThan(start + 1_500 + 1_000_000);
    expect((await at('GET', '/clock')).json.nowMs).toBe(json.nowMs);
    expect((await at('PATCH', '/server-time', { skewMs: -7_000 })).json.serverTimeSkewMs).toBe(-7_000);
  });

  test('scenario, candles and walk move the market; a source can be stopped', async () => {
    const { running, at } = await exchange();
    expect((await at('POST', '/scenarios/crash', { durationMs: 10_000, magnitude: '0.5' })).json).toEqual({
      playing: 'crash',
      markets: ['BTC_USDT', 'ETH_USDT'],
    });
    await at('POST', '/clock/step', { ms: 7_000 });
    expect([priceOf(running, 'BTC_PERP'), priceOf(running, 'ETH_PERP')]).toEqual(['30000', '1500']);
    const csv =
      'timestamp_ms,open,high,low,close,volume\n0,31000,32000,29000,30500,1\n60000,30500,30600,30400,30500,1\n';
    expect((await at('POST', '/candles', { csv, market: 'BTC_PERP' })).json.markets).toEqual(['BTC_PERP']);
    await at('POST', '/clock/step', { ms: 1 });
    expect(priceOf(running, 'BTC_PERP')).toBe('31000');
    await at('POST', '/clock/step', { ms: 19_999 });
    expect(priceOf(running, 'BTC_PERP')).toBe('29000');
    await at('DELETE', '/markets/BTC_PERP/source');
    await at('POST', '/walk', { market: 'ETH_PERP', dailyVolatility: 1 });
    await at('POST', '/clock/step', { ms: 10_000 });
    expect(priceOf(running, 'BTC_PERP')).toBe('29000');
    expect(priceOf(running, 'ETH_PERP')).not.toBe('1500');
    expect((await at('GET', '/scenarios')).json).toHaveProperty('ltvSqueeze');
  });
});

describe('faults, regions, readings, limits', () => {
  test('inject, list, release, clear', async () => {
    const { running, at, long } = await exchange();
    const { id } = (
      await at('POST', '/faults', {
        effect: { kind: 'appliedLate' },
        target: { endpoint: 'stopLimit' },
        count: 5,
      })
    ).json;
    expect(await failureOf(call(running.baseUrl, long, PATHS.stopLimit, STOP))).toBe('ECONNRESET');
    const listed = (await at('GET', '/faults')).json;
    expect(listed.faults).toMatchObject([{ id, hits: 1, remaining: 4 }]);
    expect([Object.keys(listed.kinds).length, listed.held]).toEqual([22, 1]);
    expect((await at('POST', '/faults/release')).json).toEqual({ released: 1 });
    expect(running.model.openOrders('long')).toHaveLength(1);
    expect((await at('DELETE', `/faults/${id}`)).json).toEqual({ cleared: 1 });
    expect((await at('DELETE', '/faults')).json).toEqual({ cleared: 0 });
  });

  test('regions and readings', async () => {
    const { running, at } = await exchange();
    await at('PUT', '/regions/0', { mode: 'unavailable' });
    expect((await send(`${running.baseUrl}/api/v4/public/ping`)).status).toBe(503);
    expect((await at('GET', '/regions')).json).toEqual([{ mode: 'unavailable' }, { mode: 'up' }]);
    await at('PATCH', '/readings', { shortAmount: 'unsigned', readLagMs: 5 });
    const { readings, choices } = (await at('GET', '/readings')).json;
    expect([readings.shortAmount, readings.readLagMs]).toEqual(['unsigned', 5]);
    expect(choices.shortAmount.values).toEqual(['signed', 'unsigned']);
  });

  test('limits', async () => {
    const { running, at } = await exchange();
    await at('PUT', '/limits', [{ path: '/api/v4/public/*', requests: 1, periodMs: 60_000 }]);
    const statuses = [];
    for (let index = 0; index < 2; index += 1)
      statuses.push((await send(`${running.baseUrl}/api/v4/public/ping`)).status);
    expect(statuses).toEqual([200, 429]);
    await at('PUT', '/limits', []);
    expect((await send(`${running.baseUrl}/api/v4/public/ping`)).status).toBe(200);
  });
});

describe('accounts', () => {
  test('an invalid account is refused with the reason, and its id stays free', async () => {
    const { at } = await exchange();
    const seed = { id: 'half', collateral: { USDT: '100' } };
    const odd = { ...seed, collateral: { USDT: '100', NOCOIN: '1' } };
    const refused = await at('POST', '/accounts', odd);
    expect([refused.status, refused.json]).toMatchObject([
      400,
      {
        error: {
          code: 'invalid-account',
          message: expect.stringContaining('unknown asset NOCOIN') as string,
        },
      },
    ]);
    expect((await at('POST', '/accounts', seed)).status).toBe(200);
  });

  test('a new account with positions trades at once', async () => {
    const { running, at } = await exchange();
    const { json } = await at('POST', '/accounts', {
      id: 'desk-9',
      collateral: { USDT: '10000' },
      positions: [{ market: 'ETH_PERP', direction: 'short', amount: '2' }],
      permissions: { trading: false },
    });
    expect((await call(running.baseUrl, json, PATHS.positions)).json).toMatchObject([{ amount: '-2' }]);
    expect((await call(running.baseUrl, json, PATHS.cancelAll)).status).toBe(403);
    await at('PATCH', '/accounts/desk-9', {
      permissions: { trading: true },
      nonceRule: 'increasing',
      leverage: 4,
    });
    expect((await call(running.baseUrl, json, PATHS.cancelAll)).status).toBe(200);
    expect((await at('GET', '/accounts/desk-9')).json).toMatchObject({
      leverage: 4,
      access: { nonceRule: 'increasing', permissions: { trading: true, creditLine: true } },
      positions: [{ market: 'ETH_PERP', direction: 'short', amount: '2' }],
    });
    const rotated = (await at('POST', '/accounts/desk-9/rotate-key')).json;
    expect((await call(running.baseUrl, json, PATHS.positions)).status).toBe(401);
    expect((await call(running.baseUrl, rotated, PATHS.positions)).status).toBe(200);
    expect((await at('GET', '/accounts')).json.map((each: { id: string }) => each.id)).toContain('desk-9');
  });

  test('the owner opens and closes positions at market', async () => {
    const { running, at } = await exchange();
    await at('POST', '/accounts/empty/positions', { market: 'BTC_PERP', direction: 'short', amount: '0.2' });
    expect(running.model.openPositions('empty')).toMatchObject([{ direction: 'short' }]);
    await at('POST', '/accounts/empty/positions/close', { market: 'BTC_PERP', amount: '0.15' });
    expect(running.model.openPositions('empty')[0]?.amount.toFixed()).toBe('0.05');
    await at('POST', '/accounts/hedged/positions/close', { market: 'BTC_PERP', direction: 'short' });
    expect(running.model.openPositions('hedged')).toMatchObject([{ direction: 'long' }]);
  });

  test('deposits, withdrawals, moves, orders, cancels', async () => {
    const { running, at } = await exchange();
    await at('POST', '/accounts/empty/deposits', { ticker: 'USDT', amount: '1000', uniqueId: 'in-1' });
    await at('POST', '/accounts/empty/withdrawals', { ticker: 'USDT', amount: '100', address: 'there' });
    const moved = (
      await at('POST', '/accounts/empty/moves', { from: 'main', to: 'spot', ticker: 'USDT', amount: '600' })
    ).json;
    expect(moved).toEqual({ balance: '600' });
    expect(running.model.mainBalance('empty')['USDT']?.toFixed()).toBe('300');
    const { order } = (
      await at('POST', '/accounts/empty/spot-orders', {
        market: 'BTC_USDT',
        side: 'buy',
        amount: '0.001',
        price: '50000',
      })
    ).json;
    expect((await at('DELETE', `/accounts/empty/orders/${order.orderId}`)).json.order.status).toBe(
      'CANCELLED',
    );
    await at('POST', '/accounts/long/collateral-orders', {
      market: 'BTC_PERP',
      side: 'buy',
      amount: '0.01',
      price: '50000',
    });
    await at('POST', '/accounts/long/collateral-orders', {
      market: 'BTC_PERP',
      side: 'sell',
      amount: '0.01',
      price: '55000',
      activationPrice: '55000',
      reduceOnly: true,
    });
    expect(running.model.openOrders('long')).toHaveLength(2);
    const { cancelled } = (await at('POST', '/accounts/long/cancel-all', { types: ['futures'] })).json;
    expect(cancelled).toHaveLength(2);
  });

  test('loans: opened, repaid, secured', async () => {
    const { running, at, long } = await exchange();
    const loan = { asset: 'USDT', amount: '5000', collateralAsset: 'BTC', collateralAmount: '0.2' };
    const { loanId } = (await at('POST', '/accounts/long/loans', loan)).json.loan;
    await at('POST', `/accounts/long/loans/${loanId}/collateral`, { amount: '0.2' });
    await at('POST', `/accounts/long/loans/${loanId}/repay`, { amount: '1000' });
    expect((await call(running.baseUrl, long, PATHS.creditLine)).json).toMatchObject({
      amount: '4000',
      currentLtv: '16.6667',
    });
    const second = await at('POST', '/accounts/long/loans', loan);
    expect(second).toMatchObject({
      status: 400,
      json: { error: { message: expect.stringContaining('loanReply=object') as string } },
    });
    await at('PATCH', '/readings', { loanReply: 'array' });
    await at('POST', '/accounts/long/loans', loan);
    expect((await call(running.baseUrl, long, PATHS.creditLine)).json).toHaveLength(2);
  });

  test('a fiat link is paid by its token; the service can fail', async () => {
    const { running, at, long } = await exchange();
    const link = { ticker: 'EUR', provider: 'SEPA', amount: '100', unique_id: 'f-1' };
    const { url } = (await call(running.baseUrl, long, PATHS.fiat, link)).json;
    const token = url.split('/').at(-1);
    expect((await at('POST', `/fiat-deposits/${token}/pay`, {})).json.transfer).toMatchObject({
      amount: '100',
    });
    expect((await at('POST', `/fiat-deposits/${token}/pay`, {})).status).toBe(422);
    await at('PATCH', '/fiat', { mode: 'unavailable', allowedDomains: ['other.test'] });
    expect((await call(running.baseUrl, long, PATHS.fiat, link)).status).toBe(503);
    expect((await at('GET', '/fiat')).json.allowedDomains).toEqual(['other.test']);
  });
});

describe('records', () => {
  test('the ledger lists commands after their effects; the request log has every request', async () => {
    const { running, at, long } = await exchange();
    await call(running.baseUrl, long, PATHS.positions);
    await call(running.baseUrl, long, PATHS.stopLimit, { ...STOP, client_order_id: 'one', nonce: 'n-1' });
    await call(running.baseUrl, long, PATHS.stopLimit, { ...STOP, amount: 'x', nonce: 'n-2' });
    const { entries } = (await at('GET', '/ledger?account=long&kind=order_placed,request')).json;
    expect(entries).toMatchObject([
      { kind: 'order_placed', clientOrderId: 'one' },
      {
        kind: 'request',
        details: { path: PATHS.stopLimit, nonce: 'n-1', status: 200, clientOrderId: 'one' },
      },
      { kind: 'request', details: { nonce: 'n-2', status: 400, code: 30 } },
    ]);
    const after = (await at('GET', `/ledger?after=${entries[1].seq}&limit=1`)).json.entries;
    expect(after).toMatchObject([{ details: { nonce: 'n-2' } }]);
    const all = (await at('GET', '/requests?account=long')).json;
    expect(all.requests.map((each: { endpoint: string }) => each.endpoint)).toEqual([
      'openPositions',
      'stopLimit',
      'stopLimit',
    ]);
    expect(all.requests[2]).toMatchObject({
      nonce: 'n-2',
      outcome: 'refused',
      code: 30,
      fields: { amount: [expect.any(String)] },
    });
    expect((await at('GET', '/requests?outcome=served&limit=1')).json.requests).toMatchObject([
      { clientOrderId: 'one' },
    ]);
    expect((await at('GET', '/requests?nonce=n-2&status=400')).json.requests).toHaveLength(1);
    expect(
      (await at('GET', '/requests?clientOrderId=one&endpoint=stopLimit&after=1')).json.requests,
    ).toHaveLength(1);
  });

  test('personal data of a deposit is in no record', async () => {
    const { running, at, long } = await exchange();
    await call(running.baseUrl, long, PATHS.fiat, {
      ticker: 'EUR',
      provider: 'VISAMASTER',
      amount: '100',
      unique_id: 'p',
      customer: { firstName: 'Personal-1', email: 'Personal-2' },
    });
    for (const path of ['/ledger', '/requests', '/state', '/accounts/long']) {
      expect((await at('GET', path)).text).not.toContain('Personal-');
    }
  });

  test('the request log is bounded and reports dropped entries', async () => {
    const running = await simulator({ accounts: [LONG], logCapacity: 3 });
    for (let index = 0; index < 10; index += 1) await send(`${running.baseUrl}/api/v4/public/ping`);
    const { json } = await control(running, 'GET', '/requests');
    expect([json.total, json.dropped]).toEqual([10, 7]);
    expect(json.requests.map((each: { seq: number }) => each.seq)).toEqual([8, 9, 10]);
  });
});

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { planOf } from '../../../src/simulator/http/fault-plan.ts';
import { parseFaultText } from '../../../src/simulator/http/fault-text.ts';
import { FaultBook, type FaultSpec } from '../../../src/simulator/http/faults.ts';
import { createRandom } from '../../../src/simulator/scenarios/random.ts';
import {
  type Answer,
  accountNamed,
  call,
  control,
  HEDGED,
  LONG,
  PATHS,
  SHORT,
  STOP,
  simulator,
} from './support.ts';

/** Replies of real exchanges during crashes. */

async function exchange() {
  const running = await simulator({ accounts: [LONG, SHORT, HEDGED] });
  const as =
    (id: string) =>
    (path: string, params: Record<string, unknown> = {}): Promise<Answer> =>
      call(running.baseUrl, accountNamed(running, id), path, params);
  const placed = () => running.ledger({ kinds: ['order_placed'] }).length;
  return { running, as, long: as('long'), placed };
}

/** As the command line does. */
async function withFault(text: string) {
  const running = await simulator({ accounts: [LONG, SHORT], faults: [text] });
  const long = (path: string, params: Record<string, unknown> = {}): Promise<Answer> =>
    call(running.baseUrl, accountNamed(running, 'long'), path, params);
  return { running, long, placed: () => running.ledger({ kinds: ['order_placed'] }).length };
}

describe('replies of the gateway', () => {
  test.each([
    ['gatewayStatus,status=502', 502, /^<html>[^]*502 Bad Gateway/],
    ['gatewayStatus,status=403', 403, /^<html>[^]*403 Forbidden/],
    ['gatewayStatus,status=404', 404, /^$/],
    ['gatewayStatus,status=503,body=empty', 503, /^$/],
  ])('%s', async (text, status, body) => {
    const { long, placed } = await withFault(text);
    const answer = await long(PATHS.stopLimit, STOP);
    expect(answer).toMatchObject({ status, json: undefined });
    expect(answer.text).toMatch(body);
    expect(placed()).toBe(0);
  });

  test('with applied=true come after the order took effect', async () => {
    const { long, placed } = await withFault('gatewayStatus,status=502,applied=true');
    expect((await long(PATHS.stopLimit, STOP)).status).toBe(502);
    expect(placed()).toBe(1);
  });

  test.each([
    ['', '2'],
    [',retryAfterAs=decimals', '1.500'],
  ])('ask for a delay%s: %s', async (as, expected) => {
    const { long } = await withFault(`gatewayStatus,status=429,retryAfterMs=1500${as}`);
    expect((await long(PATHS.positions)).headers['retry-after']).toBe(expected);
  });

  test('ask for a delay by a date of the server', async () => {
    const { running, long } = await withFault('status,status=429,retryAfterMs=60000,retryAfterAs=date');
    running.exchange.serverTimeSkewMs = 3_600_000;
    const { headers } = await long(PATHS.positions);
    const aheadMs = Date.parse(headers['retry-after'] ?? '') - Date.parse(headers.date ?? '');
    expect(aheadMs).toBeGreaterThanOrEqual(59_000);
    expect(aheadMs).toBeLessThanOrEqual(61_000);
  });

  test.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ])('are compressed as %s although identity was requested', async (encoding, unpack) => {
    const { running } = await withFault(`compressed,encoding=${encoding}`);
    const headers = { 'accept-encoding': 'identity' };
    const keys = accountNamed(running, 'long');
    const answer = await call(running.baseUrl, keys, PATHS.positions, {}, { headers });
    expect(answer.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(answer.bytes.length),
    });
    expect(JSON.parse(unpack(answer.bytes).toString())).toHaveLength(1);
  });
});

describe('503', () => {
  test.each([
    ['executed', 1],
    ['failed', 0],
    ['overloaded', 0],
  ])('that means %s leaves %i orders', async (meaning, orders) => {
    const { long, placed } = await withFault(`unavailable,meaning=${meaning}`);
    const answer = await long(PATHS.stopLimit, STOP);
    expect([answer.status, answer.json.code]).toEqual([503, 0]);
    expect(placed()).toBe(orders);
  });
});

describe('refusals by kind of command', () => {
  const OPENING = { ...STOP, reduceOnly: false, side: 'buy', activation_price: '61000', price: '61100' };

  test.each([
    ['orders', [503, 503, 200]],
    ['openingOrders', [200, 503, 200]],
    ['reduceOnlyOrders', [503, 200, 200]],
    ['cancels', [200, 200, 503]],
  ] as const)('%s', async (of, expected) => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'refusal', of } });
    const statuses = [
      (await long(PATHS.stopLimit, STOP)).status,
      (await long(PATHS.stopLimit, OPENING)).status,
      (await long(PATHS.cancelAll)).status,
    ];
    expect(statuses).toEqual(expected);
    const happened = running.ledger({ kinds: ['order_placed', 'order_cancelled'] }).map(({ kind }) => kind);
    const orders = expected.slice(0, 2).filter((status) => status === 200).length;
    expect(happened.filter((kind) => kind === 'order_placed')).toHaveLength(orders);
    expect(happened.filter((kind) => kind === 'order_cancelled')).toHaveLength(of === 'cancels' ? 0 : orders);
    expect((await long(PATHS.positions)).status).toBe(200);
  });

  test('have the configured code, status and words', async () => {
    const { long } = await withFault('refusal,of=cancels,status=403,code=2,message=not now');
    expect(await long(PATHS.cancelAll)).toMatchObject({ status: 403, json: { code: 2, message: 'not now' } });
  });

  test('by the engine come with a status that says cancelled, and leave no open order', async () => {
    const { running, long } = await withFault('orderCancelled,status=AUTO_CANCELED_USER_MARGIN,count=1');
    const { json } = await long(PATHS.stopLimit, { ...STOP, client_order_id: 'gone' });
    expect(json).toMatchObject({ status: 'AUTO_CANCELED_USER_MARGIN', client_order_id: 'gone', left: '0.1' });
    expect(running.model.openOrders('long')).toEqual([]);
    expect(running.ledger({ kinds: ['order_cancelled'] })).toMatchObject([{ clientOrderId: 'gone' }]);
    expect((await long(PATHS.stopLimit, STOP)).json.status).toBe('NEW');
  });
});

describe('false data', () => {
  test('a valid, empty list, for some time', async () => {
    const { running, long } = await exchange();
    running.injectFault({
      effect: { kind: 'emptyList' },
      target: { endpoint: 'openPositions' },
      afterMs: 1_000,
      forMs: 5_000,
    });
    const shown: number[] = [];
    for (const ms of [0, 1_000, 4_999, 1]) {
      running.advance(ms);
      shown.push((await long(PATHS.positions)).json.length);
    }
    expect(shown).toEqual([1, 0, 0, 1]);
    expect(running.exchange.faults.list()).toEqual([]);
  });

  test.each([
    [PATHS.orders, '{}'],
    [PATHS.transfers, '{"limit":50,"offset":0,"records":[],"total":0}'],
    [PATHS.balance, '{}'],
  ])('an empty result of %s', async (path, expected) => {
    const { long } = await withFault('emptyList');
    expect((await long(path)).text).toBe(expected);
  });

  test('an error stays an error', async () => {
    const { long } = await withFault('emptyList');
    expect((await long(PATHS.positions, { market: 'NO_PERP' })).json.code).toBe(30);
  });

  test('a balance and a free margin of 0', async () => {
    const { running, long } = await withFault('zeroBalance');
    expect((await long(PATHS.balance)).json).toEqual({
      USDT: { main_balance: '0' },
      BTC: { main_balance: '0' },
    });
    expect((await long(PATHS.positions)).json).toMatchObject([{ amount: '0.5', freeMargin: '0' }]);
    expect(running.model.mainBalance('long')['USDT']?.toFixed()).toBe('5000');
  });

  test('one more record with nulls, of another market, beside the true ones', async () => {
    const { long } = await withFault('nullRecord,market=ETH_PERP');
    const { json } = await long(PATHS.positions);
    expect(json).toMatchObject([
      { market: 'BTC_PERP', amount: '0.5' },
      {
        market: 'ETH_PERP',
        amount: null,
        basePrice: null,
        pnl: null,
        pnlPercent: null,
        liquidationPrice: null,
      },
    ]);
    expect(Object.keys(json[1]).sort()).toEqual(Object.keys(json[0]).sort());
    expect((await long(PATHS.positions, { market: 'BTC_PERP' })).json).toHaveLength(1);
  });

  test('nulls in one of the existing records', async () => {
    const { running, as } = await exchange();
    running.injectFault({ effect: { kind: 'nullRecord', inPlace: true } });
    const { json } = await as('hedged')(PATHS.positions);
    expect(json.map((record: { amount: unknown }) => record.amount === null).sort()).toEqual([false, true]);
  });

  test.each([
    ['emptyString', { liquidationState: '', tpsl: '', amount: '0.5' }],
    ['emptyString,field=amount', { liquidationState: null, amount: '' }],
  ])('%s', async (text, expected) => {
    const { long } = await withFault(text);
    expect((await long(PATHS.positions)).json).toMatchObject([expected]);
  });
});

describe('the period of a fault', () => {
  const at = (atMs: number) => ({
    endpoint: 'stopLimit',
    account: 'long',
    region: 0,
    atMs,
    isReduceOnly: () => true,
  });
  const hits = (spec: Omit<FaultSpec, 'effect'>, times: readonly number[], nowMs = 0): number[] => {
    const book = new FaultBook(() => 0);
    book.inject({ effect: { kind: 'reset' }, ...spec }, nowMs);
    return times.filter((atMs) => book.draw(at(atMs)).length > 0);
  };

  test.each<[string, Omit<FaultSpec, 'effect'>, readonly number[]]>([
    ['always', {}, [0, 99, 100, 150, 199, 200, 310]],
    ['from and until', { fromMs: 100, untilMs: 200 }, [100, 150, 199]],
    ['for a time from now on', { forMs: 100 }, [0, 99]],
    ['for a time after a time', { afterMs: 100, forMs: 51 }, [100, 150]],
    ['again and again', { afterMs: 100, forMs: 50, everyMs: 100 }, [100, 200, 310]],
    ['again and again until', { afterMs: 100, forMs: 50, everyMs: 100, untilMs: 300 }, [100, 200]],
  ])('%s', (_name, spec, expected) => {
    expect(hits(spec, [0, 99, 100, 150, 199, 200, 310])).toEqual(expected);
  });

  test('relative times count from the injection', () => {
    expect(hits({ afterMs: 10, forMs: 10 }, [1_009, 1_010, 1_019, 1_020], 1_000)).toEqual([1_010, 1_019]);
  });

  test('draws no random numbers outside of its period, so that seeds stay comparable', () => {
    const random = createRandom(1);
    const book = new FaultBook(() => random.uniform());
    book.inject({ effect: { kind: 'reset' }, probability: 0.5, fromMs: 1_000 }, 0);
    book.draw(at(0));
    expect(random.uniform()).toBe(createRandom(1).uniform());
  });

  test('is parsed from text and checked', async () => {
    const text = 'refusal,of=orders,account=long,afterMs=1000,forMs=2000,everyMs=10000,probability=0.5';
    expect(parseFaultText(text)).toEqual({
      effect: { kind: 'refusal', of: 'orders' },
      target: { account: 'long' },
      afterMs: 1_000,
      forMs: 2_000,
      everyMs: 10_000,
      probability: 0.5,
    });
    const { running } = await exchange();
    const effect = { kind: 'reset' };
    for (const [when, problem] of [
      [{ fromMs: 1, afterMs: 1 }, 'not both'],
      [{ forMs: 1, untilMs: 1 }, 'not both'],
      [{ everyMs: 10 }, 'forMs'],
      [{ forMs: 20, everyMs: 10 }, 'forMs'],
    ] as const) {
      const answer = await control(running, 'POST', '/faults', { effect, ...when });
      expect({ when, status: answer.status }).toEqual({ when, status: 400 });
      expect(answer.json.error.message).toContain(problem);
    }
  });
});

describe('delays', () => {
  const delays = (effect: {
    delayMs: number;
    jitterMs?: number;
    sigma?: number;
    maxMs?: number;
  }): number[] => {
    const random = createRandom(5);
    return Array.from(
      { length: 2_000 },
      () => planOf([{ kind: 'latency', ...effect }], () => random.uniform()).requestDelayMs,
    ).sort((a, b) => a - b);
  };

  test('are lognormal with sigma: half below the median, a tail up to the bound', () => {
    const drawn = delays({ delayMs: 400, sigma: 1, maxMs: 5_000 });
    expect(drawn[1_000]).toBeGreaterThan(360);
    expect(drawn[1_000]).toBeLessThan(440);
    // One standard deviation is a factor of e.
    expect((drawn[1_682] ?? 0) / 400).toBeGreaterThan(2.4);
    expect((drawn[1_682] ?? 0) / 400).toBeLessThan(3.1);
    expect(drawn.at(-1)).toBe(5_000);
    expect(drawn).toEqual(delays({ delayMs: 400, sigma: 1, maxMs: 5_000 }));
  });

  test('are uniform with jitter, and fixed without either', () => {
    expect(delays({ delayMs: 100, jitterMs: 100 })[1_000]).toBeCloseTo(150, -1);
    expect(new Set(delays({ delayMs: 100 }))).toEqual(new Set([100]));
  });
});

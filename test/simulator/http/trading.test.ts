import { describe, expect, test } from 'vitest';
import type { RunningSimulator } from '../../../src/simulator/start-simulated-exchange.ts';
import {
  type Answer,
  accountNamed,
  call,
  EMPTY,
  HEDGED,
  LONG,
  PATHS,
  SHORT,
  STOP,
  simulator,
} from './support.ts';

async function exchange(readings: Record<string, unknown> = {}) {
  const running = await simulator({ accounts: [LONG, SHORT, HEDGED, EMPTY], readings });
  return { running, as: (id: string) => caller(running, id) };
}

function caller(running: RunningSimulator, id: string) {
  const keys = accountNamed(running, id);
  return (path: string, params: Record<string, unknown> = {}): Promise<Answer> =>
    call(running.baseUrl, keys, path, params);
}

describe('open positions (4.3)', () => {
  test('every field of 2.4, as strings where they are decimals', async () => {
    const { running, as } = await exchange();
    running.setPrice('BTC_PERP', '59000');
    const { json } = await as('long')(PATHS.positions);
    expect(json).toEqual([
      {
        positionId: expect.any(Number),
        market: 'BTC_PERP',
        openDate: expect.any(Number),
        modifyDate: expect.any(Number),
        amount: '0.5',
        basePrice: '60000',
        liquidationPrice: expect.stringMatching(/^\d+(\.\d+)?$/),
        liquidationState: null,
        pnl: '0',
        pnlPercent: expect.stringMatching(/^-\d/),
        margin: '3000',
        freeMargin: '6500',
        funding: '0',
        unrealizedFunding: '0',
        unrealizedPnl: '-500',
        tpsl: null,
        positionSide: 'BOTH',
      },
    ]);
    expect(json[0].openDate).toBe(Date.UTC(2026, 0, 1) / 1_000);
  });

  test('the market filter; a market that does not exist is refused', async () => {
    const { as } = await exchange();
    expect((await as('long')(PATHS.positions, { market: 'BTC_PERP' })).json).toHaveLength(1);
    expect((await as('long')(PATHS.positions, { market: 'ETH_PERP' })).json).toEqual([]);
    for (const market of ['DOGE_PERP', 7]) {
      const refused = await as('long')(PATHS.positions, { market });
      expect([refused.status, refused.json.code, Object.keys(refused.json.errors)]).toEqual([
        400,
        30,
        ['market'],
      ]);
    }
  });

  test('reading shortAmount: a short in one-way mode is signed or not; in hedge mode never', async () => {
    const { running, as } = await exchange();
    const amounts = async (id: string) =>
      (await as(id)(PATHS.positions)).json.map((each: { amount: string; positionSide: string }) => [
        each.amount,
        each.positionSide,
      ]);
    expect(await amounts('short')).toEqual([['-0.5', 'BOTH']]);
    running.setReadings({ shortAmount: 'unsigned' });
    expect(await amounts('short')).toEqual([['0.5', 'BOTH']]);
    expect(await amounts('hedged')).toEqual([
      ['0.5', 'LONG'],
      ['0.2', 'SHORT'],
    ]);
  });

  test('a cached reply is never shown after the price, an order or a setting changed it', async () => {
    const { running, as } = await exchange();
    const pnl = async () => (await as('long')(PATHS.positions)).json[0];
    expect((await pnl()).unrealizedPnl).toBe('0');
    running.setPrice('BTC_PERP', '60100');
    expect((await pnl()).unrealizedPnl).toBe('50');
    expect((await pnl()).margin).toBe('3000');
    running.exchange.change((model) => model.setLeverage('long', 5));
    expect((await pnl()).margin).toBe('6000');
    running.exchange.change((model) => {
      model.setPrice('BTC_PERP', running.model.markets()[0]?.last ?? neverCalled());
    });
    expect((await pnl()).unrealizedPnl).toBe('0');
  });
});

function neverCalled(): never {
  throw new Error('there is a first market');
}

describe('stop-limit orders (4.4)', () => {
  test('every field of 2.2', async () => {
    const { as } = await exchange();
    const { status, json } = await as('long')(PATHS.stopLimit, { ...STOP, client_order_id: 'a-B.c_9' });
    expect(status).toBe(200);
    expect(json).toEqual({
      order_id: expect.any(Number),
      client_order_id: 'a-B.c_9',
      market: 'BTC_PERP',
      side: 'sell',
      type: 'stop limit',
      timestamp: expect.any(Number),
      deal_money: '0',
      deal_stock: '0',
      amount: '0.1',
      left: '0.1',
      deal_fee: '0',
      price: '58000',
      activation_price: '58500',
      status: 'NEW',
      stp: 'no',
      positionSide: 'BOTH',
      reduceOnly: true,
    });
    expect((await as('long')(PATHS.stopLimit, STOP)).json.client_order_id).toBe('');
  });

  test('reading orderFieldSpelling: the ids and sums in camel case; requests may spell the id either way', async () => {
    const { as } = await exchange({ orderFieldSpelling: 'camel' });
    const { json } = await as('long')(PATHS.stopLimit, { ...STOP, clientOrderId: 'camel-1' });
    expect(json).toMatchObject({ clientOrderId: 'camel-1', dealMoney: '0', dealStock: '0', dealFee: '0' });
    expect(json.orderId).toEqual(expect.any(Number));
    expect(json).not.toHaveProperty('order_id');
    const both = await as('long')(PATHS.stopLimit, { ...STOP, clientOrderId: 'x', client_order_id: 'y' });
    expect(both.json.errors).toHaveProperty('client_order_id');
  });

  test('stopLoss and takeProfit make an oto object, and tpsl on the position once filled', async () => {
    const { running, as } = await exchange();
    const order = { ...STOP, side: 'buy', price: '60600', activation_price: '60500', reduceOnly: false };
    const { json } = await as('empty')(PATHS.stopLimit, { ...order, stopLoss: '55000', takeProfit: '70000' });
    expect(json.oto).toEqual({ otoId: expect.any(Number), stopLoss: '55000', takeProfit: '70000' });
    running.setPrice('BTC_PERP', '60500');
    const [position] = (await as('empty')(PATHS.positions)).json;
    expect(position.tpsl).toEqual({
      takeProfitId: expect.any(Number),
      takeProfit: '70000',
      stopLossId: expect.any(Number),
      stopLoss: '55000',
    });
  });

  const FIELD_CASES: [string, Record<string, unknown>, number, string][] = [
    ['market is required', { market: undefined }, 30, 'market'],
    ['market must exist', { market: 'DOGE_PERP' }, 31, 'market'],
    ['side is required', { side: undefined }, 30, 'side'],
    ['side is buy or sell', { side: 'SELL' }, 30, 'side'],
    ['amount is required', { amount: undefined }, 30, 'amount'],
    ['amount is a string', { amount: 0.1 }, 30, 'amount'],
    ['amount is a number', { amount: 'much' }, 30, 'amount'],
    ['amount is above the minimum', { amount: '0.0001' }, 32, 'amount'],
    ['amount is positive', { amount: '-1' }, 32, 'amount'],
    ['amount is a multiple of its step', { amount: '0.1001' }, 32, 'amount'],
    ['price is required', { price: undefined }, 30, 'price'],
    ['price is a multiple of its step', { price: '58000.05' }, 33, 'price'],
    ['price is positive', { price: '0' }, 33, 'price'],
    ['activation price is required', { activation_price: undefined }, 30, 'activation_price'],
    ['activation price is a number', { activation_price: 'NaN' }, 30, 'activation_price'],
    ['positionSide is one of three', { positionSide: 'long' }, 30, 'positionSide'],
    ['reduceOnly is a boolean', { reduceOnly: 'true' }, 30, 'reduceOnly'],
    ['client order id has no spaces', { client_order_id: 'a b' }, 36, 'client_order_id'],
    ['client order id has no colon', { client_order_id: 'a:b' }, 36, 'client_order_id'],
    ['no stopLoss with reduceOnly', { stopLoss: '50000' }, 30, 'stopLoss'],
    ['no takeProfit with reduceOnly', { takeProfit: '70000' }, 30, 'takeProfit'],
  ];

  test.each(FIELD_CASES)('%s', async (_name, change, code, field) => {
    const { running, as } = await exchange();
    const answer = await as('long')(PATHS.stopLimit, { ...STOP, ...change });
    expect([answer.status, answer.json.code, answer.json.message]).toEqual([400, code, 'Validation failed']);
    expect(Object.keys(answer.json.errors)).toEqual([field]);
    expect(running.model.openOrders('long')).toHaveLength(0);
  });

  test('with reduceOnly both attached orders are named', async () => {
    const { as } = await exchange();
    const both = { ...STOP, stopLoss: '50000', takeProfit: '70000' };
    const { json } = await as('long')(PATHS.stopLimit, both);
    expect(Object.keys(json.errors).sort()).toEqual(['stopLoss', 'takeProfit']);
  });

  test('several wrong fields are all named', async () => {
    const { as } = await exchange();
    const { json } = await as('long')(PATHS.stopLimit, {});
    expect(Object.keys(json.errors).sort()).toEqual([
      'activation_price',
      'amount',
      'market',
      'price',
      'side',
    ]);
  });

  test('reading orderErrorCodes generic: code 30 whatever the field', async () => {
    const { as } = await exchange({ orderErrorCodes: 'generic' });
    for (const change of [
      { market: 'DOGE_PERP' },
      { amount: '0.0001' },
      { price: '0' },
      { client_order_id: '!' },
    ]) {
      expect((await as('long')(PATHS.stopLimit, { ...STOP, ...change })).json.code).toBe(30);
    }
  });

  test('reduce-only: an excess is trimmed and the reply says so', async () => {
    const { as } = await exchange();
    const { json } = await as('long')(PATHS.stopLimit, { ...STOP, amount: '3' });
    expect([json.amount, json.left]).toEqual(['0.5', '0.5']);
  });

  test('reduce-only: 116 without a position, or on its own side', async () => {
    const { as } = await exchange();
    const none = await as('empty')(PATHS.stopLimit, STOP);
    expect([none.status, none.json.code]).toEqual([400, 116]);
    const sameSide = await as('short')(PATHS.stopLimit, STOP);
    expect([sameSide.status, sameSide.json.code]).toEqual([400, 116]);
  });

  test('hedge mode requires LONG or SHORT (114); one-way mode ignores the field', async () => {
    const { as } = await exchange();
    expect((await as('hedged')(PATHS.stopLimit, STOP)).json.code).toBe(114);
    expect((await as('hedged')(PATHS.stopLimit, { ...STOP, positionSide: 'BOTH' })).json.code).toBe(114);
    const long = await as('hedged')(PATHS.stopLimit, { ...STOP, positionSide: 'LONG' });
    expect([long.status, long.json.positionSide]).toEqual([200, 'LONG']);
    const oneWay = await as('long')(PATHS.stopLimit, { ...STOP, positionSide: 'SHORT' });
    expect([oneWay.status, oneWay.json.positionSide]).toEqual([200, 'BOTH']);
  });

  test('opening without sufficient margin is refused with code 10', async () => {
    const { as } = await exchange();
    const order = {
      ...STOP,
      side: 'buy',
      amount: '100',
      price: '61000',
      activation_price: '60500',
      reduceOnly: false,
    };
    expect((await as('empty')(PATHS.stopLimit, order)).json).toMatchObject({ code: 10 });
  });

  test('reading clientOrderIdUniqueness: forever, or among open orders', async () => {
    const { running, as } = await exchange();
    const order = { ...STOP, client_order_id: 'once' };
    expect((await as('long')(PATHS.stopLimit, order)).status).toBe(200);
    expect((await as('long')(PATHS.stopLimit, order)).json.code).toBe(36);
    await as('long')(PATHS.cancelAll);
    expect((await as('long')(PATHS.stopLimit, order)).json.code).toBe(36);
    running.setReadings({ clientOrderIdUniqueness: 'openOrders' });
    expect((await as('long')(PATHS.stopLimit, order)).status).toBe(200);
    expect((await as('long')(PATHS.stopLimit, order)).json.code).toBe(36);
  });

  test('readings validationStatus and validationCode: 422 and 0', async () => {
    const { as } = await exchange({ validationStatus: '422', validationCode: '0', emptyResult: 'array' });
    const answer = await as('long')(PATHS.stopLimit, {});
    expect([answer.status, answer.json.code, answer.json.message]).toEqual([422, 0, 'Validation failed']);
    // Codes that say more than "invalid parameter" stay; empty errors follow the reading.
    expect((await as('empty')(PATHS.stopLimit, STOP)).json.code).toBe(116);
  });

  test('readings stopTriggerSource and stopTriggersAtEquality', async () => {
    const placed = async (readings: Record<string, unknown>) => {
      const { running, as } = await exchange(readings);
      await as('long')(PATHS.stopLimit, STOP);
      return running;
    };
    const triggered = (running: RunningSimulator) => running.ledger({ kinds: ['stop_triggered'] }).length;
    const byLast = await placed({});
    byLast.setPrice('BTC_PERP', '59000', { mark: '58000' });
    expect(triggered(byLast)).toBe(0);
    byLast.setPrice('BTC_PERP', '58500');
    expect(triggered(byLast)).toBe(1);
    const byMark = await placed({ stopTriggerSource: 'mark', stopTriggersAtEquality: 'no' });
    byMark.setPrice('BTC_PERP', '59000', { mark: '58500' });
    expect(triggered(byMark)).toBe(0);
    byMark.setPrice('BTC_PERP', '59000', { mark: '58499' });
    expect(triggered(byMark)).toBe(1);
  });
});

describe('cancel all (4.6)', () => {
  test('by market and by type; omitted means all', async () => {
    const { running, as } = await exchange();
    const place = async () => {
      await as('long')(PATHS.stopLimit, STOP);
      running.exchange.change((model) =>
        model.placeSpotOrder('long', {
          market: 'BTC_USDT',
          side: 'buy',
          amount: running.model.markets()[0]?.spec.minAmount ?? neverCalled(),
          price: running.model.markets()[0]?.spec.depth.levelStep ?? neverCalled(),
        }),
      );
    };
    const left = () => running.model.openOrders('long').map((order) => order.orderClass);
    await place();
    expect((await as('long')(PATHS.cancelAll, { market: 'ETH_PERP' })).json).toEqual([]);
    expect(left()).toHaveLength(2);
    await as('long')(PATHS.cancelAll, { market: 'BTC_PERP', type: ['spot'] });
    expect(left()).toHaveLength(2);
    await as('long')(PATHS.cancelAll, { type: ['futures', 'margin'] });
    expect(left()).toEqual(['spot']);
    await place();
    await as('long')(PATHS.cancelAll);
    expect(left()).toEqual([]);
  });

  test.each([
    ['a type that does not exist', { type: ['options'] }, 'type'],
    ['a type that is no array', { type: 'spot' }, 'type'],
    ['no type at all', { type: [] }, 'type'],
    ['a market that does not exist', { market: 'DOGE_PERP' }, 'market'],
  ])('%s is refused and cancels nothing', async (_name, params, field) => {
    const { running, as } = await exchange();
    await as('long')(PATHS.stopLimit, STOP);
    const answer = await as('long')(PATHS.cancelAll, params);
    expect([answer.status, answer.json.code, Object.keys(answer.json.errors)]).toEqual([400, 30, [field]]);
    expect(running.model.openOrders('long')).toHaveLength(1);
  });

  test('reading cancelCoversStops', async () => {
    const { running, as } = await exchange({ cancelCoversStops: 'no' });
    await as('long')(PATHS.stopLimit, STOP);
    expect((await as('long')(PATHS.cancelAll)).status).toBe(200);
    expect(running.model.openOrders('long')).toHaveLength(1);
    running.setReadings({ cancelCoversStops: 'yes' });
    await as('long')(PATHS.cancelAll);
    expect(running.model.openOrders('long')).toHaveLength(0);
  });

  test('reading successBody, also for hedge mode', async () => {
    const { running, as } = await exchange();
    const bodies = async () => [
      (await as('empty')(PATHS.cancelAll)).text,
      (await as('empty')(PATHS.hedgeMode, { hedgeMode: true })).text,
    ];
    expect(await bodies()).toEqual(['[]', '{"hedgeMode":true}']);
    for (const [successBody, text] of [
      ['emptyArray', '[]'],
      ['emptyObject', '{}'],
      ['nothing', ''],
    ] as const) {
      running.setReadings({ successBody });
      expect(await bodies()).toEqual([text, text]);
    }
  });
});

describe('hedge mode (4.7)', () => {
  test('switches an account without positions; hedgeMode must be a boolean', async () => {
    const { running, as } = await exchange();
    expect((await as('empty')(PATHS.hedgeMode, { hedgeMode: true })).json).toEqual({ hedgeMode: true });
    expect(running.model.account('empty').hedgeMode).toBe(true);
    for (const params of [{}, { hedgeMode: 'true' }, { hedgeMode: 1 }, { hedgeMode: null }]) {
      const answer = await as('empty')(PATHS.hedgeMode, params);
      expect([answer.status, answer.json.code, Object.keys(answer.json.errors)]).toEqual([
        400,
        30,
        ['hedgeMode'],
      ]);
    }
  });

  test('is refused with 113 while positions or orders are open', async () => {
    const { running, as } = await exchange();
    const answer = await as('long')(PATHS.hedgeMode, { hedgeMode: true });
    expect([answer.status, answer.json.code]).toEqual([400, 113]);
    expect(running.model.account('long').hedgeMode).toBe(false);
  });
});

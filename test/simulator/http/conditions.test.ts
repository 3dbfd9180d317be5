import { describe, expect, test } from 'vitest';
import { parseConditionText } from '../../../src/simulator/http/fault-text.ts';
import { type Answer, accountNamed, call, control, LONG, PATHS, SHORT, STOP, simulator } from './support.ts';

async function exchange() {
  const running = await simulator({ accounts: [LONG, SHORT] });
  const long = (path: string, params: Record<string, unknown> = {}): Promise<Answer> =>
    call(running.baseUrl, accountNamed(running, 'long'), path, params);
  const set = (body: unknown) => control(running, 'POST', '/conditions', body);
  return { running, long, set };
}

describe('conditions of a market', () => {
  test('are set by the control API, at their time, and visible to customers', async () => {
    const { running, long, set } = await exchange();
    const scheduled = {
      kind: 'deleverage',
      account: 'long',
      market: 'BTC_PERP',
      amount: '0.2',
      afterMs: 5_000,
    };
    expect((await set(scheduled)).status).toBe(200);
    running.advance(4_999);
    expect((await long(PATHS.positions)).json).toMatchObject([{ amount: '0.5' }]);
    running.advance(1);
    expect((await long(PATHS.positions)).json).toMatchObject([{ amount: '0.3' }]);
    expect(running.ledger({ kinds: ['auto_deleverage'] })).toMatchObject([{ amount: '0.2', fee: '0' }]);
  });

  test('show a mark apart from the last price in liquidation prices and margins', async () => {
    const { running, long, set } = await exchange();
    await set({ kind: 'basis', market: 'BTC_PERP', ratio: '-0.1', overMs: 10_000 });
    running.advance(10_000);
    const [position] = (await long(PATHS.positions)).json;
    expect(position.unrealizedPnl).toBe('-3000');
    expect(running.model.market('BTC_PERP')?.last.toFixed()).toBe('60000');
  });

  test('refuse orders in a halt, for its duration, and accept cancels', async () => {
    const { running, long, set } = await exchange();
    await long(PATHS.stopLimit, STOP);
    const { json } = await set({ kind: 'halt', market: 'BTC_PERP', forMs: 2_000 });
    expect(json.find(({ spec }: { spec: { name: string } }) => spec.name === 'BTC_PERP').status).toBe(
      'halted',
    );
    expect((await long(PATHS.stopLimit, STOP)).json.code).toBe(31);
    expect((await long(PATHS.cancelAll, { market: 'BTC_PERP' })).status).toBe(200);
    running.advance(2_000);
    expect((await long(PATHS.stopLimit, STOP)).status).toBe(200);
  });

  test('rename a market: positions are listed under the new name, the old one is unknown', async () => {
    const { long, set } = await exchange();
    await set({ kind: 'rename', market: 'BTC_PERP', to: 'XBT_PERP' });
    expect((await long(PATHS.positions)).json).toMatchObject([{ market: 'XBT_PERP', amount: '0.5' }]);
    expect((await long(PATHS.positions, { market: 'XBT_PERP' })).json).toHaveLength(1);
    expect((await long(PATHS.positions, { market: 'BTC_PERP' })).json.errors).toHaveProperty('market');
    expect((await long(PATHS.stopLimit, { ...STOP, market: 'XBT_PERP' })).status).toBe(200);
  });

  test('drop orders: tpsl silently disappears from the position', async () => {
    const { running, long, set } = await exchange();
    const order = { ...STOP, reduceOnly: false, side: 'buy', activation_price: '60000', price: '61000' };
    await long(PATHS.stopLimit, { ...order, stopLoss: '50000' });
    expect((await long(PATHS.positions)).json[0].tpsl).toMatchObject({ stopLoss: '50000' });
    await set({ kind: 'dropOrders', market: 'BTC_PERP', account: 'long' });
    expect((await long(PATHS.positions)).json[0].tpsl).toBeNull();
    expect(running.ledger({ kinds: ['order_cancelled'] })).toMatchObject([{ reason: 'vanished' }]);
  });

  test('delist a market: it is unknown to customers', async () => {
    const { long, set } = await exchange();
    await set({ kind: 'delist', market: 'BTC_PERP' });
    expect((await long(PATHS.positions)).json).toEqual([]);
    expect((await long(PATHS.positions, { market: 'BTC_PERP' })).status).toBe(400);
    expect((await long(PATHS.cancelAll, { market: 'BTC_PERP' })).status).toBe(400);
  });

  test.each([
    [{ kind: 'thin', market: 'BTC_PERP' }, 400, 'kind'],
    [{ kind: 'depth', market: 'NO_PERP' }, 404, 'no market'],
    [{ kind: 'depth', market: 'BTC_PERP', factor: 0.5 }, 400, 'factor'],
    [{ kind: 'depth', market: 'BTC_PERP', factor: '-1' }, 400, 'factor'],
    [{ kind: 'deleverage', market: 'BTC_PERP', account: 'nobody' }, 404, 'no account'],
    [{ kind: 'deleverage', market: 'ETH_PERP', account: 'long' }, 422, 'no such position'],
    [{ kind: 'delist', market: 'BTC_PERP', forMs: 1 }, 422, 'no end'],
    [{ kind: 'halt', market: 'BTC_PERP', forMs: 1, untilMs: 1 }, 400, 'not both'],
  ])('explain the error in %j', async (body, status, text) => {
    const { set } = await exchange();
    const answer = await set(body);
    expect(answer.status).toBe(status);
    expect(answer.json.error.message).toContain(text);
  });
});

describe('conditions as text', () => {
  test('are parsed as the control API parses them', () => {
    expect(parseConditionText('basis,market=BTC_PERP,ratio=-0.07,overMs=60000,afterMs=1')).toEqual({
      kind: 'basis',
      market: 'BTC_PERP',
      ratio: '-0.07',
      overMs: 60_000,
      afterMs: 1,
    });
    expect(() => parseConditionText('crash')).toThrow('there are depth, basis');
    expect(() => parseConditionText('depth,market')).toThrow('not key=value');
  });

  test('apply from the start of the exchange', async () => {
    const running = await simulator({
      accounts: [LONG],
      conditions: ['basis,market=BTC_PERP,ratio=0.01', 'depth,market=BTC_PERP,spread=0.02,afterMs=1000'],
    });
    expect(running.model.market('BTC_PERP')?.mark.toFixed()).toBe('60600');
    running.advance(1_000);
    expect(running.model.market('BTC_PERP')?.bid.toFixed()).toBe('59400');
    await expect(simulator({ conditions: ['depth,market=NO_PERP'] })).rejects.toThrow('no market');
  });

  test('give the same ledger for the same seed', async () => {
    const ledger = async () => {
      const running = await simulator({
        seed: 9,
        accounts: [LONG, SHORT],
        walk: {},
        conditions: ['basis,market=BTC_PERP,ratio=-0.09,overMs=30000', 'depth,market=BTC_PERP,factor=0.1'],
      });
      running.advance(60_000);
      return JSON.stringify(running.ledger());
    };
    expect(await ledger()).toBe(await ledger());
  });
});

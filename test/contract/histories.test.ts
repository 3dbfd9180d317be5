import { describe, expect, it } from 'vitest';
import type { ReadOutcome, RecordList } from '../../src/core/ports/exchange.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { type ConnectOptions, connect, d, openExchange } from './support/world.ts';

/** Histories of any content are read to their end, within the bounds of the specification. */

function listOf<T>(outcome: ReadOutcome<RecordList<T>>): RecordList<T> {
  if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
  return outcome.value;
}

const UNLIMITED: ConnectOptions = {
  limiter: {
    limits: {
      transfers: { limit: 100_000 },
      'main-account': { limit: 100_000 },
      'trade-account': { limit: 100_000 },
    },
  },
};

function deposit(exchange: RunningSimulator, count: number): void {
  exchange.exchange.change((model) => {
    for (let index = 1; index <= count; index += 1)
      model.deposit('flat', { ticker: 'USDT', amount: d(String(index)), uniqueId: `d-${index}` });
  });
}

function trade(exchange: RunningSimulator, count: number): void {
  exchange.exchange.change((model) => {
    for (let index = 0; index < count; index += 1) {
      const market = index % 3 === 0 ? 'ETH_USDT' : 'BTC_USDT';
      const order = { market, side: 'buy', amount: d('0.01'), price: d('1') } as const;
      const placed = model.placeSpotOrder('flat', { ...order, clientOrderId: `s-${index}` });
      if (placed.ok) model.cancelOrder('flat', placed.order.orderId);
    }
  });
}

describe('the transfers', () => {
  it.each([0, 1, 499, 500, 501, 1203])('%i of them arrive whole, each once, newest first', async (count) => {
    const exchange = await openExchange();
    deposit(exchange, count);
    const { records, complete } = listOf(await connect(exchange, 'flat', UNLIMITED).client.transfers());
    expect(complete).toBe(true);
    // A page holds 500, and the pages overlap a little.
    const pages = count <= 500 ? 1 : Math.ceil((count - 3) / 497);
    expect(exchange.requestLog({ endpoint: 'transferHistory' })).toHaveLength(pages);
    expect(records.map(({ uniqueId }) => uniqueId)).toEqual(
      Array.from({ length: count }, (_, index) => `d-${count - index}`),
    );
  });

  it('are cut at the number asked for, and then incomplete', async () => {
    const exchange = await openExchange();
    deposit(exchange, 30);
    const { client } = connect(exchange, 'flat', UNLIMITED);
    const list = listOf(await client.transfers({ maxRecords: 10 }));
    expect([list.records.length, list.complete]).toEqual([10, false]);
    expect(listOf(await client.transfers({ maxRecords: 30 })).complete).toBe(true);
  });

  it('are filtered by every filter of the specification', async () => {
    const exchange = await openExchange();
    exchange.exchange.change((model) => {
      model.deposit('long', { ticker: 'USDT', amount: d('1'), address: 'a-1', uniqueId: 'u-1' });
      model.deposit('long', { ticker: 'BTC', amount: d('2'), address: 'a-2', finalStatus: 7 });
      model.withdraw('long', { ticker: 'USDT', amount: d('3'), address: 'a-3' });
      model.deposit('long', { ticker: 'USDT', amount: d('4'), address: 'a-1', settleAfterMs: 1000 });
    });
    const { client } = connect(exchange, 'long', UNLIMITED);
    const amounts = async (query: Parameters<typeof client.transfers>[0]) =>
      listOf(await client.transfers(query)).records.map(({ amount }) => amount);
    expect(await amounts({})).toEqual(['4', '3', '2', '1']);
    expect(await amounts({ method: 'deposit' })).toEqual(['4', '2', '1']);
    expect(await amounts({ method: 'withdrawal' })).toEqual(['3']);
    expect(await amounts({ ticker: 'BTC' })).toEqual(['2']);
    expect(await amounts({ addresses: ['a-1'] })).toEqual(['4', '1']);
    expect(await amounts({ addresses: ['a-2', 'a-3'] })).toEqual(['3', '2']);
    expect(await amounts({ uniqueId: 'u-1' })).toEqual(['1']);
    expect(await amounts({ method: 'deposit', status: [15] })).toEqual(['4']);
    expect(await amounts({ method: 'deposit', status: [3, 7] })).toEqual(['2', '1']);
  });

  it('show every documented field of a deposit and of a withdrawal that was processed in part', async () => {
    const exchange = await openExchange();
    exchange.exchange.change((model) => {
      model.deposit('long', {
        ticker: 'USDT',
        amount: d('1.5'),
        memo: 'm',
        description: 'text',
        uniqueId: 'u',
      });
      model.withdraw('long', { ticker: 'USDT', amount: d('10'), processedAmount: d('4'), address: 'T-1' });
    });
    const views = exchange.model.transfers('long');
    const list = listOf(await connect(exchange, 'long', UNLIMITED).client.transfers());
    expect(list.records).toEqual(
      views.map((view) => ({
        transactionId: view.transactionId,
        uniqueId: view.uniqueId,
        createdAt: Math.floor(view.createdMs / 1000),
        ticker: 'USDT',
        currency: 'Tether US',
        method: { known: true, value: view.method },
        amount: view.amount.toFixed(),
        fee: '0',
        status: view.status,
        network: 'TRC20',
        address: view.address,
        memo: view.memo,
        description: view.description,
        transactionHash: view.transactionHash,
        partial: {
          requestAmount: view.amount.toFixed(),
          processedAmount: view.method === 'deposit' ? '1.5' : '4',
          processedFee: '0',
          normalizeTransaction: view.partial?.normalizeTransaction ?? '',
        },
        confirmations: { actual: 6, required: 6 },
      })),
    );
    expect(views.map(({ status }) => status)).toEqual([18, 3]);
  });

  it('stop at the time asked for', async () => {
    const exchange = await openExchange({ accounts: undefined } as object);
    const account = exchange.accounts[0]?.id ?? '';
    for (let index = 0; index < 8; index += 1) {
      exchange.advance(10_000);
      exchange.exchange.change((model) =>
        model.deposit(account, { ticker: 'USDT', amount: d(String(100 + index)) }),
      );
    }
    const since = Math.floor(exchange.model.nowMs() / 1000) - 20;
    const list = listOf(await connect(exchange, account, UNLIMITED).client.transfers({ since }));
    expect(list).toMatchObject({
      complete: true,
      records: [{ amount: '107' }, { amount: '106' }, { amount: '105' }],
    });
  });
});

describe('the spot orders', () => {
  it.each([0, 1, 500, 501, 1100])('%i of them, in two markets, arrive whole and each once', async (count) => {
    const exchange = await openExchange();
    trade(exchange, count);
    const { records, complete } = listOf(await connect(exchange, 'flat', UNLIMITED).client.spotOrders());
    expect(complete).toBe(true);
    const ids = records.map(({ clientOrderId }) => clientOrderId);
    expect([ids.length, new Set(ids).size]).toEqual([count, count]);
    expect(records.every(({ status }) => status.known && status.value === 'CANCELLED')).toBe(true);
  });

  it('of one market leave out the others', async () => {
    const exchange = await openExchange();
    trade(exchange, 9);
    const { records } = listOf(
      await connect(exchange, 'flat', UNLIMITED).client.spotOrders({ market: 'ETH_USDT' }),
    );
    expect(records.map(({ clientOrderId, market }) => [clientOrderId, market])).toEqual([
      ['s-6', 'ETH_USDT'],
      ['s-3', 'ETH_USDT'],
      ['s-0', 'ETH_USDT'],
    ]);
  });

  it('show every documented field of an order that was filled', async () => {
    const exchange = await openExchange();
    exchange.exchange.change((model) =>
      model.placeSpotOrder('flat', {
        market: 'BTC_USDT',
        side: 'buy',
        amount: d('0.015'),
        price: d('60100'),
        ioc: true,
        clientOrderId: 'filled',
      }),
    );
    const [view] = exchange.model.orderHistory('flat');
    const list = listOf(await connect(exchange, 'flat', UNLIMITED).client.spotOrders());
    expect(list.records).toEqual([
      {
        market: 'BTC_USDT',
        orderId: String(view?.orderId),
        clientOrderId: 'filled',
        side: { known: true, value: 'buy' },
        type: 'limit',
        status: { known: true, value: 'FILLED' },
        amount: '0.015',
        price: '60100',
        ctime: Math.round((view?.createdMs ?? 0) * 1000) / 1e6,
        ftime: Math.round((view?.finishedMs ?? 0) * 1000) / 1e6,
        dealStock: '0.015',
        dealMoney: view?.dealMoney.toFixed(),
        dealFee: view?.dealFee.toFixed(),
        takerFee: '0.001',
        makerFee: '0.001',
        feeAsset: 'USDT',
        postOnly: false,
        ioc: true,
        stp: 'no',
        rpi: false,
        reduceOnly: false,
      },
    ]);
  });
});

describe('a history that grows while it is read', () => {
  it('shows every earlier record, none of them twice', async () => {
    const exchange = await openExchange();
    deposit(exchange, 1100);
    const { client } = connect(exchange, 'flat', UNLIMITED);
    const reading = client.transfers();
    // New records push the others to the next page between the requests.
    await expect.poll(() => exchange.requestLog({ endpoint: 'transferHistory' }).length).toBeGreaterThan(0);
    exchange.exchange.change((model) => {
      for (let index = 0; index < 40; index += 1)
        model.deposit('flat', { ticker: 'USDT', amount: d('5000'), uniqueId: `new-${index}` });
    });
    const { records } = listOf(await reading);
    const ids = records.map(({ uniqueId }) => uniqueId);
    expect(new Set(ids).size).toBe(ids.length);
    const old = Array.from({ length: 1100 }, (_, index) => `d-${index + 1}`);
    expect(old.filter((id) => !ids.includes(id))).toEqual([]);
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import type { FiatDepositRequest, StopLimitRequest } from '../../src/core/ports/exchange.ts';
import type { DriftEvent } from '../../src/exchange/call/observer.ts';
import type { ExchangeClientOptions } from '../../src/exchange/client.ts';
import { type RawServer, send, startServer } from '../exchange/call/raw-server.ts';
import { decimalText, openClient } from '../exchange/fixtures.ts';
import {
  CREDIT_LINES,
  DEPOSIT_LINK,
  ERRORS,
  HEDGE_MODE,
  MAIN_BALANCE,
  ORDER_HISTORY,
  PLACED_ORDERS,
  POSITIONS,
  TRANSFERS,
} from './fixtures/official-examples.ts';

/**
 * Replies as the exchange's documentation and SDKs show them, in both spellings, rewritten from the shapes and facts of
 * the two specification files. No record and no field may be lost or set aside.
 */

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function answering(body: unknown, changes: Partial<ExchangeClientOptions> = {}, status = 200) {
  const drifts: DriftEvent[] = [];
  const server: RawServer = await startServer((_request, response) => send(response, status, body));
  const client = openClient([server.baseUrl], {
    observer: { onDrift: (event) => drifts.push(event) },
    retry: { maxAttempts: 1 },
    ...changes,
  });
  cleanups.push(
    () => server.close(),
    () => client.close(),
  );
  return { server, client, drifts };
}

const STOP: StopLimitRequest = {
  market: 'BTC_USDT',
  side: 'buy',
  amount: decimalText('0.01'),
  price: decimalText('40000'),
  activationPrice: decimalText('50000'),
  clientOrderId: 'order1987111',
};

describe('open positions', () => {
  it.each(POSITIONS)('are read without loss: $what', async ({ reply, records, notOpenYet }) => {
    const { client, drifts } = await answering(reply);
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({ kind: 'ok', value: { setAside: [], complete: true } });
    expect(outcome.kind === 'ok' && outcome.value.records).toEqual(records);
    expect(outcome.kind === 'ok' && outcome.value.notOpenYet).toEqual(notOpenYet);
    expect(drifts).toEqual([]);
  });
});

describe('a stop-limit order', () => {
  it.each(PLACED_ORDERS)('is read without loss: $what', async ({ reply, order }) => {
    const { server, client, drifts } = await answering(reply);
    const outcome = await client.stopLimit(STOP);
    expect(outcome).toMatchObject({ kind: 'accepted' });
    expect(outcome.kind === 'accepted' && outcome.value).toEqual({ clientOrderIdEchoed: true, ...order });
    expect(drifts).toMatchObject([{ kind: 'echo', path: '.status', expected: 'NEW', got: 'FILLED' }]);
    expect(server.received[0]?.body).toMatchObject({
      request: '/api/v4/order/collateral/stop-limit',
      nonce: expect.any(String) as string,
      activation_price: '50000',
    });
  });
});

describe('histories', () => {
  it.each(TRANSFERS)(
    'of deposits and withdrawals are read without loss: $what',
    async ({ reply, records }) => {
      const { client, drifts } = await answering(reply);
      const outcome = await client.transfers();
      expect(outcome).toMatchObject({ kind: 'ok', value: { setAside: [], complete: true } });
      expect(outcome.kind === 'ok' && outcome.value.records).toEqual(records);
      expect(drifts).toEqual([]);
    },
  );

  it.each(ORDER_HISTORY)('of orders are read without loss: $what', async ({ reply, records }) => {
    const { client, drifts } = await answering(reply);
    const outcome = await client.spotOrders();
    expect(outcome).toMatchObject({ kind: 'ok', value: { setAside: [], complete: true } });
    expect(outcome.kind === 'ok' && outcome.value.records).toEqual(records);
    expect(drifts).toEqual([]);
  });
});

it('a history is read with status 201, too', async () => {
  const [documented] = TRANSFERS;
  const { client } = await answering(documented?.reply, {}, 201);
  const outcome = await client.transfers();
  expect(outcome.kind === 'ok' && outcome.value.records).toEqual(documented?.records);
});

it('a history page that announces more records is read on, and the result says where it was cut', async () => {
  const [documented] = TRANSFERS;
  const { client } = await answering({ ...documented?.reply, total: 300 });
  expect(await client.transfers({ maxRecords: 1 })).toMatchObject({
    kind: 'ok',
    value: { records: documented?.records, complete: false, cut: 'limit' },
  });
});

it.each(CREDIT_LINES)('credit lines are read without loss: $what', async ({ status, reply, records }) => {
  const { client, drifts } = await answering(reply, {}, status);
  expect(await client.creditLines()).toMatchObject({
    kind: 'ok',
    value: { records, setAside: [], complete: true },
  });
  expect(drifts).toEqual([]);
});

it('a main balance is read without loss', async () => {
  const { client } = await answering(MAIN_BALANCE.reply);
  expect(await client.mainBalance()).toMatchObject({ kind: 'ok', value: MAIN_BALANCE.value });
});

it.each([[[]], [{}], ['']])('cancel all succeeds with %j', async (reply) => {
  const { client } = await answering(reply);
  expect(await client.cancelAll({ market: 'BTC_USDT', types: ['margin', 'futures'] })).toMatchObject({
    kind: 'accepted',
  });
});

it.each(HEDGE_MODE)('hedge mode: $what', async ({ status, reply, outcome }) => {
  const { server, client } = await answering(reply, {}, status);
  expect(await client.setHedgeMode(true)).toMatchObject(outcome);
  expect(server.received[0]?.body).toMatchObject({ hedgeMode: true });
});

describe('a deposit link', () => {
  const request: FiatDepositRequest = {
    ticker: 'UAH',
    provider: 'CARD',
    amount: decimalText('100'),
    uniqueId: '24529041',
    successLink: 'https://shop.example/success',
    failureLink: 'https://shop.example/failure',
    returnLink: 'https://shop.example/return',
  };

  it.each(['spec', 'camel'] as const)('is read and asked for in dialect %s', async (dialect) => {
    const { server, client } = await answering(DEPOSIT_LINK, { dialect });
    expect(await client.fiatDepositLink(request)).toMatchObject({ kind: 'accepted', value: DEPOSIT_LINK });
    const { uniqueId, ...rest } = request;
    expect(server.received[0]?.body).toMatchObject({
      ...rest,
      [dialect === 'spec' ? 'unique_id' : 'uniqueId']: uniqueId,
    });
  });
});

it.each(ERRORS)(
  'the error $name of $endpoint keeps its words',
  async ({ endpoint, status, reply, ...error }) => {
    const { client } = await answering(reply, {}, status);
    const calls = {
      ping: () => client.ping(),
      openPositions: () => client.openPositions({ market: 'BTC_PERP' }),
      stopLimit: () => client.stopLimit(STOP),
      creditLines: () => client.creditLines(),
      cancelAll: () => client.cancelAll({ market: 'BTC_PERP' }),
      transfers: () => client.transfers({ method: 'deposit', status: [1] }),
      fiatDeposit: () =>
        client.fiatDepositLink({ ticker: 'UAH', provider: 'X', amount: STOP.amount, uniqueId: 'u' }),
    };
    expect(await calls[endpoint]()).toMatchObject({ error: { httpStatus: status, ...error } });
  },
);

import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { CallEvent, DriftEvent } from '../../src/exchange/call/observer.ts';
import { sign, signingKey } from '../../src/exchange/call/signer.ts';
import type { ExchangeClientOptions } from '../../src/exchange/client.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';
import { type Answer, always, send, startServer } from './call/raw-server.ts';
import {
  API_KEY,
  API_SECRET,
  decimalText,
  openClient,
  PLACED_ORDER,
  POSITION,
  SPOT_ORDER,
  STOP,
  TRANSFER,
} from './fixtures.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function server(answer: Answer) {
  const started = await startServer(answer);
  cleanups.push(() => started.close());
  return started;
}

function client(baseUrls: readonly string[], changes: Partial<ExchangeClientOptions> = {}) {
  const opened = openClient(baseUrls, changes);
  cleanups.push(() => opened.close());
  return opened;
}

async function clientOf(answer: Answer, changes: Partial<ExchangeClientOptions> = {}) {
  const started = await server(answer);
  return { server: started, client: client([started.baseUrl], changes) };
}

const silent: Answer = () => undefined;
const cut: Answer = (_request, response) => {
  response.destroy();
};

/** An address without a listener. */
async function deadUrl(): Promise<string> {
  const socket = createServer().listen(0, '127.0.0.1');
  await once(socket, 'listening');
  const address = socket.address();
  socket.close();
  await once(socket, 'close');
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

describe('requests on the wire', () => {
  test('a private call is a POST signed as specification 5 says', async () => {
    const { server, client } = await clientOf(always(200, [POSITION]));
    await client.openPositions({ market: 'BTC_PERP' });
    const [request] = server.received;
    expect(request?.path).toBe('/api/v4/collateral-account/positions/open');
    expect(request?.body).toEqual({
      request: request?.path,
      nonce: expect.stringMatching(/^\d+$/),
      market: 'BTC_PERP',
    });
    const { payload, signature } = sign(request?.text ?? '', signingKey(API_SECRET));
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-txc-apikey': API_KEY,
      'x-txc-payload': payload,
      'x-txc-signature': signature,
    });
  });

  test.each([
    ['spec', 'client_order_id'],
    ['camel', 'clientOrderId'],
  ] as const)('dialect %s spells %s', async (dialect, id) => {
    const { server, client } = await clientOf(always(200, PLACED_ORDER), { dialect });
    await client.reduceOnlyStop(STOP);
    expect(server.received[0]?.body).toMatchObject({
      market: 'BTC_PERP',
      side: 'sell',
      amount: '0.05',
      price: '39000',
      activation_price: '40000',
      [id]: STOP.clientOrderId,
      positionSide: 'LONG',
      reduceOnly: true,
    });
  });

  test('window mode sets nonceWindow in the body', async () => {
    const nonce = { mode: 'window', store: createMemoryNonceStore(systemClock) } as const;
    const { server, client } = await clientOf(always(200, {}), { nonce });
    await client.mainBalance();
    expect(server.received[0]?.body).toMatchObject({ nonceWindow: true });
    const skew = Math.abs(Number(server.received[0]?.body['nonce']) - Date.now());
    expect(skew).toBeLessThan(4500);
  });

  test('requests that break a rule of the specification are not sent, and every fault is named', async () => {
    const { server, client } = await clientOf(always(200, PLACED_ORDER));
    const bad = { ...STOP, clientOrderId: 'a b', amount: decimalText('0'), side: 'hold' as 'buy' };
    const outcome = await client.reduceOnlyStop(bad);
    expect(outcome).toMatchObject({
      kind: 'rejected',
      error: {
        name: 'requestRejected',
        effect: 'none',
        fields: {
          side: [expect.any(String)],
          amount: [expect.any(String)],
          clientOrderId: [expect.any(String)],
        },
      },
    });
    const takeProfit = decimalText('1');
    expect(await client.stopLimit({ ...STOP, reduceOnly: true, takeProfit })).toMatchObject({
      kind: 'rejected',
    });
    expect(await client.cancelAll({ types: [] })).toMatchObject({ kind: 'rejected' });
    const addresses = Array.from({ length: 21 }, () => 'x');
    expect(await client.transfers({ addresses })).toMatchObject({ kind: 'failed', attempts: 0 });
    expect(server.received).toEqual([]);
  });
});

describe('reads', () => {
  test.each([
    ['status 500', always(500, {})],
    ['status 503', always(503, 'down')],
    ['JSON cut off', always(200, '[{"positionId": 1')],
    ['connection cut', cut],
    ['limit', always(429, { message: 'Too many requests.' }, { 'Retry-After': '0' })],
  ])('are repeated after: %s', async (_name, failure) => {
    let failures = 0;
    const events: CallEvent[] = [];
    const { client } = await clientOf(
      (request, response) => {
        failures += 1;
        return failures <= 2 ? failure(request, response) : send(response, 200, [POSITION]);
      },
      { observer: { onCall: (event) => events.push(event) } },
    );
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({ kind: 'ok', timing: { attempts: 3 } });
    expect(events).toMatchObject([{ endpoint: 'openPositions', outcome: 'ok', attempts: 3 }]);
  });

  test('end with the last error after the attempts allowed', async () => {
    const { server, client } = await clientOf(always(500, {}), {
      retry: { maxAttempts: 3, firstBackoffMs: 1 },
    });
    expect(await client.mainBalance()).toMatchObject({
      kind: 'failed',
      attempts: 3,
      error: { name: 'internalError' },
    });
    expect(server.received).toHaveLength(3);
  });

  test('are not repeated when the exchange has judged them', async () => {
    const { server, client } = await clientOf(always(401, { message: 'Unauthorized request.' }));
    expect(await client.mainBalance()).toMatchObject({ kind: 'failed', error: { name: 'unauthenticated' } });
    expect(server.received).toHaveLength(1);
  });

  test('end within the time of the call, even without a reply', async () => {
    const { client } = await clientOf(() => undefined, { timeouts: { attemptMs: 60 } });
    const outcome = await client.mainBalance({ timeoutMs: 200 });
    expect(outcome).toMatchObject({ kind: 'failed', error: { name: 'timeout' } });
  });

  test('end on abort, before and while in flight', async () => {
    const { server, client } = await clientOf(() => undefined);
    const early = await client.mainBalance({ signal: AbortSignal.abort() });
    expect(early).toMatchObject({ kind: 'failed', attempts: 0, error: { name: 'aborted', effect: 'none' } });
    const controller = new AbortController();
    const late = client.mainBalance({ signal: controller.signal });
    while (server.received.length === 0) await delay(1);
    controller.abort();
    expect(await late).toMatchObject({ kind: 'failed', error: { name: 'aborted' } });
  });

  test('end when a reply is longer than allowed', async () => {
    const { client } = await clientOf(always(200, `"${'x'.repeat(5000)}"`), {
      pool: { maxReplyBytes: 1000 },
    });
    expect(await client.mainBalance()).toMatchObject({ kind: 'failed', error: { name: 'replyTooLarge' } });
  });

  test('no active loan is an empty list; an undocumented reply is an error without values', async () => {
    const drifts: DriftEvent[] = [];
    const observer = { onDrift: (event: DriftEvent) => drifts.push(event) };
    const none = await clientOf(always(400, { code: 0, message: 'No active loan at the moment' }), {
      observer,
    });
    expect(await none.client.creditLines()).toMatchObject({
      kind: 'ok',
      value: { records: [], complete: true },
    });
    none.server.answer = always(200, 'true');
    expect(await none.client.creditLines()).toMatchObject({
      kind: 'failed',
      error: { name: 'replyInvalid' },
    });
    none.server.answer = always(200, [{ asset: 'BTC', amount: 'planted-value' }]);
    expect(await none.client.creditLines()).toMatchObject({
      kind: 'ok',
      value: { complete: false, records: [] },
    });
    expect(drifts.map(({ kind }) => kind)).toEqual(['reply', 'record']);
    expect(JSON.stringify(drifts)).not.toContain('planted-value');
  });

  test('an observer that throws changes nothing', async () => {
    const observer = {
      onCall: () => {
        throw new Error('observer');
      },
    };
    const { client } = await clientOf(always(200, ['pong']), { observer });
    expect(await client.ping()).toMatchObject({ kind: 'ok', value: true });
  });
});

describe('commands', () => {
  test.each([
    ['status 500', always(500, {}), 'internalError'],
    ['reply cut off', always(200, '{"order_id": 1'), 'replyNotJson'],
    ['reply without an order', always(200, { fine: true }), 'replyInvalid'],
    ['reply about another market', always(200, { ...PLACED_ORDER, market: 'ETH_PERP' }), 'replyInvalid'],
    ['connection cut', cut, 'connectionLost'],
    ['no reply', silent, 'timeout'],
  ])('are sent once, with an unknown outcome after: %s', async (_name, answer, name) => {
    const { server, client } = await clientOf(answer, { timeouts: { attemptMs: 1000 } });
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'unknown',
      error: { name, effect: 'possible' },
    });
    await delay(60);
    expect(server.received).toHaveLength(1);
  });

  test('are sent once, and rejected with the words of the exchange', async () => {
    const { server, client } = await clientOf(always(422, { code: 116, message: '', errors: {} }));
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'reduceOnlyRefused', code: 116, effect: 'none' },
    });
    expect(server.received).toHaveLength(1);
  });

  test('that never left are rejected, not unknown', async () => {
    const dead = client([await deadUrl(), (await server(always(200, PLACED_ORDER))).baseUrl]);
    const first = await dead.reduceOnlyStop(STOP);
    expect(first).toMatchObject({ kind: 'rejected', error: { name: 'connectionRefused', effect: 'none' } });
    expect(await dead.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
    const aborted = await dead.cancelAll({}, { signal: AbortSignal.abort() });
    expect(aborted).toMatchObject({ kind: 'rejected', error: { name: 'aborted', effect: 'none' } });
  });

  test('in flight when aborted have an unknown outcome', async () => {
    const { server, client } = await clientOf(() => undefined);
    const controller = new AbortController();
    const outcome = client.cancelAll({}, { signal: controller.signal });
    while (server.received.length === 0) await delay(1);
    controller.abort();
    expect(await outcome).toMatchObject({ kind: 'unknown', error: { name: 'aborted', effect: 'possible' } });
  });

  test('cancel-all and hedge mode succeed with any JSON or an empty body, but not with a refusal', async () => {
    const { server, client } = await clientOf(always(200, []));
    for (const body of ['', '[]', '{}', 'null', '{"hedgeMode":true}']) {
      server.answer = always(200, body);
      expect(await client.cancelAll({ types: ['futures'] })).toMatchObject({ kind: 'accepted', value: null });
      expect(await client.setHedgeMode(true)).toMatchObject({ kind: 'accepted', value: null });
    }
    server.answer = always(200, { success: false, code: 0, message: 'no permission' });
    expect(await client.cancelAll({})).toMatchObject({
      kind: 'rejected',
      error: { name: 'permissionDenied' },
    });
    server.answer = always(200, '<html>');
    expect(await client.cancelAll({})).toMatchObject({ kind: 'unknown', error: { name: 'replyNotJson' } });
  });

  test('a creation reply with status CANCELLED is a rejection', async () => {
    const { server, client } = await clientOf(always(200, { ...PLACED_ORDER, status: 'CANCELLED' }));
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'cancelledOnCreation', effect: 'none' },
    });
    server.answer = always(200, { ...PLACED_ORDER, status: 'CANCELED', deal_stock: '0.01', left: '0.04' });
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ error: { name: 'cancelledPartlyFilled' } });
  });

  test('an adjusted amount and an id that is not echoed are reported', async () => {
    const drifts: DriftEvent[] = [];
    const { server, client } = await clientOf(always(200, { ...PLACED_ORDER, amount: '0.030' }), {
      observer: { onDrift: (event) => drifts.push(event) },
    });
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'accepted',
      value: { amount: '0.030', adjustedFrom: '0.05', clientOrderIdEchoed: true, orderId: '4180284841' },
    });
    const { order_id, client_order_id: _, activation_price, ...camel } = PLACED_ORDER;
    server.answer = always(200, {
      ...camel,
      orderId: order_id,
      activationPrice: activation_price,
      amount: '0.0500',
    });
    const outcome = await client.reduceOnlyStop(STOP);
    expect(outcome).toMatchObject({
      value: { clientOrderId: '', clientOrderIdEchoed: false, activationPrice: '40000' },
    });
    expect(outcome.kind === 'accepted' && 'adjustedFrom' in outcome.value).toBe(false);
    expect(drifts).toMatchObject([{ kind: 'echo', path: '.client_order_id', got: 'nothing' }]);
  });
});

test('an id that is not repeated is tried in the other spelling, once', async () => {
  const echoed =
    (spelling: string): Answer =>
    ({ body }, response) =>
      send(response, 200, { ...PLACED_ORDER, client_order_id: body[spelling] ?? '' });
  const spellings = async (knows: string) => {
    const { server: started, client: opened } = await clientOf(echoed(knows));
    for (let time = 0; time < 4; time += 1) await opened.reduceOnlyStop(STOP);
    return started.received.map(({ body }) => ('clientOrderId' in body ? 'camel' : 'spec')).join(' ');
  };
  expect(await spellings('client_order_id')).toBe('spec spec spec spec');
  expect(await spellings('clientOrderId')).toBe('spec camel camel camel');
  expect(await spellings('neither')).toBe('spec camel spec spec');
});

describe('base URLs', () => {
  test('with the first one down, reads go to the other and stay there', async () => {
    const other = await server(always(200, ['pong']));
    const events: CallEvent[] = [];
    const both = client([await deadUrl(), other.baseUrl], {
      // On a slow machine, too, the time for which a bad address is left alone does not pass between two reads.
      clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() / 100 },
      observer: { onCall: (event) => events.push(event) },
    });
    expect(await both.ping()).toMatchObject({ kind: 'ok', timing: { attempts: 2 } });
    expect(await both.ping()).toMatchObject({ kind: 'ok', timing: { attempts: 1 } });
    expect(events).toMatchObject([{ baseUrlIndex: 1 }, { baseUrlIndex: 1 }]);
  });

  test.each([
    ['slow', silent],
    ['answering 503', always(503, {})],
  ])('with the first one %s, reads go to the other', async (_name, answer) => {
    const first = await server(answer);
    const other = await server(always(200, ['pong']));
    const both = client([first.baseUrl, other.baseUrl], { timeouts: { attemptMs: 1000 } });
    expect(await both.ping()).toMatchObject({ kind: 'ok', timing: { attempts: 2 } });
    expect(first.received).toHaveLength(1);
  });

  test('the first one is used again once it works', async () => {
    const first = await server(always(503, {}));
    const other = await server(always(200, ['pong']));
    const both = client([first.baseUrl, other.baseUrl]);
    await both.ping();
    first.answer = always(200, ['pong']);
    while (first.received.length < 4) {
      expect(await both.ping()).toMatchObject({ kind: 'ok' });
      await delay(20);
    }
  });

  test('a command is never sent to a second address', async () => {
    const first = await server(always(503, {}));
    const other = await server(always(200, PLACED_ORDER));
    const both = client([first.baseUrl, other.baseUrl]);
    expect(await both.reduceOnlyStop(STOP)).toMatchObject({ kind: 'unknown' });
    expect([first.received.length, other.received.length]).toEqual([1, 0]);
    expect(await both.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
  });
});

describe('histories', () => {
  const transfers = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...TRANSFER,
      transaction_id: `t${count - index}`,
      createdAt: 1_700_000_000 + count - index,
    }));
  const pages =
    (list: () => object[]): Answer =>
    ({ body }, response) => {
      const { limit, offset } = body as { limit: number; offset: number };
      const all = list();
      send(response, 200, { limit, offset, total: all.length, records: all.slice(offset, offset + limit) });
    };

  test('are read to their end, 500 at a time', async () => {
    const all = transfers(1234);
    const { server, client } = await clientOf(pages(() => all));
    const outcome = await client.transfers();
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: true } });
    expect(outcome.kind === 'ok' && outcome.value.records.map(({ transactionId }) => transactionId)).toEqual(
      all.map(({ transaction_id }) => transaction_id),
    );
    expect(server.received.every(({ body }) => Number(body['limit']) <= 500)).toBe(true);
  });

  test('lose and repeat nothing when records arrive during the read', async () => {
    const all: object[] = transfers(1100);
    let arrived = 0;
    const { client } = await clientOf(async (request, response) => {
      await pages(() => all)(request, response);
      arrived += 40;
      for (let index = 0; index < 40; index += 1) {
        all.unshift({ ...TRANSFER, transaction_id: `new${arrived}-${index}`, createdAt: 1_800_000_000 });
      }
    });
    const outcome = await client.transfers();
    const ids = outcome.kind === 'ok' ? outcome.value.records.map(({ transactionId }) => transactionId) : [];
    expect(new Set(ids).size).toBe(ids.length);
    for (let index = 1; index <= 1100; index += 1) expect(ids).toContain(`t${index}`);
  });

  test('are incomplete when records vanish between pages', async () => {
    let all = transfers(1100);
    const { client } = await clientOf(async (request, response) => {
      await pages(() => all)(request, response);
      all = all.slice(50);
    });
    expect(await client.transfers()).toMatchObject({ kind: 'ok', value: { complete: false } });
  });

  test('end after one page that repeats', async () => {
    const page = transfers(500);
    const { server, client } = await clientOf((_request, response) =>
      send(response, 200, { limit: 500, offset: 0, total: 100_000, records: page }),
    );
    const outcome = await client.transfers();
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: false } });
    expect(outcome.kind === 'ok' && outcome.value.records).toHaveLength(500);
    expect(server.received).toHaveLength(2);
  });

  test('with longer pages than asked for are read up to a bound', async () => {
    let count = 0;
    const { server, client } = await clientOf(
      (_request, response) => {
        const records = Array.from({ length: 550 }, () => ({ ...TRANSFER, transaction_id: `t${count++}` }));
        return send(response, 200, { limit: 500, offset: 0, total: 1_000_000, records });
      },
      { dialect: 'camel' },
    );
    const outcome = await client.transfers();
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: false, cut: 'limit' } });
    expect(outcome.kind === 'ok' && outcome.value.records).toHaveLength(10_000);
    expect(server.received).toHaveLength(19);
  });

  test('stop at the time and at the number of records asked for', async () => {
    const all = transfers(1500);
    const { server, client } = await clientOf(pages(() => all));
    const since = 1_700_000_000 + 1400;
    const recent = await client.transfers({ since });
    expect(recent).toMatchObject({ kind: 'ok', value: { complete: true } });
    expect(recent.kind === 'ok' && recent.value.records).toHaveLength(101);
    expect(server.received).toHaveLength(1);
    const few = await client.transfers({ maxRecords: 10 });
    expect(few).toMatchObject({ kind: 'ok', value: { complete: false } });
    expect(few.kind === 'ok' && few.value.records).toHaveLength(10);
  });

  test('keep to offset + limit of the live service, and report that more may exist', async () => {
    const all = transfers(10_400);
    const { server, client } = await clientOf(
      pages(() => all),
      { dialect: 'camel' },
    );
    expect(await client.transfers()).toMatchObject({ kind: 'ok', value: { complete: false } });
    const reach = server.received.map(({ body }) => Number(body['limit']) + Number(body['offset']));
    expect(Math.max(...reach)).toBe(10_000);
  });

  test.each([30, 120])('of spot orders are read from an account with %i busy markets', async (markets) => {
    const { client } = await clientOf(({ body }, response) => {
      const { limit, offset } = body as { limit: number; offset: number };
      const count = Math.max(0, Math.min(limit, 60 - offset));
      const list = (market: number) =>
        Array.from({ length: count }, (_, index) => ({
          ...SPOT_ORDER,
          id: market * 1_000 + offset + index,
          ctime: 2e9 - offset - index,
        }));
      const lists = Array.from(
        { length: markets },
        (_, market) => [`M${market}_USDT`, list(market)] as const,
      );
      send(response, 200, Object.fromEntries(lists));
    });
    const outcome = await client.spotOrders();
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: { complete: true, records: { length: markets * 60 } },
    });
  });

  test('of spot orders are read whether the limit applies to all markets together or to each', async () => {
    const orders = (market: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        market,
        order: { ...SPOT_ORDER, id: index, ctime: 2e9 - index },
      }));
    const all = [...orders('A_B', 700), ...orders('C_D', 900)];
    const keyed = (list: typeof all) => Object.groupBy(list, ({ market }) => market);
    const reply = (list: typeof all) =>
      Object.fromEntries(
        Object.entries(keyed(list)).map(([market, items]) => [market, items?.map(({ order }) => order)]),
      );
    const { server, client } = await clientOf(({ body }, response) => {
      const { limit, offset } = body as { limit: number; offset: number };
      send(response, 200, reply(all.slice(offset, offset + limit)));
    });
    const count = async () => {
      const outcome = await client.spotOrders();
      return outcome.kind === 'ok' && outcome.value.complete ? outcome.value.records.length : outcome;
    };
    expect(await count()).toBe(1600);
    server.answer = ({ body }, response) => {
      const { limit, offset } = body as { limit: number; offset: number };
      const cut = Object.values(keyed(all)).flatMap((list) => list?.slice(offset, offset + limit) ?? []);
      send(response, 200, reply(cut));
    };
    expect(await count()).toBe(1600);
  });
});

describe('limits', () => {
  test('requests beyond the budget are refused unsent if their time does not allow waiting', async () => {
    const store = createMemoryRateLimitStore(systemClock);
    const limits = { 'main-account': { limit: 10, periodMs: 60_000 } };
    const { server, client } = await clientOf(always(200, {}), {
      limiter: { store, fallback: store, limits, reservedShare: 0.2 },
      timeouts: { callMs: 20_000 },
    });
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => client.mainBalance()));
    const refused = outcomes.filter(({ kind }) => kind === 'failed');
    expect(refused).toHaveLength(4);
    expect(refused[0]).toMatchObject({ attempts: 0, error: { name: 'rateBudgetSpent', effect: 'none' } });
    expect(server.received).toHaveLength(8);
    const protective = { priority: 'protective' } as const;
    const reserved = await Promise.all([1, 2, 3].map(() => client.mainBalance(protective)));
    expect(reserved.filter(({ kind }) => kind === 'ok')).toHaveLength(2);
  });

  test('requests beyond the budget wait for it if their time allows', async () => {
    const store = createMemoryRateLimitStore(systemClock);
    const limits = { 'main-account': { limit: 3, periodMs: 200 } };
    const events: CallEvent[] = [];
    const { client } = await clientOf(always(200, {}), {
      limiter: { store, fallback: store, limits, reservedShare: 0 },
      observer: { onCall: (event) => events.push(event) },
    });
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => client.mainBalance()));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
    expect(events.filter(({ budgetWaitMs }) => budgetWaitMs > 0).length).toBeGreaterThanOrEqual(2);
  });

  test('a limit 429 shrinks the budget; a nonce 429 does not, and the command is repeated after it', async () => {
    const memory = createMemoryRateLimitStore(systemClock);
    let penalties = 0;
    const store: typeof memory = {
      take: (request) => memory.take(request),
      penalize: async () => {
        penalties += 1;
      },
    };
    let refusals = 2;
    const events: CallEvent[] = [];
    const refuse: Answer = (_request, response) => {
      refusals -= 1;
      return refusals >= 0
        ? send(response, 429, { message: 'Too many requests.' })
        : send(response, 200, PLACED_ORDER);
    };
    const { server, client } = await clientOf(refuse, {
      limiter: { store, fallback: memory },
      nonce: { mode: 'increasing', store: createMemoryNonceStore(systemClock) },
      observer: { onCall: (event) => events.push(event) },
    });
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
    expect(events).toMatchObject([{ noncesRefused: 2, limitsHit: 0, attempts: 3 }]);
    expect(penalties).toBe(0);
    const nonces = server.received.map(({ body }) => BigInt(body['nonce'] as string));
    expect(nonces).toEqual(nonces.toSorted((a, b) => Number(a - b)));
    refusals = 3;
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'rateLimited' },
    });
    expect(penalties).toBeGreaterThan(0);
  });
});

import { describe, expect, it } from 'vitest';
import type { RecordList } from '../../src/core/ports/exchange.ts';
import { FAULT_KINDS, type FaultEffect, type FaultSpec } from '../../src/simulator/http/faults.ts';
import { summary } from './support/outcomes.ts';
import { connect, d, OPENING, openExchange, placed, STOP } from './support/world.ts';

/** What exchanges have answered in crashes, and how the client reads it. */

const once = (effect: FaultEffect, endpoint: string): FaultSpec => ({
  effect,
  target: { endpoint },
  count: 1,
});

describe('an order hit by', () => {
  it.each<readonly [string, FaultEffect, string, number]>([
    [
      'a gateway that blocks',
      { kind: 'gatewayStatus', status: 403 },
      'rejected gatewayRefused - 403 none',
      0,
    ],
    [
      'a gateway that knows no such path',
      { kind: 'gatewayStatus', status: 404 },
      'rejected gatewayRefused - 404 none',
      0,
    ],
    [
      "a gateway's request limit",
      { kind: 'gatewayStatus', status: 429 },
      'rejected rateLimited - 429 none',
      0,
    ],
    [
      'a bad gateway before it was seen',
      { kind: 'gatewayStatus', status: 502 },
      'unknown gatewayFailed - 502 possible',
      0,
    ],
    [
      'a bad gateway after it was applied',
      { kind: 'gatewayStatus', status: 502, applied: true },
      'unknown gatewayFailed - 502 possible',
      1,
    ],
    [
      'an empty 503 of the gateway',
      { kind: 'gatewayStatus', status: 503, body: 'empty' },
      'unknown gatewayFailed - 503 possible',
      0,
    ],
    [
      '503 that was executed all the same',
      { kind: 'unavailable', meaning: 'executed' },
      'unknown temporarilyUnavailable 0 503 possible',
      1,
    ],
    [
      '503 that failed',
      { kind: 'unavailable', meaning: 'failed' },
      'unknown temporarilyUnavailable 0 503 possible',
      0,
    ],
    [
      '503 for overload',
      { kind: 'unavailable', meaning: 'overloaded' },
      'unknown temporarilyUnavailable 0 503 possible',
      0,
    ],
    [
      'a refusal of all orders',
      { kind: 'refusal', of: 'orders', status: 400, code: 31 },
      'rejected marketInvalid 31 400 none',
      0,
    ],
    [
      'a refusal of reduce-only orders',
      { kind: 'refusal', of: 'reduceOnlyOrders', status: 422, code: 30 },
      'rejected validationFailed 30 422 none',
      0,
    ],
    ['a refusal of opening orders', { kind: 'refusal', of: 'openingOrders' }, 'accepted', 1],
    ['a refusal of cancels', { kind: 'refusal', of: 'cancels' }, 'accepted', 1],
    ['compression with gzip', { kind: 'compressed', encoding: 'gzip' }, 'accepted', 1],
    ['compression with brotli', { kind: 'compressed', encoding: 'br' }, 'accepted', 1],
    ['lists that show nothing', { kind: 'emptyList' }, 'accepted', 1],
    ['balances of zero', { kind: 'zeroBalance' }, 'accepted', 1],
    ['state that is stale', { kind: 'stale', ageMs: 60_000 }, 'accepted', 1],
  ])('%s', async (_what, effect, expected, orders) => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'long');
    exchange.injectFault(once(effect, 'stopLimit'));
    expect(summary(await client.reduceOnlyStop(STOP))).toBe(expected);
    expect(placed(exchange, 'stop-1')).toHaveLength(orders);
    expect(drift).toEqual([]);
  });

  it.each(['CANCELED', 'CANCELED_STP', 'CANCELED_TAKER_BAND', 'AUTO_CANCELED_USER_MARGIN'])(
    'a cancel by the matching engine at once, in the words %s',
    async (status) => {
      const exchange = await openExchange();
      const { client } = connect(exchange, 'long');
      exchange.injectFault(once({ kind: 'orderCancelled', status }, 'stopLimit'));
      expect(await client.reduceOnlyStop(STOP)).toMatchObject({
        kind: 'rejected',
        error: { name: 'cancelledOnCreation', effect: 'none' },
      });
      expect(exchange.model.openOrders('long')).toEqual([]);
    },
  );
});

describe('refusal of orders but not cancels, and the reverse', () => {
  it('orders are refused while the cancel that should make room for them is accepted', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop(STOP);
    exchange.injectFault({ effect: { kind: 'refusal', of: 'orders', status: 400, code: 31 } });
    expect(summary(await client.cancelAll({ market: 'BTC_PERP' }))).toBe('accepted');
    expect(summary(await client.reduceOnlyStop({ ...STOP, clientOrderId: 'again' }))).toBe(
      'rejected marketInvalid 31 400 none',
    );
    expect(exchange.model.openOrders('long')).toEqual([]);
    expect(summary(await client.openPositions())).toBe('ok');
  });

  it('cancels are refused while orders are accepted', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop(STOP);
    exchange.injectFault({ effect: { kind: 'refusal', of: 'cancels', status: 403, code: 2 } });
    expect(summary(await client.cancelAll({ market: 'BTC_PERP' }))).toBe(
      'rejected permissionDenied 2 403 none',
    );
    expect(summary(await client.reduceOnlyStop({ ...STOP, clientOrderId: 'again' }))).toBe('accepted');
    expect(exchange.model.openOrders('long')).toHaveLength(2);
  });

  it('only opening orders are refused: the guarded client cannot send one', async () => {
    const exchange = await openExchange();
    exchange.injectFault({ effect: { kind: 'refusal', of: 'openingOrders', status: 400, code: 30 } });
    expect(summary(await connect(exchange, 'flat').client.stopLimit(OPENING))).toBe(
      'rejected validationFailed 30 400 none',
    );
    expect(summary(await connect(exchange, 'long').client.reduceOnlyStop(STOP))).toBe('accepted');
  });
});

describe('a cancel hit by', () => {
  it.each<readonly [string, FaultEffect, string, number]>([
    [
      "a gateway's request limit",
      { kind: 'gatewayStatus', status: 429 },
      'rejected rateLimited - 429 none',
      1,
    ],
    [
      'a gateway that blocks',
      { kind: 'gatewayStatus', status: 403 },
      'rejected gatewayRefused - 403 none',
      1,
    ],
    [
      'a bad gateway after it was applied',
      { kind: 'gatewayStatus', status: 504, applied: true },
      'unknown gatewayFailed - 504 possible',
      0,
    ],
    [
      '503 that was executed all the same',
      { kind: 'unavailable', meaning: 'executed' },
      'unknown temporarilyUnavailable 0 503 possible',
      0,
    ],
  ])('%s is sent once with the outcome that is known', async (_what, effect, expected, left) => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop(STOP);
    exchange.injectFault(once(effect, 'cancelAll'));
    expect(summary(await client.cancelAll({}))).toBe(expected);
    expect(exchange.model.openOrders('long')).toHaveLength(left);
    expect(exchange.requestLog({ endpoint: 'cancelAll' })).toHaveLength(1);
  });
});

describe('a read hit by', () => {
  const retry = { maxAttempts: 4, firstBackoffMs: 5 };

  it.each<readonly [string, FaultEffect]>([
    ['a bad gateway', { kind: 'gatewayStatus', status: 502 }],
    ['an empty 503 of the gateway', { kind: 'gatewayStatus', status: 503, body: 'empty' }],
    ['503 for overload', { kind: 'unavailable', meaning: 'overloaded' }],
    [
      '429 with Retry-After in decimals',
      { kind: 'status', status: 429, retryAfterMs: 30, retryAfterAs: 'decimals' },
    ],
    [
      "a gateway's limit with Retry-After in decimals",
      { kind: 'gatewayStatus', status: 429, retryAfterMs: 30, retryAfterAs: 'decimals' },
    ],
  ])('%s is repeated, and then succeeds', async (_what, effect) => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', { retry });
    exchange.injectFault(once(effect, 'openPositions'));
    expect(await client.openPositions()).toMatchObject({
      kind: 'ok',
      value: { records: [{ market: 'BTC_PERP', amount: '0.5' }], complete: true },
      timing: { attempts: 2 },
    });
  });

  it.each(['gzip', 'br'] as const)('compression with %s is read anyway', async (encoding) => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'hedged');
    exchange.injectFault({ effect: { kind: 'compressed', encoding } });
    expect(await client.openPositions()).toMatchObject({ kind: 'ok', value: { complete: true } });
    expect(await client.mainBalance()).toMatchObject({ kind: 'ok', value: { USDT: '5000', BTC: '1' } });
    expect(drift).toEqual([]);
  });

  it.each([403, 404])('%i of the gateway is no statement about permissions or loans', async (status) => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    exchange.injectFault({ effect: { kind: 'gatewayStatus', status } });
    for (const outcome of [await client.creditLines(), await client.openPositions()]) {
      expect(outcome).toMatchObject({ error: { name: 'gatewayRefused', gateway: true } });
    }
  });

  it('empty lists are valid and complete, so that the reader has to doubt them', async () => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'long');
    exchange.injectFault({ effect: { kind: 'emptyList' } });
    const empty = { kind: 'ok', value: { records: [], complete: true } };
    expect(await client.openPositions()).toMatchObject(empty);
    expect(await client.transfers()).toMatchObject(empty);
    expect(await client.spotOrders()).toMatchObject(empty);
    expect(await client.mainBalance()).toMatchObject({ kind: 'ok', value: {} });
    expect(drift).toEqual([]);
  });

  it('a balance of 0 is passed on as 0', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    exchange.injectFault({ effect: { kind: 'zeroBalance' } });
    expect(await client.mainBalance()).toMatchObject({ kind: 'ok', value: { USDT: '0', BTC: '0' } });
    expect(await client.openPositions()).toMatchObject({ value: { records: [{ freeMargin: '0' }] } });
  });

  it('one more record with nulls leaves the others and the list complete', async () => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'hedged');
    exchange.injectFault({ effect: { kind: 'nullRecord', market: 'ETH_PERP' } });
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: { complete: true, setAside: [], notOpenYet: [{ market: 'ETH_PERP' }] },
    });
    expect(outcome.kind === 'ok' && outcome.value.records).toHaveLength(2);
    expect(drift).toEqual([]);
  });

  it('a listed record with nulls counts as not open yet, and is reported by its id', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'hedged');
    const before = await client.openPositions();
    const known = before.kind === 'ok' ? before.value.records.map(({ positionId }) => positionId) : [];
    exchange.injectFault({ effect: { kind: 'nullRecord', inPlace: true } });
    const outcome = await client.openPositions();
    if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
    const { records, notOpenYet = [] } = outcome.value;
    expect([records.length, notOpenYet.length]).toEqual([1, 1]);
    expect([...records, ...notOpenYet].map(({ positionId }) => positionId).sort()).toEqual(known.sort());
  });

  it('empty texts read as null where that is documented, and as left out elsewhere', async () => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'long');
    const id = exchange.injectFault({ effect: { kind: 'emptyString' } });
    const list = (outcome: Awaited<ReturnType<typeof client.openPositions>>): RecordList<unknown> => {
      if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
      return outcome.value;
    };
    expect(list(await client.openPositions())).toMatchObject({
      records: [{ liquidationState: null, tpsl: null }],
      complete: true,
    });
    exchange.clearFaults();
    exchange.injectFault({ effect: { kind: 'emptyString', field: 'margin' } });
    const { records, complete } = list(await client.openPositions());
    expect(records[0]).not.toHaveProperty('margin');
    expect(complete).toBe(true);
    expect(id > 0).toBe(true);
    expect(drift).toMatchObject([{ path: '[0].margin', got: 'empty string' }]);
  });

  it('lag shows the past while the order is already in the books', async () => {
    const exchange = await openExchange({ readings: { readLagMs: 1_000 } });
    const { client } = connect(exchange, 'long');
    exchange.advance(2_000);
    exchange.exchange.change((model) =>
      model.placeCollateralOrder('long', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('0.2'),
        reduceOnly: true,
      }),
    );
    expect(await client.openPositions()).toMatchObject({ value: { records: [{ amount: '0.5' }] } });
    exchange.advance(1_000);
    expect(await client.openPositions()).toMatchObject({ value: { records: [{ amount: '0.3' }] } });
  });
});

it('every fault of the simulator is tested here or in faults.test.ts: add a new one', () => {
  const met = [
    'latency',
    'reset',
    'hang',
    'lostReply',
    'appliedLate',
    'status',
    'gatewayStatus',
    'unavailable',
    'refusal',
    'orderCancelled',
    'truncatedJson',
    'cutBody',
    'malformedJson',
    'stale',
    'wrongTypes',
    'missingField',
    'badRecord',
    'compressed',
    'emptyList',
    'zeroBalance',
    'nullRecord',
    'emptyString',
  ];
  expect(Object.keys(FAULT_KINDS).sort()).toEqual(met.sort());
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FaultEffect, FaultSpec } from '../../src/simulator/http/faults.ts';
import { runsOf } from '../support/slice.ts';
import { summary } from './support/outcomes.ts';
import { connect, openExchange, placed, STOP } from './support/world.ts';

/** Every fault; the client claims no more about the outcome of a request than can be known. */

const once = (effect: FaultEffect, endpoint: string): FaultSpec => ({
  effect,
  target: { endpoint },
  count: 1,
});

/** Long timeouts, so that a busy machine is no fault; short ones only where no reply will come. */
function patience(effect: FaultEffect) {
  const silent =
    effect.kind === 'hang' ||
    ('connection' in effect && effect.connection === 'hang') ||
    (effect.kind === 'latency' && effect.delayMs > 500);
  return { timeouts: { attemptMs: silent ? 800 : 15_000, callMs: 20_000 } };
}
const html = '<html><body>502 Bad Gateway</body></html>';

/** The message differs from "Too many requests.", which a stale nonce also gets. */
const REQUEST_LIMIT: FaultEffect = { kind: 'status', status: 429, message: 'Limit reached.' };

describe('an order hit by', () => {
  it.each<readonly [string, FaultEffect, string, number]>([
    ['latency within the timeout', { kind: 'latency', delayMs: 30, jitterMs: 10 }, 'accepted', 1],
    ['a slow reply within the timeout', { kind: 'latency', delayMs: 30, at: 'reply' }, 'accepted', 1],
    ['a reply beyond it', { kind: 'latency', delayMs: 2500, at: 'reply' }, 'unknown timeout - - possible', 1],
    ['a reset before it was seen', { kind: 'reset' }, 'unknown connectionLost - - possible', 0],
    ['silence', { kind: 'hang' }, 'unknown timeout - - possible', 0],
    ['a lost reply', { kind: 'lostReply' }, 'unknown connectionLost - - possible', 1],
    [
      'a lost reply and silence',
      { kind: 'lostReply', connection: 'hang' },
      'unknown timeout - - possible',
      1,
    ],
    ['late arrival', { kind: 'appliedLate' }, 'unknown connectionLost - - possible', 0],
    [
      'late arrival and silence',
      { kind: 'appliedLate', connection: 'hang' },
      'unknown timeout - - possible',
      0,
    ],
    ['a request limit', REQUEST_LIMIT, 'rejected rateLimited 0 429 none', 0],
    ['an internal error', { kind: 'status', status: 500 }, 'unknown internalError 0 500 possible', 0],
    [
      'an internal error after it was applied',
      { kind: 'status', status: 500, applied: true },
      'unknown internalError 0 500 possible',
      1,
    ],
    [
      'an outage after it was applied',
      { kind: 'status', status: 503, applied: true },
      'unknown temporarilyUnavailable 0 503 possible',
      1,
    ],
    [
      'a status nobody documented',
      { kind: 'status', status: 502 },
      'unknown unexpectedStatus 0 502 possible',
      0,
    ],
    ['JSON that ends in the middle', { kind: 'truncatedJson' }, 'unknown replyNotJson - 200 possible', 1],
    ['a body that ends in the middle', { kind: 'cutBody' }, 'unknown connectionLost - - possible', 1],
    ['malformed JSON', { kind: 'malformedJson' }, 'unknown replyNotJson - 200 possible', 1],
    ['a page of a proxy', { kind: 'malformedJson', body: html }, 'unknown replyNotJson - 200 possible', 1],
    ['an empty body', { kind: 'malformedJson', body: '' }, 'unknown replyNotJson - 200 possible', 1],
    ['a missing id', { kind: 'missingField', field: 'order_id' }, 'unknown replyInvalid - 200 possible', 1],
    ['a missing amount', { kind: 'missingField', field: 'amount' }, 'unknown replyInvalid - 200 possible', 1],
    ['a broken record', { kind: 'badRecord' }, 'unknown replyInvalid - 200 possible', 1],
    ['stale state', { kind: 'stale', ageMs: 1000 }, 'accepted', 1],
  ])('%s', async (_what, effect, expected, orders) => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', patience(effect));
    exchange.injectFault(once(effect, 'stopLimit'));
    expect(summary(await client.reduceOnlyStop(STOP))).toBe(expected);
    expect(placed(exchange, 'stop-1')).toHaveLength(orders);
    expect(exchange.requestLog({ endpoint: 'stopLimit' })).toHaveLength(1);
  });

  it('a lost reply is unknown, and the ledger has exactly one order, however often the order is asked about', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    exchange.injectFault(once({ kind: 'lostReply' }, 'stopLimit'));
    expect(summary(await client.reduceOnlyStop(STOP))).toBe('unknown connectionLost - - possible');
    expect(placed(exchange)).toMatchObject([{ accountId: 'long', clientOrderId: 'stop-1', amount: '0.1' }]);
    expect(summary(await client.reduceOnlyStop(STOP))).toBe('rejected duplicateClientOrderId 36 400 none');
    expect(placed(exchange)).toHaveLength(1);
    expect(exchange.requestLog({ clientOrderId: 'stop-1' })).toMatchObject([
      { outcome: 'served', delivered: false },
      { outcome: 'refused', delivered: true },
    ]);
  });

  it('a delay beyond the timeout is applied after the client has given up', async () => {
    const exchange = await openExchange();
    const late = { kind: 'latency', delayMs: 2500 } as const;
    const { client } = connect(exchange, 'long', patience(late));
    exchange.injectFault(once(late, 'stopLimit'));
    expect(summary(await client.reduceOnlyStop(STOP))).toBe('unknown timeout - - possible');
    expect(placed(exchange)).toHaveLength(0);
    await expect.poll(() => placed(exchange).length).toBe(1);
  });

  it('a wrong type of any field is unknown, unless the field is optional and read otherwise', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    exchange.injectFault({ effect: { kind: 'wrongTypes' }, target: { endpoint: 'stopLimit' } });
    for (let index = 0; index < 40; index += 1) {
      const outcome = await client.reduceOnlyStop({ ...STOP, clientOrderId: `w-${index}` });
      if (outcome.kind === 'unknown') expect(outcome.error.name).toBe('replyInvalid');
      else expect(outcome).toMatchObject({ kind: 'accepted', value: { market: 'BTC_PERP', side: 'sell' } });
      expect(placed(exchange, `w-${index}`)).toHaveLength(1);
    }
  });

  it('under any fault rejected orders are not in the ledger, accepted ones are, once', async () => {
    const effect = fc.constantFrom<FaultEffect>(
      { kind: 'reset' },
      { kind: 'lostReply' },
      { kind: 'lostReply', connection: 'hang' },
      { kind: 'appliedLate', delayMs: 20 },
      { kind: 'hang' },
      { kind: 'status', status: 429 },
      { kind: 'status', status: 500 },
      { kind: 'status', status: 500, applied: true },
      { kind: 'status', status: 503, applied: true },
      { kind: 'truncatedJson' },
      { kind: 'cutBody' },
      { kind: 'malformedJson' },
      { kind: 'wrongTypes' },
      { kind: 'missingField' },
      { kind: 'badRecord' },
      { kind: 'latency', delayMs: 10 },
      { kind: 'latency', delayMs: 120 },
    );
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', { timeouts: { attemptMs: 80, callMs: 3000 } });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(effect, fc.double({ min: 0.2, max: 1, noNaN: true })), { maxLength: 3 }),
        async (faults) => {
          run += 1;
          for (const [fault, probability] of faults)
            exchange.injectFault({ effect: fault, probability, target: { endpoint: 'stopLimit' } });
          const ids = [1, 2, 3].map((index) => `run-${run}-${index}`);
          const outcomes = await Promise.all(
            ids.map((clientOrderId) => client.reduceOnlyStop({ ...STOP, clientOrderId })),
          );
          exchange.clearFaults();
          ids.forEach((id, index) => {
            const outcome = outcomes[index];
            const orders = placed(exchange, id).length;
            expect(exchange.requestLog({ clientOrderId: id }).length).toBeLessThanOrEqual(1);
            if (outcome?.kind === 'accepted') expect({ id, orders }).toEqual({ id, orders: 1 });
            if (outcome?.kind === 'rejected') expect({ id, orders }).toEqual({ id, orders: 0 });
          });
        },
      ),
      { numRuns: runsOf(40) },
    );
    await expect.poll(() => exchange.requestLog({ outcome: 'pending' }).length).toBe(0);
    for (let index = 1; index <= run; index += 1)
      for (const part of [1, 2, 3])
        expect(placed(exchange, `run-${index}-${part}`).length).toBeLessThanOrEqual(1);
  });
});

describe('a cancel hit by', () => {
  it.each<readonly [string, FaultEffect, string, number]>([
    ['a lost reply', { kind: 'lostReply' }, 'unknown connectionLost - - possible', 0],
    ['a reset', { kind: 'reset' }, 'unknown connectionLost - - possible', 1],
    ['an internal error', { kind: 'status', status: 500 }, 'unknown internalError 0 500 possible', 1],
    ['a request limit', REQUEST_LIMIT, 'rejected rateLimited 0 429 none', 1],
    ['a page of a proxy', { kind: 'malformedJson', body: html }, 'unknown replyNotJson - 200 possible', 0],
  ])('%s is sent once with the outcome that is known', async (_what, effect, expected, left) => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', patience(effect));
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
    ['a reset', { kind: 'reset' }],
    ['silence', { kind: 'hang' }],
    ['a lost reply', { kind: 'lostReply' }],
    ['a lost reply and silence', { kind: 'lostReply', connection: 'hang' }],
    ['late arrival', { kind: 'appliedLate', delayMs: 10 }],
    ['a request limit', REQUEST_LIMIT],
    ['an internal error', { kind: 'status', status: 500 }],
    ['an outage', { kind: 'status', status: 503 }],
    ['a bad gateway', { kind: 'status', status: 502 }],
    ['JSON that ends in the middle', { kind: 'truncatedJson' }],
    ['a body that ends in the middle', { kind: 'cutBody' }],
    ['malformed JSON', { kind: 'malformedJson' }],
    ['a page of a proxy', { kind: 'malformedJson', body: html }],
    ['latency', { kind: 'latency', delayMs: 2500 }],
  ])('%s is repeated, and then succeeds', async (_what, effect) => {
    const exchange = await openExchange();
    const { client, calls } = connect(exchange, 'long', { ...patience(effect), retry });
    exchange.injectFault(once(effect, 'openPositions'));
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: { records: [{ market: 'BTC_PERP', amount: '0.5' }], complete: true },
      timing: { attempts: 2 },
    });
    expect(calls).toMatchObject([{ outcome: 'ok', attempts: 2 }]);
  });

  it('the same fault every time fails with its name after the allowed attempts', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', { retry });
    exchange.injectFault({ effect: { kind: 'status', status: 500 } });
    expect(await client.openPositions()).toMatchObject({
      kind: 'failed',
      attempts: 4,
      error: { name: 'internalError', httpStatus: 500 },
    });
    expect(exchange.requestLog()).toHaveLength(4);
  });

  it('a refusal is not repeated', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', { retry });
    exchange.injectFault({ effect: { kind: 'status', status: 400, code: 30, message: 'Validation failed' } });
    expect(await client.openPositions()).toMatchObject({ kind: 'failed', attempts: 1 });
    expect(exchange.requestLog()).toHaveLength(1);
  });

  it('a broken record leaves the others, in a list marked incomplete', async () => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'hedged');
    exchange.injectFault({ effect: { kind: 'badRecord' } });
    for (let index = 0; index < 20; index += 1) {
      const outcome = await client.openPositions();
      if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
      expect(outcome.value.complete).toBe(false);
      expect(outcome.value.records).toHaveLength(1);
      expect(outcome.value.setAside).not.toEqual([]);
    }
    expect(drift.every(({ kind, endpoint }) => kind === 'record' && endpoint === 'openPositions')).toBe(true);
    expect(drift.length).toBeGreaterThanOrEqual(20);
  });

  it.each(['amount', 'positionId', 'market'])('a missing %s sets every record aside', async (field) => {
    const exchange = await openExchange();
    exchange.injectFault({ effect: { kind: 'missingField', field } });
    expect(await connect(exchange, 'hedged').client.openPositions()).toMatchObject({
      kind: 'ok',
      value: {
        records: [],
        complete: false,
        setAside: [
          { path: `[0].${field}`, got: 'nothing' },
          { path: `[1].${field}`, got: 'nothing' },
        ],
      },
    });
  });

  it('a missing liquidation price is unknown, not none', async () => {
    const exchange = await openExchange();
    exchange.injectFault({ effect: { kind: 'missingField', field: 'liquidationPrice' } });
    const outcome = await connect(exchange, 'long').client.openPositions();
    const [record] = outcome.kind === 'ok' ? outcome.value.records : [];
    expect(record !== undefined && 'liquidationPrice' in record).toBe(false);
  });

  it('stale state shows the past', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    exchange.injectFault({ effect: { kind: 'stale', ageMs: 1000 }, target: { endpoint: 'openPositions' } });
    exchange.advance(10);
    await client.reduceOnlyStop({ ...STOP, price: '50000' as typeof STOP.price });
    exchange.setPrice('BTC_PERP', '58400');
    expect(await client.openPositions()).toMatchObject({
      kind: 'ok',
      value: { records: [{ amount: '0.5' }] },
    });
    exchange.clearFaults();
    expect(await client.openPositions()).toMatchObject({
      kind: 'ok',
      value: { records: [{ amount: '0.4' }] },
    });
  });

  it('an abort by the caller ends at once, with its own error', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long', { timeouts: { attemptMs: 20_000, callMs: 20_000 } });
    exchange.injectFault({ effect: { kind: 'hang' } });
    const controller = new AbortController();
    const read = client.openPositions({}, { signal: controller.signal });
    const order = client.reduceOnlyStop(STOP, { signal: controller.signal });
    await expect.poll(() => exchange.requestLog().length).toBe(2);
    controller.abort();
    expect(summary(await read)).toBe('failed aborted - - possible');
    expect(summary(await order)).toBe('unknown aborted - - possible');
    const late = await client.reduceOnlyStop(STOP, { signal: controller.signal });
    expect(summary(late)).toBe('rejected aborted - - none');
    expect(exchange.requestLog()).toHaveLength(2);
  });
});

import { describe, expect, it } from 'vitest';
import type { ReadOutcome, RecordList, StopLimitRequest } from '../../src/core/ports/exchange.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { summary } from './support/outcomes.ts';
import { startTampering } from './support/tamper.ts';
import { accountNamed, connect, d, openExchange, placed, STOP } from './support/world.ts';

/** Readings of the live service that concern orders, what the exchange does itself, and its words. */

const text = (value: string) => value as StopLimitRequest['amount'];
const records = <T>(outcome: ReadOutcome<RecordList<T>>): readonly T[] =>
  outcome.kind === 'ok' ? outcome.value.records : [];

/** What a client with a setting makes of one order under one reading. */
async function order(
  readings: Record<string, unknown>,
  changes: Partial<Record<keyof typeof STOP, string>> = {},
  accountId = 'long',
) {
  const exchange = await openExchange({ readings });
  const { client } = connect(exchange, accountId);
  const outcome = await client.reduceOnlyStop({ ...STOP, ...changes } as typeof STOP);
  const error = 'error' in outcome ? outcome.error : undefined;
  const words = Object.values(error?.fields ?? {}).flat();
  return { exchange, outcome, said: `${summary(outcome)}: ${words.join(' ') || error?.message}` };
}

describe('a resting order', () => {
  it.each(['NEW', 'OPEN', 'FILLED', 'absent'])(
    'whose status is %s is known by its numbers',
    async (restingStatus) => {
      const { exchange, outcome } = await order({ restingStatus });
      const known = { status: { known: true, value: 'NEW' }, dealStock: '0', left: '0.1' };
      expect(outcome).toMatchObject({ kind: 'accepted', value: known });
      const account = accountNamed(exchange, 'long');
      const proxy = await startTampering(exchange.baseUrl, account.apiSecret);
      const sent: unknown[] = [];
      proxy.tampering = {
        reply: (answer) => {
          sent.push((JSON.parse(answer.text) as Record<string, unknown>)['status'] ?? 'absent');
          return answer;
        },
      };
      const { client } = connect({ baseUrls: [proxy.url], accounts: [account] }, 'long');
      await client.reduceOnlyStop({ ...STOP, clientOrderId: 'stop-2' });
      expect(sent).toEqual([restingStatus]);
    },
  );
});

describe('a client order id', () => {
  it.each([
    ['snake', 'read', 'spec', true],
    ['camel', 'read', 'spec', true],
    ['camel', 'ignored', 'spec', false],
    ['camel', 'ignored', 'camel', true],
    ['snake', 'ignored', 'camel', false],
  ] as const)('where fields are %s and others %s, by dialect %s: %s', async (...row) => {
    const [orderFieldSpelling, unknownFields, dialect, isRead] = row;
    const exchange = await openExchange({ readings: { orderFieldSpelling, unknownFields } });
    const { client } = connect(exchange, 'long', { dialect });
    const outcome = await client.reduceOnlyStop(STOP);
    expect(outcome).toMatchObject({ kind: 'accepted', value: { clientOrderIdEchoed: isRead } });
    expect(placed(exchange)[0]?.clientOrderId).toBe(isRead ? STOP.clientOrderId : '');
  });
});

describe('an order is refused', () => {
  it.each([
    [{ priceBand: '3%' }, {}, 'price', 'rejected priceBand 250 400 none'],
    [{ priceBand: '10%' }, { price: '53999.9' }, 'price', 'rejected priceBand 250 400 none'],
    [{ minTotal: '250' }, { amount: '0.004' }, 'total', 'rejected validationFailed 30 400 none'],
    [{ maxTotal: '20000' }, { amount: '0.4' }, 'total', 'rejected validationFailed 30 400 none'],
    [
      { activationAtLast: 'refused' },
      { activationPrice: '60000' },
      'activationPrice',
      'rejected validationFailed 30 400 none',
    ],
    [
      { oneWaySide: 'refused' },
      { positionSide: 'LONG' },
      'positionSide',
      'rejected hedgeSideMismatch 114 400 none',
    ],
    [{ stopLimitOrders: 'closed' }, {}, 'orderType', 'rejected notAvailable 30 453 none'],
  ] as const)('under %j with %j: %s', async (readings, changes, field, expected) => {
    const { exchange, outcome } = await order(readings, changes);
    expect(summary(outcome)).toBe(expected);
    expect(Object.keys(outcome.kind === 'rejected' ? (outcome.error.fields ?? {}) : {})).toEqual([field]);
    expect(placed(exchange)).toEqual([]);
    expect(summary((await order({}, changes)).outcome)).toBe('accepted');
  });

  it.each([
    [{ priceBand: '3%' }, {}, 'greater than or equal to 58200'],
    [{ priceBand: '3%' }, { price: '61801' }, 'less than or equal to 61800'],
    [{ minTotal: '5.05' }, { amount: '0.001', price: '100' }, 'is less than 5.05'],
    [{ maxTotal: '20000' }, { amount: '0.4' }, 'is greater than 20000'],
    [{ errorWords: 'live' }, { price: '58000.05' }, 'Min price step = 0.1'],
    [{ errorWords: 'live' }, { amount: '0.0015' }, 'Min amount step = 0.001'],
  ] as const)('under %j with %j, its words end with %s', async (readings, changes, words) => {
    expect((await order(readings, changes)).said.endsWith(words)).toBe(true);
  });

  it('for a step above one with "Should be a multiple of 100."', async () => {
    const exchange = await openExchange({ readings: { errorWords: 'live' } });
    const terms = { kind: 'terms', market: 'BTC_PERP', priceStep: d('100') } as const;
    exchange.exchange.change((model) => model.setCondition(terms, {}));
    const outcome = await connect(exchange, 'long').client.reduceOnlyStop({ ...STOP, price: text('58050') });
    expect(outcome).toMatchObject({ error: { fields: { price: ['Should be a multiple of 100.'] } } });
  });

  it.each([
    ['fields', 'priceInvalid 33', ['price']],
    ['texts', 'priceInvalid 33', []],
    ['message', 'invalidRequest -', ['price']],
  ] as const)('in the form %s', async (errorForm, expected, fields) => {
    const { outcome } = await order({ errorForm }, { price: '58000.05' });
    expect(summary(outcome)).toBe(`rejected ${expected} 400 none`);
    const error = 'error' in outcome ? outcome.error : undefined;
    expect(Object.keys(error?.fields ?? {})).toEqual(fields);
    expect(JSON.stringify(error)).toContain('must be a multiple of 0.1');
  });
});

describe('words that decide', () => {
  it.each([
    ['specification', 'rejected insufficientBalance 10 400 none'],
    ['live', 'rejected insufficientBalance 32 400 none'],
  ])('too little balance, in those of %s', async (errorWords, expected) => {
    const exchange = await openExchange({ readings: { errorWords } });
    const { client } = connect(exchange, 'long');
    const opening = { ...STOP, side: 'buy', amount: text('5'), positionSide: 'BOTH' } as const;
    expect(summary(await client.stopLimit(opening))).toBe(expected);
  });

  it.each([
    ['specification', 'failed unauthenticated 0 401 none'],
    ['live', 'failed unauthenticated 10 401 none'],
  ])('a wrong secret, in those of %s', async (errorWords, expected) => {
    const exchange = await openExchange({ readings: { errorWords } });
    const accounts = exchange.accounts.map((account) => ({ ...account, apiSecret: 'another' }));
    const { client } = connect({ baseUrls: exchange.baseUrls, accounts }, 'long');
    expect(summary(await client.openPositions())).toBe(expected);
  });

  it.each([
    ['success', 200],
    ['refused', 400],
  ])('cancel-all without an order is done, though its reply is %s', async (cancelWithoutOrders, status) => {
    const exchange = await openExchange({ readings: { cancelWithoutOrders } });
    const { client } = connect(exchange, 'long');
    expect(summary(await client.cancelAll({ market: 'BTC_PERP' }))).toBe('accepted');
    expect(exchange.requestLog({ endpoint: 'cancelAll' })[0]?.status).toBe(status);
    await client.reduceOnlyStop(STOP);
    expect(summary(await client.cancelAll({ market: 'BTC_PERP' }))).toBe('accepted');
  });

  it('code 10 is a market that is not there', async () => {
    const exchange = await openExchange({ readings: { unknownMarketCode: '10' } });
    const { client } = connect(exchange, 'long');
    const outcome = await client.cancelAll({ market: 'NO_PERP' });
    expect(summary(outcome)).toBe('rejected marketInvalid 10 400 none');
  });
});

describe('what the exchange does itself', () => {
  function deleverage(exchange: RunningSimulator): void {
    const condition = { kind: 'deleverage', account: 'long', market: 'BTC_PERP', amount: d('0.2') } as const;
    exchange.exchange.change((model) => model.setCondition(condition, {}));
  }

  it.each([
    ['kept', 1],
    ['cancelled', 0],
  ])('auto-deleveraging: orders in the market are %s', async (deleverageOrders, left) => {
    const { exchange } = await order({ deleverageOrders });
    deleverage(exchange);
    expect(exchange.model.openOrders('long')).toHaveLength(left);
  });

  it.each([
    ['spot', []],
    ['all', ['adl_', 'liquidation_']],
  ])('the order history has %s orders: %j', async (historyOrders, expected) => {
    const exchange = await openExchange({ readings: { historyOrders } });
    deleverage(exchange);
    const buy = { market: 'ETH_PERP', side: 'buy', amount: d('0.1'), price: d('1000') } as const;
    exchange.exchange.change((model) => model.placeCollateralOrder('long', buy));
    exchange.setPrice('BTC_PERP', '20000');
    const history = records(await connect(exchange, 'long').client.spotOrders());
    const ids = history.map(({ clientOrderId }) => clientOrderId.replace(/\d+$/, '')).filter(Boolean);
    expect([...new Set(ids)].sort()).toEqual(expected);
    const cancelled = history.find(({ market }) => market === 'ETH_PERP');
    expect(cancelled?.status).toEqual(
      historyOrders === 'all' ? { known: false, raw: 'AUTO_CANCELED_LIQUIDATION' } : undefined,
    );
    const closed = history.find(({ clientOrderId }) => clientOrderId.startsWith('adl_'));
    expect([closed?.side.known, closed?.dealStock]).toEqual(
      historyOrders === 'all' ? [true, '0.2'] : [undefined, undefined],
    );
  });
});

it.each([
  ['bytes', 'failed unauthenticated 0 401 none'],
  ['value', 'ok'],
])('a body written with other spaces than its payload, by match of %s', async (payloadMatch, expected) => {
  const exchange = await openExchange({ readings: { payloadMatch } });
  const account = accountNamed(exchange, 'long');
  const proxy = await startTampering(exchange.baseUrl, account.apiSecret);
  proxy.tampering = { spaced: true };
  const { client } = connect({ baseUrls: [proxy.url], accounts: [account] }, 'long');
  expect(summary(await client.openPositions())).toBe(expected);
});

describe('the live service', () => {
  it('is served by a client of dialect camel and nonce mode window', async () => {
    const exchange = await openExchange({ startMs: Date.now(), readings: { profile: 'live' } });
    const { client, drift } = connect(exchange, 'long', { dialect: 'camel', nonce: { mode: 'window' } });
    expect(records(await client.openPositions())).toHaveLength(1);
    expect(await client.reduceOnlyStop({ ...STOP, positionSide: 'BOTH' })).toMatchObject({
      kind: 'accepted',
      value: { clientOrderIdEchoed: true, left: '0.1' },
    });
    expect(summary(await client.cancelAll({ market: 'BTC_PERP' }))).toBe('accepted');
    expect(drift.map(({ path }) => path)).toEqual(['.status']);
  });

  it('and other readings beside it win', async () => {
    const exchange = await openExchange({ readings: { profile: 'live', priceBand: '3%' } });
    expect(exchange.model.readings()).toMatchObject({ priceBand: '3%', restingStatus: 'FILLED' });
    await expect(openExchange({ readings: { profile: 'dead' } })).rejects.toThrow(
      '"dead" is not one of specification, live',
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { ReadOutcome, RecordList } from '../../src/core/ports/exchange.ts';
import { READING_CHOICES } from '../../src/simulator/model/readings.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { blamed, summary } from './support/outcomes.ts';
import { connect, d, OPENING, openExchange, placed, STOP } from './support/world.ts';

/** Every open reading of the specification: the client gives the same result for each. */

type Choices = typeof READING_CHOICES;
// Keeps the names of the values as types.
const values = <K extends keyof Choices>(name: K): Choices[K]['values'] => READING_CHOICES[name].values;

function recordsOf<T>(outcome: ReadOutcome<RecordList<T>>): readonly T[] {
  if (outcome.kind !== 'ok' || !outcome.value.complete) throw new Error(JSON.stringify(outcome));
  return outcome.value.records;
}

function lend(exchange: RunningSimulator): void {
  const loan = { asset: 'USDT', amount: d('14000'), collateralAsset: 'BTC', collateralAmount: d('0.4') };
  const outcome = exchange.exchange.change((model) => model.openLoan('long', loan));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
}

describe('a short in one-way mode', () => {
  it.each([
    ['signed', '-0.5'],
    ['unsigned', '0.5'],
  ] as const)('has its amount %s', async (shortAmount, expected) => {
    const exchange = await openExchange({ readings: { shortAmount } });
    const [record] = recordsOf(await connect(exchange, 'short').client.openPositions());
    expect(record).toMatchObject({ amount: expected, positionSide: { known: true, value: 'BOTH' } });
  });

  it.each(values('shortAmount'))('shows both legs of hedge mode alike when %s', async (shortAmount) => {
    const exchange = await openExchange({ readings: { shortAmount } });
    const records = recordsOf(await connect(exchange, 'hedged').client.openPositions());
    expect(records.map(({ amount, positionSide }) => [amount, positionSide])).toEqual([
      ['0.5', { known: true, value: 'LONG' }],
      ['0.2', { known: true, value: 'SHORT' }],
    ]);
  });
});

describe('order fields', () => {
  const cases = values('orderFieldSpelling').flatMap((spelling) =>
    (['spec', 'camel'] as const).map((dialect) => ({ spelling, dialect })),
  );

  it.each(cases)(
    'spelled $spelling are read by a client of dialect $dialect',
    async ({ spelling, dialect }) => {
      const exchange = await openExchange({ readings: { orderFieldSpelling: spelling } });
      const { client, drift } = connect(exchange, 'long', { dialect });
      expect(await client.reduceOnlyStop(STOP)).toMatchObject({
        kind: 'accepted',
        value: {
          orderId: expect.stringMatching(/^\d+$/) as string,
          clientOrderId: 'stop-1',
          clientOrderIdEchoed: true,
          activationPrice: '58500',
          dealStock: '0',
          dealMoney: '0',
          dealFee: '0',
        },
      });
      expect(placed(exchange)).toMatchObject([
        { clientOrderId: 'stop-1', amount: '0.1', price: '58000', details: { activationPrice: '58500' } },
      ]);
      exchange.exchange.change((model) =>
        model.placeSpotOrder('long', {
          market: 'BTC_USDT',
          side: 'buy',
          amount: d('0.01'),
          clientOrderId: 'spot-1',
        }),
      );
      const outcome = await client.spotOrders();
      const [order] = outcome.kind === 'ok' ? outcome.value.records : [];
      const [view] = exchange.model.orderHistory('long');
      expect(order).toMatchObject({
        market: 'BTC_USDT',
        clientOrderId: 'spot-1',
        orderId: String(view?.orderId),
        status: { known: true, value: 'FILLED' },
        dealStock: '0.01',
        dealMoney: view?.dealMoney.toFixed(),
        dealFee: view?.dealFee.toFixed(),
      });
      expect(drift).toEqual([]);
    },
  );
});

describe('empty results', () => {
  it.each(values('emptyResult'))('as %s are empty and complete', async (emptyResult) => {
    const exchange = await openExchange({ readings: { emptyResult } });
    const { client } = connect(exchange, 'bare');
    const empty = { records: [], setAside: [], complete: true };
    expect(await client.openPositions()).toMatchObject({ kind: 'ok', value: empty });
    expect(await client.spotOrders()).toMatchObject({ kind: 'ok', value: empty });
    expect(await client.transfers()).toMatchObject({ kind: 'ok', value: empty });
    expect(await client.creditLines()).toMatchObject({ kind: 'ok', value: empty });
    const balance = await client.mainBalance();
    expect(balance.kind === 'ok' && Object.entries(balance.value)).toEqual([]);
  });

  it.each(values('emptyResult'))('an empty `errors` as %s counts as no field', async (emptyResult) => {
    const exchange = await openExchange({ readings: { emptyResult } });
    const status = { kind: 'status', status: 400, code: 30, message: 'Validation failed' } as const;
    exchange.injectFault({ effect: status });
    const outcome = await connect(exchange, 'long').client.openPositions();
    expect([summary(outcome), blamed(outcome)]).toEqual(['failed validationFailed 30 400 none', []]);
  });
});

describe('a refused parameter', () => {
  const cases = values('validationStatus').flatMap((status) =>
    values('validationCode').map((code) => ({ status, code })),
  );

  it.each(cases)('with HTTP $status and code $code is the same error', async ({ status, code }) => {
    const exchange = await openExchange({ readings: { validationStatus: status, validationCode: code } });
    const { client } = connect(exchange, 'long');
    const outcomes = [
      await client.openPositions({ market: 'NO_MARKET' }),
      await client.spotOrders({ market: 'NO_MARKET' }),
      await client.transfers({ method: 'deposit', status: [999] }),
      await client.cancelAll({ market: 'NO_MARKET' }),
    ];
    expect(outcomes.map((outcome) => [summary(outcome), blamed(outcome)])).toEqual([
      [`failed marketInvalid ${code} ${status} none`, ['market']],
      [`failed marketInvalid ${code} ${status} none`, ['market']],
      [`failed validationFailed ${code} ${status} none`, ['status']],
      [`rejected marketInvalid ${code} ${status} none`, ['market']],
    ]);
    const opening = await connect(exchange, 'flat').client.stopLimit({ ...OPENING, reduceOnly: true });
    expect(summary(opening)).toBe(`rejected reduceOnlyRefused 116 ${status} none`);
  });

  it.each(cases)(
    'or used id is a duplicate with HTTP $status and generic code $code',
    async ({ status, code }) => {
      const exchange = await openExchange({
        readings: { validationStatus: status, validationCode: code, orderErrorCodes: 'generic' },
      });
      const { client } = connect(exchange, 'long');
      await client.reduceOnlyStop(STOP);
      const again = await client.reduceOnlyStop(STOP);
      expect([again.kind, 'error' in again && again.error.name]).toEqual([
        'rejected',
        'duplicateClientOrderId',
      ]);
    },
  );
});

describe('the undocumented body of a success', () => {
  it.each(values('successBody'))('%s is a success', async (successBody) => {
    const exchange = await openExchange({ readings: { successBody } });
    const { client } = connect(exchange, 'flat');
    expect(await client.cancelAll({})).toMatchObject({ kind: 'accepted', value: null });
    expect(await client.setHedgeMode(true)).toMatchObject({ kind: 'accepted', value: null });
    expect(exchange.model.account('flat').hedgeMode).toBe(true);
  });
});

describe('credit line info', () => {
  it.each(values('loanReply'))('as %s shows the loan', async (loanReply) => {
    const exchange = await openExchange({ readings: { loanReply } });
    lend(exchange);
    expect(recordsOf(await connect(exchange, 'long').client.creditLines())).toMatchObject([
      { asset: 'USDT', amount: '14000' },
    ]);
  });

  it('as array shows every loan', async () => {
    const exchange = await openExchange({ readings: { loanReply: 'array' } });
    lend(exchange);
    lend(exchange);
    expect(recordsOf(await connect(exchange, 'long').client.creditLines())).toHaveLength(2);
  });

  it.each([
    ['object', 'ok'],
    ['array', 'ok'],
    ['error', 'ok'],
    ['absent', 'failed loansNotAvailable 0 404 none'],
  ] as const)('as %s means no loan', async (loanReply, expected) => {
    const exchange = await openExchange({ readings: { loanReply } });
    const outcome = await connect(exchange, 'long').client.creditLines();
    expect(summary(outcome)).toBe(expected);
    if (outcome.kind === 'ok') expect(outcome.value).toEqual({ records: [], setAside: [], complete: true });
  });

  it.each([
    ['percent', /^58\.33/],
    ['fraction', /^0\.5833/],
  ] as const)('has LTVs in %s, passed on unchanged', async (ltvUnit, current) => {
    const exchange = await openExchange({ readings: { ltvUnit } });
    lend(exchange);
    const [record] = recordsOf(await connect(exchange, 'long').client.creditLines());
    const [view] = exchange.model.creditLines('long');
    const unit = d(ltvUnit === 'percent' ? '100' : '1');
    expect(record).toMatchObject({
      currentLtv: view?.currentLtv.times(unit).toFixed(),
      initialLtv: view?.initialLtv.times(unit).toFixed(),
      marginCallLtv: view?.marginCallLtv.times(unit).toFixed(),
      liquidationLtv: view?.liquidationLtv.times(unit).toFixed(),
    });
    expect(record?.currentLtv).toMatch(current);
  });
});

describe('a client order id', () => {
  it.each([
    ['forever', 'rejected duplicateClientOrderId 36 400 none', 1],
    ['openOrders', 'accepted', 2],
  ] as const)(
    'unique %s can or cannot be used again after a cancel',
    async (uniqueness, expected, orders) => {
      const exchange = await openExchange({ readings: { clientOrderIdUniqueness: uniqueness } });
      const { client } = connect(exchange, 'long');
      expect(summary(await client.reduceOnlyStop(STOP))).toBe('accepted');
      expect(summary(await client.reduceOnlyStop(STOP))).toBe('rejected duplicateClientOrderId 36 400 none');
      await client.cancelAll({});
      expect(summary(await client.reduceOnlyStop(STOP))).toBe(expected);
      expect(placed(exchange, 'stop-1')).toHaveLength(orders);
    },
  );
});

describe('cancel-all', () => {
  it.each([
    ['yes', []],
    ['no', ['waiting']],
  ] as const)('covers waiting stops: %s', async (cancelCoversStops, left) => {
    const exchange = await openExchange({ readings: { cancelCoversStops } });
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop({ ...STOP, clientOrderId: 'waiting' });
    exchange.exchange.change((model) =>
      model.placeCollateralOrder('long', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('0.1'),
        price: d('70000'),
        clientOrderId: 'resting',
        reduceOnly: true,
      }),
    );
    expect(summary(await client.cancelAll({ market: 'BTC_PERP', types: ['futures'] }))).toBe('accepted');
    expect(exchange.model.openOrders('long').map((order) => order.clientOrderId)).toEqual(left);
  });
});

describe('a stop', () => {
  it.each([
    ['last', { mark: '59000', last: '58400' }, true],
    ['last', { mark: '58400', last: '59000' }, false],
    ['mark', { mark: '59000', last: '58400' }, false],
    ['mark', { mark: '58400', last: '59000' }, true],
  ] as const)('triggers on the %s price: %j', async (stopTriggerSource, prices, triggered) => {
    const exchange = await openExchange({ readings: { stopTriggerSource } });
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop(STOP);
    exchange.setPrice('BTC_PERP', prices.last, prices);
    expect(exchange.ledger({ kinds: ['stop_triggered'] })).toHaveLength(triggered ? 1 : 0);
    const [position] = recordsOf(await client.openPositions());
    expect(position?.amount).toBe(triggered ? '0.4' : '0.5');
  });

  it.each([
    ['yes', 1],
    ['no', 0],
  ] as const)('triggers at equality: %s', async (stopTriggersAtEquality, expected) => {
    const exchange = await openExchange({ readings: { stopTriggersAtEquality } });
    await connect(exchange, 'long').client.reduceOnlyStop(STOP);
    exchange.setPrice('BTC_PERP', '58500');
    expect(exchange.ledger({ kinds: ['stop_triggered'] })).toHaveLength(expected);
  });

  it('is skipped by a gap: it triggers, but its limit price is out of reach', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop(STOP);
    exchange.setPrice('BTC_PERP', '55000');
    expect(exchange.ledger({ kinds: ['stop_triggered'] })).toHaveLength(1);
    expect(recordsOf(await client.openPositions())).toMatchObject([{ amount: '0.5' }]);
    expect(exchange.model.openOrders('long')).toMatchObject([{ clientOrderId: 'stop-1', active: true }]);
  });

  it.each([
    ['cancelled', 0],
    ['kept', 1],
  ] as const)('that outlives its position is %s', async (reduceOnlyAfterClose, left) => {
    const exchange = await openExchange({ readings: { reduceOnlyAfterClose } });
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop(STOP);
    exchange.exchange.change((model) =>
      model.placeCollateralOrder('long', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('0.5'),
        reduceOnly: true,
      }),
    );
    expect(recordsOf(await client.openPositions())).toEqual([]);
    expect(exchange.model.openOrders('long')).toHaveLength(left);
  });
});

describe('a position rebuilt in a market', () => {
  it.each([
    ['fresh', false],
    ['reused', true],
  ] as const)('has a %s id', async (positionIds, same) => {
    const exchange = await openExchange({ readings: { positionIds } });
    const { client } = connect(exchange, 'long');
    const [before] = recordsOf(await client.openPositions());
    const order = { market: 'BTC_PERP', amount: d('0.5') } as const;
    exchange.exchange.change((model) => model.placeCollateralOrder('long', { ...order, side: 'sell' }));
    exchange.exchange.change((model) => model.placeCollateralOrder('long', { ...order, side: 'buy' }));
    const [after] = recordsOf(await client.openPositions());
    expect(after?.positionId === before?.positionId).toBe(same);
  });
});

describe('reads that lag', () => {
  it('show the past for as long as the reading says, while the order is already in the books', async () => {
    const exchange = await openExchange({ readings: { readLagMs: 500 } });
    const { client } = connect(exchange, 'long');
    exchange.advance(1000);
    const size = async () => recordsOf(await client.openPositions()).map((record) => record.amount);
    await client.reduceOnlyStop({ ...STOP, price: '50000' as typeof STOP.price });
    exchange.setPrice('BTC_PERP', '58400');
    const before = await size();
    exchange.advance(499);
    const still = await size();
    exchange.advance(1);
    expect([before, still, await size()]).toEqual([['0.5'], ['0.5'], ['0.4']]);
  });
});

describe('a request whose reply was lost', () => {
  it('arrives late if the reading says so: unknown, and in the books only then', async () => {
    const exchange = await openExchange({ readings: { lateArrivalMs: 150 } });
    const { client } = connect(exchange, 'long');
    exchange.injectFault({ effect: { kind: 'lostReply' }, target: { endpoint: 'stopLimit' }, count: 1 });
    const outcome = await client.reduceOnlyStop(STOP);
    expect(summary(outcome)).toBe('unknown connectionLost - - possible');
    const [pending] = exchange.requestLog({ endpoint: 'stopLimit' });
    expect([pending?.outcome, placed(exchange).length]).toEqual(['pending', 0]);
    await expect.poll(() => placed(exchange, 'stop-1').length).toBe(1);
  });

  it('arrives in the books after an accepted cancel, which does not cover it', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    exchange.injectFault({ effect: { kind: 'appliedLate' }, target: { endpoint: 'stopLimit' }, count: 1 });
    expect((await client.reduceOnlyStop(STOP)).kind).toBe('unknown');
    expect((await client.cancelAll({})).kind).toBe('accepted');
    expect(exchange.releaseHeld()).toBe(1);
    expect(exchange.model.openOrders('long')).toHaveLength(1);
  });

  it('is refused when it arrives behind an accepted cancel with increasing nonces', async () => {
    const exchange = await openExchange({ readings: { nonceRule: 'increasing' } });
    const { client } = connect(exchange, 'long', { nonce: { mode: 'increasing' } });
    exchange.injectFault({ effect: { kind: 'appliedLate' }, target: { endpoint: 'stopLimit' }, count: 1 });
    expect((await client.reduceOnlyStop(STOP)).kind).toBe('unknown');
    expect((await client.cancelAll({})).kind).toBe('accepted');
    exchange.releaseHeld();
    expect(exchange.model.openOrders('long')).toEqual([]);
    expect(exchange.requestLog({ endpoint: 'stopLimit' })).toMatchObject([
      { outcome: 'refused', status: 429 },
    ]);
  });
});

describe('the margin model', () => {
  it.each(values('marginModel'))(
    '%s gives the liquidation price at which liquidation begins',
    async (marginModel) => {
      const exchange = await openExchange({ readings: { marginModel } });
      const { client } = connect(exchange, 'long');
      const [record] = recordsOf(await client.openPositions());
      const price = Number(record?.liquidationPrice);
      const startedAt = (at: number) => {
        exchange.setPrice('BTC_PERP', at.toFixed(1));
        return exchange.ledger({ accountId: 'long', kinds: ['liquidation_started'] }).length;
      };
      expect(price).toBeGreaterThan(0);
      expect(startedAt(Math.ceil(price + 1))).toBe(0);
      expect(recordsOf(await client.openPositions())[0]?.liquidationState).toEqual({
        known: true,
        value: 'margin_call',
      });
      expect(startedAt(Math.floor(price - 1))).toBe(1);
    },
  );
});

describe('the readings', () => {
  it('are all tested here, in errors.test.ts or in test/simulator/http/readings.test.ts: add a new one', () => {
    const tested = [
      'marginModel',
      'clientOrderIdUniqueness',
      'cancelCoversStops',
      'stopTriggerSource',
      'stopTriggersAtEquality',
      'reduceOnlyAfterClose',
      'positionIds',
      'orderErrorCodes',
      'publicPrices',
      'liquidation',
      'shortAmount',
      'loanReply',
      'ltvUnit',
      'orderFieldSpelling',
      'emptyResult',
      'validationStatus',
      'validationCode',
      'successBody',
      'permissionRefusal',
      'nonceRule',
      'wrongSideActivation',
      'reduceOnlyRoom',
      'openingPositions',
      'noLiquidationState',
      'positionLeverage',
      'nonceType',
      'uniqueIdSpelling',
      'unknownMarketCode',
      'orderHistoryReach',
      'rateLimitReply',
      'compression',
      'userAgent',
      'profile',
      'unknownFields',
      'restingStatus',
      'priceBand',
      'minTotal',
      'maxTotal',
      'activationAtLast',
      'oneWaySide',
      'stopLimitOrders',
      'deleverageOrders',
      'historyOrders',
      'cancelWithoutOrders',
      'errorWords',
      'errorForm',
      'payloadMatch',
    ];
    expect(Object.keys(READING_CHOICES).sort()).toEqual(tested.sort());
  });
});

import { describe, expect, it } from 'vitest';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { SeedAccount } from '../../../src/simulator/model/types.ts';
import { scenarioSource } from '../../../src/simulator/scenarios/scenarios.ts';
import {
  accepted,
  account,
  d,
  kinds,
  longOf,
  markets,
  onlyPosition,
  refused,
  START_MS,
  shortOf,
  stop,
  text,
  world,
} from './helpers.ts';

function withLong(
  options: Parameters<typeof world>[0] = {},
  changes: Partial<SeedAccount> = {},
): ExchangeModel {
  const model = world(options);
  model.createAccount(account({ positions: [longOf('1')], ...changes }));
  return model;
}

function price(model: ExchangeModel, value: string): void {
  model.setPrice('BTC_PERP', d(value));
}

describe('stop-limit orders', () => {
  it('wait until the price reaches the activation price, then fill as a limit order', () => {
    const model = withLong();
    const { order } = accepted(model.placeCollateralOrder('a', stop()));
    expect(order).toMatchObject({ status: 'NEW', active: false, type: 'stop limit', orderClass: 'futures' });
    price(model, '59000.1');
    expect(model.order('a', order.orderId)?.active).toBe(false);
    price(model, '59000');
    expect(model.order('a', order.orderId)).toMatchObject({
      status: 'FILLED',
      finishedMs: expect.closeTo(START_MS + 0.5, 0) as number,
    });
    expect(model.openPositions('a')).toEqual([]);
    // Best bid is one step below 59,000: the taker gets the level, not its limit.
    expect(kinds(model, 'fill')[0]).toMatchObject({ price: '58999.9', side: 'sell', amount: '1' });
  });

  it('infer their side: a sell above the market triggers on a rise, a buy below on a fall', () => {
    const model = withLong();
    model.createAccount(account({ id: 's', positions: [shortOf('1')] }));
    const above = accepted(
      model.placeCollateralOrder('a', stop({ activationPrice: d('61000'), price: d('60500') })),
    );
    const below = accepted(
      model.placeCollateralOrder('s', stop({ side: 'buy', activationPrice: d('59000'), price: d('59500') })),
    );
    price(model, '59500');
    expect([above, below].map(({ order }) => order.active)).toEqual([false, false]);
    price(model, '61000');
    expect(model.order('a', above.order.orderId)?.status).toBe('FILLED');
    expect(model.order('s', below.order.orderId)?.status).toBe('NEW');
    price(model, '59000');
    expect(model.order('s', below.order.orderId)?.status).toBe('FILLED');
  });

  it('trigger at once when the activation price is the market price', () => {
    const model = withLong();
    const { order } = accepted(
      model.placeCollateralOrder('a', stop({ activationPrice: d('60000'), price: d('59900') })),
    );
    expect(order.status).toBe('FILLED');
  });

  it('are skipped by a gap: they rest at their limit and fill there when the price comes back', () => {
    const model = withLong();
    const { order } = accepted(model.placeCollateralOrder('a', stop()));
    price(model, '57000');
    expect(model.order('a', order.orderId)).toMatchObject({ status: 'NEW', active: true });
    expect(text(onlyPosition(model).amount)).toBe('1');
    price(model, '58900');
    expect(model.order('a', order.orderId)?.status).toBe('NEW');
    price(model, '58900.1');
    expect(model.order('a', order.orderId)?.status).toBe('FILLED');
    expect(kinds(model, 'fill')[0]).toMatchObject({ price: '58900', details: { role: 'maker' } });
  });

  it('are triggered by a wick whose extreme lasts one tick', () => {
    const model = withLong();
    model.setPriceSource(
      'BTC_PERP',
      scenarioSource({
        name: 'wick',
        startMs: START_MS,
        startPrice: d('60000'),
        priceStep: d('0.1'),
        magnitude: d('0.05'),
        durationMs: 60_000,
        tickMs: 30_000,
      }),
    );
    const { order } = accepted(
      model.placeCollateralOrder('a', stop({ activationPrice: d('57000'), price: d('56900') })),
    );
    model.advanceTo(START_MS + 29_999);
    expect(model.order('a', order.orderId)?.active).toBe(false);
    model.advanceTo(START_MS + 60_000);
    expect(text(model.market('BTC_PERP')?.last)).toBe('60000');
    expect(model.order('a', order.orderId)).toMatchObject({
      status: 'FILLED',
      finishedMs: expect.closeTo(START_MS + 30_000.5, 0) as number,
    });
  });

  it.each([
    ['yes', '59000', true],
    ['no', '59000', false],
    ['no', '58999.9', true],
  ] as const)('at equality "%s", price %s: active %s', (stopTriggersAtEquality, value, active) => {
    const model = withLong({ readings: { stopTriggersAtEquality } });
    const { order } = accepted(model.placeCollateralOrder('a', stop()));
    price(model, value);
    expect(model.order('a', order.orderId)?.active).toBe(active);
  });

  it.each([
    ['last', { last: d('58990'), mark: d('59500') }, true],
    ['mark', { last: d('58990'), mark: d('59500') }, false],
    ['mark', { last: d('59500'), mark: d('58990') }, true],
  ] as const)('triggered by %s price', (stopTriggerSource, prices, active) => {
    const model = withLong({ readings: { stopTriggerSource } });
    const { order } = accepted(model.placeCollateralOrder('a', stop()));
    model.setPrice('BTC_PERP', prices.last, prices);
    expect(model.order('a', order.orderId)?.active).toBe(active);
  });

  it('fill in part where depth is thin, and continue when it is renewed', () => {
    const thin = markets(({ depth, name }) =>
      name === 'BTC_PERP' ? { depth: { ...depth, amountPerLevel: d('0.1'), levels: 3, renewMs: 1_000 } } : {},
    );
    const model = withLong({ markets: thin });
    const { order } = accepted(model.placeCollateralOrder('a', stop()));
    price(model, '59000');
    expect(model.order('a', order.orderId)).toMatchObject({ status: 'PARTIALLY_FILLED' });
    expect(text(model.order('a', order.orderId)?.left)).toBe('0.7');
    // Neither the same price nor a detour renews depth within the period.
    price(model, '59000.1');
    price(model, '59000');
    const left = text(model.order('a', order.orderId)?.left);
    model.advanceTo(START_MS + 999);
    expect(text(model.order('a', order.orderId)?.left)).toBe(left);
    expect(left).toBe('0.6');
    model.advanceTo(START_MS + 1_000);
    expect(text(model.order('a', order.orderId)?.left)).toBe('0.3');
    model.advanceTo(START_MS + 2_000);
    expect(model.order('a', order.orderId)?.status).toBe('FILLED');
  });
});

describe('reduce-only', () => {
  it('is 116 without a position or on its own side, in one-way and in hedge mode', () => {
    const model = withLong();
    expect(refused(model.placeCollateralOrder('a', stop({ side: 'buy' }))).code).toBe(116);
    expect(
      refused(
        model.placeCollateralOrder(
          'a',
          stop({ market: 'ETH_PERP', price: d('2900'), activationPrice: d('2950') }),
        ),
      ).code,
    ).toBe(116);
    model.createAccount(account({ id: 'h', hedgeMode: true, positions: [longOf('1')] }));
    const place = (positionSide: 'LONG' | 'SHORT', side: 'buy' | 'sell'): number =>
      refused(model.placeCollateralOrder('h', stop({ positionSide, side }))).code;
    expect(place('LONG', 'buy')).toBe(116);
    expect(place('SHORT', 'buy')).toBe(116);
    expect(place('SHORT', 'sell')).toBe(116);
    accepted(model.placeCollateralOrder('h', stop({ positionSide: 'LONG' })));
  });

  it('is trimmed to the position when placed, and the reply says so', () => {
    const model = withLong();
    const { order } = accepted(model.placeCollateralOrder('a', stop({ amount: d('5') })));
    expect(text(order.amount)).toBe('1');
    expect(text(order.left)).toBe('1');
    expect(kinds(model, 'order_placed')[0]?.reason).toBe('amount trimmed to the position');
  });

  it('cannot carry stopLoss or takeProfit', () => {
    const model = withLong();
    const rejection = refused(model.placeCollateralOrder('a', stop({ takeProfit: d('65000') })));
    expect(rejection).toMatchObject({ code: 30, message: 'Validation failed' });
    expect(Object.keys(rejection.errors)).toEqual(['takeProfit']);
  });

  it.each(['cancelled', 'kept'] as const)(
    'never turns the position, even several at once (%s)',
    (reading) => {
      const model = withLong({ readings: { reduceOnlyAfterClose: reading } });
      const ids = ['59000', '58500', '58000'].map((activation) => {
        const request = stop({ amount: d('0.6'), activationPrice: d(activation), price: d('57000') });
        return accepted(model.placeCollateralOrder('a', request)).order.orderId;
      });
      price(model, '57500');
      expect(model.openPositions('a')).toEqual([]);
      expect(ids.map((id) => text(model.order('a', id)?.dealStock))).toEqual(['0.6', '0.4', '0']);
      const [, second, third] = ids.map((id) => model.order('a', id));
      expect(third?.status).toBe('CANCELLED');
      expect(second?.status).toBe('CANCELLED');
    },
  );

  it('left over after its position closed is cancelled, or with the other reading reduces a new one', () => {
    for (const reading of ['cancelled', 'kept'] as const) {
      const model = withLong({ readings: { reduceOnlyAfterClose: reading } });
      const { order } = accepted(model.placeCollateralOrder('a', stop()));
      const close = { market: 'BTC_PERP', amount: d('1'), side: 'sell', reduceOnly: true } as const;
      accepted(model.placeCollateralOrder('a', close));
      expect(model.order('a', order.orderId)?.status).toBe(reading === 'kept' ? 'NEW' : 'CANCELLED');
      accepted(model.placeCollateralOrder('a', { market: 'BTC_PERP', amount: d('1.5'), side: 'buy' }));
      price(model, '58950');
      expect(text(onlyPosition(model).amount)).toBe(reading === 'kept' ? '0.5' : '1.5');
    }
  });

  it('gives a rebuilt position a new id, or the old one with the other reading', () => {
    for (const [positionIds, same] of [
      ['fresh', false],
      ['reused', true],
    ] as const) {
      const model = withLong({ readings: { positionIds } });
      const before = onlyPosition(model).positionId;
      accepted(
        model.placeCollateralOrder('a', {
          market: 'BTC_PERP',
          amount: d('1'),
          side: 'sell',
          reduceOnly: true,
        }),
      );
      accepted(model.placeCollateralOrder('a', { market: 'BTC_PERP', amount: d('1'), side: 'buy' }));
      expect(onlyPosition(model).positionId === before).toBe(same);
    }
  });
});

describe('stop loss and take profit attached to an order', () => {
  function opened(): ExchangeModel {
    const model = world();
    model.createAccount(account());
    const { order } = accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_PERP',
        side: 'buy',
        amount: d('0.5'),
        stopLoss: d('58000'),
        takeProfit: d('63000'),
      }),
    );
    expect(order.oto).toMatchObject({ otoId: 1 });
    return model;
  }

  it('are on the position; the one that triggers closes it and removes the other', () => {
    for (const target of ['58000', '63000']) {
      const model = opened();
      const { tpsl } = onlyPosition(model);
      expect([text(tpsl?.stopLoss), text(tpsl?.takeProfit)]).toEqual(['58000', '63000']);
      price(model, target);
      expect(model.openPositions('a')).toEqual([]);
      expect(model.openOrders('a')).toEqual([]);
    }
  });

  it('cover the whole position, including later additions', () => {
    const model = opened();
    accepted(model.placeCollateralOrder('a', { market: 'BTC_PERP', side: 'buy', amount: d('0.25') }));
    price(model, '57900');
    expect(model.openPositions('a')).toEqual([]);
  });

  it('are removed by cancel-all only where it reaches stops that are not yet activated', () => {
    for (const cancelCoversStops of ['yes', 'no'] as const) {
      const model = opened();
      model.setReadings({ ...model.readings(), cancelCoversStops });
      accepted(model.cancelAll('a', { types: ['futures'] }));
      expect(onlyPosition(model).tpsl === null).toBe(cancelCoversStops === 'yes');
    }
  });
});

describe('cancel-all', () => {
  it('cancels the market and the types it names, and stops only with one reading', () => {
    for (const cancelCoversStops of ['yes', 'no'] as const) {
      const model = world({ readings: { cancelCoversStops } });
      model.createAccount(
        account({
          positions: [longOf('1'), longOf('1', 'ETH_USDT')],
          collateral: { USDT: d('50000') },
          spot: { USDT: d('9000') },
        }),
      );
      const stopId = accepted(model.placeCollateralOrder('a', stop())).order.orderId;
      const limit = { side: 'sell', amount: d('1'), reduceOnly: true } as const;
      const futures = accepted(
        model.placeCollateralOrder('a', { ...limit, market: 'BTC_PERP', price: d('70000') }),
      );
      const margin = accepted(
        model.placeCollateralOrder('a', { ...limit, market: 'ETH_USDT', price: d('4000') }),
      );
      const spot = accepted(
        model.placeSpotOrder('a', { market: 'BTC_USDT', side: 'buy', amount: d('0.1'), price: d('50000') }),
      );
      const open = (): number[] => model.openOrders('a').map((order) => order.orderId);
      accepted(model.cancelAll('a', { market: 'BTC_PERP', types: ['spot', 'margin'] }));
      expect(open()).toHaveLength(4);
      accepted(model.cancelAll('a', { market: 'BTC_PERP' }));
      const kept = cancelCoversStops === 'no' ? [stopId] : [];
      expect(open()).toEqual([...kept, margin.order.orderId, spot.order.orderId]);
      expect(futures.order.status).toBe('NEW');
      accepted(model.cancelAll('a', { types: ['margin'] }));
      expect(open()).toEqual([...kept, spot.order.orderId]);
      accepted(model.cancelAll('a', {}));
      expect(open()).toEqual(kept);
      expect(refused(model.cancelAll('a', { market: 'NONE' })).code).toBe(31);
    }
  });
});

describe('client order ids', () => {
  it('are unique forever, or among the open orders of the market', () => {
    for (const [clientOrderIdUniqueness, codes] of [
      ['forever', [36, 36, 36]],
      ['openOrders', [36, null, null]],
    ] as const) {
      const model = withLong(
        { readings: { clientOrderIdUniqueness } },
        { positions: [longOf('1'), longOf('2', 'ETH_PERP')], collateral: { USDT: d('30000') } },
      );
      const place = (changes: Parameters<typeof stop>[0]): number | null => {
        const outcome = model.placeCollateralOrder('a', stop({ clientOrderId: 'x.1_A-b', ...changes }));
        return outcome.ok ? null : outcome.code;
      };
      expect(place({})).toBe(null);
      const eth = { market: 'ETH_PERP', price: d('2900'), activationPrice: d('2950') };
      const seen = [place({}), place(eth)];
      accepted(model.cancelAll('a', {}));
      expect([...seen, place({})]).toEqual(codes);
    }
  });

  it.each(['a b', 'ä', 'a/b', 'a:b', 'x\n'])('refuse %j', (clientOrderId) => {
    const rejection = refused(withLong().placeCollateralOrder('a', stop({ clientOrderId })));
    expect(rejection).toMatchObject({ code: 36 });
    expect(Object.keys(rejection.errors)).toEqual(['client_order_id']);
  });
});

describe('refusals', () => {
  it.each([
    [{ market: 'DOGE_PERP' }, 31, 'market'],
    [{ amount: d('0.0005') }, 32, 'amount'],
    [{ amount: d('0') }, 32, 'amount'],
    [{ amount: d('-1') }, 32, 'amount'],
    [{ amount: d('0.0015') }, 32, 'amount'],
    [{ price: d('58900.05') }, 33, 'price'],
    [{ price: d('0') }, 33, 'price'],
    [{ activationPrice: d('-59000') }, 33, 'activation_price'],
    [{ reduceOnly: false, stopLoss: d('0.01') }, 33, 'stopLoss'],
    [{ reduceOnly: false, side: 'buy', amount: d('50') }, 10, 'amount'],
  ] as const)('%j is %i on %s, or 30 where codes are generic', (changes, code, field) => {
    for (const orderErrorCodes of ['specific', 'generic'] as const) {
      const model = withLong({ readings: { orderErrorCodes } });
      const rejection = refused(model.placeCollateralOrder('a', stop(changes)));
      expect(rejection.code).toBe(orderErrorCodes === 'generic' && code > 30 ? 30 : code);
      expect(Object.keys(rejection.errors)).toEqual([field]);
      expect(kinds(model, 'order_rejected')).toHaveLength(1);
      expect(model.openOrders('a')).toEqual([]);
    }
  });

  it('keep within position and pending limits of the market', () => {
    const limited = markets(({ name }) =>
      name === 'BTC_PERP' ? { maxPositionValue: d('90000'), maxPendingValue: d('20000') } : {},
    );
    const model = withLong({ markets: limited });
    const buy = (amount: string): number =>
      refused(
        model.placeCollateralOrder('a', {
          market: 'BTC_PERP',
          side: 'buy',
          amount: d(amount),
          price: d('50000'),
        }),
      ).code;
    expect(buy('0.7')).toBe(111);
    expect(buy('0.5')).toBe(112);
  });

  it('reserve margin for open orders, so that two cannot spend the same funds', () => {
    const model = world();
    model.createAccount(account({ collateral: { USDT: d('1000') } }));
    const order = { market: 'BTC_PERP', side: 'buy', amount: d('0.1'), price: d('55000') } as const;
    accepted(model.placeCollateralOrder('a', order));
    expect(refused(model.placeCollateralOrder('a', order)).code).toBe(10);
    accepted(model.cancelAll('a', {}));
    accepted(model.placeCollateralOrder('a', order));
  });
});

describe('hedge mode', () => {
  it('requires LONG or SHORT (114) and holds both sides at once', () => {
    const model = world();
    model.createAccount(account({ hedgeMode: true, positions: [longOf('1'), shortOf('0.4')] }));
    expect(refused(model.placeCollateralOrder('a', stop())).code).toBe(114);
    expect(refused(model.placeCollateralOrder('a', stop({ positionSide: 'BOTH' }))).code).toBe(114);
    expect(model.openPositions('a').map((p) => [p.positionSide, text(p.amount)])).toEqual([
      ['LONG', '1'],
      ['SHORT', '0.4'],
    ]);
    accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('0.3'),
        positionSide: 'LONG',
      }),
    );
    expect(model.openPositions('a').map((p) => text(p.amount))).toEqual(['0.7', '0.4']);
    const closing = accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('0.7'),
        positionSide: 'LONG',
        price: d('70000'),
      }),
    ).order;
    // It was not sent as reduce-only, so the reply does not say so; yet it can only close.
    expect(closing.reduceOnly).toBe(false);
    accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('0.5'),
        positionSide: 'LONG',
      }),
    );
    price(model, '70001');
    expect(model.openPositions('a').map((p) => [p.positionSide, text(p.amount)])).toEqual([['SHORT', '0.4']]);
    expect(text(model.order('a', closing.orderId)?.dealStock)).toBe('0.2');
    const beyond = { market: 'BTC_PERP', side: 'sell', amount: d('0.8'), positionSide: 'LONG' } as const;
    expect(refused(model.placeCollateralOrder('a', beyond)).code).toBe(115);
  });

  it('changes only without positions and collateral orders (113)', () => {
    const model = withLong();
    expect(refused(model.setHedgeMode('a', true)).code).toBe(113);
    expect(accepted(model.setHedgeMode('a', false)).hedgeMode).toBe(false);
    accepted(
      model.placeCollateralOrder('a', { market: 'BTC_PERP', side: 'sell', amount: d('1'), reduceOnly: true }),
    );
    const resting = { market: 'BTC_PERP', side: 'buy', amount: d('0.1'), price: d('50000') } as const;
    accepted(model.placeCollateralOrder('a', resting));
    expect(refused(model.setHedgeMode('a', true)).code).toBe(113);
    accepted(model.cancelAll('a', {}));
    expect(accepted(model.setHedgeMode('a', true)).hedgeMode).toBe(true);
  });

  it('is off in one-way mode: an order beyond the position turns it, and positionSide is ignored', () => {
    const model = withLong();
    const request = { market: 'BTC_PERP', side: 'sell', amount: d('1.5'), positionSide: 'LONG' } as const;
    accepted(model.placeCollateralOrder('a', request));
    expect(onlyPosition(model)).toMatchObject({ direction: 'short', positionSide: 'BOTH', positionId: 2 });
    expect(text(onlyPosition(model).amount)).toBe('0.5');
  });
});

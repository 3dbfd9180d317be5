import { describe, expect, it } from 'vitest';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { Readings } from '../../../src/simulator/model/readings.ts';
import { accepted, account, d, kinds, longOf, refused, shortOf, stop, text, world } from './helpers.ts';

function long(readings: Partial<Readings>): ExchangeModel {
  const model = world({ readings });
  model.createAccount(account({ positions: [longOf('1')] }));
  return model;
}

/** Above the market: a sell's activation there has already been passed. */
const ABOVE = stop({ activationPrice: d('60500'), price: d('59000'), clientOrderId: 'late' });

describe('an activation price that the market has passed', () => {
  it('becomes the opposite trigger: it waits for the price to come back', () => {
    const model = long({ wrongSideActivation: 'opposite' });
    expect(accepted(model.placeCollateralOrder('a', ABOVE)).order).toMatchObject({ active: false });
    model.setPrice('BTC_PERP', d('55000'));
    expect(kinds(model, 'fill')).toEqual([]);
    model.setPrice('BTC_PERP', d('60500'));
    expect(kinds(model, 'fill')).toMatchObject([{ clientOrderId: 'late', amount: '1' }]);
  });

  it('triggers at once, and fills at the market', () => {
    const model = long({ wrongSideActivation: 'atOnce' });
    expect(accepted(model.placeCollateralOrder('a', ABOVE)).order).toMatchObject({ status: 'FILLED' });
    expect(kinds(model, 'stop_triggered', 'fill').map(({ kind }) => kind)).toEqual([
      'stop_triggered',
      'fill',
    ]);
  });

  it('is refused with code 33, and nothing is placed', () => {
    const model = long({ wrongSideActivation: 'refused' });
    const refusal = refused(model.placeCollateralOrder('a', ABOVE));
    expect(refusal).toMatchObject({ code: 33, errors: { activation_price: [expect.any(String)] } });
    expect(kinds(model, 'order_placed')).toEqual([]);
    expect(kinds(model, 'order_rejected')).toMatchObject([{ clientOrderId: 'late' }]);
  });

  it.each(['atOnce', 'refused'] as const)(
    '%s: the side follows the order, and the price that triggers',
    (how) => {
      const model = world({ readings: { wrongSideActivation: how, stopTriggerSource: 'mark' } });
      model.createAccount(account({ positions: [shortOf('1')] }));
      model.setPrice('BTC_PERP', d('60000'), { mark: d('61000') });
      const buy = (activation: string) =>
        model.placeCollateralOrder(
          'a',
          stop({ side: 'buy', activationPrice: d(activation), price: d('62000'), amount: d('0.1') }),
        );
      expect(accepted(buy('61500')).order.active).toBe(false);
      const passed = buy('60500');
      expect(passed.ok && passed.order.status).toBe(how === 'atOnce' ? 'FILLED' : false);
    },
  );
});

describe('the room of a reduce-only order beside others', () => {
  const rung = (amount: string, at: string) =>
    stop({ amount: d(amount), activationPrice: d(at), price: d(at) });

  it('is the whole position, if only that counts', () => {
    const model = long({ reduceOnlyRoom: 'position' });
    accepted(model.placeCollateralOrder('a', rung('1', '55000')));
    expect(text(accepted(model.placeCollateralOrder('a', rung('1', '59000'))).order.amount)).toBe('1');
  });

  it('is what the others leave: orders are trimmed to it, and to nothing by a full ladder', () => {
    const model = long({ reduceOnlyRoom: 'trimmed' });
    const first = accepted(model.placeCollateralOrder('a', rung('0.7', '55000'))).order;
    expect(text(accepted(model.placeCollateralOrder('a', rung('0.7', '54000'))).order.amount)).toBe('0.3');
    expect(refused(model.placeCollateralOrder('a', rung('0.1', '59000'))).code).toBe(116);
    accepted(model.cancelOrder('a', first.orderId));
    expect(text(accepted(model.placeCollateralOrder('a', rung('1', '59000'))).order.amount)).toBe('0.7');
  });

  it('must suffice, if an order that does not fit is refused with 116', () => {
    const model = long({ reduceOnlyRoom: 'refused' });
    accepted(model.placeCollateralOrder('a', rung('0.7', '55000')));
    expect(refused(model.placeCollateralOrder('a', rung('0.4', '59000'))).code).toBe(116);
    accepted(model.placeCollateralOrder('a', rung('0.3', '59000')));
    expect(kinds(model, 'order_placed').map(({ amount }) => amount)).toEqual(['0.7', '0.3']);
  });

  it.each(['trimmed', 'refused'] as const)(
    '%s: an order above the position is still reduced to it',
    (how) => {
      const model = long({ reduceOnlyRoom: how });
      expect(text(accepted(model.placeCollateralOrder('a', rung('5', '55000'))).order.amount)).toBe('1');
    },
  );

  it('is not reduced by the other leg of hedge mode, nor by a stop loss of the position', () => {
    const model = world({ readings: { reduceOnlyRoom: 'refused' } });
    const collateral = { USDT: d('50000') };
    model.createAccount(account({ hedgeMode: true, collateral, positions: [longOf('1'), shortOf('1')] }));
    accepted(model.placeCollateralOrder('a', { ...rung('1', '55000'), positionSide: 'LONG' }));
    const cover = stop({
      side: 'buy',
      activationPrice: d('62000'),
      price: d('63000'),
      positionSide: 'SHORT',
    });
    accepted(model.placeCollateralOrder('a', cover));
    const other = world({ readings: { reduceOnlyRoom: 'refused' } });
    other.createAccount(account());
    const opening = { market: 'BTC_PERP', side: 'buy', amount: d('1'), stopLoss: d('50000') } as const;
    accepted(other.placeCollateralOrder('a', opening));
    accepted(other.placeCollateralOrder('a', rung('1', '55000')));
  });
});

describe('a position that an order is about to open', () => {
  const pending = { market: 'ETH_PERP', side: 'buy', amount: d('1'), price: d('2000') } as const;

  it('is not listed by default', () => {
    const model = long({});
    accepted(model.placeCollateralOrder('a', pending));
    expect(model.openingPositions('a')).toEqual([]);
  });

  it('is listed with its future id, until it opens or its order goes', () => {
    const model = long({ openingPositions: 'listed' });
    const { order } = accepted(model.placeCollateralOrder('a', pending));
    const [opening] = model.openingPositions('a');
    expect(opening).toMatchObject({ market: 'ETH_PERP', positionSide: 'BOTH', openMs: order.createdMs });
    expect(model.openingPositions('a', 'BTC_PERP')).toEqual([]);
    model.setPrice('ETH_PERP', d('1900'));
    expect(model.openingPositions('a')).toEqual([]);
    const opened = model.openPositions('a', 'ETH_PERP');
    expect(opened.map(({ positionId }) => positionId)).toEqual([opening?.positionId]);
  });

  it('is listed also when the reading was set after its order, and no longer once that is cancelled', () => {
    const model = long({});
    const { order } = accepted(model.placeCollateralOrder('a', pending));
    accepted(model.setReadings({ ...model.readings(), openingPositions: 'listed' }));
    expect(model.openingPositions('a')).toHaveLength(1);
    accepted(model.cancelOrder('a', order.orderId));
    expect(model.openingPositions('a')).toEqual([]);
  });

  it('does not exist for an order that reduces, nor in the spot wallet', () => {
    const model = long({ openingPositions: 'listed' });
    accepted(model.placeCollateralOrder('a', stop()));
    accepted(
      model.placeCollateralOrder('a', {
        ...pending,
        market: 'BTC_PERP',
        amount: d('0.01'),
        price: d('50000'),
      }),
    );
    expect(model.openingPositions('a')).toEqual([]);
  });
});

describe('the time of an order', () => {
  it('has microseconds, which rise from order to order within one millisecond', () => {
    const model = long({});
    const times = Array.from({ length: 20 }, (_, index) => {
      const at = d(String(50_000 + index));
      return accepted(model.placeCollateralOrder('a', stop({ activationPrice: at }))).order.createdMs;
    });
    const nowMs = model.nowMs();
    expect(times.every((ms, index) => index === 0 || ms > (times[index - 1] ?? 0))).toBe(true);
    expect(times.every((ms) => ms > nowMs && ms < nowMs + 1)).toBe(true);
  });
});

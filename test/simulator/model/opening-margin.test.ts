import { describe, expect, it } from 'vitest';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { SeedAccount } from '../../../src/simulator/model/types.ts';
import { accepted, account, d, longOf, onlyPosition, refused, stop, text, world } from './helpers.ts';

function withFunds(usdt: string, changes: Partial<SeedAccount> = {}): ExchangeModel {
  const model = world();
  model.createAccount(account({ collateral: { USDT: d(usdt) }, ...changes }));
  return model;
}

const SELL = { market: 'BTC_PERP', side: 'sell' } as const;

describe('the margin of an opening order', () => {
  it('is not computed from the limit of a sell that fills far above it', () => {
    const model = withFunds('100');
    const order = { ...SELL, amount: d('10'), price: d('0.1') };
    expect(refused(model.placeCollateralOrder('a', order)).code).toBe(10);
    const stopped = stop({ amount: d('10'), price: d('0.1'), reduceOnly: false });
    expect(refused(model.placeCollateralOrder('a', stopped)).code).toBe(10);
    expect(model.openPositions('a')).toEqual([]);
  });

  it("is reserved at the fill price of a sell: the bid, its limit, or its stop's activation", () => {
    const model = withFunds('100000');
    accepted(model.placeCollateralOrder('a', stop({ price: d('100'), reduceOnly: false })));
    expect(text(model.account('a').freeMargin)).toBe('94100');
    accepted(model.placeCollateralOrder('a', { ...SELL, amount: d('1'), price: d('70000') }));
    expect(text(model.account('a').freeMargin)).toBe('87100');
  });

  it('counts every order of a side once: two that would each close the position together turn it', () => {
    const model = withFunds('7000', { positions: [longOf('1')] });
    const closing = { ...SELL, amount: d('1'), price: d('61000') };
    const first = accepted(model.placeCollateralOrder('a', closing)).order;
    expect(text(model.account('a').freeMargin)).toBe('1000');
    expect(refused(model.placeCollateralOrder('a', closing)).code).toBe(10);
    // A small one has the margin, which is reserved: 0.1 * 61000 / 10.
    accepted(model.placeCollateralOrder('a', { ...closing, amount: d('0.1') }));
    expect(text(model.account('a').freeMargin)).toBe('390');
    accepted(model.cancelOrder('a', first.orderId));
    expect(text(model.account('a').freeMargin)).toBe('1000');
  });

  it('is refused to an account in liquidation, whatever the leverage leaves free', () => {
    const model = withFunds('2000', { leverage: 100, positions: [longOf('1')] });
    model.setPrice('BTC_PERP', d('59500'));
    expect(onlyPosition(model).liquidationState).toBe('liquidation');
    expect(text(model.account('a').freeMargin)).not.toBe('0');
    const more = { market: 'BTC_PERP', side: 'buy', amount: d('0.01') } as const;
    expect(refused(model.placeCollateralOrder('a', more)).code).toBe(10);
    accepted(model.placeCollateralOrder('a', { ...SELL, amount: d('0.01'), reduceOnly: true }));
  });
});

describe('a stop whose activation price is the market price, where equality does not activate', () => {
  it.each([
    { side: 'sell', direction: 'long', beyond: '59999.9' },
    { side: 'buy', direction: 'short', beyond: '60000.1' },
  ] as const)('waits for the price to move against a $direction', ({ side, direction, beyond }) => {
    const model = world({ readings: { stopTriggersAtEquality: 'no' } });
    model.createAccount(account({ positions: [{ ...longOf('1'), direction }] }));
    const price = side === 'sell' ? d('58000') : d('62000');
    const request = stop({ side, activationPrice: d('60000'), price });
    const { orderId, active } = accepted(model.placeCollateralOrder('a', request)).order;
    expect(active).toBe(false);
    model.setPrice('BTC_PERP', side === 'sell' ? d('60000.1') : d('59999.9'));
    expect(model.order('a', orderId)?.active).toBe(false);
    model.setPrice('BTC_PERP', d(beyond));
    expect(model.order('a', orderId)?.status).toBe('FILLED');
  });
});

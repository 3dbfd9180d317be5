import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leverageOf, maintenanceMarginOf } from '../../../src/cli/init/account-figures.ts';
import { proposeMarkets } from '../../../src/cli/init/propose-markets.ts';
import type { PositionRecord, SpotOrderRecord } from '../../../src/core/ports/exchange.ts';
import { type DecimalString, decimal, toDecimal, ZERO } from '../../../src/core/quantities/decimal.ts';

const text = (digits: string) => digits as DecimalString;

function position(changes: Record<string, unknown> = {}): PositionRecord {
  return {
    positionId: '1',
    market: 'BTC_PERP',
    amount: text('0.5'),
    basePrice: text('60000'),
    liquidationPrice: text('53608.3'),
    unrealizedPnl: text('0'),
    margin: text('3000'),
    freeMargin: text('1000'),
    positionSide: { known: true, value: 'BOTH' },
    ...changes,
  };
}

function order(changes: Record<string, unknown>): SpotOrderRecord {
  return { market: 'BTC_PERP', amount: '1', ...changes } as unknown as SpotOrderRecord;
}

const proposed = (positions: PositionRecord[], orders: SpotOrderRecord[] = []) => {
  const [market] = proposeMarkets(positions, orders);
  if (market === undefined) throw new Error('no market');
  return market;
};

describe('steps', () => {
  test.each([
    ['0.5', '0.1'],
    ['-8', '1'],
    ['0.50000000', '0.1'],
    ['0.123', '0.001'],
    ['250000', '1'],
    ['1.5e-7', '0.00000001'],
  ])('the amount %s has the step %s', (amount, step) => {
    expect(proposed([position({ amount })]).amountStep.value).toBe(step);
  });

  test('an order in the same market is finer than the position; one in another market has no effect', () => {
    const orders = [
      order({ amount: '0.005', price: '60000.5' }),
      order({ amount: '0.00001', market: 'BTC_USDT' }),
    ];
    expect(proposed([position()], orders)).toMatchObject({
      amountStep: { value: '0.001', from: '0.005, the finest of 2 amounts' },
      minAmount: { value: '0.001' },
      priceStep: { value: '0.1', from: 'the order price 60000.5' },
    });
  });

  test('prices of orders take precedence over computed prices', () => {
    const averaged = { basePrice: '60000.12345678', liquidationPrice: '53608.12345678' };
    const withStop = position({ ...averaged, tpsl: { stopLoss: text('55000.5') } });
    expect(proposed([withStop]).priceStep.value).toBe('0.1');
    expect(proposed([position(averaged)]).priceStep.value).toBe('0.1');
    const market = order({ price: '0', activationPrice: '59000.25' });
    expect(proposed([position(averaged)], [market]).priceStep.value).toBe('0.01');
  });

  test('of computed prices only the leading digits count, at any price', () => {
    const cheap = position({ basePrice: '0.000012345678', liquidationPrice: null });
    expect(proposed([cheap]).priceStep.value).toBe('0.0000000001');
    const dear = position({ basePrice: '1234567.891', liquidationPrice: null });
    expect(proposed([dear]).priceStep.value).toBe('10');
    const unsaid = position({ basePrice: undefined, liquidationPrice: null });
    expect(proposed([unsaid]).priceStep).toEqual({ value: '1', from: 'no price at all' });
  });

  test('every observed amount is a multiple of the proposed step', () => {
    const digits = fc.tuple(fc.integer({ min: 1, max: 999_999 }), fc.integer({ min: 0, max: 10 }));
    fc.assert(
      fc.property(fc.array(digits, { minLength: 1, maxLength: 6 }), (amounts) => {
        const written = amounts.map(([units, places]) => decimal(`${units}e-${places}`).toFixed());
        const records = written.map((amount) => position({ amount }));
        const step = toDecimal(proposed(records).amountStep.value as DecimalString);
        for (const amount of written) expect(decimal(amount).mod(step).eq(ZERO)).toBe(true);
      }),
    );
  });
});

describe('markets', () => {
  test('are listed once each; perpetuals settle in USDT; names that the config refuses are left out', () => {
    const records = [
      position(),
      position({ market: 'BTC_USDT' }),
      position(),
      position({ market: 'bad name: {' }),
      position({ market: '*' }),
    ];
    expect(proposeMarkets(records, []).map(({ market, money }) => [market, money])).toEqual([
      ['BTC_PERP', 'USDT'],
      ['BTC_USDT', undefined],
    ]);
  });

  test('their mark price is kept to six digits', () => {
    expect(proposed([position({ unrealizedPnl: '-1.23456' })]).referencePrice).toBe('59997.5');
    expect(proposed([position({ unrealizedPnl: undefined })])).not.toHaveProperty('referencePrice');
  });
});

describe('the maintenance margin', () => {
  /** At its liquidation price a pool has exactly the maintenance margin left. */
  function pool(rate: number, equity: number, legs: readonly (readonly [string, number, number])[]) {
    const worth = legs.reduce((sum, [, size, mark]) => sum + Math.abs(size) * mark, 0);
    return legs.map(([market, size, mark]) => {
      const own = Math.abs(size);
      const liquidation = mark - (equity - rate * worth) / (size - rate * own);
      return position({
        market,
        amount: String(size),
        basePrice: String(mark),
        liquidationPrice: String(liquidation),
        margin: String(equity / legs.length / 2),
        freeMargin: String(equity / 2),
      });
    });
  }

  test.each([0.01, 0.03, 0.05])('is found for a pool with the rate %s', (rate) => {
    const one = pool(rate, 4_000, [['BTC_PERP', 0.5, 60_000]]);
    const two = pool(rate, 9_000, [
      ['BTC_PERP', 0.5, 60_000],
      ['ETH_PERP', -8, 3_000],
    ]);
    expect([maintenanceMarginOf(one), maintenanceMarginOf(two)]).toEqual([rate, rate]);
    expect(proposed(two).maintenanceMargin).toEqual({
      value: `${Math.round(rate * 100)}%`,
      from: 'margin and liquidation prices',
    });
  });

  test('is the default if figures are missing, implausible, or of several pools', () => {
    const usual = { value: '3%', from: 'what is usual up to 10x' };
    expect(proposed([position({ freeMargin: undefined })]).maintenanceMargin).toEqual(usual);
    expect(proposed([position({ margin: undefined })]).maintenanceMargin).toEqual(usual);
    expect(proposed([position({ liquidationPrice: null })]).maintenanceMargin).toEqual(usual);
    expect(proposed([position({ liquidationPrice: '20000' })]).maintenanceMargin).toEqual(usual);
    const [first = position()] = pool(0.03, 4_000, [['BTC_PERP', 0.5, 60_000]]);
    const [second = position()] = pool(0.03, 9_000, [['ETH_PERP', 8, 3_000]]);
    expect(proposed([first, second]).maintenanceMargin).toEqual(usual);
  });

  test('the leverage is the value of all positions divided by the equity', () => {
    expect(leverageOf([position()])).toBe(7.5);
    expect(leverageOf([position({ freeMargin: undefined })])).toBeUndefined();
    expect(leverageOf([position({ unrealizedPnl: undefined })])).toBeUndefined();
    expect(leverageOf([])).toBeUndefined();
  });
});

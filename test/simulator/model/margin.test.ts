import { describe, expect, it } from 'vitest';
import { ZERO } from '../../../src/core/quantities/decimal.ts';
import { DEFAULT_LIQUIDATION } from '../../../src/simulator/defaults.ts';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { SeedAccount } from '../../../src/simulator/model/types.ts';
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
  text,
  world,
} from './helpers.ts';

const DAY_MS = 86_400_000;

function withPositions(
  positions: NonNullable<SeedAccount['positions']>,
  options: Parameters<typeof world>[0] = {},
  changes: Partial<SeedAccount> = {},
): ExchangeModel {
  const model = world(options);
  model.createAccount(account({ positions, ...changes }));
  return model;
}

describe('positions', () => {
  it('have a margin and base price that follow the leverage, the price step and every fill', () => {
    const model = withPositions([longOf('0.3', 'BTC_PERP')]);
    const figures = () => [text(onlyPosition(model).margin), text(onlyPosition(model).basePrice)];
    expect(figures()).toEqual(['1800', '60000']);
    model.setLeverage('a', 20);
    expect(figures()).toEqual(['900', '60000']);
    model.setPrice('BTC_PERP', d('66000.1'));
    accepted(model.placeCollateralOrder('a', { market: 'BTC_PERP', side: 'buy', amount: d('0.3') }));
    model.setLeverage('a', 10);
    expect(figures()).toEqual(['3780.006', '63000.1']);
    accepted(model.placeCollateralOrder('a', { market: 'BTC_PERP', side: 'buy', amount: d('0.1') }));
    expect(figures()[1]).toBe('63428.68571429');
    accepted(model.setCondition({ kind: 'terms', market: 'BTC_PERP', priceStep: d('0.000000001') }));
    expect(figures()[1]).toBe('63428.685714286');
  });

  it('average their base price, realize on partial closes and keep base and margin of the rest', () => {
    const model = withPositions([longOf('0.1')]);
    model.setPrice('BTC_PERP', d('66000.1'));
    accepted(model.placeCollateralOrder('a', { market: 'BTC_PERP', side: 'buy', amount: d('0.2') }));
    // (0.1 * 60000 + 0.2 * 66000.2) / 0.3
    expect(text(onlyPosition(model).basePrice)).toBe('64000.13333333');
    const close = { market: 'BTC_PERP', side: 'sell', amount: d('0.1'), reduceOnly: true } as const;
    accepted(model.placeCollateralOrder('a', close));
    const position = onlyPosition(model);
    // 0.1 * 66000 - 19200.04 / 3, the division rounded once
    expect(text(position.pnl)).toBe('199.98666667');
    expect(text(position.amount)).toBe('0.2');
    expect(text(position.margin)).toBe('1280.00266667');
    expect(text(position.unrealizedPnl)).toBe('399.99333333');
    expect(text(position.pnlPercent)).toBe('31.25');
    accepted(model.placeCollateralOrder('a', { ...close, amount: d('0.2') }));
    const pnl = kinds(model, 'fill').map((entry) => String(entry.details?.['realizedPnl']));
    // Together exactly 0.3 * 66000 - 19200.04: the second part includes the rounding of the first.
    expect(text(pnl.reduce((sum, value) => sum.plus(d(value)), ZERO))).toBe('599.96');
  });

  it('use the mark price for unrealized profit, which may differ from the last price', () => {
    const model = withPositions([longOf('1')]);
    model.setPrice('BTC_PERP', d('60000'), { mark: d('59000') });
    expect(text(onlyPosition(model).unrealizedPnl)).toBe('-1000');
    expect(text(onlyPosition(model).markPrice)).toBe('59000');
  });
});

describe('liquidation price (cross)', () => {
  it('is where equity meets maintenance margin, and nothing happens before it', () => {
    for (const direction of ['long', 'short'] as const) {
      const model = withPositions([{ market: 'BTC_PERP', direction, amount: d('1') }]);
      const price = onlyPosition(model).liquidationPrice ?? ZERO;
      // long: (60000 - 10000) / 0.97, short: 70000 / 1.03
      expect(text(price)).toBe(direction === 'long' ? '51546.4' : '67961.1');
      model.setPrice('BTC_PERP', price);
      expect(onlyPosition(model).liquidationState).toBe('margin_call');
      model.setPrice('BTC_PERP', direction === 'long' ? price.minus(d('0.1')) : price.plus(d('0.1')));
      expect(kinds(model, 'liquidation_started')).toHaveLength(1);
    }
  });

  it('moves with the other positions of the pool', () => {
    const model = withPositions([longOf('1'), longOf('1', 'ETH_PERP')]);
    const before = model.openPositions('a', 'BTC_PERP')[0]?.liquidationPrice ?? ZERO;
    model.setPrice('ETH_USDT', d('2500'));
    const after = model.openPositions('a', 'BTC_PERP')[0]?.liquidationPrice ?? ZERO;
    // ETH lost 500 and needs 15 less maintenance: 485 / 0.97 more for BTC.
    expect(text(after.minus(before))).toBe('500');
  });

  it('is null when no positive price liquidates', () => {
    expect(onlyPosition(withPositions([longOf('0.1')])).liquidationPrice).toBe(null);
    const hedged = withPositions([longOf('1'), shortOf('1')], {}, { hedgeMode: true });
    // Equal sides lose nothing in a fall; only the maintenance margin of both grows with the price.
    expect(hedged.openPositions('a').map((p) => text(p.liquidationPrice))).toEqual(['166666.6', '166666.6']);
  });

  it('counts coins held as collateral at their weight and mark price', () => {
    const model = withPositions([longOf('0.1')], {}, { collateral: { BTC: d('0.2') } });
    expect(text(model.account('a').equity)).toBe('11400');
    model.setPrice('BTC_USDT', d('30000'));
    expect(text(model.account('a').equity)).toBe('2700');
  });
});

describe('liquidation', () => {
  it('calls margin first, and clears the call when the price comes back', () => {
    const model = withPositions([longOf('1')]);
    // margin call at equity = 1.5 * 3 %: 50000 / 0.955
    model.setPrice('BTC_PERP', d('52357'));
    expect(onlyPosition(model).liquidationState).toBe(null);
    model.setPrice('BTC_PERP', d('52356'));
    expect(onlyPosition(model).liquidationState).toBe('margin_call');
    model.setPrice('BTC_PERP', d('52357'));
    expect(onlyPosition(model).liquidationState).toBe(null);
    expect(model.ledger().map((entry) => entry.kind)).toEqual(
      expect.arrayContaining(['margin_call', 'margin_call_cleared']),
    );
  });

  it('is cleared by money moved into the pool', () => {
    const model = withPositions([longOf('1')], {}, { main: { USDT: d('5000') } });
    model.setPrice('BTC_PERP', d('52000'));
    expect(onlyPosition(model).liquidationState).toBe('margin_call');
    accepted(model.moveFunds('a', { from: 'main', to: 'collateral', ticker: 'USDT', amount: d('2000') }));
    expect(onlyPosition(model).liquidationState).toBe(null);
  });

  it('closes parts with a fee until margin is restored, one part per step', () => {
    const model = withPositions([longOf('1')]);
    model.setPrice('BTC_PERP', d('51400'));
    expect(onlyPosition(model).liquidationState).toBe('liquidation');
    expect(text(onlyPosition(model).amount)).toBe('0.75');
    expect(kinds(model, 'liquidation')[0]).toMatchObject({ amount: '0.25', price: '51400', fee: '64.25' });
    model.advanceTo(START_MS + 999);
    expect(text(onlyPosition(model).amount)).toBe('0.75');
    model.advanceTo(START_MS + 1_000);
    // Equity 1400 - 64.25 against 1156.5 * 1.1: restored, but still within the margin call.
    expect(text(onlyPosition(model).amount)).toBe('0.75');
    expect(onlyPosition(model).liquidationState).toBe('margin_call');
  });

  it('closes everything at once and keeps the remaining margin, if the reading says so', () => {
    const readings = { liquidation: 'atOnce' } as const;
    const model = withPositions([longOf('1'), longOf('0.4', 'BTC_USDT')], { readings });
    model.setPrice('BTC_USDT', d('49000'));
    model.advanceTo(START_MS + 10_000);
    expect(new Set(kinds(model, 'liquidation').map(({ amount }) => amount))).toEqual(new Set(['0.4', '1']));
    expect(model.openPositions('a')).toEqual([]);
    expect(model.account('a').collateral).toEqual({});
  });

  it('takes of an isolated position what is left of its margin, and nothing else', () => {
    const readings = { liquidation: 'atOnce', marginModel: 'isolated' } as const;
    const model = withPositions([longOf('1')], { readings }, { collateral: { USDT: d('20000') } });
    const margin = Number(text(onlyPosition(model).margin));
    model.setPrice('BTC_PERP', d('54000'));
    model.advanceTo(START_MS + 10_000);
    expect(model.openPositions('a')).toEqual([]);
    expect(Number(text(model.account('a').collateral['USDT'] ?? ZERO))).toBeCloseTo(20_000 - margin, 1);
  });

  it('takes margin positions first, then borrows, then futures', () => {
    const model = withPositions(
      [longOf('1'), longOf('0.4', 'BTC_USDT')],
      { config: { liquidation: { ...DEFAULT_LIQUIDATION, part: d('1'), restoreRatio: d('1000') } } },
      { collateral: { USDT: d('100'), BTC: d('0.3') } },
    );
    model.setPrice('BTC_USDT', d('49000'));
    model.advanceTo(START_MS + 10_000);
    const closing = kinds(model, 'liquidation', 'borrow_repaid').map((entry) => [entry.kind, entry.market]);
    expect(closing.slice(0, 3)).toEqual([
      ['liquidation', 'BTC_USDT'],
      ['borrow_repaid', 'BTC_USDT'],
      ['liquidation', 'BTC_PERP'],
    ]);
  });

  it('ends with the insurance paying what the collateral lacks, and the account at zero', () => {
    const model = withPositions([longOf('1')]);
    model.setPrice('BTC_PERP', d('40000'));
    model.advanceTo(START_MS + 10_000);
    expect(model.openPositions('a')).toEqual([]);
    expect(model.account('a').collateral).toEqual({});
    // 20000 lost, 200 fee, 10000 there
    expect(kinds(model, 'insurance')).toMatchObject([{ amount: '10200', accountId: 'a' }]);
    expect(kinds(model, 'liquidation_ended')).toHaveLength(1);
  });

  it('cancels orders that could open more, and keeps those that reduce', () => {
    const model = withPositions([longOf('1')]);
    const far = { market: 'BTC_PERP', amount: d('0.01'), side: 'buy', price: d('20000') } as const;
    const opening = accepted(model.placeCollateralOrder('a', far)).order.orderId;
    const reducing = accepted(
      model.placeCollateralOrder('a', { ...far, side: 'sell', price: d('70000'), reduceOnly: true }),
    ).order.orderId;
    model.setPrice('BTC_PERP', d('51400'));
    expect(model.order('a', opening)?.status).toBe('CANCELLED');
    expect(model.order('a', reducing)?.status).toBe('NEW');
  });

  it('does not touch a position that a stop closed in time', () => {
    const model = withPositions([longOf('1')]);
    accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('1'),
        activationPrice: d('53000'),
        price: d('52000'),
        reduceOnly: true,
      }),
    );
    model.setPrice('BTC_PERP', d('53000'));
    model.setPrice('BTC_PERP', d('40000'));
    expect(kinds(model, 'liquidation')).toEqual([]);
    expect(kinds(model, 'margin_call')).toEqual([]);
  });
});

describe('isolated margin', () => {
  const isolated = { readings: { marginModel: 'isolated' } } as const;

  it('limits the loss of a position to its own margin', () => {
    const model = withPositions([longOf('0.5'), longOf('10', 'ETH_PERP')], isolated);
    // margin 3000 each: (30000 - 3000) / 0.5 / 0.97
    const [btc, eth] = model.openPositions('a');
    expect([text(btc?.margin), text(btc?.liquidationPrice)]).toEqual(['3000', '55670.2']);
    expect(text(eth?.liquidationPrice)).toBe('2783.51');
    expect(text(model.account('a').collateral['USDT'])).toBe('4000');
    model.setPrice('BTC_USDT', d('30000'));
    model.advanceTo(START_MS + 10_000);
    expect(model.openPositions('a').map((position) => position.market)).toEqual(['ETH_PERP']);
    expect(text(model.account('a').collateral['USDT'])).toBe('4000');
    expect(model.openPositions('a')[0]?.liquidationState).toBe(null);
    expect(kinds(model, 'liquidation').at(-1)?.details).toMatchObject({ sizeAfter: '0' });
    expect(kinds(model, 'liquidation_ended')).toHaveLength(1);
  });

  it('returns margin and profit when a position is reduced', () => {
    const model = withPositions([longOf('0.5')], isolated);
    model.setPrice('BTC_PERP', d('66000.1'));
    accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('0.25'),
        reduceOnly: true,
      }),
    );
    expect(text(onlyPosition(model).margin)).toBe('1500');
    // 7000 + 1500 margin + 1500 profit - 0.25 * 66000 * 0.00055 fee
    expect(text(model.account('a').collateral['USDT'])).toBe('9990.925');
  });

  it('cannot be chosen while positions are open', () => {
    const model = withPositions([longOf('0.5')]);
    expect(refused(model.setReadings({ ...model.readings(), marginModel: 'isolated' })).code).toBe(0);
    expect(model.readings().marginModel).toBe('cross');
  });
});

describe('funding', () => {
  it('on perpetuals is a balance update each interval, and never shown on the position', () => {
    const model = withPositions([longOf('1'), { ...shortOf('1', 'ETH_PERP') }]);
    const interval = 8 * 3_600_000;
    model.advanceTo(Math.ceil(START_MS / interval) * interval);
    // 60000 * 0.0001 paid, 3000 * 0.0001 received
    expect(kinds(model, 'funding').map((entry) => [entry.market, entry.amount])).toEqual([
      ['BTC_PERP', '-6'],
      ['ETH_PERP', '0.3'],
    ]);
    expect(text(model.account('a').collateral['USDT'])).toBe('9994.3');
    for (const position of model.openPositions('a')) {
      expect([text(position.funding), text(position.unrealizedFunding)]).toEqual(['0', '0']);
    }
  });

  it('elsewhere accrues continuously and is settled by a partial or full close', () => {
    const model = withPositions([longOf('1', 'BTC_USDT')]);
    model.advanceTo(START_MS + DAY_MS / 2);
    expect([text(onlyPosition(model).funding), text(onlyPosition(model).unrealizedFunding)]).toEqual([
      '0',
      '15',
    ]);
    expect(text(model.account('a').collateral['USDT'])).toBe('10000');
    accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_USDT',
        side: 'sell',
        amount: d('0.5'),
        price: d('59999'),
        reduceOnly: true,
      }),
    );
    expect([text(onlyPosition(model).funding), text(onlyPosition(model).unrealizedFunding)]).toEqual([
      '15',
      '0',
    ]);
    model.advanceTo(START_MS + DAY_MS);
    expect([text(onlyPosition(model).funding), text(onlyPosition(model).unrealizedFunding)]).toEqual([
      '15',
      '7.5',
    ]);
  });

  it('accrued so far survives growing the position and a change of the rate', () => {
    const model = withPositions([longOf('0.1', 'BTC_USDT')]);
    model.advanceTo(START_MS + DAY_MS);
    accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_USDT',
        side: 'buy',
        amount: d('0.1'),
        price: d('60001'),
      }),
    );
    expect(text(onlyPosition(model).unrealizedFunding)).toBe('3');
    model.setFundingRate('BTC_USDT', d('0.001'));
    expect(text(onlyPosition(model).unrealizedFunding)).toBe('3');
    model.advanceTo(START_MS + 2 * DAY_MS);
    // 6000 + 6000.01 at 0.1 %
    expect(text(onlyPosition(model).unrealizedFunding)).toBe('15.00001');
  });

  it('alone can exhaust the margin: the call comes at the right time without a price move', () => {
    const spec = markets(({ name }) => (name === 'BTC_USDT' ? { fundingRate: d('0.1') } : {}));
    const model = withPositions(
      [longOf('1', 'BTC_USDT')],
      { markets: spec },
      { collateral: { USDT: d('5000') } },
    );
    // 6000 a day; margin call at equity 2700: 2300 / 6000 of a day
    const callMs = START_MS + Math.ceil((2300 / 6000) * DAY_MS);
    model.advanceTo(callMs - 1_000);
    expect(onlyPosition(model).liquidationState).toBe(null);
    model.advanceTo(callMs + 1_000);
    expect(onlyPosition(model).liquidationState).toBe('margin_call');
  });
});

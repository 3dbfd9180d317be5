import { describe, expect, it } from 'vitest';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { SeedAccount } from '../../../src/simulator/model/types.ts';
import type { PriceSource } from '../../../src/simulator/prices/price-source.ts';
import {
  accepted,
  account,
  d,
  kinds,
  longOf,
  markets,
  onlyPosition,
  refused,
  replay,
  START_MS,
  shortOf,
  stop,
  text,
  world,
} from './helpers.ts';

const DAY_MS = 86_400_000;

function holding(changes: Partial<SeedAccount>, options: Parameters<typeof world>[0] = {}): ExchangeModel {
  const model = world(options);
  model.createAccount(account(changes));
  return model;
}

function onceAt(atMs: number, price: string): PriceSource {
  let next: number | undefined = atMs;
  return {
    nextMs: () => next,
    take: () => {
      next = undefined;
      return d(price);
    },
  };
}

describe('a liquidation', () => {
  it('closes at the mark price, even if the last price differs', () => {
    const model = holding({ collateral: { USDT: d('7000') }, positions: [longOf('1')] });
    model.setPrice('BTC_PERP', d('58000'), { mark: d('54000') });
    expect(kinds(model, 'liquidation')).toMatchObject([{ price: '54000', amount: '0.25', fee: '67.5' }]);
  });

  it('leaves no rest that is too small to trade', () => {
    const model = holding({ collateral: { USDT: d('30') }, positions: [longOf('0.0045')] });
    model.setPrice('BTC_PERP', d('40000'));
    model.advanceTo(START_MS + 60_000);
    expect(kinds(model, 'liquidation').map(({ amount }) => amount)).toEqual(['0.002', '0.0025']);
  });

  it('of an isolated position draws on the insurance for missing margin, and leaves no debt', () => {
    const model = holding({ positions: [longOf('1')] }, { readings: { marginModel: 'isolated' } });
    model.setPrice('BTC_PERP', d('50000'));
    model.advanceTo(START_MS + 60_000);
    // Loss 10,000 and fee 250 against a margin of 6,000.
    expect(kinds(model, 'liquidation').at(-1)?.details).toMatchObject({ insured: '4250' });
    expect([...(replay(model.ledger()).get('margin:1') ?? [])].map(([, value]) => text(value))).toEqual([
      '0',
    ]);
    expect(text(model.account('a').equity)).toBe('4000');
  });
});

describe('fills', () => {
  it('give a resting order its own price and the maker fee, however far the market jumped over it', () => {
    const model = holding({ positions: [longOf('1')] });
    accepted(
      model.placeCollateralOrder('a', {
        market: 'BTC_PERP',
        side: 'sell',
        amount: d('1'),
        price: d('61000'),
        reduceOnly: true,
      }),
    );
    model.setPrice('BTC_PERP', d('65000'));
    expect(kinds(model, 'fill')).toMatchObject([{ price: '61000', fee: '12.2', details: { role: 'maker' } }]);
  });

  it('that grow a position change its modification time, not its opening time', () => {
    const model = holding({ positions: [shortOf('0.1')] });
    model.advanceTo(START_MS + 5_000);
    accepted(model.placeCollateralOrder('a', { market: 'BTC_PERP', side: 'sell', amount: d('0.1') }));
    expect(onlyPosition(model)).toMatchObject({ openMs: START_MS, modifyMs: START_MS + 5_000 });
  });

  it("with another stop loss replace the position's existing one", () => {
    const model = holding({});
    const buy = { market: 'BTC_PERP', side: 'buy', amount: d('0.1') } as const;
    accepted(model.placeCollateralOrder('a', { ...buy, stopLoss: d('55000'), takeProfit: d('70000') }));
    accepted(model.placeCollateralOrder('a', { ...buy, stopLoss: d('56000') }));
    const open = model.openOrders('a').map(({ activationPrice }) => text(activationPrice));
    expect(new Set(open)).toEqual(new Set(['56000', '70000']));
    expect(open).toHaveLength(2);
    expect(kinds(model, 'order_cancelled')).toMatchObject([{ reason: 'replaced' }]);
  });

  it('of orders may be pending up to exactly the limit of the market', () => {
    const limited = { markets: markets(() => ({ maxPendingValue: d('11800') })) };
    const order = (amount: string) =>
      stop({ side: 'buy', amount: d(amount), price: d('59000'), reduceOnly: false });
    const over = holding({}, limited);
    expect(refused(over.placeCollateralOrder('a', order('0.201'))).code).toBe(112);
    accepted(over.placeCollateralOrder('a', order('0.2')));
  });
});

describe('funding', () => {
  it('of a perpetual is paid on the mark price, even if the last price differs', () => {
    const model = holding({ positions: [longOf('1')] });
    model.setPrice('BTC_PERP', d('60000'), { mark: d('61000') });
    model.advanceTo(START_MS + DAY_MS / 3);
    expect(kinds(model, 'funding')).toMatchObject([{ amount: '-6.1', price: '61000' }]);
  });

  it('of a loan is repaid before the loan', () => {
    const model = holding({ main: { BTC: d('1') } });
    const terms = { asset: 'USDT', amount: d('30000'), collateralAsset: 'BTC', collateralAmount: d('1') };
    const { loan } = accepted(model.openLoan('a', terms));
    model.advanceTo(START_MS + DAY_MS);
    accepted(model.repayLoan('a', loan.loanId, d('5')));
    const [left] = model.creditLines('a');
    expect([text(left?.amount), text(left?.totalFunding)]).toEqual(['30000', '4']);
  });
});

describe('prices', () => {
  it('of a market with its own source do not follow the market that it otherwise follows', () => {
    const model = world();
    model.setPriceSource('BTC_PERP', onceAt(START_MS + 1_000, '50000'));
    model.setPrice('BTC_USDT', d('61000'));
    expect(text(model.market('BTC_PERP')?.last)).toBe('60000');
    model.advanceTo(START_MS + 1_000);
    expect(text(model.market('BTC_PERP')?.last)).toBe('50000');
    model.setPriceSource('BTC_PERP', null);
    model.setPrice('BTC_USDT', d('62000'));
    expect(text(model.market('BTC_PERP')?.last)).toBe('62000');
  });
});

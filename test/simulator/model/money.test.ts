import { describe, expect, it } from 'vitest';
import { CARD_PROVIDER } from '../../../src/simulator/defaults.ts';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { OpenLoan } from '../../../src/simulator/model/types.ts';
import { accepted, account, d, kinds, refused, START_MS, text, world } from './helpers.ts';

const DAY_MS = 86_400_000;
const LOAN: OpenLoan = {
  asset: 'USDT',
  amount: d('30000'),
  collateralAsset: 'BTC',
  collateralAmount: d('1'),
};

function borrower(main: Record<string, string> = { BTC: '1.5', USDT: '10000' }): ExchangeModel {
  const model = world();
  const balances = Object.fromEntries(Object.entries(main).map(([asset, amount]) => [asset, d(amount)]));
  model.createAccount(account({ main: balances }));
  return model;
}

describe('credit lines', () => {
  it('follow the price of the collateral: LTV, margin call, its clearing', () => {
    const model = borrower();
    const { loan } = accepted(model.openLoan('a', LOAN));
    expect([text(loan.currentLtv), loan.state]).toEqual(['0.5', null]);
    expect(text(model.mainBalance('a')['USDT'])).toBe('40000');
    expect(text(model.mainBalance('a')['BTC'])).toBe('0.5');
    model.setPrice('BTC_USDT', d('40000'));
    expect(model.creditLines('a')[0]).toMatchObject({ state: 'margin_call' });
    expect(text(model.creditLines('a')[0]?.currentLtv)).toBe('0.75');
    model.setPrice('BTC_USDT', d('40001'));
    expect(model.creditLines('a')[0]?.state).toBe(null);
    expect(kinds(model, 'loan_margin_call', 'loan_margin_call_cleared')).toHaveLength(2);
  });

  it('accrue funding over time, which alone can raise the LTV to the margin call', () => {
    const model = borrower();
    accepted(model.openLoan('a', { ...LOAN, fundingPerDay: d('0.05') }));
    model.advanceTo(START_MS + DAY_MS);
    expect(text(model.creditLines('a')[0]?.totalFunding)).toBe('1500');
    expect(text(model.creditLines('a')[0]?.currentLtv)).toBe('0.525');
    model.advanceTo(START_MS + 10 * DAY_MS - 1_000);
    expect(model.creditLines('a')[0]?.state).toBe(null);
    model.advanceTo(START_MS + 10 * DAY_MS + 1_000);
    expect(model.creditLines('a')[0]?.state).toBe('margin_call');
  });

  it('are liquidated at their threshold: collateral is sold for debt and fee, the rest is returned', () => {
    const model = borrower();
    accepted(model.openLoan('a', LOAN));
    model.setPrice('BTC_USDT', d('35294.2'));
    expect(model.creditLines('a')).toHaveLength(1);
    model.setPrice('BTC_USDT', d('35000'));
    expect(model.creditLines('a')).toEqual([]);
    // 30600 / 35000 sold
    expect(kinds(model, 'loan_liquidation')[0]?.amount).toBe('0.87428572');
    expect(text(model.mainBalance('a')['BTC'])).toBe('0.62571428');
    expect(text(model.mainBalance('a')['USDT'])).toBe('40000');
  });

  it('are cured by repaying or by more collateral, and closed by full repayment', () => {
    const model = borrower();
    const { loanId } = accepted(model.openLoan('a', LOAN)).loan;
    model.setPrice('BTC_USDT', d('40000'));
    accepted(model.addLoanCollateral('a', loanId, d('0.1')));
    expect(model.creditLines('a')[0]?.state).toBe(null);
    accepted(model.repayLoan('a', loanId, d('10000')));
    expect(text(model.creditLines('a')[0]?.amount)).toBe('20000');
    expect(accepted(model.repayLoan('a', loanId, d('99999'))).loan).toBe(null);
    expect(model.creditLines('a')).toEqual([]);
    expect(text(model.mainBalance('a')['BTC'])).toBe('1.5');
    expect(text(model.mainBalance('a')['USDT'])).toBe('10000');
    expect(refused(model.repayLoan('a', loanId, d('1'))).code).toBe(0);
  });

  it('are refused beyond the initial LTV or the balance', () => {
    const model = borrower();
    expect(refused(model.openLoan('a', { ...LOAN, amount: d('36001') })).code).toBe(0);
    expect(refused(model.openLoan('a', { ...LOAN, collateralAmount: d('1.6') })).code).toBe(10);
    expect(refused(model.openLoan('a', { ...LOAN, collateralAsset: 'EUR' })).errors).toHaveProperty(
      'collateralAsset',
    );
  });
});

describe('deposits and withdrawals', () => {
  it('are pending with growing confirmations until they settle', () => {
    const model = borrower();
    const request = { ticker: 'USDT', amount: d('100'), settleAfterMs: 60_000, network: 'TRC20' };
    const { transfer } = accepted(model.deposit('a', request));
    expect(transfer).toMatchObject({
      status: 15,
      confirmations: { actual: 0, required: 6 },
      currency: 'Tether US',
    });
    model.advanceTo(START_MS + 30_000);
    expect(model.transfers('a')[0]?.confirmations.actual).toBe(3);
    expect(text(model.mainBalance('a')['USDT'])).toBe('10000');
    model.advanceTo(START_MS + 60_000);
    expect(model.transfers('a')[0]).toMatchObject({ status: 3, confirmations: { actual: 6 } });
    expect(text(model.mainBalance('a')['USDT'])).toBe('10100');
  });

  it.each([
    [undefined, 3, '10100'],
    [7, 7, '10100'],
    [4, 4, '10000'],
    [21, 21, '10000'],
  ] as const)('credit a deposit only when it succeeds: asked %s', (finalStatus, status, balance) => {
    const model = borrower();
    const changes = finalStatus === undefined ? {} : { finalStatus };
    accepted(model.deposit('a', { ticker: 'USDT', amount: d('100'), ...changes }));
    expect(model.transfers('a')[0]?.status).toBe(status);
    expect(text(model.mainBalance('a')['USDT'])).toBe(balance);
  });

  it('process a withdrawal in part and return the rest', () => {
    const model = borrower();
    const request = { ticker: 'USDT', amount: d('100'), processedAmount: d('40'), settleAfterMs: 1_000 };
    accepted(model.withdraw('a', request));
    expect(text(model.mainBalance('a')['USDT'])).toBe('9900');
    model.advanceTo(START_MS + 1_000);
    const [record] = model.transfers('a');
    expect(record).toMatchObject({ status: 18, method: 'withdrawal' });
    expect([text(record?.partial?.requestAmount), text(record?.partial?.processedAmount)]).toEqual([
      '100',
      '40',
    ]);
    expect(text(model.mainBalance('a')['USDT'])).toBe('9960');
  });

  it('return a cancelled withdrawal and refuse more than the balance', () => {
    const model = borrower();
    accepted(model.withdraw('a', { ticker: 'USDT', amount: d('100'), finalStatus: 4 }));
    expect(text(model.mainBalance('a')['USDT'])).toBe('10000');
    expect(refused(model.withdraw('a', { ticker: 'USDT', amount: d('10000.01') })).code).toBe(10);
    expect(refused(model.deposit('a', { ticker: 'NOCOIN', amount: d('1') })).errors).toHaveProperty('ticker');
    expect(refused(model.deposit('a', { ticker: 'USDT', amount: d('0') })).errors).toHaveProperty('amount');
  });

  it('are listed newest first', () => {
    const model = borrower();
    for (const amount of ['1', '2', '3']) accepted(model.deposit('a', { ticker: 'USDT', amount: d(amount) }));
    expect(model.transfers('a').map((transfer) => text(transfer.amount))).toEqual(['3', '2', '1']);
  });
});

describe('fiat deposits', () => {
  const request = { ticker: 'EUR', provider: CARD_PROVIDER, amount: d('50'), uniqueId: 'u1' };

  it('arrive once paid, and only once', () => {
    const model = borrower();
    const { link } = accepted(model.createFiatDeposit('a', request));
    expect(model.fiatDeposit(link.token)?.paid).toBe(false);
    const { transfer } = accepted(model.payFiatDeposit(link.token));
    expect(transfer).toMatchObject({ uniqueId: 'u1', status: 3, ticker: 'EUR' });
    expect(text(model.mainBalance('a')['EUR'])).toBe('50');
    expect(refused(model.payFiatDeposit(link.token)).code).toBe(0);
    expect(text(model.mainBalance('a')['EUR'])).toBe('50');
  });

  it.each([
    [{ ticker: 'BTC' }, 'ticker'],
    [{ ticker: 'GBP' }, 'ticker'],
    [{ provider: 'NOBODY' }, 'provider'],
    [{ ticker: 'USD', provider: 'SEPA' }, 'provider'],
    [{ amount: d('9.99') }, 'amount'],
  ] as const)('are refused for %j on %s', (changes, field) => {
    const rejection = refused(borrower().createFiatDeposit('a', { ...request, ...changes }));
    expect(rejection.code).toBe(0);
    expect(Object.keys(rejection.errors)).toEqual([field]);
  });

  it('never accept a unique id twice, not even for another account', () => {
    const model = borrower();
    model.createAccount(account({ id: 'b' }));
    accepted(model.createFiatDeposit('a', request));
    expect(Object.keys(refused(model.createFiatDeposit('b', request)).errors)).toEqual(['uniqueId']);
  });
});

describe('wallets', () => {
  it('release collateral only as far as positions do not need it', () => {
    const model = world();
    model.createAccount(account({ positions: [{ market: 'BTC_PERP', direction: 'long', amount: d('1') }] }));
    const move = (amount: string): boolean =>
      model.moveFunds('a', { from: 'collateral', to: 'main', ticker: 'USDT', amount: d(amount) }).ok;
    expect(move('4000.01')).toBe(false);
    expect(move('4000')).toBe(true);
  });
});

describe('spot orders', () => {
  function trader(): ExchangeModel {
    const model = world();
    model.createAccount(account({ spot: { USDT: d('10000'), BTC: d('1') } }));
    return model;
  }
  const buy = { market: 'BTC_USDT', side: 'buy', amount: d('0.1') } as const;

  it('exchange one asset for the other, with the fee in money, and end in the history', () => {
    const model = trader();
    accepted(model.placeSpotOrder('a', { ...buy, price: d('60001'), clientOrderId: 'c1' }));
    const [record] = model.orderHistory('a');
    expect(record).toMatchObject({
      status: 'FILLED',
      clientOrderId: 'c1',
      orderClass: 'spot',
      type: 'limit',
    });
    expect([text(record?.dealMoney), text(record?.dealFee)]).toEqual(['6000.01', '6.00001']);
    expect(text(model.account('a').spot['BTC'])).toBe('1.1');
    expect(text(model.account('a').spot['USDT'])).toBe('3993.98999');
    expect(model.orderHistory('a', 'ETH_USDT')).toEqual([]);
  });

  it('reserve funds only once', () => {
    const model = trader();
    accepted(model.placeSpotOrder('a', { ...buy, price: d('59000') }));
    expect(refused(model.placeSpotOrder('a', { ...buy, price: d('59000') })).code).toBe(10);
    expect(
      refused(model.moveFunds('a', { from: 'spot', to: 'main', ticker: 'USDT', amount: d('5000') })).code,
    ).toBe(10);
    const [open] = model.openOrders('a');
    accepted(model.cancelOrder('a', open?.orderId ?? 0));
    expect(model.orderHistory('a')[0]?.status).toBe('CANCELLED');
    accepted(model.placeSpotOrder('a', { ...buy, price: d('59000') }));
  });

  it('support post-only, immediate-or-cancel and market orders', () => {
    const model = trader();
    const status = (changes: Partial<Parameters<ExchangeModel['placeSpotOrder']>[1]>): string =>
      accepted(model.placeSpotOrder('a', { ...buy, amount: d('0.01'), ...changes })).order.status;
    expect(status({ price: d('60001'), postOnly: true })).toBe('CANCELLED');
    expect(status({ price: d('59000'), postOnly: true })).toBe('NEW');
    expect(status({ price: d('59000'), ioc: true })).toBe('CANCELLED');
    expect(status({})).toBe('FILLED');
    expect(refused(model.placeSpotOrder('a', { ...buy, market: 'BTC_PERP' })).code).toBe(31);
  });
});

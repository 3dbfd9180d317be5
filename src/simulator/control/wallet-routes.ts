import { z } from 'zod';
import { COLLATERAL_ORDER, LOAN, ORDER_CLASS, SPOT_ORDER, TRANSFER, WALLET_MOVE } from '../model/types.ts';
import { optional, positiveDecimal } from '../schemas.ts';
import type { SimulatedExchange } from '../simulated-exchange.ts';
import { invalid, missing, routes } from './route.ts';

const CANCEL = z.strictObject(optional({ market: z.string(), types: z.array(ORDER_CLASS) }));
const AMOUNT = z.strictObject({ amount: positiveDecimal });

/** Routes for orders, transfers and loans of account owners, most of which have no endpoint in the specification. */
export const WALLET_ROUTES = routes({
  'POST /accounts/:account/deposits': {
    doc: 'A deposit to the main balance; pending for settleAfterMs of exchange time, then finalStatus (3).',
    input: TRANSFER,
    example: { ticker: 'USDT', amount: '500' },
    act: (model, { account, input }) => model.deposit(account, input),
  },
  'POST /accounts/:account/withdrawals': {
    doc: 'A withdrawal from the main balance; processedAmount makes it partial.',
    input: TRANSFER,
    example: { ticker: 'USDT', amount: '500', address: 'T-elsewhere' },
    act: (model, { account, input }) => model.withdraw(account, input),
  },
  'POST /accounts/:account/moves': {
    doc: 'Moves money between the wallets main, spot and collateral.',
    input: WALLET_MOVE,
    example: { from: 'main', to: 'collateral', ticker: 'USDT', amount: '500' },
    act: (model, { account, input }) => model.moveFunds(account, input),
  },
  'POST /accounts/:account/spot-orders': {
    doc: 'A spot order; without a price at market.',
    input: SPOT_ORDER,
    example: { market: 'BTC_USDT', side: 'buy', amount: '0.01' },
    act: (model, { account, input }) => model.placeSpotOrder(account, input),
  },
  'POST /accounts/:account/collateral-orders': {
    doc: 'A collateral order of the owner: market, limit, or with activationPrice a stop-limit.',
    input: COLLATERAL_ORDER,
    example: { market: 'BTC_PERP', side: 'buy', amount: '0.1', price: '50000' },
    act: (model, { account, input }) => {
      if (input.activationPrice !== undefined && input.price === undefined)
        throw invalid('body.price: a stop-limit needs one');
      return model.placeCollateralOrder(account, input);
    },
  },
  'POST /accounts/:account/cancel-all': {
    doc: 'Cancels open orders, all of them or by market and types.',
    input: CANCEL,
    example: { market: 'BTC_PERP', types: ['futures'] },
    act: (model, { account, input }) => model.cancelAll(account, input),
  },
  'DELETE /accounts/:account/orders/:order': {
    doc: 'Cancels one order.',
    act: (model, { account, order }) => model.cancelOrder(account, order),
  },
  'POST /accounts/:account/loans': {
    doc: 'Opens a credit line against collateral from the main balance; LTVs as fractions.',
    input: LOAN,
    example: { asset: 'USDT', amount: '5000', collateralAsset: 'BTC', collateralAmount: '0.2' },
    act: (model, { account, input }) => {
      const { loanReply } = model.readings();
      if (loanReply !== 'array' && model.creditLines(account).length > 0)
        throw invalid(
          `reading loanReply=${loanReply} answers one credit line, and ${account} has one: with "array" a second one is seen`,
        );
      return model.openLoan(account, input);
    },
  },
  'POST /accounts/:account/loans/:loan/repay': {
    doc: 'Repays from the main balance.',
    input: AMOUNT,
    example: { amount: '100' },
    act: (model, { account, loan, input }) => model.repayLoan(account, loan, input.amount),
  },
  'POST /accounts/:account/loans/:loan/collateral': {
    doc: 'Adds collateral from the main balance.',
    input: AMOUNT,
    example: { amount: '100' },
    act: (model, { account, loan, input }) => model.addLoanCollateral(account, loan, input.amount),
  },
  'GET /fiat': {
    doc: 'State of the fiat deposit service.',
    run: fiatState,
  },
  'PATCH /fiat': {
    doc: 'mode up, failing (code 10) or unavailable (503); domains allowed for redirects.',
    input: z.strictObject(
      optional({ mode: z.enum(['up', 'failing', 'unavailable']), allowedDomains: z.array(z.string()) }),
    ),
    example: { mode: 'failing', allowedDomains: ['example.com'] },
    run: ({ exchange, input }) => Object.assign(exchange.fiat, input),
    answer: fiatState,
  },
  'POST /fiat-deposits/:token/pay': {
    doc: 'The customer pays at the provider; the token is the last part of the link.',
    act: (model, { token }) => {
      if (model.fiatDeposit(token) === undefined) throw missing('no such deposit link');
      return model.payFiatDeposit(token);
    },
  },
});

function fiatState({ exchange: { fiat } }: { readonly exchange: SimulatedExchange }) {
  const { mode, cardProvider, allowedDomains } = fiat;
  return { mode, cardProvider, allowedDomains };
}

import { z } from 'zod';
import { COLLATERAL_ORDER, LOAN, ORDER_CLASS, SPOT_ORDER, TRANSFER, WALLET_MOVE } from '../model/types.ts';
import { positiveDecimal } from '../schemas.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { type ControlRoute, route } from './route.ts';

const CANCEL = z.strictObject({
  market: z.string().exactOptional(),
  types: z.array(ORDER_CLASS).exactOptional(),
});
const AMOUNT = z.strictObject({ amount: positiveDecimal });

/** What the specification has no endpoint for: orders, transfers and loans as their owners make them. */
export const WALLET_ROUTES: readonly ControlRoute[] = [
  route({
    endpoint: 'POST /accounts/:account/deposits',
    doc: 'A deposit to the main balance; pending for settleAfterMs of exchange time, then finalStatus (3).',
    input: TRANSFER,
    example: { ticker: 'USDT', amount: '500' },
    run: ({ account, input, change }) => change((model) => model.deposit(account, input)),
  }),
  route({
    endpoint: 'POST /accounts/:account/withdrawals',
    doc: 'A withdrawal from the main balance; processedAmount makes it partial.',
    input: TRANSFER,
    example: { ticker: 'USDT', amount: '500', address: 'T-elsewhere' },
    run: ({ account, input, change }) => change((model) => model.withdraw(account, input)),
  }),
  route({
    endpoint: 'POST /accounts/:account/moves',
    doc: 'Moves money between the wallets main, spot and collateral.',
    input: WALLET_MOVE,
    example: { from: 'main', to: 'collateral', ticker: 'USDT', amount: '500' },
    run: ({ account, input, change }) => change((model) => model.moveFunds(account, input)),
  }),
  route({
    endpoint: 'POST /accounts/:account/spot-orders',
    doc: 'A spot order; without a price at market.',
    input: SPOT_ORDER,
    example: { market: 'BTC_USDT', side: 'buy', amount: '0.01' },
    run: ({ account, input, change }) => change((model) => model.placeSpotOrder(account, input)),
  }),
  route({
    endpoint: 'POST /accounts/:account/collateral-orders',
    doc: 'A collateral order of the owner: market, limit, or with activationPrice a stop-limit.',
    input: COLLATERAL_ORDER,
    example: { market: 'BTC_PERP', side: 'buy', amount: '0.1', price: '50000' },
    run: ({ account, input, change }) =>
      change((model) => {
        if (input.activationPrice !== undefined && input.price === undefined)
          throw new SimulatorError('invalid-input', 'body.price: a stop-limit needs one');
        return model.placeCollateralOrder(account, input);
      }),
  }),
  route({
    endpoint: 'POST /accounts/:account/cancel-all',
    doc: 'Cancels open orders, all of them or by market and types.',
    input: CANCEL,
    example: { market: 'BTC_PERP', types: ['futures'] },
    run: ({ account, input, change }) => change((model) => model.cancelAll(account, input)),
  }),
  route({
    endpoint: 'DELETE /accounts/:account/orders/:order',
    doc: 'Cancels one order.',
    run: ({ account, order, change }) => change((model) => model.cancelOrder(account, order)),
  }),
  route({
    endpoint: 'POST /accounts/:account/loans',
    doc: 'Opens a credit line against collateral from the main balance; LTVs as fractions.',
    input: LOAN,
    example: { asset: 'USDT', amount: '5000', collateralAsset: 'BTC', collateralAmount: '0.2' },
    run: ({ account, input, change }) => change((model) => model.openLoan(account, input)),
  }),
  route({
    endpoint: 'POST /accounts/:account/loans/:loan/repay',
    doc: 'Repays from the main balance.',
    input: AMOUNT,
    example: { amount: '100' },
    run: ({ account, loan, input, change }) =>
      change((model) => model.repayLoan(account, loan, input.amount)),
  }),
  route({
    endpoint: 'POST /accounts/:account/loans/:loan/collateral',
    doc: 'Adds collateral from the main balance.',
    input: AMOUNT,
    example: { amount: '100' },
    run: ({ account, loan, input, change }) =>
      change((model) => model.addLoanCollateral(account, loan, input.amount)),
  }),
  route({
    endpoint: 'GET /fiat',
    doc: 'State of the fiat deposit service.',
    run: ({ exchange }) => fiatState(exchange),
  }),
  route({
    endpoint: 'PATCH /fiat',
    doc: 'mode up, failing (code 10) or unavailable (503); domains allowed for redirects.',
    input: z.strictObject({
      mode: z.enum(['up', 'failing', 'unavailable']).exactOptional(),
      allowedDomains: z.array(z.string()).exactOptional(),
    }),
    example: { mode: 'failing', allowedDomains: ['example.com'] },
    run: ({ exchange, input }) => {
      Object.assign(exchange.fiat, input);
      return fiatState(exchange);
    },
  }),
  route({
    endpoint: 'POST /fiat-deposits/:token/pay',
    doc: 'The customer pays at the provider; the token is the last part of the link.',
    run: ({ exchange, token, change }) => {
      if (exchange.model.fiatDeposit(token) === undefined) {
        throw new SimulatorError('not-found', 'no such deposit link');
      }
      return change((model) => model.payFiatDeposit(token));
    },
  }),
];

function fiatState({ fiat: { mode, cardProvider, allowedDomains } }: SimulatedExchange) {
  return { mode, cardProvider, allowedDomains };
}

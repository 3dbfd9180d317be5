import { z } from 'zod';
import type { OpenLoan, SpotOrderRequest, StopLimitPlacement, TransferRequest } from '../model/types.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import {
  accepted,
  accountIdOf,
  type ControlRequest,
  type ControlRoute,
  decimalText,
  integerOf,
  milliseconds,
  parseWith,
  positiveDecimal,
} from './route.ts';

const TRANSFER = z.strictObject({
  ticker: z.string(),
  amount: positiveDecimal,
  address: z.string().optional(),
  memo: z.string().optional(),
  network: z.string().optional(),
  uniqueId: z.string().optional(),
  description: z.string().optional(),
  settleAfterMs: milliseconds.optional(),
  processedAmount: positiveDecimal.optional(),
  finalStatus: z.number().int().min(1).max(99).optional(),
});
const WALLET = z.enum(['main', 'spot', 'collateral']);
const MOVE = z.strictObject({ from: WALLET, to: WALLET, ticker: z.string(), amount: positiveDecimal });
const SIDE = z.enum(['buy', 'sell']);
const SPOT_ORDER = z.strictObject({
  market: z.string(),
  side: SIDE,
  amount: positiveDecimal,
  price: positiveDecimal.optional(),
  clientOrderId: z.string().optional(),
  postOnly: z.boolean().optional(),
  ioc: z.boolean().optional(),
});
const COLLATERAL_ORDER = z.strictObject({
  market: z.string(),
  side: SIDE,
  amount: positiveDecimal,
  price: positiveDecimal.optional(),
  activationPrice: positiveDecimal.optional(),
  stopLoss: positiveDecimal.optional(),
  takeProfit: positiveDecimal.optional(),
  clientOrderId: z.string().optional(),
  positionSide: z.enum(['LONG', 'SHORT', 'BOTH']).optional(),
  reduceOnly: z.boolean().optional(),
});
const CANCEL = z.strictObject({
  market: z.string().optional(),
  types: z.array(z.enum(['spot', 'margin', 'futures'])).optional(),
});
const LOAN = z.strictObject({
  asset: z.string(),
  amount: positiveDecimal,
  collateralAsset: z.string(),
  collateralAmount: positiveDecimal,
  initialLtv: positiveDecimal.optional(),
  marginCallLtv: positiveDecimal.optional(),
  liquidationLtv: positiveDecimal.optional(),
  fundingPerDay: decimalText.optional(),
});
const AMOUNT = z.strictObject({ amount: positiveDecimal });
const FIAT = z.strictObject({
  mode: z.enum(['up', 'failing', 'unavailable']).optional(),
  allowedDomains: z.array(z.string()).optional(),
});

/** What the specification has no endpoint for: orders, transfers and loans as their owners make them. */
export function walletRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    ...transferRoutes(exchange),
    ...orderRoutes(exchange),
    ...loanRoutes(exchange),
    ...fiatRoutes(exchange),
  ];
}

function transferRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    accountRoute(exchange, {
      path: 'deposits',
      doc: 'A deposit to the main balance; pending for settleAfterMs of exchange time, then finalStatus (3).',
      example: { ticker: 'USDT', amount: '500' },
      schema: TRANSFER,
      effect: (model, id, body) => accepted(model.deposit(id, body as TransferRequest)),
    }),
    accountRoute(exchange, {
      path: 'withdrawals',
      doc: 'A withdrawal from the main balance; processedAmount makes it partial.',
      example: { ticker: 'USDT', amount: '500', address: 'T-elsewhere' },
      schema: TRANSFER,
      effect: (model, id, body) => accepted(model.withdraw(id, body as TransferRequest)),
    }),
    accountRoute(exchange, {
      path: 'moves',
      doc: 'Moves money between the wallets main, spot and collateral.',
      example: { from: 'main', to: 'collateral', ticker: 'USDT', amount: '500' },
      schema: MOVE,
      effect: (model, id, body) => accepted(model.moveFunds(id, body)),
    }),
  ];
}

function orderRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    accountRoute(exchange, {
      path: 'spot-orders',
      doc: 'A spot order; without a price at market.',
      example: { market: 'BTC_USDT', side: 'buy', amount: '0.01' },
      schema: SPOT_ORDER,
      effect: (model, id, body) => accepted(model.placeSpotOrder(id, body as SpotOrderRequest)),
    }),
    accountRoute(exchange, {
      path: 'collateral-orders',
      doc: 'A collateral order of the owner: market, limit, or with activationPrice a stop-limit.',
      example: { market: 'BTC_PERP', side: 'buy', amount: '0.1', price: '50000' },
      schema: COLLATERAL_ORDER,
      effect: (model, id, body) =>
        accepted(
          body.activationPrice === undefined
            ? model.placeCollateralLimit(id, body as StopLimitPlacement)
            : model.placeCollateralStopLimit(id, asStop(body)),
        ),
    }),
    accountRoute(exchange, {
      path: 'cancel-all',
      doc: 'Cancels open orders, all of them or by market and types.',
      example: { market: 'BTC_PERP', types: ['futures'] },
      schema: CANCEL,
      effect: (model, id, body) =>
        accepted(model.cancelAll(id, body as Parameters<typeof model.cancelAll>[1])),
    }),
    {
      method: 'DELETE',
      path: '/accounts/:account/orders/:order',
      doc: 'Cancels one order.',
      run: (request) => {
        const id = accountIdOf(exchange, request);
        const orderId = integerOf(request.params['order'], 'order');
        return exchange.change((model) => accepted(model.cancelOrder(id, orderId)));
      },
    },
  ];
}

function asStop(body: z.infer<typeof COLLATERAL_ORDER>): StopLimitPlacement {
  if (body.price === undefined)
    throw new SimulatorError('invalid-input', 'body.price: a stop-limit needs one');
  return body as StopLimitPlacement;
}

function loanRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    accountRoute(exchange, {
      path: 'loans',
      doc: 'Opens a credit line against collateral from the main balance; LTVs as fractions.',
      example: { asset: 'USDT', amount: '5000', collateralAsset: 'BTC', collateralAmount: '0.2' },
      schema: LOAN,
      effect: (model, id, body) => accepted(model.openLoan(id, body as OpenLoan)),
    }),
    loanRoute(exchange, 'repay', 'Repays from the main balance.', (model, id, loan, amount) =>
      accepted(model.repayLoan(id, loan, amount)),
    ),
    loanRoute(exchange, 'collateral', 'Adds collateral from the main balance.', (model, id, loan, amount) =>
      accepted(model.addLoanCollateral(id, loan, amount)),
    ),
  ];
}

function fiatRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  const fiatState = () => ({
    mode: exchange.fiat.mode,
    cardProvider: exchange.fiat.cardProvider,
    allowedDomains: exchange.fiat.allowedDomains,
  });
  return [
    { method: 'GET', path: '/fiat', doc: 'State of the fiat deposit service.', run: fiatState },
    {
      method: 'PATCH',
      path: '/fiat',
      doc: 'mode up, failing (code 10) or unavailable (503); domains allowed for redirects.',
      example: { mode: 'failing', allowedDomains: ['example.com'] },
      run: ({ body }) => {
        const { mode, allowedDomains } = parseWith(FIAT, body, 'body');
        exchange.fiat.mode = mode ?? exchange.fiat.mode;
        exchange.fiat.allowedDomains = allowedDomains ?? exchange.fiat.allowedDomains;
        return fiatState();
      },
    },
    {
      method: 'POST',
      path: '/fiat-deposits/:token/pay',
      doc: 'The customer pays at the provider; the token is the last part of the link.',
      run: ({ params }) => {
        const token = params['token'] ?? '';
        if (exchange.model.fiatDeposit(token) === undefined) {
          throw new SimulatorError('not-found', 'no such deposit link');
        }
        return exchange.change((model) => accepted(model.payFiatDeposit(token)));
      },
    },
  ];
}

type Model = SimulatedExchange['model'];

function accountRoute<T>(
  exchange: SimulatedExchange,
  route: {
    readonly path: string;
    readonly doc: string;
    readonly example: unknown;
    readonly schema: z.ZodType<T>;
    readonly effect: (model: Model, accountId: string, body: T) => unknown;
  },
): ControlRoute {
  return {
    method: 'POST',
    path: `/accounts/:account/${route.path}`,
    doc: route.doc,
    example: route.example,
    run: (request: ControlRequest) => {
      const id = accountIdOf(exchange, request);
      const body = parseWith(route.schema, request.body, 'body');
      return exchange.change((model) => route.effect(model, id, body));
    },
  };
}

function loanRoute(
  exchange: SimulatedExchange,
  action: string,
  doc: string,
  effect: (
    model: Model,
    accountId: string,
    loanId: number,
    amount: z.infer<typeof AMOUNT>['amount'],
  ) => unknown,
): ControlRoute {
  return {
    method: 'POST',
    path: `/accounts/:account/loans/:loan/${action}`,
    doc,
    example: { amount: '100' },
    run: (request) => {
      const id = accountIdOf(exchange, request);
      const loanId = integerOf(request.params['loan'], 'loan');
      const { amount } = parseWith(AMOUNT, request.body, 'body');
      return exchange.change((model) => effect(model, id, loanId, amount));
    },
  };
}

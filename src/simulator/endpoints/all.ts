import { type Decimal, decimal, formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { apiError, emptyBody, privateError, type Reply, success } from '../http/reply.ts';
import type { CreditLineView } from '../model/credit.ts';
import type { Readings } from '../model/readings.ts';
import { ORDER_CLASS, type OrderClass } from '../model/types.ts';
import { fiatDepositEndpoint } from './fiat-deposit.ts';
import { openPositionsEndpoint } from './open-positions.ts';
import { orderHistoryEndpoint } from './order-history.ts';
import { commandReply, type EndpointParts, invalidParams, optionalMarket, rejected } from './parts.ts';
import { stopLimitEndpoint } from './stop-limit.ts';
import { transferHistoryEndpoint } from './transfer-history.ts';

export function allEndpoints(parts: EndpointParts): ReadonlyMap<string, ServedEndpoint> {
  const endpoints = [
    PING,
    assetsEndpoint(parts),
    futuresEndpoint(parts),
    fiatDepositEndpoint(parts),
    transferHistoryEndpoint(parts),
    openPositionsEndpoint(parts),
    stopLimitEndpoint(parts),
    orderHistoryEndpoint(parts),
    cancelAllEndpoint(parts),
    hedgeModeEndpoint(parts),
    creditLineEndpoint(parts),
    mainBalanceEndpoint(parts),
  ];
  return new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]));
}

/** The liveness check of specification 1. */
const PING: ServedEndpoint = {
  name: 'ping',
  path: '/api/v4/public/ping',
  handle: () => success(['pong']),
};

/** The asset status listing. Specification 2.7 names it but does not show its shape. */
function assetsEndpoint({ model }: EndpointParts): ServedEndpoint {
  return {
    name: 'assets',
    path: '/api/v4/public/assets',
    handle: () => {
      const records = model.assets().map((asset) => [
        asset.ticker,
        {
          name: asset.name,
          can_deposit: asset.canDeposit,
          can_withdraw: asset.canWithdraw,
          min_deposit: formatDecimal(asset.minDeposit),
          providers: { deposits: asset.providers },
          networks: { deposits: asset.networks, withdraws: asset.networks },
          confirmations: { required: asset.confirmationsRequired },
        },
      ]);
      return success(Object.fromEntries(records));
    },
  };
}

/** The live service keeps a reply for so long. */
const FUTURES_CACHE_MS = 1_000;

/** Public data that the specification does not have. */
function futuresEndpoint({ model }: EndpointParts): ServedEndpoint {
  const path = '/api/v4/public/futures';
  let kept: { readonly reply: Reply; readonly sinceMs: number } | undefined;
  return {
    name: 'futures',
    path,
    handle: () => {
      if (model.readings().publicPrices === 'absent') return apiError(path, 404, 'Endpoint does not exist.');
      const ageMs = model.nowMs() - (kept?.sinceMs ?? Number.NEGATIVE_INFINITY);
      if (kept !== undefined && ageMs >= 0 && ageMs < FUTURES_CACHE_MS) return kept.reply;
      const futures = model.markets().filter(({ spec }) => spec.kind === 'perpetual');
      const result = futures.map(({ spec, last, bid, ask }) => ({
        ticker_id: spec.name,
        stock_currency: spec.base,
        money_currency: spec.quote,
        last_price: formatDecimal(last),
        bid: formatDecimal(bid),
        ask: formatDecimal(ask),
        product_type: 'Perpetual',
        index_price: formatDecimal(last),
        index_currency: spec.base,
        funding_rate: formatDecimal(spec.fundingRate),
      }));
      const reply = success({ success: true, message: null, result });
      kept = { reply, sinceMs: model.nowMs() };
      return reply;
    },
  };
}

/** Specification 4.6. */
function cancelAllEndpoint({ model }: EndpointParts): ServedEndpoint {
  return {
    name: 'cancelAll',
    path: '/api/v4/order/cancel/all',
    permission: 'trading',
    isCommand: true,
    handle: ({ accountId, reader }) => {
      const market = optionalMarket(reader, model);
      const types = reader.optionalList('type', ORDER_CLASS.options.length, isOrderClass);
      if (reader.hasProblems) return invalidParams(model, reader.problems);
      const outcome = model.cancelAll(accountId, { market, types });
      return outcome.ok ? commandReply(model, []) : rejected(model, outcome);
    },
  };
}

function isOrderClass(value: unknown): value is OrderClass {
  return (ORDER_CLASS.options as readonly unknown[]).includes(value);
}

/** Specification 4.7. */
function hedgeModeEndpoint({ model }: EndpointParts): ServedEndpoint {
  return {
    name: 'hedgeMode',
    path: '/api/v4/collateral-account/hedge-mode/update',
    permission: 'trading',
    isCommand: true,
    handle: ({ accountId, reader }) => {
      const hedgeMode = reader.requiredBoolean('hedgeMode');
      if (hedgeMode === undefined) return invalidParams(model, reader.problems);
      const outcome = model.setHedgeMode(accountId, hedgeMode);
      return outcome.ok ? commandReply(model, { hedgeMode: outcome.hedgeMode }) : rejected(model, outcome);
    },
  };
}

/** Specification 4.8 and 2.6; assets with a zero balance are left out. */
function mainBalanceEndpoint({ model, reads }: EndpointParts): ServedEndpoint {
  return {
    name: 'mainBalance',
    path: '/api/v4/main-account/balance',
    handle: ({ accountId, staleMs }) => {
      const balances = Object.entries(reads(accountId, staleMs).mainBalance());
      if (balances.length === 0) return success(emptyBody(model.readings().emptyResult));
      const entries = balances.map(([ticker, amount]) => [ticker, { main_balance: formatDecimal(amount) }]);
      return success(Object.fromEntries(entries));
    },
  };
}

const HUNDRED = decimal('100');

/** Specification 4.6b. The reading `loanReply` decides about an array and about the reply without a loan. */
function creditLineEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'creditLine',
    path: '/api/v4/credit-line/loans/info',
    permission: 'creditLine',
    handle: ({ accountId, staleMs }): Reply => {
      const readings = parts.model.readings();
      const loans = parts.reads(accountId, staleMs).creditLines();
      if (readings.loanReply === 'array') return success(loans.map((loan) => loanRecord(loan, readings)));
      const [first] = loans;
      if (first !== undefined) return success(loanRecord(first, readings));
      if (readings.loanReply === 'error') return privateError(400, 0, 'No active loan at the moment');
      if (readings.loanReply === 'absent') return privateError(404, 0, 'Loans are not available.');
      return success(emptyBody(readings.emptyResult));
    },
  };
}

/** Specification 2.5. */
function loanRecord(loan: CreditLineView, { ltvUnit }: Readings): object {
  const ltv = (value: Decimal) => formatDecimal(ltvUnit === 'percent' ? value.times(HUNDRED) : value);
  return {
    asset: loan.asset,
    amount: formatDecimal(loan.amount),
    totalFunding: formatDecimal(loan.totalFunding),
    currentLtv: ltv(loan.currentLtv),
    initialLtv: ltv(loan.initialLtv),
    marginCallLtv: ltv(loan.marginCallLtv),
    liquidationLtv: ltv(loan.liquidationLtv),
    createdAt: Math.floor(loan.createdMs / 1_000),
  };
}

import { formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { type Reply, success } from '../http/reply.ts';
import type { Readings } from '../model/readings.ts';
import type { OrderView } from '../model/types.ts';
import { ParamReader } from './params.ts';
import { type EndpointParts, emptyResult, invalidParams, optionalMarket, unixSeconds } from './parts.ts';

/** Specification 4.5; newest first, the page is cut before the records are grouped by market. */
export function orderHistoryEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'orderHistory',
    httpMethod: 'POST',
    path: '/api/v4/trade-account/order/history',
    handle: ({ accountId, params, staleMs }): Reply => {
      const reader = new ParamReader(params);
      const market = optionalMarket(reader, parts.model);
      const limit = reader.integer('limit', 1, 500, 50);
      const offset = reader.integer('offset', 0, Number.MAX_SAFE_INTEGER, 0);
      if (reader.hasProblems) return invalidParams(parts.model, reader.problems);
      const orders = parts.reads(accountId, staleMs).spotOrderHistory(market);
      const page = orders.slice(offset, offset + limit);
      if (page.length === 0) return success(emptyResult(parts.model));
      return success(groupByMarket(page, parts.model.readings()));
    },
  };
}

function groupByMarket(orders: readonly OrderView[], readings: Readings): Record<string, object[]> {
  const byMarket: Record<string, object[]> = {};
  for (const order of orders) {
    byMarket[order.market] ??= [];
    byMarket[order.market]?.push(orderRecord(order, readings));
  }
  return byMarket;
}

/** Specification 2.1; the history spells the status of a cancelled order `CANCELED`. */
function orderRecord(order: OrderView, { orderFieldSpelling }: Readings): object {
  const camel = orderFieldSpelling === 'camel';
  return {
    id: order.orderId,
    [camel ? 'clientOrderId' : 'client_order_id']: order.clientOrderId,
    amount: formatDecimal(order.amount),
    price: formatDecimal(order.price),
    type: order.type,
    side: order.side,
    ctime: unixSeconds(order.createdMs),
    ftime: order.finishedMs === null ? 0 : unixSeconds(order.finishedMs),
    takerFee: formatDecimal(order.takerFee),
    makerFee: formatDecimal(order.makerFee),
    [camel ? 'dealFee' : 'deal_fee']: formatDecimal(order.dealFee),
    [camel ? 'dealStock' : 'deal_stock']: formatDecimal(order.dealStock),
    [camel ? 'dealMoney' : 'deal_money']: formatDecimal(order.dealMoney),
    postOnly: order.postOnly,
    ioc: order.ioc,
    status: order.status === 'CANCELLED' ? 'CANCELED' : order.status,
    feeAsset: order.feeAsset,
    stp: 'no',
    rpi: false,
    reduceOnly: order.reduceOnly,
  };
}

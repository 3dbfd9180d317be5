import { formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { emptyBody, type Reply, success } from '../http/reply.ts';
import type { ExchangeModel } from '../model/exchange-model.ts';
import type { Readings } from '../model/readings.ts';
import type { OrderView } from '../model/types.ts';
import type { ParamReader } from './params.ts';
import { type EndpointParts, invalidParams, optionalMarket, unixSeconds } from './parts.ts';

/** Specification 4.5; newest first. Pages are cut before the records are grouped by market. */
export function orderHistoryEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'orderHistory',
    path: '/api/v4/trade-account/order/history',
    handle: ({ accountId, reader, staleMs }): Reply => {
      const market = optionalMarket(reader, parts.model);
      const limit = reader.integer('limit', 1, 500, 50);
      const offset = reader.integer('offset', 0, Number.MAX_SAFE_INTEGER, 0);
      const isWithin = readReach(reader, parts.model);
      if (reader.hasProblems) return invalidParams(parts.model, reader.problems);
      const orders = parts.reads(accountId, staleMs).orderHistory(market).filter(isWithin);
      const page = orders.slice(offset, offset + limit);
      if (page.length === 0) return success(emptyBody(parts.model.readings().emptyResult));
      const byMarket: Record<string, object[]> = {};
      for (const order of page) {
        const records = (byMarket[order.market] ??= []);
        records.push(orderRecord(order, parts.model.readings()));
      }
      return success(byMarket);
    },
  };
}

const DAY_MS = 86_400_000;
const MONTH_DAYS = 31;
const HALF_YEAR_DAYS = 184;

/** Live notes: without dates one month back; at most 31 days per request; at most six months back. */
function readReach(reader: ParamReader, model: ExchangeModel): (order: OrderView) => boolean {
  if (model.readings().orderHistoryReach === 'all') return () => true;
  const nowMs = model.nowMs();
  const startMs = 1_000 * reader.integer('startDate', 0, 1e11, Number.NaN);
  const endMs = 1_000 * reader.integer('endDate', 0, 1e11, Number.NaN);
  const toMs = Number.isNaN(endMs) ? nowMs : endMs + 999;
  const fromMs = Number.isNaN(startMs) ? toMs - MONTH_DAYS * DAY_MS : startMs;
  if (fromMs < nowMs - HALF_YEAR_DAYS * DAY_MS)
    reader.problem('startDate', 'The startDate is more than six months ago.');
  if (toMs - fromMs > MONTH_DAYS * DAY_MS + 999)
    reader.problem('startDate', 'The startDate is more than 31 days before the endDate.');
  return ({ createdMs }) => createdMs >= fromMs && createdMs < toMs + 1;
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

import { formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { type Reply, success } from '../http/reply.ts';
import type { Readings } from '../model/readings.ts';
import type { CollateralOrder, OrderView } from '../model/types.ts';
import type { ParamReader } from './params.ts';
import { type EndpointParts, invalidParams, rejected, unixSeconds } from './parts.ts';

/** Specification 4.4. */
export function stopLimitEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'stopLimit',
    path: '/api/v4/order/collateral/stop-limit',
    permission: 'trading',
    isCommand: true,
    handle: ({ accountId, reader }): Reply => {
      const readings = parts.model.readings();
      if (readings.stopLimitOrders === 'closed') return invalidParams(parts.model, CLOSED, 453);
      const request = readRequest(reader, readings);
      if (request === undefined || reader.hasProblems) return invalidParams(parts.model, reader.problems);
      const outcome = parts.model.placeCollateralOrder(accountId, request);
      if (!outcome.ok) return rejected(parts.model, outcome);
      return success(orderRecord(outcome.order, readings));
    },
  };
}

const CLOSED = { orderType: ['This order type is not available.'] };

function readRequest(reader: ParamReader, readings: Readings): CollateralOrder | undefined {
  const market = reader.requiredString('market');
  const side =
    reader.requiredString('side') === undefined ? undefined : reader.oneOf('side', ['buy', 'sell']);
  const amount = reader.requiredDecimal('amount');
  const price = reader.requiredDecimal('price');
  const activationPrice = reader.requiredDecimal('activation_price');
  const stopLoss = reader.optionalDecimal('stopLoss');
  const takeProfit = reader.optionalDecimal('takeProfit');
  const clientOrderId = readClientOrderId(reader, readings);
  const positionSide = reader.oneOf('positionSide', ['LONG', 'SHORT', 'BOTH']);
  const reduceOnly = reader.optionalBoolean('reduceOnly') ?? false;
  // Reduce-only rule 3.
  for (const [field, value] of Object.entries({ stopLoss, takeProfit })) {
    if (reduceOnly && value !== undefined)
      reader.problem(field, `The ${field} cannot be combined with reduceOnly.`);
  }
  if (market === undefined || side === undefined) return undefined;
  if (amount === undefined || price === undefined || activationPrice === undefined) return undefined;
  return {
    market,
    side,
    amount,
    price,
    activationPrice,
    reduceOnly,
    ...(stopLoss === undefined ? {} : { stopLoss }),
    ...(takeProfit === undefined ? {} : { takeProfit }),
    ...(clientOrderId === undefined ? {} : { clientOrderId }),
    ...(positionSide === undefined ? {} : { positionSide }),
  };
}

/** Newer requests of the live service spell the field `clientOrderId`. */
function readClientOrderId(
  reader: ParamReader,
  { unknownFields, orderFieldSpelling }: Readings,
): string | undefined {
  if (unknownFields === 'ignored')
    return reader.optionalString(orderFieldSpelling === 'camel' ? 'clientOrderId' : 'client_order_id');
  const [snake, camel] = [reader.optionalString('client_order_id'), reader.optionalString('clientOrderId')];
  if (snake !== undefined && camel !== undefined && snake !== camel) {
    return reader.problem('client_order_id', 'The client_order_id is given twice, with different values.');
  }
  return snake ?? camel;
}

/** Specification 2.2. */
function orderRecord(order: OrderView, { orderFieldSpelling, restingStatus }: Readings): object {
  const camel = orderFieldSpelling === 'camel';
  return {
    [camel ? 'orderId' : 'order_id']: order.orderId,
    [camel ? 'clientOrderId' : 'client_order_id']: order.clientOrderId,
    market: order.market,
    side: order.side,
    type: order.type,
    timestamp: unixSeconds(order.createdMs),
    [camel ? 'dealMoney' : 'deal_money']: formatDecimal(order.dealMoney),
    [camel ? 'dealStock' : 'deal_stock']: formatDecimal(order.dealStock),
    amount: formatDecimal(order.amount),
    left: formatDecimal(order.left),
    [camel ? 'dealFee' : 'deal_fee']: formatDecimal(order.dealFee),
    price: formatDecimal(order.price),
    activation_price: formatDecimal(order.activationPrice ?? order.price),
    ...statusField(order.status === 'NEW' ? restingStatus : order.status),
    stp: 'no',
    ...(order.oto === null ? {} : { oto: otoRecord(order.oto) }),
    positionSide: order.positionSide,
    reduceOnly: order.reduceOnly,
  };
}

const statusField = (status: string): object => (status === 'absent' ? {} : { status });

function otoRecord({ otoId, stopLoss, takeProfit }: NonNullable<OrderView['oto']>): object {
  return {
    otoId,
    ...(stopLoss === null ? {} : { stopLoss: formatDecimal(stopLoss) }),
    ...(takeProfit === null ? {} : { takeProfit: formatDecimal(takeProfit) }),
  };
}

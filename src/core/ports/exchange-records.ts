import { z } from 'zod';
import {
  asEnumerated,
  booleanField,
  countField,
  dateField,
  decimalField,
  decimalOrNone,
  defined,
  descriptive,
  enumeratedField,
  enumeratedOrNone,
  idField,
  idOrNone,
  isNone,
  nameField,
  nullable,
  objectField,
  optional,
  present,
  textField,
  textOrNone,
  timeField,
} from './exchange-fields.ts';

/**
 * The records of the exchange: each reader checks and converts one, or says where it is wrong. A field is optional if
 * the record is of use without it. Field names and units are the API's (specification section 2); times are Unix seconds.
 */

const same = <T extends string>(...values: readonly T[]) =>
  asEnumerated<T>(Object.fromEntries(values.map((value) => [value, value])));
const sideField = enumeratedField(same('buy', 'sell'));
const positionSideField = enumeratedField(same('LONG', 'SHORT', 'BOTH'));
const asLiquidationState = same('margin_call', 'liquidation');
const orderStatusField = enumeratedField(
  asEnumerated({
    NEW: 'NEW',
    PARTIALLY_FILLED: 'PARTIALLY_FILLED',
    FILLED: 'FILLED',
    CANCELLED: 'CANCELLED',
    CANCELED: 'CANCELLED',
  }),
);
const methodField = enumeratedField(asEnumerated({ 1: 'deposit', 2: 'withdrawal' }));

/** The filled part of an order, in either spelling. */
const deals = {
  deal_stock: optional(decimalField),
  dealStock: optional(decimalField),
  deal_money: optional(decimalField),
  dealMoney: optional(decimalField),
  deal_fee: optional(decimalField),
  dealFee: optional(decimalField),
};

/** Compiles the schema to code for valid input; invalid input is read again by the interpreting parser. */
const compiled = <T extends z.ZodType>(schema: T): T => z.compile(schema, { strict: true });

const tpsl = objectField({
  takeProfitId: optional(idOrNone),
  takeProfit: optional(decimalOrNone),
  stopLossId: optional(idOrNone),
  stopLoss: optional(decimalOrNone),
}).transform(present);

/** An empty object may be written as `[]`. */
const tpslOrNone = z.pipe(
  z.transform((value: unknown) => (isNone(value) || isEmptyList(value) ? null : value)),
  nullable(tpsl),
);

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Specification 2.4. Absent optional fields were not sent: unknown, not zero. */
export const positionFields = z.object({
  positionId: idField,
  market: nameField,
  openDate: optional(dateField),
  modifyDate: optional(timeField),
  /** Signed as received: negative for a short in one-way mode on exchanges that sign it. */
  amount: decimalField,
  basePrice: optional(decimalField),
  /** `null`: the exchange says there is none. Absent: not sent. */
  liquidationPrice: optional(decimalOrNone),
  liquidationState: optional(enumeratedOrNone(asLiquidationState)),
  pnl: optional(decimalField),
  pnlPercent: optional(decimalField),
  margin: optional(decimalField),
  freeMargin: optional(decimalField),
  funding: optional(decimalField),
  unrealizedFunding: optional(decimalField),
  unrealizedPnl: optional(decimalField),
  /** `null`: none attached. Absent: not sent. */
  tpsl: optional(tpslOrNone),
  positionSide: optional(positionSideField),
});
export const positionReader = compiled(positionFields);

const PERCENT = /^(.*\S)\s*%$/;

const percentIn = (value: unknown): string | undefined =>
  typeof value === 'string' ? PERCENT.exec(value)?.[1] : undefined;

/** Takes percent signs off the LTVs. Where one has a sign, those without may be in another unit: they are left out. */
function withoutPercent(item: unknown): unknown {
  const fields = Object.entries(item as Readonly<Record<string, unknown>>);
  const isLtv = (name: string): boolean => name.endsWith('Ltv');
  if (!fields.some(([name, value]) => isLtv(name) && percentIn(value) !== undefined)) return item;
  const read = fields.map(([name, value]) => [name, isLtv(name) ? percentIn(value) : value] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

/** Specification 2.5, LTVs in the exchange's unit as received (percent or fraction). */
export const creditLineFields = z.object({
  asset: nameField,
  amount: decimalField,
  totalFunding: optional(decimalField),
  currentLtv: optional(decimalField),
  initialLtv: optional(decimalField),
  marginCallLtv: optional(decimalField),
  liquidationLtv: optional(decimalField),
  createdAt: timeField,
});
export const creditLineReader = z.preprocess(withoutPercent, creditLineFields);

const partial = objectField({
  requestAmount: decimalField,
  processedAmount: decimalField,
  processedFee: decimalField,
  normalizeTransaction: textField,
});

const confirmations = objectField({ actual: optional(countField), required: optional(countField) });

/**
 * Specification 2.3; `unique_id` and `transaction_id` also in the live spelling. Contains personal data: address, memo,
 * description, chain ids; see `knownTransfers`.
 */
export const transferReader = z
  .object({
    transaction_id: descriptive(nameField),
    transactionId: descriptive(nameField),
    unique_id: optional(textOrNone),
    uniqueId: optional(textOrNone),
    createdAt: timeField,
    ticker: nameField,
    currency: descriptive(textField),
    method: methodField,
    amount: decimalField,
    fee: optional(decimalField),
    /** The exchange's code as received; one table of the client has the names. */
    status: countField,
    network: optional(textOrNone),
    address: descriptive(textField),
    memo: descriptive(textField),
    description: descriptive(textField),
    transactionHash: descriptive(textField),
    details: descriptive(z.union([objectField({ partial: descriptive(partial) }), z.tuple([])])),
    confirmations: descriptive(confirmations),
  })
  .transform((raw) => {
    const { createdAt, ticker, method, amount, status, network } = raw;
    const { actual, required } = raw.confirmations ?? {};
    const details = Array.isArray(raw.details) ? undefined : raw.details;
    return {
      createdAt,
      ticker,
      method,
      amount,
      status,
      ...defined({ network, uniqueId: raw.unique_id === undefined ? raw.uniqueId : raw.unique_id }),
      ...present({
        transactionId: raw.transaction_id ?? raw.transactionId,
        currency: raw.currency,
        fee: raw.fee,
        address: raw.address,
        memo: raw.memo,
        description: raw.description,
        transactionHash: raw.transactionHash,
        partial: details?.partial,
        confirmations: actual === undefined || required === undefined ? undefined : { actual, required },
      }),
    };
  });

/** Specification 2.1, in either spelling, without the market, which is the key of the list that holds the record. */
export const spotOrderReader = z
  .object({
    id: optional(idField),
    order_id: optional(idField),
    orderId: optional(idField),
    client_order_id: optional(textField),
    clientOrderId: optional(textField),
    side: sideField,
    type: textField,
    status: orderStatusField,
    amount: decimalField,
    price: optional(decimalField),
    ctime: timeField,
    ftime: optional(timeField),
    ...deals,
    takerFee: optional(decimalField),
    makerFee: optional(decimalField),
    feeAsset: optional(textField),
    postOnly: optional(booleanField),
    ioc: optional(booleanField),
    stp: optional(textField),
    rpi: optional(booleanField),
    reduceOnly: optional(booleanField),
    /** Sent by the live service only, for stops and orders of a position: trigger, time of activation, and side. */
    activationPrice: optional(decimalField),
    activationCondition: optional(textField),
    activated: optional(timeField),
    positionSide: optional(positionSideField),
  })
  .transform((raw, context) => {
    const orderId = raw.id ?? raw.order_id ?? raw.orderId;
    const clientOrderId = raw.client_order_id ?? raw.clientOrderId;
    if (orderId === undefined) return missing(context, 'id', 'an id');
    if (clientOrderId === undefined) return missing(context, 'client_order_id', 'a text');
    const { id: _1, order_id: _2, orderId: _3, client_order_id: _4, clientOrderId: _5, ...rest } = raw;
    const { deal_stock, deal_money, deal_fee, ...fields } = rest;
    return {
      ...fields,
      orderId,
      clientOrderId,
      ...present({
        dealStock: deal_stock ?? rest.dealStock,
        dealMoney: deal_money ?? rest.dealMoney,
        dealFee: deal_fee ?? rest.dealFee,
      }),
    };
  });

const placedOrder = z.object({
  order_id: optional(idField),
  orderId: optional(idField),
  client_order_id: descriptive(textField),
  clientOrderId: descriptive(textField),
  market: nameField,
  side: sideField,
  type: descriptive(textField),
  stp: descriptive(textField),
  status: descriptive(orderStatusField),
  amount: decimalField,
  left: optional(decimalField),
  price: optional(decimalField),
  activation_price: optional(decimalField),
  activationPrice: optional(decimalField),
  ...deals,
  timestamp: optional(timeField),
  positionSide: optional(positionSideField),
  reduceOnly: optional(booleanField),
  oto: optional(
    nullable(
      objectField({
        otoId: optional(idField),
        stopLoss: descriptive(decimalField),
        takeProfit: descriptive(decimalField),
      }),
    ),
  ),
});

/** Specification 2.2, in either spelling, before the comparison with the request. */
export const placedOrderReader = placedOrder.transform((raw, context) => {
  const orderId = raw.order_id ?? raw.orderId;
  if (orderId === undefined) return missing(context, 'order_id', 'an id');
  return {
    orderId,
    clientOrderId: raw.client_order_id ?? raw.clientOrderId ?? undefined,
    market: raw.market,
    side: raw.side,
    status: raw.status ?? undefined,
    amount: raw.amount,
    optional: present({
      type: raw.type,
      stp: raw.stp,
      left: raw.left,
      price: raw.price,
      activationPrice: raw.activation_price ?? raw.activationPrice,
      dealStock: raw.deal_stock ?? raw.dealStock,
      dealMoney: raw.deal_money ?? raw.dealMoney,
      dealFee: raw.deal_fee ?? raw.dealFee,
      timestamp: raw.timestamp,
      positionSide: raw.positionSide,
      reduceOnly: raw.reduceOnly,
      oto: raw.oto === null || raw.oto === undefined ? undefined : present(raw.oto),
    }),
  };
});

function missing(context: z.RefinementCtx, name: string, expected: string): never {
  context.addIssue({ code: 'custom', message: expected, path: [name] });
  return z.NEVER;
}

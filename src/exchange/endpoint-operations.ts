import type {
  CallOptions,
  CommandOutcome,
  Enumerated,
  ExchangeError,
  FiatDepositLink,
  FiatDepositRequest,
  FullExchange,
  OrderStatus,
  PlacedOrder,
  PlacedOrderReply,
  ReadOutcome,
  RecordList,
  SpotOrderRecord,
  StopLimitRequest,
} from '../core/ports/exchange.ts';
import { type DecimalString, toDecimal, ZERO } from '../core/quantities/decimal.ts';
import { type Conceal, REDACTED } from '../core/redaction/conceal.ts';
import { foreignWords } from '../core/redaction/foreign-words.ts';
import type { Caller } from './call/caller.ts';
import { finding, SHOWN_OF_ERRORS } from './call/errors.ts';
import { ENDPOINTS, type Endpoint } from './endpoints.ts';
import { type Dialect, PREPARE, type Prepared, personalTexts, type RequestSettings } from './requests.ts';
import { type HistoryPlan, readHistory } from './schemas/read-history.ts';
import { readDatedOrders } from './schemas/read-order-history.ts';
import {
  NO_RECORDS,
  type Parsed,
  readCreditLines,
  readDepositLink,
  readLastPrices,
  readMainBalance,
  readPing,
  readPlacedOrder,
  readPositions,
  readSpotOrderPage,
  readTransferPage,
} from './schemas/replies.ts';

export interface OperationSettings extends RequestSettings {
  /** Removes the client's secrets from a text; the deposit link also hides the customer's data. */
  readonly redact: Conceal;
}

const refusedRead = (error: ExchangeError): ReadOutcome<never> => ({ kind: 'failed', error, attempts: 0 });
const refusedCommand = (error: ExchangeError): CommandOutcome<never> => ({ kind: 'rejected', error });
const setAsideOf = ({ setAside }: RecordList<unknown>) => setAside;
const anyReply = (): Parsed<null> => ({ ok: true, value: null });

/** Creates one method for each endpoint, which builds the request and reads the reply. */
export function createOperations(caller: Caller, settings: OperationSettings): FullExchange {
  return {
    ...createReads(caller, settings),
    ...createCommands(caller, settings),
    prefetch: (call) => caller.prefetch(ENDPOINTS[call === 'reduceOnlyStop' ? 'stopLimit' : call]),
  };
}

const TRANSFERS_PER_PAGE = 500;
/** The limit may count per market: at this size the reply for 30 markets stays within its bound. */
const ORDERS_PER_PAGE = 50;
/** Bound on offset + limit of histories: specification 8, and a lower one of the live service. */
const MAX_REACH: Readonly<Record<Dialect, number>> = { spec: 100_500, camel: 10_000 };

function createReads(caller: Caller, { dialect }: OperationSettings) {
  /** Reads a history, and reports the records that were set aside to the observer. */
  const history = async <T>(
    read: (caller: Caller, plan: HistoryPlan<T>) => Promise<ReadOutcome<RecordList<T>>>,
    prepared: Prepared,
    plan: Omit<HistoryPlan<T>, 'params' | 'maxReach'>,
  ): Promise<ReadOutcome<RecordList<T>>> => {
    if (!prepared.ok) return refusedRead(prepared.error);
    const outcome = await read(caller, { ...plan, params: prepared.params, maxReach: MAX_REACH[dialect] });
    if (outcome.kind === 'ok') caller.drift(plan.endpoint, 'record', outcome.value.setAside);
    return outcome;
  };
  return {
    ping: (options) => caller.read({ endpoint: ENDPOINTS.ping, params: {}, options, read: readPing }),
    lastPrices: (options) =>
      caller.read({ endpoint: ENDPOINTS.lastPrices, params: {}, options, read: readLastPrices }),
    openPositions(query = {}, options) {
      const prepared = PREPARE.openPositions(query);
      if (!prepared.ok) return Promise.resolve(refusedRead(prepared.error));
      return caller.read({
        endpoint: ENDPOINTS.openPositions,
        params: prepared.params,
        options,
        read: readPositions,
        setAside: setAsideOf,
      });
    },
    creditLines: (options) =>
      caller.read({
        endpoint: ENDPOINTS.creditLines,
        params: {},
        options,
        read: readCreditLines,
        setAside: setAsideOf,
        recover: ({ name }) => (name === 'noActiveLoan' ? { value: NO_RECORDS } : undefined),
      }),
    mainBalance: (options) =>
      caller.read({ endpoint: ENDPOINTS.mainBalance, params: {}, options, read: readMainBalance }),
    async transfers(query = {}, options) {
      return history(readHistory, PREPARE.transfers(query), {
        endpoint: ENDPOINTS.transfers,
        options,
        query,
        pageSize: TRANSFERS_PER_PAGE,
        readPage: readTransferPage,
        idOf: (record) => record.transactionId,
        timeOf: (record) => record.createdAt,
        groupOf: () => '',
      });
    },
    async spotOrders(query = {}, options) {
      // Only the live service takes dates; the specification has none.
      const read = dialect === 'camel' ? readDatedOrders : readHistory<SpotOrderRecord>;
      return history(read, PREPARE.spotOrders(query), {
        endpoint: ENDPOINTS.spotOrders,
        options,
        query,
        pageSize: ORDERS_PER_PAGE,
        readPage: readSpotOrderPage,
        idOf: (record) => `${record.market}/${record.orderId}`,
        timeOf: (record) => record.ctime,
        groupOf: (record) => record.market,
      });
    },
  } satisfies Partial<FullExchange>;
}

function createCommands(caller: Caller, settings: OperationSettings) {
  let { dialect } = settings;
  let misses = 0;
  const placeStop = async (request: StopLimitRequest, options?: CallOptions) => {
    const sent = dialect;
    const outcome = await place(caller, request, options, { ...settings, dialect });
    const isMissed = outcome.kind === 'accepted' && !outcome.value.clientOrderIdEchoed;
    // An id that is not repeated may be in a spelling that the exchange does not know: the other one is tried, once.
    if (isMissed && sent === dialect) {
      misses += 1;
      dialect = (misses === 1) === (settings.dialect === 'spec') ? 'camel' : 'spec';
    }
    return outcome;
  };
  return {
    cancelAll: (request, options) =>
      acknowledge(caller, ENDPOINTS.cancelAll, PREPARE.cancelAll(request), options),
    setHedgeMode: (hedgeMode, options) =>
      acknowledge(caller, ENDPOINTS.hedgeMode, PREPARE.hedgeMode({ hedgeMode }), options),
    reduceOnlyStop(request, options) {
      const { market, side, amount, price, activationPrice, clientOrderId, positionSide } = request;
      const stop = { market, side, amount, price, activationPrice, clientOrderId, positionSide };
      return placeStop({ ...stop, reduceOnly: true }, options);
    },
    stopLimit: placeStop,
    fiatDepositLink: (request, options) => depositLink(caller, request, options, settings),
  } satisfies Partial<FullExchange>;
}

/**
 * Sends a command whose reply carries no data: any JSON or an empty body with a 2xx status is a success, and so is a
 * cancel that found nothing.
 */
async function acknowledge(
  caller: Caller,
  endpoint: Endpoint,
  prepared: Prepared,
  options: CallOptions | undefined,
): Promise<CommandOutcome<null>> {
  if (!prepared.ok) return refusedCommand(prepared.error);
  const { params } = prepared;
  const recover = ({ name }: ExchangeError) => (name === 'nothingToCancel' ? { value: null } : undefined);
  return caller.command({ endpoint, params, options, read: anyReply, emptyAllowed: true, recover });
}

async function place(
  caller: Caller,
  request: StopLimitRequest,
  options: CallOptions | undefined,
  settings: RequestSettings,
): Promise<CommandOutcome<PlacedOrder>> {
  const prepared = PREPARE.stopLimit(request, settings);
  if (!prepared.ok) return refusedCommand(prepared.error);
  const endpoint = ENDPOINTS.stopLimit;
  const { params } = prepared;
  const read = (body: unknown) => sameOrder(readPlacedOrder(body), request);
  // An order with a client order id cannot be accepted twice.
  const once = request.clientOrderId === undefined ? ({ sendOnce: true } as const) : {};
  const outcome = await caller.command({ endpoint, params, options, read, refusal: cancelled, ...once });
  if (outcome.kind !== 'accepted') return outcome;
  const reply = outcome.value;
  const order = placedOrder(reply, request);
  if (!order.clientOrderIdEchoed) {
    const got = reply.clientOrderId === undefined ? 'nothing' : 'another text';
    caller.drift(endpoint, 'echo', [{ path: '.client_order_id', expected: 'the id that was sent', got }]);
  }
  if (request.reduceOnly === true && order.reduceOnly === false) {
    caller.drift(endpoint, 'echo', [{ path: '.reduceOnly', expected: 'true', got: 'false' }]);
  }
  const { status: label } = reply;
  if (label?.known === true && order.status.known && label.value !== order.status.value) {
    caller.drift(endpoint, 'echo', [{ path: '.status', expected: order.status.value, got: label.value }]);
  }
  return { ...outcome, value: order };
}

/** Rejects a reply about another market or side: it does not answer this request. */
function sameOrder(parsed: Parsed<PlacedOrderReply>, request: StopLimitRequest): Parsed<PlacedOrderReply> {
  if (!parsed.ok) return parsed;
  const { market, side } = parsed.value;
  const wrong = (path: string): Parsed<never> => ({
    ok: false,
    problems: [{ path, expected: 'what was sent', got: 'another value' }],
  });
  if (market !== request.market) return wrong('.market');
  return side.known && side.value === request.side ? parsed : wrong('.side');
}

/**
 * Returns an error if the reply to a creation says that the order is already cancelled (specification 3.1). The live
 * service has more words for this, such as `CANCELED_STP`.
 */
function cancelled({ status, amount, optional }: PlacedOrderReply): ExchangeError | undefined {
  if (status === undefined) return undefined;
  const isCancelled = status.known ? status.value === 'CANCELLED' : /cancel|reject/i.test(String(status.raw));
  if (!isCancelled) return undefined;
  const { left, dealStock } = optional;
  const unfilled =
    dealStock === undefined ? left !== undefined && toDecimal(left).eq(toDecimal(amount)) : isZero(dealStock);
  const name = unfilled ? 'cancelledOnCreation' : 'cancelledPartlyFilled';
  return finding(name, 'stopLimit', { httpStatus: 200 });
}

const isZero = (amount: DecimalString): boolean => toDecimal(amount).eq(ZERO);

/**
 * What the numbers say has become of the order; its label counts only where there are none. Published replies of the
 * live service show a resting stop as FILLED, with everything left and nothing dealt.
 */
function statusOf({ status, amount, optional }: PlacedOrderReply): Enumerated<OrderStatus> {
  const { left, dealStock } = optional;
  if (left === undefined && dealStock === undefined) return status ?? { known: false, raw: '' };
  const whole = toDecimal(amount);
  const isDone = left === undefined ? toDecimal(dealStock ?? amount).gte(whole) : isZero(left);
  const hasDealt = dealStock === undefined ? !toDecimal(left ?? amount).eq(whole) : !isZero(dealStock);
  return { known: true, value: !hasDealt ? 'NEW' : isDone ? 'FILLED' : 'PARTIALLY_FILLED' };
}

function placedOrder(reply: PlacedOrderReply, request: StopLimitRequest): PlacedOrder {
  const [said, asked] = [toDecimal(reply.amount), toDecimal(request.amount)];
  // An order is trimmed to the position (specification 4.4): another amount than a smaller one says nothing.
  const isTrimmed = said.gt(ZERO) && said.lt(asked);
  const sentId = request.clientOrderId;
  return {
    ...reply.optional,
    orderId: reply.orderId,
    clientOrderId: reply.clientOrderId ?? '',
    clientOrderIdEchoed: sentId === undefined || reply.clientOrderId === sentId,
    market: reply.market,
    side: request.side,
    status: statusOf(reply),
    amount: isTrimmed ? reply.amount : request.amount,
    ...(isTrimmed ? { adjustedFrom: request.amount } : {}),
  };
}

async function depositLink(
  caller: Caller,
  request: FiatDepositRequest,
  options: CallOptions | undefined,
  settings: OperationSettings,
): Promise<CommandOutcome<FiatDepositLink>> {
  const prepared = PREPARE.fiatDeposit(request, settings);
  if (!prepared.ok) return refusedCommand(prepared.error);
  const personal = foreignWords(personalTexts(request), SHOWN_OF_ERRORS);
  const outcome = await caller.command({
    endpoint: ENDPOINTS.fiatDeposit,
    params: prepared.params,
    options,
    read: readDepositLink,
    // Dates of birth and postal codes may come back in another format, so numbers are hidden.
    redact: (text) => settings.redact(personal(text)).replace(/\d[\d.,/-]+/g, REDACTED),
  });
  return outcome.kind === 'accepted' ? { ...outcome, value: { url: outcome.value } } : outcome;
}

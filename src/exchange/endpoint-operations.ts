import type {
  CallOptions,
  CommandOutcome,
  ExchangeError,
  FiatDepositLink,
  FiatDepositRequest,
  FullExchange,
  PlacedOrder,
  PositionList,
  ReadOutcome,
  RecordList,
  SetAsideRecord,
  SpotOrderRecord,
  StopLimitRequest,
} from '../core/ports/exchange.ts';
import { parseDecimal, ZERO } from '../core/quantities/decimal.ts';
import type { Conceal } from '../core/redaction/conceal.ts';
import type { Caller } from './call/caller.ts';
import { finding, redactor } from './call/errors.ts';
import { ENDPOINTS, type Endpoint } from './endpoints.ts';
import {
  type Dialect,
  type Prepared,
  personalTexts,
  prepareCancelAll,
  prepareFiatDeposit,
  prepareHedgeMode,
  preparePositions,
  prepareSpotOrders,
  prepareStopLimit,
  prepareTransfers,
} from './requests.ts';
import {
  type HistoryPlan,
  LIVE_BOUNDS,
  readHistory,
  SPEC_ORDER_BOUNDS,
  SPEC_TRANSFER_BOUNDS,
} from './schemas/read-history.ts';
import { readDatedOrders } from './schemas/read-order-history.ts';
import {
  type Parsed,
  type PlacedOrderReply,
  readCreditLines,
  readDepositLink,
  readMainBalance,
  readPing,
  readPlacedOrder,
  readPositions,
  readSpotOrderPage,
  readTransferPage,
} from './schemas/replies.ts';

export interface OperationSettings {
  readonly dialect: Dialect;
  /** Names of the provider with which USD and EUR need customer data. */
  readonly cardProviders: readonly string[];
  /** What the client takes out of every text; the deposit link takes out the customer's data besides. */
  readonly redact: Conceal;
}

const refusedRead = (error: ExchangeError): ReadOutcome<never> => ({ kind: 'failed', error, attempts: 0 });
const refusedCommand = (error: ExchangeError): CommandOutcome<never> => ({ kind: 'rejected', error });
const setAsideOf = ({ setAside }: RecordList<unknown>): readonly SetAsideRecord[] => setAside;
const faultsOf = ({ setAside, nulls = [] }: PositionList): readonly SetAsideRecord[] => [
  ...setAside,
  ...nulls,
];
const anyReply = (): Parsed<null> => ({ ok: true, value: null });

/** One method for each endpoint: what is sent, and how the reply is read. */
export function createOperations(caller: Caller, settings: OperationSettings): FullExchange {
  return {
    ...createReads(caller, settings),
    ...createCommands(caller, settings),
    prefetch: (call) => caller.prefetch(CALLED[call]),
  };
}

const CALLED = {
  openPositions: ENDPOINTS.openPositions,
  cancelAll: ENDPOINTS.cancelAll,
  reduceOnlyStop: ENDPOINTS.stopLimit,
} as const;

type Reads = Pick<
  FullExchange,
  'ping' | 'openPositions' | 'creditLines' | 'mainBalance' | 'transfers' | 'spotOrders'
>;

function createReads(caller: Caller, { dialect }: OperationSettings): Reads {
  return {
    ping: (options) => caller.read({ endpoint: ENDPOINTS.ping, params: {}, options, read: readPing }),
    openPositions(query = {}, options) {
      const prepared = preparePositions(query);
      if (!prepared.ok) return Promise.resolve(refusedRead(prepared.error));
      return caller.read({
        endpoint: ENDPOINTS.openPositions,
        params: prepared.params,
        options,
        read: readPositions,
        setAside: faultsOf,
      });
    },
    creditLines: (options) =>
      caller.read({
        endpoint: ENDPOINTS.creditLines,
        params: {},
        options,
        read: readCreditLines,
        setAside: setAsideOf,
        recover: (error) =>
          error.name === 'noActiveLoan'
            ? { value: { records: [], setAside: [], complete: true } }
            : undefined,
      }),
    mainBalance: (options) =>
      caller.read({ endpoint: ENDPOINTS.mainBalance, params: {}, options, read: readMainBalance }),
    async transfers(query = {}, options) {
      const prepared = prepareTransfers(query);
      if (!prepared.ok) return refusedRead(prepared.error);
      const endpoint = ENDPOINTS.transfers;
      const outcome = await readHistory(caller, {
        endpoint,
        params: prepared.params,
        options,
        since: query.since,
        maxRecords: query.maxRecords,
        bounds: dialect === 'camel' ? LIVE_BOUNDS : SPEC_TRANSFER_BOUNDS,
        readPage: readTransferPage,
        idOf: (record) => record.transactionId,
        timeOf: (record) => record.createdAt,
        groupOf: () => '',
      });
      return reported(caller, { endpoint }, outcome);
    },
    async spotOrders(query = {}, options) {
      const prepared = prepareSpotOrders(query);
      if (!prepared.ok) return refusedRead(prepared.error);
      const endpoint = ENDPOINTS.spotOrders;
      const plan: HistoryPlan<SpotOrderRecord> = {
        endpoint,
        params: prepared.params,
        options,
        since: query.since,
        maxRecords: query.maxRecords,
        bounds: dialect === 'camel' ? LIVE_BOUNDS : SPEC_ORDER_BOUNDS,
        readPage: readSpotOrderPage,
        idOf: (record) => `${record.market}/${record.orderId}`,
        timeOf: (record) => record.ctime,
        groupOf: (record) => record.market,
      };
      // The dates of the live service's requests are in no specification.
      const outcome = await (dialect === 'camel'
        ? readDatedOrders(caller, plan, query)
        : readHistory(caller, plan));
      return reported(caller, { endpoint }, outcome);
    },
  };
}

/** Tells the observer of records that were set aside. */
function reported<T>(
  caller: Caller,
  plan: { readonly endpoint: Endpoint },
  outcome: ReadOutcome<RecordList<T>>,
): ReadOutcome<RecordList<T>> {
  if (outcome.kind === 'ok' && outcome.value.setAside.length > 0) {
    caller.drift(plan.endpoint, 'record', outcome.value.setAside);
  }
  return outcome;
}

type Commands = Pick<
  FullExchange,
  'cancelAll' | 'reduceOnlyStop' | 'stopLimit' | 'setHedgeMode' | 'fiatDepositLink'
>;

function createCommands(caller: Caller, settings: OperationSettings): Commands {
  const placeStop = (request: StopLimitRequest, options: CallOptions | undefined) =>
    place(caller, request, options, settings.dialect);
  return {
    cancelAll: (request, options) =>
      acknowledge(caller, ENDPOINTS.cancelAll, prepareCancelAll(request), options),
    setHedgeMode: (hedgeMode, options) =>
      acknowledge(caller, ENDPOINTS.hedgeMode, prepareHedgeMode(hedgeMode), options),
    reduceOnlyStop(request, options) {
      const { market, side, amount, price, activationPrice, clientOrderId, positionSide } = request;
      const stop = { market, side, amount, price, activationPrice, clientOrderId, positionSide };
      return placeStop({ ...stop, reduceOnly: true }, options);
    },
    stopLimit: placeStop,
    async fiatDepositLink(request, options) {
      return depositLink(caller, request, options, settings);
    },
  };
}

/** A command whose success says nothing: any JSON or an empty body under a 2xx status. */
async function acknowledge(
  caller: Caller,
  endpoint: Endpoint,
  prepared: Prepared,
  options: CallOptions | undefined,
): Promise<CommandOutcome<null>> {
  if (!prepared.ok) return refusedCommand(prepared.error);
  const { params } = prepared;
  return caller.command({ endpoint, params, options, read: anyReply, emptyAllowed: true });
}

async function place(
  caller: Caller,
  request: StopLimitRequest,
  options: CallOptions | undefined,
  dialect: Dialect,
): Promise<CommandOutcome<PlacedOrder>> {
  const prepared = prepareStopLimit(request, dialect);
  if (!prepared.ok) return refusedCommand(prepared.error);
  const endpoint = ENDPOINTS.stopLimit;
  const { params } = prepared;
  const read = (body: unknown) => sameOrder(readPlacedOrder(body), request);
  // With its client order id an order cannot be accepted twice.
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
  return { ...outcome, value: order };
}

/** A reply about another market or side is not the answer to this request. */
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
 * Specification 3.1: the reply to a creation can say that the order is cancelled already. The live service has more
 * words for it, such as `CANCELED_STP`.
 */
function cancelled(reply: PlacedOrderReply): ExchangeError | undefined {
  if (!saysCancelled(reply.status)) return undefined;
  const { left, dealStock } = reply.optional;
  const isZero = (text: string | undefined) => text !== undefined && parseDecimal(text)?.eq(ZERO) === true;
  const unfilled = dealStock === undefined ? left === reply.amount : isZero(dealStock);
  const name = unfilled ? 'cancelledOnCreation' : 'cancelledPartlyFilled';
  return finding(name, 'stopLimit', { httpStatus: 200 });
}

const saysCancelled = (status: PlacedOrderReply['status']): boolean =>
  status.known ? status.value === 'CANCELLED' : /cancel/i.test(String(status.raw));

function placedOrder(reply: PlacedOrderReply, request: StopLimitRequest): PlacedOrder {
  const accepted = parseDecimal(reply.amount);
  const asked = parseDecimal(request.amount);
  const adjusted = accepted === undefined || asked === undefined || !accepted.eq(asked);
  const sentId = request.clientOrderId;
  return {
    ...reply.optional,
    orderId: reply.orderId,
    clientOrderId: reply.clientOrderId ?? '',
    clientOrderIdEchoed: sentId === undefined || reply.clientOrderId === sentId,
    market: reply.market,
    side: request.side,
    status: reply.status,
    amount: reply.amount,
    ...(adjusted ? { adjustedFrom: request.amount } : {}),
  };
}

async function depositLink(
  caller: Caller,
  request: FiatDepositRequest,
  options: CallOptions | undefined,
  settings: OperationSettings,
): Promise<CommandOutcome<FiatDepositLink>> {
  const prepared = prepareFiatDeposit(request, settings);
  if (!prepared.ok) return refusedCommand(prepared.error);
  const personal = redactor(personalTexts(request));
  const outcome = await caller.command({
    endpoint: ENDPOINTS.fiatDeposit,
    params: prepared.params,
    options,
    read: readDepositLink,
    // Dates of birth and postal codes may come back written differently: no number is shown.
    redact: (text) => settings.redact(personal(text)).replace(/\d[\d.,/-]+/g, '[redacted]'),
  });
  return outcome.kind === 'accepted' ? { ...outcome, value: { url: outcome.value } } : outcome;
}

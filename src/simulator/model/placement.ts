import { type Decimal, formatDecimal, ONE, ZERO } from '../../core/quantities/decimal.ts';
import {
  exposurePrice,
  freeMargin,
  initialMargin,
  marginSums,
  openingAmount,
  positionKey,
} from './margin.ts';
import { firstFreeLevel, worstPrice } from './market.ts';
import { activate, enterMatching, triggerPrice } from './matching.ts';
import { reserveIds } from './opening.ts';
import { cancel, createOrder, enterOrder, type NewOrder, orderView, shelve } from './order-book.ts';
import { checkReduceOnly, trimmed } from './reduce-only.ts';
import { CODES, reject, worded } from './rejection.ts';
import { type Account, type ExchangeState, isOpen, type Market, type Order, record } from './state.ts';
import type {
  CollateralLimitRequest,
  OrderView,
  Outcome,
  PositionLeg,
  Rejection,
  Side,
  SpotOrderRequest,
  StopLimitPlacement,
} from './types.ts';

const CLIENT_ORDER_ID = /^[A-Za-z0-9._-]+$/;

type Placed = Outcome<{ readonly order: OrderView }>;

interface CollateralRequest {
  readonly market: string;
  readonly side: Side;
  readonly amount: Decimal;
  readonly price: Decimal | undefined;
  readonly activationPrice: Decimal | undefined;
  readonly stopLoss: Decimal | undefined;
  readonly takeProfit: Decimal | undefined;
  readonly clientOrderId: string;
  readonly positionSide: PositionLeg | undefined;
  readonly reduceOnly: boolean;
}

/** Specification 4.4. */
export function placeStopLimit(world: ExchangeState, account: Account, request: StopLimitPlacement): Placed {
  return placeCollateral(world, account, normalise(request, request.price, request.activationPrice));
}

export function placeCollateralLimit(
  world: ExchangeState,
  account: Account,
  request: CollateralLimitRequest,
): Placed {
  return placeCollateral(world, account, normalise(request, request.price, undefined));
}

function normalise(
  request: CollateralLimitRequest,
  price: Decimal | undefined,
  activationPrice: Decimal | undefined,
): CollateralRequest {
  return {
    market: request.market,
    side: request.side,
    amount: request.amount,
    price,
    activationPrice,
    stopLoss: request.stopLoss,
    takeProfit: request.takeProfit,
    clientOrderId: request.clientOrderId ?? '',
    positionSide: request.positionSide,
    reduceOnly: request.reduceOnly ?? false,
  };
}

function placeCollateral(world: ExchangeState, account: Account, request: CollateralRequest): Placed {
  const market = world.markets.get(request.market);
  if (market?.status !== 'open' || market.spec.quote !== world.config.referenceAsset) {
    return refuse(world, account, request, reject(CODES.market, 'market', 'Market is not available'));
  }
  const invalid =
    checkRequest(world, account, market, request) ?? checkCollateral(world, account, market, request);
  if (invalid !== undefined) return refuse(world, account, request, invalid);
  const positionSide = sideOfPosition(account, request);
  const amount = request.reduceOnly
    ? trimmed(world, account.positions.get(positionKey(market, positionSide)), request.amount)
    : request.amount;
  const order = createOrder(world, collateralOrder(world, account, market, request, positionSide, amount));
  const poor = request.reduceOnly ? undefined : checkMargin(world, account, order);
  if (poor !== undefined) return refuse(world, account, request, poor);
  enterOrder(world, order, amount.lt(request.amount) ? 'amount trimmed to the position' : undefined);
  reserveIds(world, account);
  if (order.activationPrice === null) enterMatching(world, order);
  else if (activatesAtOnce(world, order.activationPrice, order)) activate(world, order);
  else shelve(order);
  return { ok: true, order: orderView(order) };
}

function refuse(
  world: ExchangeState,
  account: Account,
  request: {
    readonly market: string;
    readonly side: Side;
    readonly amount: Decimal;
    readonly clientOrderId: string;
  },
  rejection: Rejection,
): Rejection {
  const answer = worded(world.readings, rejection);
  record(world, 'order_rejected', {
    accountId: account.id,
    market: request.market,
    clientOrderId: request.clientOrderId,
    side: request.side,
    amount: formatDecimal(request.amount),
    reason: `${answer.code}: ${Object.values(rejection.errors)[0]?.[0] ?? rejection.message}`,
  });
  return answer;
}

function offStep(value: Decimal, step: Decimal): boolean {
  return !value.mod(step).eq(ZERO);
}

function checkPrice(market: Market, field: string, price: Decimal | undefined): Rejection | undefined {
  if (price === undefined) return undefined;
  if (price.lte(ZERO)) return reject(CODES.price, field, `${field} must be greater than 0`);
  return offStep(price, market.spec.priceStep)
    ? reject(CODES.price, field, `${field} must be a multiple of ${formatDecimal(market.spec.priceStep)}`)
    : undefined;
}

/** What every order must satisfy. */
function checkRequest(
  world: ExchangeState,
  account: Account,
  market: Market,
  request: Omit<CollateralRequest, 'positionSide' | 'reduceOnly'>,
): Rejection | undefined {
  const { minAmount, amountStep } = market.spec;
  if (request.amount.lt(minAmount))
    return reject(CODES.amount, 'amount', `Given amount is less than min amount ${formatDecimal(minAmount)}`);
  if (offStep(request.amount, amountStep))
    return reject(CODES.amount, 'amount', `amount must be a multiple of ${formatDecimal(amountStep)}`);
  return (
    checkPrice(market, 'price', request.price) ??
    checkPrice(market, 'activation_price', request.activationPrice) ??
    checkPrice(market, 'stopLoss', request.stopLoss) ??
    checkPrice(market, 'takeProfit', request.takeProfit) ??
    checkClientOrderId(world, account, market, request.clientOrderId)
  );
}

function checkClientOrderId(
  world: ExchangeState,
  account: Account,
  market: Market,
  clientOrderId: string,
): Rejection | undefined {
  if (clientOrderId === '') return undefined;
  if (!CLIENT_ORDER_ID.test(clientOrderId)) {
    const text = 'client_order_id may have letters, digits, dashes, dots and underscores only';
    return reject(CODES.clientOrderId, 'client_order_id', text);
  }
  const taken =
    world.readings.clientOrderIdUniqueness === 'forever'
      ? account.usedClientOrderIds.has(clientOrderId)
      : [...account.openOrders.values()].some(
          (order) => order.market === market && order.clientOrderId === clientOrderId,
        );
  return taken
    ? reject(CODES.clientOrderId, 'client_order_id', 'client_order_id is already taken')
    : undefined;
}

/** Hedge mode names the position to trade; one-way mode has one per market and ignores the field. */
function sideOfPosition(account: Account, request: CollateralRequest): PositionLeg {
  return account.hedgeMode ? (request.positionSide ?? 'BOTH') : 'BOTH';
}

function checkCollateral(
  world: ExchangeState,
  account: Account,
  market: Market,
  request: CollateralRequest,
): Rejection | undefined {
  if (request.reduceOnly && (request.stopLoss ?? request.takeProfit) !== undefined) {
    const field = request.stopLoss === undefined ? 'takeProfit' : 'stopLoss';
    return reject(CODES.validation, field, 'reduceOnly cannot be combined with stopLoss or takeProfit');
  }
  if (account.hedgeMode && request.positionSide !== 'LONG' && request.positionSide !== 'SHORT') {
    return reject(CODES.hedgeSide, 'positionSide', 'Hedge mode needs positionSide LONG or SHORT');
  }
  if (isWrongSide(world, market, request) && world.readings.wrongSideActivation === 'refused') {
    return reject(CODES.price, 'activation_price', 'activation_price has been passed already');
  }
  const positionSide = sideOfPosition(account, request);
  const position = account.positions.get(positionKey(market, positionSide));
  if (request.reduceOnly) return checkReduceOnly(world, position, request);
  const closes = positionSide !== 'BOTH' && positionSide !== (request.side === 'buy' ? 'LONG' : 'SHORT');
  if (closes && (position === undefined || request.amount.gt(position.size)))
    return reject(
      CODES.oppositeDirection,
      'side',
      'The order is opposite to positionSide and exceeds the position',
    );
  return undefined;
}

function collateralOrder(
  world: ExchangeState,
  account: Account,
  market: Market,
  request: CollateralRequest,
  positionSide: PositionLeg,
  amount: Decimal,
): NewOrder {
  const { activationPrice = null, stopLoss = null, takeProfit = null, price, side } = request;
  const withOto = stopLoss !== null || takeProfit !== null;
  const otoId = world.nextOtoId;
  if (withOto) world.nextOtoId += 1;
  // In hedge mode an order against its position can only close it, whatever it says.
  const closes = positionSide !== 'BOTH' && positionSide !== (side === 'buy' ? 'LONG' : 'SHORT');
  return {
    accountId: account.id,
    clientOrderId: request.clientOrderId,
    market,
    orderClass: market.orderClass,
    type: activationPrice !== null ? 'stop limit' : price === undefined ? 'market' : 'limit',
    side,
    positionSide,
    reduceOnly: request.reduceOnly,
    closesOnly: request.reduceOnly || closes,
    amount,
    price: price ?? ZERO,
    activationPrice,
    trigger: inferTrigger(world, market, side, activationPrice),
    ofPosition: null,
    postOnly: false,
    ioc: false,
    oto: withOto ? { otoId, stopLoss, takeProfit } : null,
  };
}

/**
 * The trigger side follows from where the activation price lies when the order is placed; at the market's own
 * price from the side of the order, as a stop.
 */
function inferTrigger(
  world: ExchangeState,
  market: Market,
  side: Side,
  activationPrice: Decimal | null,
): Order['trigger'] {
  if (activationPrice === null) return null;
  const present = triggerPrice(world, market);
  const rises = activationPrice.eq(present) ? side === 'buy' : activationPrice.gt(present);
  return rises ? 'rise' : 'fall';
}

function activatesAtOnce(world: ExchangeState, activationPrice: Decimal, { market, side }: Order): boolean {
  if (activationPrice.eq(triggerPrice(world, market))) return world.readings.stopTriggersAtEquality === 'yes';
  return (
    world.readings.wrongSideActivation === 'atOnce' && isWrongSide(world, market, { side, activationPrice })
  );
}

/** Whether a stop would have been triggered on the way to the present price: below it a buy, above it a sell. */
function isWrongSide(
  world: ExchangeState,
  market: Market,
  { side, activationPrice }: Pick<CollateralRequest, 'side' | 'activationPrice'>,
): boolean {
  if (activationPrice === undefined) return false;
  const present = triggerPrice(world, market);
  return side === 'sell' ? activationPrice.gt(present) : activationPrice.lt(present);
}

function checkMargin(world: ExchangeState, account: Account, order: Order): Rejection | undefined {
  const { market } = order;
  const { takerFee, maxPositionValue, maxPendingValue } = market.spec;
  const opening = openingAmount(account, order);
  if (opening.eq(ZERO)) return undefined;
  const openingValue = opening.times(exposurePrice(order));
  const needed = initialMargin(openingValue, account.leverage).plus(openingValue.times(takerFee));
  const { equity } = marginSums(world, account.unit);
  const position = account.positions.get(positionKey(market, order.positionSide));
  const liquidated = (position ?? account).unit.state === 'liquidation';
  if (liquidated || needed.gt(freeMargin(world, account, equity)))
    return reject(CODES.noBalance, 'amount', 'Not enough balance');
  const value = (position?.cost ?? ZERO).plus(openingValue);
  if (maxPositionValue !== undefined && value.gt(maxPositionValue))
    return reject(CODES.positionLimit, 'amount', 'Position limit exceeded');
  const pending = pendingValue(account).plus(openingValue);
  return maxPendingValue !== undefined && pending.gt(maxPendingValue)
    ? reject(CODES.pendingLimit, 'amount', 'Pending value limit exceeded')
    : undefined;
}

function pendingValue(account: Account): Decimal {
  let value = ZERO;
  for (const order of account.openOrders.values()) {
    if (order.orderClass !== 'spot' && !order.closesOnly)
      value = value.plus(order.left.times(exposurePrice(order)));
  }
  return value;
}

export function placeSpot(world: ExchangeState, account: Account, request: SpotOrderRequest): Placed {
  const market = world.markets.get(request.market);
  const named = { ...request, clientOrderId: request.clientOrderId ?? '' };
  if (market?.spec.kind !== 'spot' || market.status !== 'open')
    return refuse(world, account, named, reject(CODES.market, 'market', 'Market is not available'));
  const order = createOrder(world, spotOrder(account, market, request));
  const invalid =
    checkRequest(world, account, market, {
      ...named,
      price: request.price,
      activationPrice: undefined,
      stopLoss: undefined,
      takeProfit: undefined,
    }) ?? checkSpotBalance(world, account, order);
  if (invalid !== undefined) return refuse(world, account, named, invalid);
  enterOrder(world, order);
  if (order.postOnly && firstFreeLevel(world, order) !== undefined) {
    cancel(world, order, 'post-only order would take');
  } else {
    enterMatching(world, order);
    if (isOpen(order) && (order.ioc || request.price === undefined))
      cancel(world, order, 'immediate or cancel');
  }
  return { ok: true, order: orderView(order) };
}

function spotOrder(account: Account, market: Market, request: SpotOrderRequest): NewOrder {
  return {
    accountId: account.id,
    clientOrderId: request.clientOrderId ?? '',
    market,
    orderClass: 'spot',
    type: request.price === undefined ? 'market' : 'limit',
    side: request.side,
    positionSide: 'BOTH',
    reduceOnly: false,
    closesOnly: false,
    amount: request.amount,
    price: request.price ?? ZERO,
    activationPrice: null,
    trigger: null,
    ofPosition: null,
    postOnly: request.postOnly ?? false,
    ioc: request.ioc ?? false,
    oto: null,
  };
}

/** Asset and amount that an open spot order may still take out of the wallet. */
function spotNeed(order: Order): { readonly asset: string; readonly amount: Decimal } {
  const { spec } = order.market;
  if (order.side === 'sell') return { asset: spec.base, amount: order.left };
  const price = order.price.eq(ZERO) ? worstPrice(order.market, 'buy') : order.price;
  return { asset: spec.quote, amount: order.left.times(price).times(ONE.plus(spec.takerFee)) };
}

/** What of a spot wallet is not promised to open orders. */
export function availableSpot(world: ExchangeState, account: Account, asset: string): Decimal {
  let available = world.ledger.balance(`spot:${account.id}`, asset);
  for (const order of account.openOrders.values()) {
    if (order.orderClass !== 'spot') continue;
    const need = spotNeed(order);
    if (need.asset === asset) available = available.minus(need.amount);
  }
  return available;
}

function checkSpotBalance(world: ExchangeState, account: Account, order: Order): Rejection | undefined {
  const need = spotNeed(order);
  return need.amount.gt(availableSpot(world, account, need.asset))
    ? reject(CODES.noBalance, 'amount', 'Not enough balance')
    : undefined;
}

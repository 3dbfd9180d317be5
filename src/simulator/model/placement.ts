import {
  type Decimal,
  decimal,
  formatDecimal,
  maxDecimal,
  minDecimal,
  ONE,
  roundToStep,
  ZERO,
} from '../../core/quantities/decimal.ts';
import {
  canOpen,
  directionOf,
  exposurePrice,
  freeMargin,
  initialMargin,
  marginSums,
  openingAmount,
  positionKey,
  positionOf,
} from './margin.ts';
import { firstFreeLevel, worstPrice } from './market.ts';
import { activate, enterMatching, triggerPrice } from './matching.ts';
import { reserveIds } from './opening.ts';
import { cancel, createOrder, enterOrder, type NewOrder, orderView, shelve } from './order-book.ts';
import type { Readings } from './readings.ts';
import { CODES, reject, worded } from './rejection.ts';
import {
  type Account,
  type ExchangeState,
  isOpen,
  type Market,
  type Order,
  type Position,
  record,
} from './state.ts';
import type {
  CollateralOrder,
  OrderOutcome,
  PositionLeg,
  Rejection,
  Side,
  SpotOrderRequest,
} from './types.ts';

const CLIENT_ORDER_ID = /^[A-Za-z0-9._-]+$/;

/** A requested order in an open market. */
interface Placement {
  readonly world: ExchangeState;
  readonly account: Account;
  readonly market: Market;
  readonly request: CollateralOrder;
}

/** Specification 4.4; without an activation price it is a plain order. */
export function placeCollateral(
  world: ExchangeState,
  account: Account,
  request: CollateralOrder,
): OrderOutcome {
  const market = world.markets.get(request.market);
  if (market?.status !== 'open' || market.spec.quote !== world.config.referenceAsset) {
    return refuse(world, account, request, reject(CODES.market, 'market', 'Market is not available'));
  }
  const placement = { world, account, market, request };
  const invalid = checkRequest(placement) ?? checkCollateral(placement);
  if (invalid !== undefined) return refuse(world, account, request, invalid);
  const order = createOrder(world, collateralOrder(placement));
  const poor = request.reduceOnly ? undefined : checkMargin(world, order);
  if (poor !== undefined) return refuse(world, account, request, poor);
  const isTrimmed = order.amount.lt(request.amount);
  enterOrder(world, order, isTrimmed ? 'amount trimmed to the position' : undefined);
  reserveIds(world, account);
  if (order.activationPrice === null) enterMatching(world, order);
  else if (activatesAtOnce(world, order.activationPrice, order)) activate(world, order);
  else shelve(order);
  return { ok: true, order: orderView(order) };
}

function refuse(
  world: ExchangeState,
  account: Account,
  request: CollateralOrder,
  rejection: Rejection,
): Rejection {
  const answer = worded(world.readings, rejection);
  record(world, 'order_rejected', {
    accountId: account.id,
    market: request.market,
    clientOrderId: request.clientOrderId ?? '',
    side: request.side,
    amount: request.amount,
    reason: `${answer.code}: ${Object.values(rejection.errors)[0]?.[0] ?? rejection.message}`,
  });
  return answer;
}

function offStep(value: Decimal, step: Decimal): boolean {
  return !value.mod(step).eq(ZERO);
}

function stepWords({ errorWords }: Readings, field: string, step: Decimal): string {
  if (errorWords === 'specification') return `${field} must be a multiple of ${formatDecimal(step)}`;
  if (step.gt(ONE)) return `Should be a multiple of ${formatDecimal(step)}.`;
  return `Min ${field === 'amount' ? field : 'price'} step = ${formatDecimal(step)}`;
}

function checkPrice(
  { world, market }: Placement,
  field: string,
  price: Decimal | undefined,
): Rejection | undefined {
  if (price === undefined) return undefined;
  if (price.lte(ZERO)) return reject(CODES.price, field, `${field} must be greater than 0`);
  const { priceStep } = market.spec;
  return offStep(price, priceStep)
    ? reject(CODES.price, field, stepWords(world.readings, field, priceStep))
    : undefined;
}

function checkRequest(placement: Placement): Rejection | undefined {
  const { world, market, request } = placement;
  const { minAmount, amountStep } = market.spec;
  if (request.amount.lt(minAmount))
    return reject(CODES.amount, 'amount', `Given amount is less than min amount ${formatDecimal(minAmount)}`);
  if (offStep(request.amount, amountStep))
    return reject(CODES.amount, 'amount', stepWords(world.readings, 'amount', amountStep));
  return (
    checkPrice(placement, 'price', request.price) ??
    checkPrice(placement, 'activation_price', request.activationPrice) ??
    checkPrice(placement, 'stopLoss', request.stopLoss) ??
    checkPrice(placement, 'takeProfit', request.takeProfit) ??
    checkBounds(placement) ??
    checkClientOrderId(placement)
  );
}

const BANDS = { '10%': decimal('0.1'), '3%': decimal('0.03') } as const;

/** Readings that bound price and total. */
function checkBounds({ world, market, request }: Placement): Rejection | undefined {
  const { activationAtLast, priceBand, minTotal, maxTotal } = world.readings;
  const { amount, price, activationPrice } = request;
  if (activationAtLast === 'refused' && activationPrice?.eq(market.last) === true)
    return reject(CODES.validation, 'activationPrice', 'Activation price should not be equal to last price');
  if (price === undefined) return undefined;
  if (priceBand !== 'none') {
    const bound = (part: Decimal, direction: 'up' | 'down'): Decimal =>
      roundToStep(market.last.times(part), market.spec.priceStep, direction);
    const lowest = bound(ONE.minus(BANDS[priceBand]), 'up');
    const highest = bound(ONE.plus(BANDS[priceBand]), 'down');
    const bounded = (word: string, to: Decimal): Rejection =>
      reject(CODES.priceBand, 'price', `Price should be ${word} than or equal to ${formatDecimal(to)}`);
    if (price.gt(highest)) return bounded('less', highest);
    if (price.lt(lowest)) return bounded('greater', lowest);
  }
  const total = amount.times(price);
  if (minTotal !== 'none' && total.lt(decimal(minTotal)))
    return reject(CODES.validation, 'total', `Total amount is less than ${minTotal}`);
  if (maxTotal !== 'none' && total.gt(decimal(maxTotal)))
    return reject(CODES.validation, 'total', `Total amount is greater than ${maxTotal}`);
  return undefined;
}

function checkClientOrderId({ world, account, market, request }: Placement): Rejection | undefined {
  const { clientOrderId = '' } = request;
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
function sideOfPosition(account: Account, request: CollateralOrder): PositionLeg {
  return account.hedgeMode ? (request.positionSide ?? 'BOTH') : 'BOTH';
}

/** In hedge mode an order against its position can only close it, even without reduce-only. */
function isAgainst(positionSide: PositionLeg, side: Side): boolean {
  return positionSide === (side === 'buy' ? 'SHORT' : 'LONG');
}

function checkCollateral({ world, account, market, request }: Placement): Rejection | undefined {
  const { side, amount, activationPrice, reduceOnly, stopLoss, takeProfit } = request;
  if (reduceOnly && (stopLoss ?? takeProfit) !== undefined) {
    const field = stopLoss === undefined ? 'takeProfit' : 'stopLoss';
    return reject(CODES.validation, field, 'reduceOnly cannot be combined with stopLoss or takeProfit');
  }
  const positionSide = sideOfPosition(account, request);
  if (account.hedgeMode && positionSide === 'BOTH')
    return reject(CODES.hedgeSide, 'positionSide', 'Hedge mode needs positionSide LONG or SHORT');
  const namesSide = (request.positionSide ?? 'BOTH') !== 'BOTH';
  if (!account.hedgeMode && namesSide && world.readings.oneWaySide === 'refused')
    return reject(CODES.hedgeSide, 'positionSide', 'One-way mode needs positionSide BOTH');
  const refusesPassed = world.readings.wrongSideActivation === 'refused';
  if (refusesPassed && activationPrice !== undefined && isPassed(world, market, side, activationPrice))
    return reject(CODES.price, 'activation_price', 'activation_price has been passed already');
  const position = account.positions.get(positionKey(market, positionSide));
  if (reduceOnly) return checkReduceOnly(world, position, request);
  return isAgainst(positionSide, side) && (position === undefined || amount.gt(position.size))
    ? reject(
        CODES.oppositeDirection,
        'side',
        'The order is opposite to positionSide and exceeds the position',
      )
    : undefined;
}

function collateralOrder({ world, account, market, request }: Placement): NewOrder {
  const { side, price, activationPrice = null, stopLoss = null, takeProfit = null } = request;
  const { clientOrderId = '', reduceOnly = false } = request;
  const positionSide = sideOfPosition(account, request);
  const position = account.positions.get(positionKey(market, positionSide));
  const present = triggerPrice(world, market);
  // At the current price the side decides the direction, as for an ordinary stop.
  const rises = activationPrice?.eq(present) ? side === 'buy' : activationPrice?.gt(present);
  const trigger = activationPrice === null ? null : rises ? 'rise' : 'fall';
  const withOto = stopLoss !== null || takeProfit !== null;
  const otoId = world.nextOtoId;
  if (withOto) world.nextOtoId += 1;
  return {
    account,
    clientOrderId,
    market,
    orderClass: market.orderClass,
    type: activationPrice !== null ? 'stop limit' : price === undefined ? 'market' : 'limit',
    side,
    positionSide,
    reduceOnly,
    closesOnly: reduceOnly || isAgainst(positionSide, side),
    amount: reduceOnly ? trimmed(world, position, request.amount) : request.amount,
    price: price ?? ZERO,
    activationPrice,
    trigger,
    oto: withOto ? { otoId, stopLoss, takeProfit } : null,
  };
}

function activatesAtOnce(world: ExchangeState, activationPrice: Decimal, { market, side }: Order): boolean {
  if (activationPrice.eq(triggerPrice(world, market))) return world.readings.stopTriggersAtEquality === 'yes';
  return world.readings.wrongSideActivation === 'atOnce' && isPassed(world, market, side, activationPrice);
}

/** Whether the price has already passed the activation price: a buy below it, a sell above it. */
function isPassed(world: ExchangeState, market: Market, side: Side, activationPrice: Decimal): boolean {
  const present = triggerPrice(world, market);
  return side === 'sell' ? activationPrice.gt(present) : activationPrice.lt(present);
}

function checkMargin(world: ExchangeState, order: Order): Rejection | undefined {
  const { account, market } = order;
  const { takerFee, maxPositionValue, maxPendingValue } = market.spec;
  const opening = openingAmount(order);
  if (opening.eq(ZERO)) return undefined;
  const openingValue = opening.times(exposurePrice(order));
  const needed = initialMargin(openingValue, account.leverage).plus(openingValue.times(takerFee));
  const { equity } = marginSums(world, account.unit);
  const position = positionOf(order);
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
    if (canOpen(order)) value = value.plus(order.left.times(exposurePrice(order)));
  }
  return value;
}

export function placeSpot(world: ExchangeState, account: Account, request: SpotOrderRequest): OrderOutcome {
  const market = world.markets.get(request.market);
  if (market?.spec.kind !== 'spot' || market.status !== 'open')
    return refuse(world, account, request, reject(CODES.market, 'market', 'Market is not available'));
  const { side, amount, price, clientOrderId = '', postOnly = false, ioc = false } = request;
  const order = createOrder(world, {
    account,
    clientOrderId,
    market,
    orderClass: 'spot',
    type: price === undefined ? 'market' : 'limit',
    side,
    amount,
    price: price ?? ZERO,
    postOnly,
    ioc,
  });
  const invalid = checkRequest({ world, account, market, request }) ?? checkSpotBalance(world, order);
  if (invalid !== undefined) return refuse(world, account, request, invalid);
  enterOrder(world, order);
  if (order.postOnly && firstFreeLevel(world, order) !== undefined) {
    cancel(world, order, 'post-only order would take');
  } else {
    enterMatching(world, order);
    if (isOpen(order) && (order.ioc || price === undefined)) cancel(world, order, 'immediate or cancel');
  }
  return { ok: true, order: orderView(order) };
}

/** Asset and amount that an open spot order may still take from the wallet. */
function spotNeed(order: Order): { readonly asset: string; readonly amount: Decimal } {
  const { spec } = order.market;
  if (order.side === 'sell') return { asset: spec.base, amount: order.left };
  const price = order.price.eq(ZERO) ? worstPrice(order.market, 'buy') : order.price;
  return { asset: spec.quote, amount: order.left.times(price).times(ONE.plus(spec.takerFee)) };
}

/** The part of a spot wallet that open orders do not need. */
export function availableSpot(world: ExchangeState, account: Account, asset: string): Decimal {
  let available = world.ledger.balance(`spot:${account.id}`, asset);
  for (const order of account.openOrders.values()) {
    if (order.orderClass !== 'spot') continue;
    const need = spotNeed(order);
    if (need.asset === asset) available = available.minus(need.amount);
  }
  return available;
}

function checkSpotBalance(world: ExchangeState, order: Order): Rejection | undefined {
  const need = spotNeed(order);
  return need.amount.gt(availableSpot(world, order.account, need.asset))
    ? reject(CODES.noBalance, 'amount', 'Not enough balance')
    : undefined;
}

/** Reduce-only rule 4 of specification 4.4; under two readings other open orders must also leave room. */
function checkReduceOnly(
  world: ExchangeState,
  position: Position | undefined,
  { side, amount }: { readonly side: Side; readonly amount: Decimal },
): Rejection | undefined {
  if (position === undefined || position.direction === directionOf(side))
    return reject(CODES.reduceOnly, 'reduceOnly', 'Reduce-only order would not reduce');
  const room = reducible(world, position);
  const needsAll = world.readings.reduceOnlyRoom === 'refused';
  const fits = needsAll ? room.gte(minDecimal(amount, position.size)) : room.gt(ZERO);
  return fits
    ? undefined
    : reject(CODES.reduceOnly, 'reduceOnly', 'Open reduce-only orders cover the position already');
}

/** Reduce-only rule 2 of specification 4.4. */
function trimmed(world: ExchangeState, position: Position | undefined, amount: Decimal): Decimal {
  return position === undefined ? amount : minDecimal(amount, reducible(world, position));
}

/** How much of a position a new reduce-only order may close. */
function reducible(world: ExchangeState, position: Position): Decimal {
  if (world.readings.reduceOnlyRoom === 'position') return position.size;
  let room = position.size;
  for (const order of position.account.openOrders.values()) {
    const competes =
      order.reduceOnly &&
      order.ofPosition === null &&
      order.market === position.market &&
      order.positionSide === position.positionSide &&
      directionOf(order.side) !== position.direction;
    if (competes) room = room.minus(order.left);
  }
  return maxDecimal(ZERO, room);
}

import { type Decimal, divide, minDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { BOOKS, type Leg, transfer } from './ledger.ts';
import { directionOf, initialMargin, positionKey, positionOf, unrealizedFunding } from './margin.ts';
import { cancel, createOrder, enterOrder, finishOrder, orderFields, shelve } from './order-book.ts';
import {
  type Account,
  collateralBook,
  type ExchangeState,
  type Market,
  MONEY_PLACES,
  marginBook,
  marginOf,
  type Order,
  type Position,
  positionBook,
  record,
  sign,
} from './state.ts';
import type { PositionLeg, Side } from './types.ts';

export interface PositionFill {
  readonly account: Account;
  readonly market: Market;
  readonly side: Side;
  readonly positionSide: PositionLeg;
  readonly amount: Decimal;
  readonly price: Decimal;
  readonly feeRate: Decimal;
  readonly kind: 'fill' | 'liquidation' | 'auto_deleverage' | 'settlement' | 'position_seeded';
  readonly order: Order | null;
  readonly role: 'taker' | 'maker' | 'engine';
}

type FillEffect = ReturnType<typeof reduce>;

/** Applies a fill: reduces an opposite position, and opens or grows one with the rest. Writes one ledger entry. */
export function applyFill(world: ExchangeState, fill: PositionFill): void {
  const key = positionKey(fill.market, fill.positionSide);
  const existing = fill.account.positions.get(key);
  const isReducing = existing !== undefined && existing.direction !== directionOf(fill.side);
  const effects: FillEffect[] = [];
  let left = fill.amount;
  if (isReducing) {
    const amount = minDecimal(left, existing.size);
    effects.push(reduce(world, existing, fill, amount));
    left = left.minus(amount);
  }
  if (left.gt(ZERO)) effects.push(grow(world, fill, key, left));
  writeFill(world, fill, effects, isReducing);
  world.dirtyUnits.add(fill.account.unit);
  for (const { position } of effects) {
    if (position.size.eq(ZERO)) afterClose(world, position);
    else world.dirtyUnits.add(position.unit);
  }
}

/** Closes a part of a position by the exchange itself, at mark. */
export function closeAtMark(
  world: ExchangeState,
  position: Position,
  close: Pick<PositionFill, 'kind' | 'amount' | 'feeRate'>,
): void {
  const { account, market, direction, positionSide } = position;
  const side = direction === 'long' ? 'sell' : 'buy';
  const trade = { side, price: market.mark, ...close, order: null, role: 'engine' } as const;
  const fill = { account, market, positionSide, ...trade };
  listEngineOrder(world, fill);
  applyFill(world, fill);
}

const ENGINE_IDS: Partial<Record<PositionFill['kind'], string>> = {
  liquidation: 'liquidation_',
  auto_deleverage: 'adl_',
};

/** Under one reading what the exchange closes itself is in the order history, as a filled order. */
function listEngineOrder(world: ExchangeState, fill: PositionFill): void {
  const { account, market, side, positionSide, amount, price, feeRate } = fill;
  const id = ENGINE_IDS[fill.kind];
  if (id === undefined || world.readings.historyOrders !== 'all') return;
  const clientOrderId = `${id}${world.nextOrderId}`;
  const { orderClass } = market;
  const what = { account, market, orderClass, side, positionSide, amount, clientOrderId };
  const order = createOrder(world, { type: 'market', ...what });
  const dealMoney = amount.times(price);
  Object.assign(order, { left: ZERO, dealStock: amount, dealMoney, dealFee: dealMoney.times(feeRate) });
  finishOrder(world, order, 'FILLED');
}

function tradeLegs(position: Position, side: Side, amount: Decimal, price: Decimal): readonly Leg[] {
  const { name, quote } = position.market.spec;
  const signed = amount.times(sign(directionOf(side)));
  return [
    ...transfer(BOOKS.counterparty, positionBook(position), name, signed),
    ...transfer(positionBook(position), BOOKS.counterparty, quote, signed.times(price)),
  ];
}

function grow(world: ExchangeState, fill: PositionFill, key: string, amount: Decimal): FillEffect {
  const { account, market, side, price } = fill;
  const position = account.positions.get(key) ?? openPosition(world, fill, key);
  position.fundingCarried = unrealizedFunding(world, position);
  position.accrualFromMs = world.nowMs;
  position.modifyMs = world.nowMs;
  position.size = position.size.plus(amount);
  position.cost = position.cost.plus(amount.times(price));
  const legs: Leg[] = [...tradeLegs(position, side, amount, price)];
  if (world.readings.marginModel === 'isolated') {
    const margin = initialMargin(amount.times(price), account.leverage);
    legs.push(...transfer(collateralBook(account), marginBook(position), market.spec.quote, margin));
  }
  legs.push(...feeLegs(collateralBook(account), fill, amount));
  return { legs, position, realized: ZERO, fundingSettled: ZERO, insured: ZERO };
}

function feeLegs(payer: string, fill: PositionFill, amount: Decimal): readonly Leg[] {
  const taker = fill.kind === 'liquidation' ? BOOKS.insurance : BOOKS.fees;
  return transfer(payer, taker, fill.market.spec.quote, amount.times(fill.price).times(fill.feeRate));
}

function openPosition(world: ExchangeState, fill: PositionFill, key: string): Position {
  const { account, market, side, positionSide } = fill;
  const reused = world.readings.positionIds === 'reused' ? account.positionIds.get(key) : undefined;
  const known = account.openingIds.get(key) ?? reused;
  account.openingIds.delete(key);
  const positionId = known ?? world.nextPositionId;
  if (known === undefined) world.nextPositionId += 1;
  account.positionIds.set(key, positionId);
  const position: Position = {
    positionId,
    account,
    market,
    positionSide,
    direction: directionOf(side),
    size: ZERO,
    cost: ZERO,
    openMs: world.nowMs,
    modifyMs: world.nowMs,
    pnl: ZERO,
    funding: ZERO,
    fundingCarried: ZERO,
    accrualFromMs: world.nowMs,
    takeProfit: null,
    stopLoss: null,
    unit: account.unit,
    costFigures: null,
    liquidationSize: null,
  };
  if (world.readings.marginModel === 'isolated') position.unit = world.makeUnit(account, position);
  account.positions.set(key, position);
  market.positions.add(position);
  return position;
}

/** The cost share of `amount`; closing the whole position takes exactly the remaining cost. */
function costOf(position: Position, amount: Decimal): Decimal {
  if (amount.eq(position.size)) return position.cost;
  return divide(position.cost.times(amount), position.size, MONEY_PLACES, 'halfUp');
}

function reduce(world: ExchangeState, position: Position, fill: PositionFill, amount: Decimal) {
  const { quote } = position.market.spec;
  const isolated = world.readings.marginModel === 'isolated';
  const purse = isolated ? marginBook(position) : collateralBook(position.account);
  const cost = costOf(position, amount);
  const realized = amount.times(fill.price).minus(cost).times(sign(position.direction));
  const fundingSettled = unrealizedFunding(world, position);
  const legs: Leg[] = [
    ...tradeLegs(position, fill.side, amount, fill.price),
    ...transfer(positionBook(position), purse, quote, realized),
    ...transfer(purse, BOOKS.funding, quote, fundingSettled),
    ...feeLegs(purse, fill, amount),
  ];
  position.size = position.size.minus(amount);
  position.cost = position.cost.minus(cost);
  position.pnl = position.pnl.plus(realized);
  position.funding = position.funding.plus(fundingSettled);
  position.fundingCarried = ZERO;
  position.accrualFromMs = world.nowMs;
  position.modifyMs = world.nowMs;
  const closed = position.size.eq(ZERO);
  const balance = isolated ? marginAfter(world, position, legs) : ZERO;
  /** Loss beyond an isolated position's margin, which the insurance pays. */
  const insured = closed && balance.lt(ZERO) ? ZERO.minus(balance) : ZERO;
  legs.push(...transfer(BOOKS.insurance, purse, quote, insured));
  if (isolated) legs.push(...releaseMargin(position, fill, balance.plus(insured), closed));
  if (closed) {
    position.account.positions.delete(positionKey(position.market, position.positionSide));
    position.market.positions.delete(position);
  }
  return { legs, position, realized, fundingSettled, insured };
}

function marginAfter(world: ExchangeState, position: Position, legs: readonly Leg[]): Decimal {
  const { quote } = position.market.spec;
  const book = marginBook(position);
  return legs
    .filter((leg) => leg.book === book && leg.asset === quote)
    .reduce((sum, leg) => sum.plus(leg.amount), marginOf(world, position));
}

/** Isolated margin: a reduction releases the margin that the rest of the position does not need. */
function releaseMargin(
  position: Position,
  fill: PositionFill,
  balance: Decimal,
  closed: boolean,
): readonly Leg[] {
  const { account, market } = position;
  const needed = closed ? ZERO : initialMargin(position.cost, account.leverage);
  const surplus = balance.minus(needed);
  const held = fill.kind === 'liquidation' && !closed;
  return held || surplus.lte(ZERO)
    ? []
    : transfer(marginBook(position), collateralBook(account), market.spec.quote, surplus);
}

function writeFill(
  world: ExchangeState,
  fill: PositionFill,
  effects: readonly FillEffect[],
  reduced: boolean,
): void {
  const last = effects.at(-1);
  const sum = (pick: (effect: FillEffect) => Decimal): Decimal =>
    effects.reduce((total, effect) => total.plus(pick(effect)), ZERO);
  record(
    world,
    fill.kind,
    {
      ...(fill.order === null
        ? { accountId: fill.account.id, market: fill.market.spec.name, side: fill.side }
        : orderFields(fill.order)),
      positionId: last?.position.positionId,
      amount: fill.amount,
      price: fill.price,
      fee: fill.amount.times(fill.price).times(fill.feeRate),
      details: {
        role: fill.role,
        positionSide: fill.positionSide,
        reduced,
        realizedPnl: sum((effect) => effect.realized),
        fundingSettled: sum((effect) => effect.fundingSettled),
        insured: sum((effect) => effect.insured),
        direction: last?.position.direction ?? null,
        sizeAfter: last?.position.size ?? ZERO,
      },
    },
    effects.flatMap((effect) => effect.legs),
  );
}

/** Cancels take profit and stop loss of a closed position, and under one reading its reduce-only orders. */
function afterClose(world: ExchangeState, position: Position): void {
  const { account, market } = position;
  for (const order of account.openOrders.values()) {
    const attached = order.ofPosition === position;
    const reducer =
      world.readings.reduceOnlyAfterClose === 'cancelled' &&
      order.closesOnly &&
      order.market === market &&
      order.positionSide === position.positionSide &&
      directionOf(order.side) !== position.direction;
    if (attached || reducer) cancel(world, order, 'position closed');
  }
}

/** Attaches the stop loss and take profit of a filled order to its position, replacing earlier ones. */
export function attachTpsl(world: ExchangeState, order: Order): void {
  const { oto } = order;
  const position = positionOf(order);
  if (oto === null || position === undefined || position.direction !== directionOf(order.side)) return;
  for (const role of ['stopLoss', 'takeProfit'] as const) {
    const [price, known] = [oto[role], position[role]];
    if (price === null || known?.activationPrice?.eq(price) === true) continue;
    if (known !== null) cancel(world, known, 'replaced');
    position[role] = tpslOrder(world, position, price, role);
  }
}

function tpslOrder(
  world: ExchangeState,
  position: Position,
  activationPrice: Decimal,
  role: 'stopLoss' | 'takeProfit',
): Order {
  const falls = (role === 'stopLoss') === (position.direction === 'long');
  const order = createOrder(world, {
    account: position.account,
    market: position.market,
    orderClass: position.market.orderClass,
    type: 'stop market',
    side: position.direction === 'long' ? 'sell' : 'buy',
    positionSide: position.positionSide,
    reduceOnly: true,
    closesOnly: true,
    amount: position.size,
    activationPrice,
    trigger: falls ? 'fall' : 'rise',
    ofPosition: position,
  });
  enterOrder(world, order, role);
  shelve(order);
  world.dirtyMarkets.add(position.market);
  return order;
}

import {
  type Decimal,
  divide,
  maxDecimal,
  minDecimal,
  ONE,
  roundToStep,
  toNumber,
  ZERO,
} from '../../core/quantities/decimal.ts';
import { BOOKS, transfer } from './ledger.ts';
import {
  assetRate,
  canOpen,
  drainPerMs,
  type MarginSums,
  maintenanceOf,
  marginSums,
  marketSlopes,
  pricingMarket,
  unitPositions,
} from './margin.ts';
import { cancel, LIQUIDATION } from './order-book.ts';
import { closeAtMark } from './positions.ts';
import { checkAgainAt } from './risk-watch.ts';
import {
  type Account,
  collateralBook,
  type ExchangeState,
  type MarginUnit,
  MONEY_PLACES,
  type Position,
  record,
  type Threshold,
} from './state.ts';

export function createMarginUnit(
  world: ExchangeState,
  account: Account,
  position: Position | null,
): MarginUnit {
  const unit: MarginUnit = {
    account,
    position,
    state: null,
    nextStepMs: 0,
    generation: 0,
    deadlineMs: 0,
    isLive: () => position === null || position.market.positions.has(position),
    check: () => checkUnit(world, unit),
  };
  return unit;
}

function checkUnit(world: ExchangeState, unit: MarginUnit): readonly Threshold[] {
  // Under isolated margin each position has its own unit, so the account's unit judges nothing.
  if (unit.position === null && world.readings.marginModel === 'isolated') return [];
  if (unitPositions(unit).length === 0) return settleWithoutPositions(world, unit);
  // A liquidation is judged again only at its next step, so that its state lasts long enough to be seen.
  if (unit.state === 'liquidation' && world.nowMs < unit.nextStepMs) return liquidateOn(world, unit);
  const sums = marginSums(world, unit);
  if (unit.state === 'liquidation') {
    const enough = sums.maintenance.times(world.config.liquidation.restoreRatio);
    if (sums.equity.lte(enough)) return liquidateOn(world, unit);
    changeState(world, unit, { to: null, sums, reason: 'margin restored' });
  }
  if (sums.equity.lte(sums.maintenance)) {
    const reason = 'equity at or below maintenance margin';
    changeState(world, unit, { to: 'liquidation', sums, reason });
    begin(world, unit);
    return liquidateOn(world, unit);
  }
  const called = sums.equity.lte(sums.maintenance.times(world.config.liquidation.marginCallRatio));
  if (called && unit.state === null) changeState(world, unit, { to: 'margin_call', sums });
  if (!called && unit.state === 'margin_call') changeState(world, unit, { to: null, sums });
  const from = distances(world, unit, sums);
  const callRatio = world.config.liquidation.marginCallRatio;
  return unit.state === 'margin_call' ? [from(ONE, 1), from(callRatio, -1)] : [from(callRatio, 1)];
}

/** Distance of equity from a multiple of the maintenance margin: above it (1) or below it (-1). */
type Distance = (ratio: Decimal, direction: 1 | -1) => Threshold;

function distances(world: ExchangeState, unit: MarginUnit, sums: MarginSums): Distance {
  const slopes = [...marketSlopes(world, unit)];
  return (ratio, direction) => {
    const surplus = ({ equity, maintenance }: MarginSums): number =>
      toNumber(equity.minus(maintenance.times(ratio))) * direction;
    return {
      slack: surplus(sums),
      slopes: new Map(slopes.map(([market, slope]) => [market, surplus(slope)])),
      drainPerMs: drainPerMs(unit) * direction,
    };
  };
}

interface StateChange {
  readonly to: MarginUnit['state'];
  readonly sums: MarginSums;
  readonly reason?: string;
}

function changeState(world: ExchangeState, unit: MarginUnit, { to: state, sums, reason }: StateChange): void {
  const ended = unit.state === 'liquidation' ? 'liquidation_ended' : 'margin_call_cleared';
  const kind = state === 'liquidation' ? 'liquidation_started' : (state ?? ended);
  unit.state = state;
  const { account, position } = unit;
  record(world, kind, {
    accountId: account.id,
    positionId: position?.positionId,
    market: position?.market.spec.name,
    reason,
    details: { equity: sums.equity, maintenanceMargin: sums.maintenance },
  });
}

/** Starts a liquidation: cancels all orders that could open or grow a position; reduce-only orders stay. */
function begin(world: ExchangeState, unit: MarginUnit): void {
  unit.nextStepMs = world.nowMs;
  for (const order of unit.account.openOrders.values()) {
    const concerned = unit.position === null || order.market === unit.position.market;
    if (concerned && canOpen(order)) cancel(world, order, LIQUIDATION);
  }
  for (const position of unitPositions(unit)) position.liquidationSize = position.size;
}

const NO_SUMS: MarginSums = { equity: ZERO, maintenance: ZERO };

/** Closes one part per step: margin positions, then borrows, then futures; the largest first. */
function liquidateOn(world: ExchangeState, unit: MarginUnit): readonly Threshold[] {
  if (world.nowMs >= unit.nextStepMs) {
    unit.nextStepMs = world.nowMs + world.config.liquidation.stepMs;
    if (world.readings.liquidation === 'atOnce') closeWhole(world, unit);
    else closeNext(world, unit);
  }
  if (unit.isLive()) checkAgainAt(world, unit, unit.nextStepMs);
  else changeState(world, unit, { to: null, sums: NO_SUMS, reason: 'nothing left open' });
  return [];
}

function nextTarget(world: ExchangeState, unit: MarginUnit): Position | undefined {
  const positions = [...unitPositions(unit)].sort((a, b) => {
    const difference = maintenanceOf(b).cmp(maintenanceOf(a));
    return difference === 0 ? a.positionId - b.positionId : difference;
  });
  const margin = positions.find((position) => position.market.orderClass === 'margin');
  if (margin !== undefined) return margin;
  if (unit.position === null && repayBorrow(world, unit.account)) return undefined;
  return positions[0];
}

function closeNext(world: ExchangeState, unit: MarginUnit): void {
  const position = nextTarget(world, unit);
  if (position === undefined) return;
  const { amountStep, minAmount, liquidationFee } = position.market.spec;
  const part = (position.liquidationSize ?? position.size).times(world.config.liquidation.part);
  const wanted = maxDecimal(roundToStep(part, amountStep, 'up'), minAmount);
  const rest = position.size.minus(wanted);
  const amount = rest.lt(minAmount) ? position.size : wanted;
  closeAtMark(world, position, { kind: 'liquidation', amount, feeRate: liquidationFee });
}

/** Closes everything at mark; the exchange keeps what is left of the margin. */
function closeWhole(world: ExchangeState, unit: MarginUnit): void {
  const { account, position: isolated } = unit;
  const before = marginSums(world, unit).equity;
  const fees = [...unitPositions(unit)].map((position) => {
    const { liquidationFee: feeRate } = position.market.spec;
    const fee = position.size.times(position.market.mark).times(feeRate);
    closeAtMark(world, position, { kind: 'liquidation', amount: position.size, feeRate });
    return fee;
  });
  const book = collateralBook(account);
  const money = world.config.referenceAsset;
  const left = fees.reduce((rest, fee) => rest.minus(fee), before);
  const kept: readonly (readonly [string, Decimal])[] =
    isolated === null
      ? [...world.ledger.balances(book)]
      : [[money, minDecimal(left, world.ledger.balance(book, money))]];
  const legs = kept.flatMap(([asset, amount]) =>
    amount.gt(ZERO) ? transfer(book, BOOKS.insurance, asset, amount) : [],
  );
  if (legs.length > 0)
    record(world, 'insurance', { accountId: account.id, reason: 'remaining margin' }, legs);
}

/** Repays a negative money balance by selling other collateral at mark. Returns whether it sold any. */
function repayBorrow(world: ExchangeState, account: Account): boolean {
  const money = world.config.referenceAsset;
  const book = collateralBook(account);
  let sold = false;
  for (const [asset, balance] of new Map(world.ledger.balances(book))) {
    const owed = ZERO.minus(world.ledger.balance(book, money));
    const market = pricingMarket(world, asset);
    if (owed.lte(ZERO)) break;
    if (market === undefined || balance.lte(ZERO)) continue;
    const rate = assetRate(world, asset);
    const kept = ONE.minus(market.spec.liquidationFee);
    const needed = divide(owed, rate.times(kept), MONEY_PLACES, 'up');
    const amount = minDecimal(balance, needed);
    const proceeds = amount.times(rate);
    const fee = proceeds.times(market.spec.liquidationFee);
    const { name } = market.spec;
    record(
      world,
      'borrow_repaid',
      { accountId: account.id, market: name, amount, price: rate, fee, reason: 'liquidation' },
      [
        ...transfer(book, BOOKS.counterparty, asset, amount),
        ...transfer(BOOKS.counterparty, book, money, proceeds),
        ...transfer(book, BOOKS.insurance, money, fee),
      ],
    );
    sold = true;
  }
  return sold;
}

/** Without positions a liquidation ends, and the insurance pays what is still owed. */
function settleWithoutPositions(world: ExchangeState, unit: MarginUnit): readonly Threshold[] {
  const { account } = unit;
  const money = world.config.referenceAsset;
  const book = collateralBook(account);
  const sums = marginSums(world, unit);
  const owes = world.ledger.balance(book, money).lt(ZERO);
  if (owes && (unit.state === 'liquidation' || sums.equity.lte(ZERO))) {
    repayBorrow(world, account);
    const owed = ZERO.minus(world.ledger.balance(book, money));
    if (owed.gt(ZERO)) {
      const fields = { accountId: account.id, amount: owed, reason: 'negative equity' };
      record(world, 'insurance', fields, transfer(BOOKS.insurance, book, money, owed));
    }
  }
  if (unit.state === 'liquidation')
    changeState(world, unit, { to: null, sums: marginSums(world, unit), reason: 'nothing left open' });
  if (unit.state === 'margin_call') changeState(world, unit, { to: null, sums });
  if (!world.ledger.balance(book, money).lt(ZERO)) return [];
  return [distances(world, unit, sums)(ZERO, 1)];
}

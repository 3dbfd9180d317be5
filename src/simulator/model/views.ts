import { type Decimal, decimal, divide, ZERO } from '../../core/quantities/decimal.ts';
import {
  costFigures,
  freeMargin,
  liquidationPrice,
  marginSums,
  marketSlopes,
  positionMargin,
  unrealizedFunding,
  unrealizedPnl,
  usedMargin,
} from './margin.ts';
import type { Account, ExchangeState, MarginUnit, Position } from './state.ts';
import type { WalletName } from './types.ts';

const HUNDRED = decimal('100');
const PERCENT_PLACES = 2;

function numbersOf(world: ExchangeState, unit: MarginUnit) {
  return { sums: marginSums(world, unit), slopes: marketSlopes(world, unit) };
}

/** The account's positions (specification 2.4); figures that they share are computed once. */
export function positionViews(world: ExchangeState, account: Account, market?: string) {
  const positions = [...account.positions.values()].filter(
    (position) => market === undefined || position.market.spec.name === market,
  );
  if (positions.length === 0) return [];
  const shared = numbersOf(world, account.unit);
  const free = freeMargin(world, account, shared.sums.equity);
  return positions.map((position) => {
    const numbers = position.unit === account.unit ? shared : numbersOf(world, position.unit);
    return positionView(world, position, numbers, free);
  });
}

/** Source of a specification 2.4 record. */
export type PositionSheet = ReturnType<typeof positionView>;

function positionView(
  world: ExchangeState,
  position: Position,
  { sums, slopes }: ReturnType<typeof numbersOf>,
  free: Decimal,
) {
  const { market, account, unit } = position;
  const margin = positionMargin(world, position);
  const profit = unrealizedPnl(position);
  return {
    positionId: position.positionId,
    accountId: account.id,
    market: market.spec.name,
    orderClass: market.orderClass,
    direction: position.direction,
    /** LONG or SHORT in hedge mode, else BOTH. */
    positionSide: position.positionSide,
    /** Unsigned. */
    amount: position.size,
    openMs: position.openMs,
    modifyMs: position.modifyMs,
    basePrice: costFigures(position).basePrice,
    markPrice: market.mark,
    liquidationPrice: liquidationPrice(position, sums, slopes),
    liquidationState: unit.state,
    /** Realized by partial closes. */
    pnl: position.pnl,
    /** Unrealized pnl in percent of the margin. */
    pnlPercent: margin.lte(ZERO) ? ZERO : divide(profit.times(HUNDRED), margin, PERCENT_PLACES, 'halfUp'),
    margin,
    freeMargin: free,
    funding: position.funding,
    unrealizedFunding: unrealizedFunding(world, position),
    unrealizedPnl: profit,
    tpsl: tpslView(position),
  };
}

function tpslView({ takeProfit, stopLoss }: Position) {
  if (takeProfit === null && stopLoss === null) return null;
  return {
    takeProfitId: takeProfit?.orderId ?? null,
    takeProfit: takeProfit?.activationPrice ?? null,
    stopLossId: stopLoss?.orderId ?? null,
    stopLoss: stopLoss?.activationPrice ?? null,
  };
}

export function walletView(world: ExchangeState, account: Account, wallet: WalletName) {
  return Object.fromEntries(world.ledger.balances(`${wallet}:${account.id}`));
}

export function accountView(world: ExchangeState, account: Account) {
  const { sums, state } = accountSums(world, account);
  return {
    accountId: account.id,
    hedgeMode: account.hedgeMode,
    leverage: account.leverage,
    collateral: walletView(world, account, 'collateral'),
    main: walletView(world, account, 'main'),
    spot: walletView(world, account, 'spot'),
    /** In the reference asset: collateral at mark and weight + unrealized pnl - unrealized funding. */
    equity: sums.equity,
    maintenanceMargin: sums.maintenance,
    usedMargin: usedMargin(world, account),
    freeMargin: freeMargin(world, account, sums.equity),
    liquidationState: state,
  };
}

/** Under isolated margin the equity is that of the pool plus the position margins; the state is the worst one. */
function accountSums(world: ExchangeState, account: Account) {
  const pool = marginSums(world, account.unit);
  if (world.readings.marginModel === 'cross') return { sums: pool, state: account.unit.state };
  const units = [...account.positions.values()].map((position) => position.unit);
  const margins = units.reduce(
    (sum, unit) => (unit.position === null ? sum : sum.plus(positionMargin(world, unit.position))),
    ZERO,
  );
  const states = units.map((unit) => unit.state);
  const state = states.find((each) => each === 'liquidation') ?? states.find((each) => each !== null) ?? null;
  return { sums: { ...pool, equity: pool.equity.plus(margins) }, state };
}

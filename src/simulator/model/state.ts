import { type Decimal, ONE, ZERO } from '../../core/quantities/decimal.ts';
import type { PriceSource } from '../prices/price-source.ts';
import type { SeededRandom } from '../scenarios/random.ts';
import type { Agenda } from './agenda.ts';
import type { Heap } from './heap.ts';
import type { EntryFields, Ledger, Leg } from './ledger.ts';
import type { LedgerEntry, LedgerKind } from './ledger-entry.ts';
import type { Readings } from './readings.ts';
import type {
  AssetSpec,
  IssuedDepositLink,
  LiquidationStage,
  MarketSpec,
  MarketStatus,
  ModelConfig,
  OrderView,
  PositionLeg,
  Side,
  TransferView,
} from './types.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** An order in the books; the view's fields plus how it is triggered. */
export interface Order extends Mutable<Omit<OrderView, 'accountId' | 'market'>> {
  readonly account: Account;
  readonly market: Market;
  /** Which way the price must go to activate a stop; null once active. */
  trigger: 'rise' | 'fall' | null;
  /** Can only reduce: reduce-only, or in hedge mode an order against the side that it names. */
  readonly closesOnly: boolean;
  /** Take profit or stop loss of a position: covers all of it, whatever its size when triggered. */
  readonly ofPosition: Position | null;
}

export interface Position {
  readonly positionId: number;
  readonly account: Account;
  readonly market: Market;
  key: string;
  readonly positionSide: PositionLeg;
  readonly direction: 'long' | 'short';
  size: Decimal;
  /** Total paid for what is still open; exact except for the rounding that a partial close carries over. */
  cost: Decimal;
  readonly openMs: number;
  modifyMs: number;
  pnl: Decimal;
  funding: Decimal;
  /** Unrealized funding from before `accrualFromMs`. */
  fundingCarried: Decimal;
  accrualFromMs: number;
  takeProfit: Order | null;
  stopLoss: Order | null;
  /** Own risk unit under isolated margin. */
  unit: MarginUnit;
  costFigures: CostFigures | null;
  /** Size when a liquidation began; its parts are fractions of this. */
  liquidationSize: Decimal | null;
}

/** What follows from what a position cost, and what it was computed of. */
export interface CostFigures {
  readonly size: Decimal;
  readonly cost: Decimal;
  readonly leverage: number;
  readonly spec: MarketSpec;
  readonly basePrice: Decimal;
  readonly initialMargin: Decimal;
}

/** Something whose safety depends on prices: watched by price bands instead of being recomputed at each tick. */
export interface RiskUnit {
  /** Rises with every check; older band edges are void. */
  generation: number;
  /** Earliest pending check by time. */
  deadlineMs: number;
  /** False once there is nothing left to judge. */
  isLive(): boolean;
  /** Judges exactly, acts, and says how far the next change of judgement is. */
  check(): readonly Threshold[];
}

/** The judgement stays as it is while `slack`, linear in the prices, stays positive. */
export interface Threshold {
  readonly slack: number;
  readonly slopes: ReadonlyMap<Market, number>;
  readonly drainPerMs: number;
}

/** What is liquidated together: an account (cross) or one position (isolated). */
export interface MarginUnit extends RiskUnit {
  readonly account: Account;
  readonly position: Position | null;
  state: LiquidationStage | null;
  nextStepMs: number;
}

export interface Loan extends RiskUnit {
  readonly loanId: number;
  readonly account: Account;
  readonly asset: string;
  readonly collateralAsset: string;
  amount: Decimal;
  fundingCarried: Decimal;
  accrualFromMs: number;
  readonly fundingPerDay: Decimal;
  readonly initialLtv: Decimal;
  readonly marginCallLtv: Decimal;
  readonly liquidationLtv: Decimal;
  readonly createdMs: number;
  state: LiquidationStage | null;
}

export interface Account {
  readonly id: string;
  hedgeMode: boolean;
  leverage: number;
  readonly positions: Map<string, Position>;
  readonly openOrders: Map<number, Order>;
  readonly usedClientOrderIds: Set<string>;
  readonly spotHistory: Order[];
  readonly loans: Map<number, Loan>;
  readonly transfers: Transfer[];
  readonly positionIds: Map<string, number>;
  /** Ids of positions that open orders are about to open; kept only where those are listed. */
  readonly openingIds: Map<string, number>;
  unit: MarginUnit;
}

export interface Transfer extends Mutable<Omit<TransferView, 'confirmations'>> {
  readonly requiredConfirmations: number;
  readonly settleMs: number;
}

export interface BandEdge {
  readonly price: number;
  readonly unit: RiskUnit;
  readonly generation: number;
}

export interface Market {
  spec: MarketSpec;
  status: MarketStatus;
  /** What the book lacks for now. */
  thinness: { readonly factor: Decimal; readonly spread: Decimal };
  /** Basis in force beside `basis`, as a fraction of the last price; between two moments it goes straight. */
  skew: { readonly from: Decimal; readonly to: Decimal; readonly startMs: number; readonly endMs: number };
  readonly orderClass: 'margin' | 'futures';
  last: Decimal;
  mark: Decimal;
  basis: Decimal;
  fundingRate: Decimal;
  bestBid: Decimal;
  bestAsk: Decimal;
  source: PriceSource | null;
  readonly followers: Market[];
  /** Depth taken by buys and by sells, by level price, in the current renewal period. */
  readonly taken: Record<Side, Map<string, Decimal>>;
  depthPeriod: number;
  renewalScheduled: boolean;
  readonly resting: Record<Side, Heap<Order>>;
  readonly stops: Record<'rise' | 'fall', Heap<Order>>;
  readonly positions: Set<Position>;
  readonly lowEdges: Heap<BandEdge>;
  readonly highEdges: Heap<BandEdge>;
}

/** Everything there is; the modules of the simulator are functions on it. */
export interface ExchangeState {
  readonly config: ModelConfig;
  readings: Readings;
  nowMs: number;
  readonly ledger: Ledger;
  readonly agenda: Agenda;
  readonly random: SeededRandom;
  readonly markets: Map<string, Market>;
  readonly assets: Map<string, AssetSpec>;
  readonly accounts: Map<string, Account>;
  readonly orders: Map<number, Order>;
  readonly fiatDeposits: Map<string, IssuedDepositLink>;
  /** Markets to match and units to judge before the current call ends. */
  readonly dirtyMarkets: Set<Market>;
  readonly dirtyUnits: Set<RiskUnit>;
  /** Makes the unit that judges an account (null) or an isolated position; set by the composition. */
  makeUnit: (account: Account, position: Position | null) => MarginUnit;
  /** For the microseconds of orders, apart from all other chance. */
  readonly micros: SeededRandom;
  /** When the newest order was created or finished: no two have the same microsecond, in their order. */
  lastOrderMs: number;
  nextOrderId: number;
  nextPositionId: number;
  nextOtoId: number;
  nextLoanId: number;
}

/** Digits after the point of what comes from a division: average prices, margins, accrued funding. */
export const MONEY_PLACES = 8;
const MINUS_ONE: Decimal = ZERO.minus(ONE);

export function sign(direction: 'long' | 'short'): Decimal {
  return direction === 'long' ? ONE : MINUS_ONE;
}

export function record(
  world: ExchangeState,
  kind: LedgerKind,
  fields: EntryFields,
  legs: readonly Leg[] = [],
): LedgerEntry {
  return world.ledger.append(world.nowMs, kind, fields, legs);
}

export function collateralBook(account: Account): string {
  return `collateral:${account.id}`;
}

export function positionBook(position: Position): string {
  return `position:${position.positionId}`;
}

/** Where a position's margin lies under isolated margin, and its profits and losses go. */
export function marginBook(position: Position): string {
  return `margin:${position.positionId}`;
}

export function marginOf(world: ExchangeState, position: Position): Decimal {
  return world.ledger.balance(marginBook(position), position.market.spec.quote);
}

export function isOpen(order: Order): boolean {
  return order.status === 'NEW' || order.status === 'PARTIALLY_FILLED';
}

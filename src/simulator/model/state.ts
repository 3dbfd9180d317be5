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

/** An order in the books: the fields of its view, and how it is triggered. */
export interface Order extends Mutable<Omit<OrderView, 'accountId' | 'market'>> {
  readonly account: Account;
  readonly market: Market;
  /** Direction of the price that activates a stop; null once active. */
  trigger: 'rise' | 'fall' | null;
  /** Can only reduce: reduce-only, or in hedge mode an order against its position side. */
  readonly closesOnly: boolean;
  /** The position of a take profit or stop loss, which covers its whole size when triggered. */
  readonly ofPosition: Position | null;
}

export interface Position {
  readonly positionId: number;
  readonly account: Account;
  readonly market: Market;
  readonly positionSide: PositionLeg;
  readonly direction: 'long' | 'short';
  size: Decimal;
  /** Total paid for the open size; exact except for the rounding of partial closes. */
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

/** Figures derived from a position's cost, with the inputs they were computed from. */
export interface CostFigures {
  readonly size: Decimal;
  readonly cost: Decimal;
  readonly leverage: number;
  readonly spec: MarketSpec;
  readonly basePrice: Decimal;
  readonly initialMargin: Decimal;
}

/** Something at risk from prices. It is watched by price bands instead of being recomputed at each tick. */
export interface RiskUnit {
  /** Rises with every check; edges of an older generation are void. */
  generation: number;
  /** Time of the earliest pending check. */
  deadlineMs: number;
  /** False once there is nothing left to judge. */
  isLive(): boolean;
  /** Judges exactly, acts, and returns the distances to the next change of judgement. */
  check(): readonly Threshold[];
}

/** The judgement holds while `slack`, linear in the prices, stays positive. */
export interface Threshold {
  readonly slack: number;
  readonly slopes: ReadonlyMap<Market, number>;
  readonly drainPerMs: number;
}

/** A unit that is liquidated together: an account (cross) or one position (isolated). */
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
  /** Orders that ended: spot orders, and under one reading all. */
  readonly history: Order[];
  readonly loans: Map<number, Loan>;
  readonly transfers: Transfer[];
  readonly positionIds: Map<string, number>;
  /** Ids of positions that open orders are about to open; empty unless the readings list them. */
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
  /** End of the longest halt in force, `Infinity` if it has none; 0 while the market is not halted. */
  haltEndMs: number;
  /** Current reduction of the book: factor on the amounts, least spread as a fraction of the price. */
  thinness: { readonly factor: Decimal; readonly spread: Decimal };
  /** Additional basis as a fraction of the last price; changes linearly from `startMs` to `endMs`. */
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

/** The whole state of the exchange; the modules of the model are functions on it. */
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
  /** Creates the risk unit of an account (`position` null) or of an isolated position. */
  makeUnit: (account: Account, position: Position | null) => MarginUnit;
  /** For the microseconds of orders, separate from all other random numbers. */
  readonly micros: SeededRandom;
  /** When an order was last created or finished. Rises by a microsecond or more each time, within 1 ms up to 999. */
  lastOrderMs: number;
  nextOrderId: number;
  nextPositionId: number;
  nextOtoId: number;
  nextLoanId: number;
}

/** Decimal places of quotients: average prices, margins, accrued funding. */
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

/** Book of a position's margin, profits and losses under isolated margin. */
export function marginBook(position: Position): string {
  return `margin:${position.positionId}`;
}

export function marginOf(world: ExchangeState, position: Position): Decimal {
  return world.ledger.balance(marginBook(position), position.market.spec.quote);
}

export function isOpen(order: Order): boolean {
  return order.status === 'NEW' || order.status === 'PARTIALLY_FILLED';
}

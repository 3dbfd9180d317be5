import { type Decimal, formatDecimal, ZERO } from '../../core/quantities/decimal.ts';
import type { PriceSource } from '../prices/price-source.ts';
import { createRandom } from '../scenarios/random.ts';
import { Agenda } from './agenda.ts';
import { setCondition } from './conditions.ts';
import { addCollateral, creditLineView, grantLoan, repay } from './credit.ts';
import { changeFundingRate, scheduleFunding } from './funding.ts';
import { BOOKS, type EntryFields, Ledger, transfer } from './ledger.ts';
import type { LedgerFilter } from './ledger-entry.ts';
import { createMarginUnit } from './liquidation.ts';
import { createMarket, marketView, movePrice, NO_SKEW } from './market.ts';
import type { ConditionWindow, MarketCondition } from './market-condition.ts';
import { openingViews, reserveIds } from './opening.ts';
import { cancel, orderView } from './order-book.ts';
import { placeCollateral, placeSpot } from './placement.ts';
import { applyFill } from './positions.ts';
import type { Readings } from './readings.ts';
import { CODES, invalid, reject, worded } from './rejection.ts';
import { advance, followSource, settle } from './settle.ts';
import {
  type Account,
  type ExchangeState,
  type Loan,
  type MarginUnit,
  type Market,
  record,
} from './state.ts';
import type {
  DepositLinkRequest,
  ModelConfig,
  OrderClass,
  OrderOutcome,
  OrderView,
  Outcome,
  SeedAccount,
  SeedPosition,
} from './types.ts';
import { accountView, positionViews, walletView } from './views.ts';
import {
  makeDeposit,
  makeFiatDeposit,
  makeWithdrawal,
  moveBetweenWallets,
  payFiat,
  transferView,
} from './wallet.ts';

const MICROS_SEED = 0x0d_e7;
const FIRST_ORDER_ID = 1_000_001;
/** Placeholder until the account exists: account and unit refer to each other. */
const NO_UNIT = {} as MarginUnit;

/**
 * The exchange behind its API: synchronous, deterministic, in virtual time. A mutating call takes effect at `nowMs()`.
 * Customer errors are returned as a `Rejection`; unknown account ids throw.
 */
export type ExchangeModel = ReturnType<typeof createExchangeModel>;

/** @throws RangeError that names the inconsistent part of the configuration */
export function createExchangeModel(config: ModelConfig) {
  const world = createWorld(config);
  return {
    ...clockPart(world),
    ...marketPart(world),
    ...accountPart(world),
    ...orderPart(world),
    ...moneyPart(world),
  };
}

function createWorld(config: ModelConfig): ExchangeState {
  const world: ExchangeState = {
    config,
    readings: config.readings,
    nowMs: config.startMs,
    ledger: new Ledger(config.ledgerCapacity),
    agenda: new Agenda(),
    random: createRandom(config.seed),
    micros: createRandom(config.seed ^ MICROS_SEED),
    markets: new Map(config.markets.map((spec) => [spec.name, createMarket(spec)])),
    assets: new Map(config.assets.map((asset) => [asset.ticker, asset])),
    accounts: new Map(),
    orders: new Map(),
    fiatDeposits: new Map(),
    dirtyMarkets: new Set(),
    dirtyUnits: new Set(),
    makeUnit: (account, position) => createMarginUnit(world, account, position),
    lastOrderMs: 0,
    nextOrderId: FIRST_ORDER_ID,
    nextPositionId: 1,
    nextOtoId: 1,
    nextLoanId: 1,
  };
  for (const market of world.markets.values()) {
    checkMarket(world, market);
    scheduleFunding(world, market);
  }
  return world;
}

function checkMarket(world: ExchangeState, market: Market): void {
  const { name, base, quote, follows, price, priceStep, depth } = market.spec;
  for (const asset of [base, quote]) {
    if (!world.assets.has(asset)) throw new RangeError(`market ${name}: asset ${asset} is not configured`);
  }
  if (price.lte(ZERO)) throw new RangeError(`market ${name}: price must be positive`);
  if (!depth.levelStep.mod(priceStep).eq(ZERO))
    throw new RangeError(`market ${name}: depth.levelStep must be a multiple of priceStep`);
  if (follows === undefined) return;
  const leader = world.markets.get(follows);
  if (leader === undefined || leader === market || leader.spec.follows !== undefined)
    throw new RangeError(`market ${name}: follows ${follows}, which is not a market that leads`);
  leader.followers.push(market);
}

function accountOf({ accounts }: ExchangeState, id: string): Account {
  return accounts.get(id) ?? unknown('account', id);
}

function marketOf({ markets }: ExchangeState, name: string): Market {
  return markets.get(name) ?? unknown('market', name);
}

function unknown(what: string, name: string): never {
  throw new RangeError(`unknown ${what} ${JSON.stringify(name)}`);
}

function settled<T>(world: ExchangeState, change: () => T): T {
  const result = change();
  settle(world);
  return result;
}

/** Wraps a request of an account: looks the account up by id, acts and settles. */
function asker(world: ExchangeState) {
  return <Request, T>(act: (world: ExchangeState, account: Account, request: Request) => T) =>
    (id: string, request: Request): T =>
      settled(world, () => act(world, accountOf(world, id), request));
}

function clockPart(world: ExchangeState) {
  return {
    nowMs: () => world.nowMs,
    /** Plays prices, triggers, fills, funding and liquidations up to `toMs`; a time in the past is ignored. */
    advanceTo: (toMs: number) => advance(world, toMs),
    readings: () => world.readings,
    /** Applies from now on; `marginModel` cannot change while positions are open. */
    setReadings: (readings: Readings): Outcome<{ readonly readings: Readings }> => {
      const open = [...world.accounts.values()].some((account) => account.positions.size > 0);
      if (open && readings.marginModel !== world.readings.marginModel)
        return invalid('marginModel', 'The margin model cannot change while positions are open');
      world.readings = readings;
      for (const account of world.accounts.values()) reserveIds(world, account);
      for (const market of world.markets.values()) world.dirtyMarkets.add(market);
      return settled(world, () => ({ ok: true, readings }));
    },
    ledger: (filter?: LedgerFilter) => world.ledger.entries(filter),
    ledgerTotals: () => world.ledger.totals,
    /** Records a request in the same sequence as its effects. */
    recordRequest: (accountId: string | null, details: EntryFields['details'] = {}) =>
      record(world, 'request', { accountId, details }),
  };
}

function marketPart(world: ExchangeState) {
  return {
    markets: () => [...world.markets.values()].map(marketView),
    market: (name: string) => {
      const market = world.markets.get(name);
      return market && marketView(market);
    },
    /** Sets prices at once, as a gap; a walk goes on from them. `last` and `mark` override `price`. */
    setPrice: (
      name: string,
      price: Decimal,
      options: { readonly mark?: Decimal; readonly last?: Decimal } = {},
    ): void => {
      const market = marketOf(world, name);
      if (price.lte(ZERO)) throw new RangeError(`price must be positive, got ${formatDecimal(price)}`);
      settled(world, () => {
        const last = options.last ?? price;
        // A given mark keeps its distance from the last price, as a basis.
        if (options.mark !== undefined) {
          market.basis = options.mark.minus(last);
          market.skew = NO_SKEW;
        }
        movePrice(world, market, last);
        const details = { mark: market.mark };
        record(world, 'price_set', { accountId: null, market: name, price: last, details });
      });
    },
    setFundingRate: (name: string, rate: Decimal) =>
      settled(world, () => changeFundingRate(world, marketOf(world, name), rate)),
    /** Sets a condition of a market, such as depth or basis; a refusal names what is wrong with it. */
    setCondition: (condition: MarketCondition, window: ConditionWindow = {}) =>
      settled(world, () => setCondition(world, condition, window)),
    setPriceSource: (name: string, source: PriceSource | null): void => {
      const market = marketOf(world, name);
      market.source = source;
      followSource(world, market);
    },
    assets: () => [...world.assets.values()],
  };
}

/** @throws RangeError for impossible values; no account is created then */
function createAccount(world: ExchangeState, seed: SeedAccount): void {
  if (world.accounts.has(seed.id)) throw new RangeError(`account ${seed.id} exists already`);
  if (!Number.isInteger(seed.leverage) || seed.leverage < 1)
    throw new RangeError(`account ${seed.id}: leverage must be a whole number from 1`);
  const { hedgeMode, leverage } = seed;
  const legs = (['collateral', 'main', 'spot'] as const).flatMap((wallet) =>
    Object.entries(seed[wallet] ?? {}).flatMap(([asset, amount]) => {
      if (!world.assets.has(asset)) throw new RangeError(`account ${seed.id}: unknown asset ${asset}`);
      return transfer(BOOKS.outside, `${wallet}:${seed.id}`, asset, amount);
    }),
  );
  for (const { market } of seed.positions ?? []) {
    if (marketOf(world, market).spec.quote !== world.config.referenceAsset)
      throw new RangeError(`account ${seed.id}: no collateral trading in ${market}`);
  }
  const account: Account = {
    id: seed.id,
    hedgeMode,
    leverage,
    positions: new Map(),
    openOrders: new Map(),
    usedClientOrderIds: new Set(),
    history: [],
    loans: new Map(),
    transfers: [],
    positionIds: new Map(),
    openingIds: new Map(),
    unit: NO_UNIT,
  };
  account.unit = world.makeUnit(account, null);
  world.accounts.set(seed.id, account);
  record(world, 'account_created', { accountId: seed.id, details: { hedgeMode, leverage } }, legs);
  for (const position of seed.positions ?? []) seedPosition(world, account, position);
}

function seedPosition(world: ExchangeState, account: Account, position: SeedPosition): void {
  const market = marketOf(world, position.market);
  const isLong = position.direction === 'long';
  applyFill(world, {
    account,
    market,
    side: isLong ? 'buy' : 'sell',
    positionSide: account.hedgeMode ? (isLong ? 'LONG' : 'SHORT') : 'BOTH',
    amount: position.amount,
    price: position.basePrice ?? market.last,
    feeRate: ZERO,
    kind: 'position_seeded',
    order: null,
    role: 'engine',
  });
}

function accountPart(world: ExchangeState) {
  return {
    createAccount: (seed: SeedAccount) => settled(world, () => createAccount(world, seed)),
    accountIds: () => [...world.accounts.keys()],
    account: (id: string) => accountView(world, accountOf(world, id)),
    setLeverage: (id: string, leverage: number): void => {
      if (!Number.isInteger(leverage) || leverage < 1)
        throw new RangeError(`leverage must be a whole number from 1, got ${leverage}`);
      settled(world, () => {
        const account = accountOf(world, id);
        account.leverage = leverage;
        world.dirtyUnits.add(account.unit);
      });
    },
    /** Specification 4.7; 113 while collateral positions or orders are open. */
    setHedgeMode: (id: string, hedgeMode: boolean) => changeHedgeMode(world, accountOf(world, id), hedgeMode),
    openPositions: (id: string, market?: string) => positionViews(world, accountOf(world, id), market),
    /** Empty unless the reading `openingPositions` lists such positions. */
    openingPositions: (id: string, market?: string) => openingViews(world, accountOf(world, id), market),
  };
}

function orderPart(world: ExchangeState) {
  const asked = asker(world);
  return {
    /** Specification 4.4; a reduce-only amount may come back trimmed. */
    placeCollateralOrder: asked(placeCollateral),
    placeSpotOrder: asked(placeSpot),
    /** Specification 4.6; without types, all. Returns the cancelled orders. */
    cancelAll: asked(cancelAllOrders),
    cancelOrder: asked(cancelOne),
    openOrders: (id: string, market?: string) =>
      [...accountOf(world, id).openOrders.values()]
        .filter((order) => market === undefined || order.market.spec.name === market)
        .map(orderView),
    order: (id: string, orderId: number) => {
      const order = world.orders.get(orderId);
      return order?.account === accountOf(world, id) ? orderView(order) : undefined;
    },
    /** Finished orders, newest first (specification 2.1, 4.5). */
    orderHistory: (id: string, market?: string) =>
      accountOf(world, id)
        .history.filter((order) => market === undefined || order.market.spec.name === market)
        .map(orderView)
        .reverse(),
  };
}

function moneyPart(world: ExchangeState) {
  const withLoan = <T>(id: string, loanId: number, use: (loan: Loan) => Outcome<T>): Outcome<T> => {
    const loan = accountOf(world, id).loans.get(loanId);
    return loan === undefined
      ? invalid('loanId', 'No active loan at the moment')
      : settled(world, () => use(loan));
  };
  const asked = asker(world);
  return {
    creditLines: (id: string) =>
      [...accountOf(world, id).loans.values()].map((loan) => creditLineView(world, loan)),
    openLoan: asked(grantLoan),
    /** Repays from the main balance; a full repayment closes the loan and returns the collateral. */
    repayLoan: (id: string, loanId: number, amount: Decimal) =>
      withLoan(id, loanId, (loan) => repay(world, loan, amount)),
    addLoanCollateral: (id: string, loanId: number, amount: Decimal) =>
      withLoan(id, loanId, (loan) => addCollateral(world, loan, amount)),
    /** Non-zero main balances by ticker (specification 2.6). */
    mainBalance: (id: string) => walletView(world, accountOf(world, id), 'main'),
    /** Newest first (specification 2.3). */
    transfers: (id: string) =>
      accountOf(world, id)
        .transfers.map((item) => transferView(world, item))
        .reverse(),
    deposit: asked(makeDeposit),
    withdraw: asked(makeWithdrawal),
    moveFunds: asked(moveBetweenWallets),
    /** Specification 4.1, the checks that need state: ticker, provider, least amount, unique id. */
    createFiatDeposit: (id: string, request: DepositLinkRequest) =>
      makeFiatDeposit(world, accountOf(world, id), request),
    fiatDeposit: (token: string) => world.fiatDeposits.get(token),
    /** The customer pays at the provider: the deposit arrives. Paying twice is refused. */
    payFiatDeposit: (token: string) => settled(world, () => payFiat(world, token)),
  };
}

/** Specification 4.6. The reading `cancelCoversStops` decides about stops that are not yet activated. */
function cancelAllOrders(
  world: ExchangeState,
  account: Account,
  {
    market,
    types,
  }: { readonly market?: string | undefined; readonly types?: readonly OrderClass[] | undefined },
): Outcome<{ readonly cancelled: readonly OrderView[] }> {
  if (market !== undefined && (world.markets.get(market)?.status ?? 'delisted') === 'delisted')
    return worded(world.readings, reject(CODES.market, 'market', 'Market is not available'));
  const covered = [...account.openOrders.values()].filter(
    (order) =>
      (market === undefined || order.market.spec.name === market) &&
      (types === undefined || types.includes(order.orderClass)) &&
      (order.active || world.readings.cancelCoversStops === 'yes'),
  );
  if (covered.length === 0 && world.readings.cancelWithoutOrders === 'refused')
    return reject(CODES.nothingToCancel, 'orderId', 'Unexecuted order was not found.');
  for (const order of covered) cancel(world, order, 'cancelled by the customer');
  return { ok: true, cancelled: covered.map(orderView) };
}

function cancelOne(world: ExchangeState, account: Account, orderId: number): OrderOutcome {
  const order = account.openOrders.get(orderId);
  if (order === undefined) return reject(CODES.validation, 'orderId', 'Order was not found');
  cancel(world, order, 'cancelled by the customer');
  return { ok: true, order: orderView(order) };
}

function changeHedgeMode(
  world: ExchangeState,
  account: Account,
  hedgeMode: boolean,
): Outcome<{ readonly hedgeMode: boolean }> {
  const collateralOrders = [...account.openOrders.values()].some((order) => order.orderClass !== 'spot');
  if (hedgeMode !== account.hedgeMode && (collateralOrders || account.positions.size > 0))
    return reject(CODES.sideLocked, 'hedgeMode', 'Hedge mode cannot change with open positions or orders');
  account.hedgeMode = hedgeMode;
  record(world, 'hedge_mode', { accountId: account.id, details: { hedgeMode } });
  return { ok: true, hedgeMode };
}

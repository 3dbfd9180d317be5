import { type Decimal, formatDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { createRandom } from '../scenarios/random.ts';
import { Agenda } from './agenda.ts';
import { cancelAllOrders, cancelOne, changeHedgeMode } from './cancellation.ts';
import { setCondition } from './conditions.ts';
import { addCollateral, creditLineView, grantLoan, repay } from './credit.ts';
import type { ExchangeModel } from './exchange-model.ts';
import { changeFundingRate, scheduleFunding } from './funding.ts';
import { BOOKS, Ledger, type Leg, transfer } from './ledger.ts';
import { createMarginUnit } from './liquidation.ts';
import { createMarket, marketView, movePrice, NO_SKEW } from './market.ts';
import { openingViews, reserveIds } from './opening.ts';
import { orderView } from './order-book.ts';
import { placeCollateralLimit, placeSpot, placeStopLimit } from './placement.ts';
import { applyFill } from './positions.ts';
import { CODES, reject } from './rejection.ts';
import { advance, followSource, settle } from './settle.ts';
import {
  type Account,
  type ExchangeState,
  type Loan,
  type MarginUnit,
  type Market,
  record,
  touchAccount,
} from './state.ts';
import type { ModelConfig, Outcome, SeedAccount, SeedPosition, WalletName } from './types.ts';
import { accountView, positionViews, walletView } from './views.ts';
import {
  makeDeposit,
  makeFiatDeposit,
  makeWithdrawal,
  moveBetweenWallets,
  payFiat,
  transferView,
} from './wallet.ts';

/** Keeps the microseconds of orders apart from all other chance. */
const MICROS_SEED = 0x0d_e7;
const FIRST_ORDER_ID = 1_000_001;
/** Stands in until the account, which its unit refers to, exists. */
const NO_UNIT = {} as MarginUnit;

/** Throws a RangeError that names what in the configuration cannot work together. */
export function createExchangeModel(config: ModelConfig): ExchangeModel {
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
    loans: new Map(),
    fiatDeposits: new Map(),
    fiatUniqueIds: new Set(),
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

function accountOf(world: ExchangeState, accountId: string): Account {
  const account = world.accounts.get(accountId);
  if (account === undefined) throw new RangeError(`unknown account ${JSON.stringify(accountId)}`);
  return account;
}

function marketOf(world: ExchangeState, name: string): Market {
  const market = world.markets.get(name);
  if (market === undefined) throw new RangeError(`unknown market ${JSON.stringify(name)}`);
  return market;
}

/** Runs a change and everything that follows from it. */
function settled<T>(world: ExchangeState, change: () => T): T {
  const result = change();
  settle(world);
  return result;
}

function clockPart(
  world: ExchangeState,
): Pick<
  ExchangeModel,
  'nowMs' | 'advanceTo' | 'readings' | 'setReadings' | 'ledger' | 'ledgerTotals' | 'recordRequest'
> {
  return {
    nowMs: () => world.nowMs,
    advanceTo: (toMs) => advance(world, toMs),
    readings: () => world.readings,
    setReadings: (readings) => {
      const open = [...world.accounts.values()].some((account) => account.positions.size > 0);
      if (open && readings.marginModel !== world.readings.marginModel)
        return reject(
          CODES.invalid,
          'marginModel',
          'The margin model cannot change while positions are open',
        );
      world.readings = readings;
      for (const account of world.accounts.values()) reserveIds(world, account);
      for (const market of world.markets.values()) world.dirtyMarkets.add(market);
      return settled(world, () => ({ ok: true, readings }));
    },
    ledger: (filter) => world.ledger.entries(filter),
    ledgerTotals: () => world.ledger.totals,
    recordRequest: (accountId, details) => record(world, 'request', { accountId, details }),
  };
}

function marketPart(
  world: ExchangeState,
): Pick<
  ExchangeModel,
  'markets' | 'market' | 'setPrice' | 'setFundingRate' | 'setPriceSource' | 'setCondition'
> {
  return {
    markets: () => [...world.markets.values()].map(marketView),
    market: (name) => {
      const market = world.markets.get(name);
      return market === undefined ? undefined : marketView(market);
    },
    setPrice: (name, price, options = {}) => {
      const market = marketOf(world, name);
      if (price.lte(ZERO)) throw new RangeError(`price must be positive, got ${formatDecimal(price)}`);
      settled(world, () => {
        const last = options.last ?? price;
        // A given mark stays apart from the last price from now on, as a basis.
        if (options.mark !== undefined) {
          market.basis = options.mark.minus(last);
          market.skew = NO_SKEW;
        }
        movePrice(world, market, last);
        record(world, 'price_set', {
          accountId: null,
          market: name,
          price: formatDecimal(last),
          details: { mark: formatDecimal(market.mark) },
        });
      });
    },
    setFundingRate: (name, rate) => {
      settled(world, () => changeFundingRate(world, marketOf(world, name), rate));
    },
    setCondition: (condition, window = {}) => settled(world, () => setCondition(world, condition, window)),
    setPriceSource: (name, source) => {
      const market = marketOf(world, name);
      market.source = source;
      followSource(world, market);
    },
  };
}

/** @throws RangeError for what cannot be; there is no account then. */
function createAccount(world: ExchangeState, seed: SeedAccount): void {
  if (world.accounts.has(seed.id)) throw new RangeError(`account ${seed.id} exists already`);
  if (!Number.isInteger(seed.leverage) || seed.leverage < 1)
    throw new RangeError(`account ${seed.id}: leverage must be a whole number from 1`);
  const wallets: readonly WalletName[] = ['collateral', 'main', 'spot'];
  const legs = wallets.flatMap((wallet) => seedLegs(world, seed, wallet));
  for (const { market } of seed.positions ?? []) checkCollateralMarket(world, seed.id, market);
  const account: Account = {
    id: seed.id,
    hedgeMode: seed.hedgeMode,
    leverage: seed.leverage,
    positions: new Map(),
    openOrders: new Map(),
    usedClientOrderIds: new Set(),
    spotHistory: [],
    loans: new Map(),
    transfers: [],
    positionIds: new Map(),
    openingIds: new Map(),
    unit: NO_UNIT,
  };
  account.unit = world.makeUnit(account, null);
  world.accounts.set(seed.id, account);
  const details = { hedgeMode: seed.hedgeMode, leverage: seed.leverage };
  record(world, 'account_created', { accountId: seed.id, details }, legs);
  for (const position of seed.positions ?? []) seedPosition(world, account, position);
}

function seedLegs(world: ExchangeState, seed: SeedAccount, wallet: WalletName): readonly Leg[] {
  return Object.entries(seed[wallet] ?? {}).flatMap(([asset, amount]) => {
    if (!world.assets.has(asset)) throw new RangeError(`account ${seed.id}: unknown asset ${asset}`);
    return transfer(BOOKS.outside, `${wallet}:${seed.id}`, asset, amount);
  });
}

function checkCollateralMarket(world: ExchangeState, accountId: string, market: string): void {
  if (marketOf(world, market).spec.quote !== world.config.referenceAsset)
    throw new RangeError(`account ${accountId}: no collateral trading in ${market}`);
}

function seedPosition(world: ExchangeState, account: Account, position: SeedPosition): void {
  const market = marketOf(world, position.market);
  const positionSide = account.hedgeMode ? (position.direction === 'long' ? 'LONG' : 'SHORT') : 'BOTH';
  applyFill(world, {
    account,
    market,
    side: position.direction === 'long' ? 'buy' : 'sell',
    positionSide,
    amount: position.amount,
    price: position.basePrice ?? market.last,
    feeRate: ZERO,
    kind: 'position_seeded',
    order: null,
    role: 'engine',
  });
}

function accountPart(
  world: ExchangeState,
): Pick<
  ExchangeModel,
  | 'createAccount'
  | 'accountIds'
  | 'account'
  | 'setLeverage'
  | 'setHedgeMode'
  | 'openPositions'
  | 'openingPositions'
> {
  return {
    createAccount: (seed) => settled(world, () => createAccount(world, seed)),
    accountIds: () => [...world.accounts.keys()],
    account: (id) => accountView(world, accountOf(world, id)),
    setLeverage: (id, leverage) => {
      if (!Number.isInteger(leverage) || leverage < 1)
        throw new RangeError(`leverage must be a whole number from 1, got ${leverage}`);
      const account = accountOf(world, id);
      account.leverage = leverage;
      settled(world, () => touchAccount(world, account));
    },
    setHedgeMode: (id, hedgeMode) => changeHedgeMode(world, accountOf(world, id), hedgeMode),
    openPositions: (id, market) => positionViews(world, accountOf(world, id), market),
    openingPositions: (id, market) => openingViews(world, accountOf(world, id), market),
  };
}

function orderPart(
  world: ExchangeState,
): Pick<
  ExchangeModel,
  | 'placeCollateralStopLimit'
  | 'placeCollateralLimit'
  | 'placeSpotOrder'
  | 'cancelAll'
  | 'cancelOrder'
  | 'openOrders'
  | 'order'
  | 'spotOrderHistory'
> {
  return {
    placeCollateralStopLimit: (id, request) =>
      settled(world, () => placeStopLimit(world, accountOf(world, id), request)),
    placeCollateralLimit: (id, request) =>
      settled(world, () => placeCollateralLimit(world, accountOf(world, id), request)),
    placeSpotOrder: (id, request) => settled(world, () => placeSpot(world, accountOf(world, id), request)),
    cancelAll: (id, filter) => settled(world, () => cancelAllOrders(world, accountOf(world, id), filter)),
    cancelOrder: (id, orderId) => settled(world, () => cancelOne(world, accountOf(world, id), orderId)),
    openOrders: (id, market) =>
      [...accountOf(world, id).openOrders.values()]
        .filter((order) => market === undefined || order.market.spec.name === market)
        .map(orderView),
    order: (id, orderId) => {
      const order = world.orders.get(orderId);
      return order?.accountId === accountOf(world, id).id ? orderView(order) : undefined;
    },
    spotOrderHistory: (id, market) =>
      accountOf(world, id)
        .spotHistory.filter((order) => market === undefined || order.market.spec.name === market)
        .map(orderView)
        .reverse(),
  };
}

function withLoan<T>(
  world: ExchangeState,
  accountId: string,
  loanId: number,
  use: (loan: Loan) => Outcome<T>,
): Outcome<T> {
  const loan = accountOf(world, accountId).loans.get(loanId);
  return loan === undefined
    ? reject(CODES.invalid, 'loanId', 'No active loan at the moment')
    : settled(world, () => use(loan));
}

function moneyPart(
  world: ExchangeState,
): Pick<
  ExchangeModel,
  | 'creditLines'
  | 'openLoan'
  | 'repayLoan'
  | 'addLoanCollateral'
  | 'mainBalance'
  | 'transfers'
  | 'deposit'
  | 'withdraw'
  | 'moveFunds'
  | 'assets'
  | 'createFiatDeposit'
  | 'fiatDeposit'
  | 'payFiatDeposit'
> {
  return {
    creditLines: (id) => [...accountOf(world, id).loans.values()].map((loan) => creditLineView(world, loan)),
    openLoan: (id, loan) => settled(world, () => grantLoan(world, accountOf(world, id), loan)),
    repayLoan: (id, loanId, amount: Decimal) =>
      withLoan(world, id, loanId, (loan) => repay(world, loan, amount)),
    addLoanCollateral: (id, loanId, amount) =>
      withLoan(world, id, loanId, (loan) => addCollateral(world, loan, amount)),
    mainBalance: (id) => walletView(world, accountOf(world, id), 'main'),
    transfers: (id) =>
      accountOf(world, id)
        .transfers.map((item) => transferView(world, item))
        .reverse(),
    deposit: (id, request) => settled(world, () => makeDeposit(world, accountOf(world, id), request)),
    withdraw: (id, request) => settled(world, () => makeWithdrawal(world, accountOf(world, id), request)),
    moveFunds: (id, move) => settled(world, () => moveBetweenWallets(world, accountOf(world, id), move)),
    assets: () =>
      [...world.assets.values()].map((asset) => {
        const { ticker, name, canDeposit, canWithdraw, providers, networks } = asset;
        const { confirmationsRequired, minDeposit } = asset;
        return {
          ticker,
          name,
          canDeposit,
          canWithdraw,
          providers,
          networks,
          confirmationsRequired,
          minDeposit,
        };
      }),
    createFiatDeposit: (id, request) => makeFiatDeposit(world, accountOf(world, id), request),
    fiatDeposit: (token) => world.fiatDeposits.get(token),
    payFiatDeposit: (token) => settled(world, () => payFiat(world, token)),
  };
}

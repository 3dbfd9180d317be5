import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { type Decimal, parseDecimal, ZERO } from '../core/quantities/decimal.ts';
import type { AccountAccess } from './accounts.ts';
import { type ConditionInput, setCondition } from './control/condition-routes.ts';
import { readFault } from './control/fault-routes.ts';
import { accepted } from './control/route.ts';
import { controlServer } from './control/server.ts';
import { openDefaultAccounts } from './default-accounts.ts';
import { defaultConfig } from './defaults.ts';
import { ExchangeClock } from './exchange-clock.ts';
import { parseConditionText, parseFaultText } from './http/fault-text.ts';
import type { FaultSpec } from './http/faults.ts';
import type { RegionState } from './http/front.ts';
import { ENFORCED_RATE_LIMITS, type EnforcedLimit } from './http/rate-limit.ts';
import type { RequestFilter } from './http/request-log.ts';
import { ExchangeServer } from './http/server.ts';
import { createExchangeModel } from './model/exchange-model.ts';
import type { LedgerFilter } from './model/ledger-entry.ts';
import { atPrice } from './model/market.ts';
import { changeReadings, DEFAULT_READINGS, type Readings } from './model/readings.ts';
import type { MarketSpec, ModelConfig, SeedAccount } from './model/types.ts';
import { firstPrice } from './prices/price-file.ts';
import {
  type CandlesPlay,
  playCandles,
  playScenario,
  playWalk,
  readPrices,
  type ScenarioPlay,
  type WalkPlay,
} from './scenarios/play.ts';
import { SimulatedExchange, SimulatorError, type SimulatorTime } from './simulated-exchange.ts';

export interface SimulatorOptions {
  /** Determines keys, prices, faults and deposit link tokens; 1 if absent. */
  readonly seed?: number;
  /** Number of default accounts, or the accounts themselves; 3 if absent. */
  readonly accounts?: number | readonly SeedAccount[];
  /** Ports of the two base addresses and of the control API; 0 (default) takes a free one. */
  readonly port?: number;
  readonly euPort?: number;
  readonly controlPort?: number;
  /** Address to listen on, such as 0.0.0.0 in a container; 127.0.0.1 if absent. */
  readonly host?: string;
  /** Exchange time per real time; 1 if absent; 0 stands still until stepped. */
  readonly speed?: number;
  /** Exchange time at the start, Unix milliseconds. Default: now, or a fixed time if the clock stands still. */
  readonly startMs?: number;
  /** Changes to the default readings, by name. */
  readonly readings?: Readonly<Record<string, unknown>>;
  readonly scenario?: ScenarioPlay;
  readonly candles?: CandlesPlay;
  /** Prices stand still unless a walk, a scenario or candles move them. */
  readonly walk?: WalkPlay;
  /** Replaces the rate limits; an empty list lifts them. */
  readonly limits?: readonly EnforcedLimit[];
  /** Faults in force from the start; text has the form `kind,key=value,...`. */
  readonly faults?: readonly (FaultSpec | string)[];
  /** Conditions of markets, now or at their times; text has the form `kind,key=value,...`. */
  readonly conditions?: readonly (ConditionInput | string)[];
  /** Multiplies the amount at every level of the order books. */
  readonly depth?: string;
  /** Domains allowed for the redirects of fiat deposits; example.com if absent. */
  readonly allowedDomains?: readonly string[];
  /** Number of requests that the log keeps; 100,000 if absent. */
  readonly logCapacity?: number;
  /** Least number of ledger entries kept; 250,000 if absent. */
  readonly ledgerCapacity?: number;
  /** Replaces parts of the default exchange: markets, assets, liquidation policy. */
  readonly config?: Partial<Pick<ModelConfig, 'markets' | 'assets' | 'liquidation' | 'referenceAsset'>>;
}

const LOOPBACK = '127.0.0.1';
const STANDING_START_MS = Date.UTC(2026, 0, 1);
const TICK_MS = 50;
const SYSTEM_TIME: SimulatorTime = {
  wallMs: Date.now,
  monotonicMs: () => performance.now(),
  timers: {
    after(delayMs, call) {
      const timer = setTimeout(call, delayMs);
      return () => clearTimeout(timer);
    },
  },
};

/** Replaces 0.0.0.0 by an address that requests can be sent to. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', `//${LOOPBACK}:`);
}

/** Starts the exchange, by default on the loopback interface. @throws SimulatorError for invalid options */
export async function startSimulatedExchange(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const exchange = assembleExchange(options, SYSTEM_TIME);
  const server = new ExchangeServer(exchange.front);
  const baseUrls: string[] = [];
  const host = options.host ?? LOOPBACK;
  // Not derived from the seed, which is no secret.
  const controlToken = host.startsWith('127.') ? undefined : randomBytes(24).toString('base64url');
  const control = controlServer(exchange, () => describe(exchange, baseUrls), controlToken);
  let ticker: NodeJS.Timeout | undefined;
  let closing: Promise<unknown> | undefined;
  const close = async (): Promise<void> => {
    clearInterval(ticker);
    closing ??= Promise.all([server.close(), control.close()]);
    await closing;
  };
  try {
    baseUrls.push(reachable(await server.listen(options.port ?? 0, host)));
    baseUrls.push(reachable(await server.listen(options.euPort ?? 0, host)));
    exchange.baseUrl = baseUrls[0] ?? '';
    const controlUrl = reachable(await control.listen({ port: options.controlPort ?? 0, host }));
    ticker = setInterval(() => exchange.catchUp(), TICK_MS);
    return running(exchange, { baseUrls, controlUrl, controlToken, close });
  } catch (error) {
    await close();
    throw error;
  }
}

/** Builds the exchange without listening anywhere. @throws SimulatorError for invalid options */
export function assembleExchange(options: SimulatorOptions, time: SimulatorTime): SimulatedExchange {
  const seed = options.seed ?? 1;
  const speed = options.speed ?? 1;
  const startMs = options.startMs ?? (speed === 0 ? STANDING_START_MS : time.wallMs());
  const clock = new ExchangeClock(startMs, 0, time.monotonicMs);
  const exchange = new SimulatedExchange({
    model: createExchangeModel(modelConfig(options, seed, startMs)),
    clock,
    seed,
    limits: options.limits ?? ENFORCED_RATE_LIMITS,
    allowedDomains: options.allowedDomains ?? ['example.com'],
    logCapacity: options.logCapacity ?? 100_000,
    time,
  });
  const { accounts = 3 } = options;
  if (typeof accounts === 'number') openDefaultAccounts(exchange, accounts);
  else for (const account of accounts) exchange.createAccount(account);
  if (options.walk !== undefined) playWalk(exchange, options.walk, seed);
  if (options.scenario !== undefined) playScenario(exchange, options.scenario, seed);
  if (options.candles !== undefined) playCandles(exchange, options.candles);
  for (const fault of options.faults ?? []) injectFault(exchange, fault);
  for (const condition of options.conditions ?? []) applyCondition(exchange, condition);
  exchange.beginHistory();
  // Starts the clock only now, so that the whole set-up happens at the same exchange time.
  clock.setSpeed(speed);
  return exchange;
}

function injectFault(exchange: SimulatedExchange, fault: FaultSpec | string): number {
  const value = typeof fault === 'string' ? parseFaultText(fault) : fault;
  return exchange.injectFault(readFault(exchange, value, 'fault'));
}

function applyCondition(exchange: SimulatedExchange, condition: ConditionInput | string): void {
  const value = typeof condition === 'string' ? parseConditionText(condition) : condition;
  accepted(setCondition(exchange, value, 'condition'));
}

function modelConfig(options: SimulatorOptions, seed: number, startMs: number): ModelConfig {
  const readings = changeReadings(DEFAULT_READINGS, options.readings ?? {});
  if (!readings.ok) throw new SimulatorError('invalid-reading', readings.errors.join('; '));
  const config = defaultConfig(seed, startMs, { ...options.config, readings: readings.readings });
  const { depth = '1', candles, ledgerCapacity } = options;
  const factor = positive(depth, 'depth');
  const priced = candles === undefined ? config.markets : startAt(config.markets, candles);
  const markets = priced.map((market) => deepened(market, factor));
  return { ...config, markets, ...(ledgerCapacity === undefined ? {} : { ledgerCapacity }) };
}

/** Starts the market at the first price of its candles, so that no position begins with a jump. */
function startAt(markets: readonly MarketSpec[], { csv, market }: CandlesPlay): readonly MarketSpec[] {
  const price = firstPrice(readPrices(csv));
  const leader = market ?? markets.find(({ follows }) => follows === undefined)?.name;
  return markets.map((spec) =>
    spec.name === leader || spec.follows === leader ? atPrice(spec, price) : spec,
  );
}

function deepened(market: MarketSpec, factor: Decimal): MarketSpec {
  const amountPerLevel = market.depth.amountPerLevel.times(factor);
  return { ...market, depth: { ...market.depth, amountPerLevel } };
}

function positive(text: string, what: string): Decimal {
  const value = parseDecimal(text);
  if (value?.gt(ZERO) === true) return value;
  throw new SimulatorError('invalid-input', `${what}: ${JSON.stringify(text)} is not a number above 0`);
}

/** A running exchange: its addresses, and the functions of the control API without HTTP. */
export type RunningSimulator = ReturnType<typeof running>;

function running(
  exchange: SimulatedExchange,
  where: {
    readonly baseUrls: readonly string[];
    readonly controlUrl: string;
    /** Token of the control API, created at the start; undefined on 127.0.0.1. */
    readonly controlToken: string | undefined;
    /** Closes every listener and connection and drops waiting requests. Safe to call twice. */
    readonly close: () => Promise<void>;
  },
) {
  const accounts: readonly Pick<AccountAccess, 'id' | 'apiKey' | 'apiSecret'>[] = exchange.accounts
    .list()
    .map(({ id, apiKey, apiSecret }) => ({ id, apiKey, apiSecret }));
  return {
    ...where,
    baseUrl: exchange.baseUrl,
    accounts,
    model: exchange.model,
    exchange,
    /** Sets a price at once, as a gap, from text such as `"58000.5"`. */
    setPrice: (
      market: string,
      price: string,
      { mark, last }: { readonly mark?: string; readonly last?: string } = {},
    ): void =>
      exchange.setPrice(market, positive(price, 'price'), {
        ...(mark === undefined ? {} : { mark: positive(mark, 'mark') }),
        ...(last === undefined ? {} : { last: positive(last, 'last') }),
      }),
    advance: (ms: number) => exchange.advance(ms),
    setReadings: (changes: Partial<Readings>) => exchange.setReadings(changes),
    /** Returns the number by which `clearFaults` removes the fault. @throws SimulatorError for an invalid fault */
    injectFault: (fault: FaultSpec | string) => injectFault(exchange, fault),
    /** @throws SimulatorError for a condition that is invalid, or refused now */
    setCondition: (condition: ConditionInput | string) => applyCondition(exchange, condition),
    clearFaults: (id?: number) => exchange.clearFaults(id),
    setRegion: (index: number, state: RegionState) => exchange.front.setRegion(index, state),
    /** Lets requests arrive that were held back; returns how many. */
    releaseHeld: () => exchange.front.delays.release(),
    ledger: (filter?: LedgerFilter) => exchange.model.ledger(filter),
    requestLog: (filter?: RequestFilter) => exchange.log.list(filter),
    /** Bugs that clients saw as HTTP 500; a test expects none. */
    internalErrors: exchange.internalErrors,
  };
}

function describe(exchange: SimulatedExchange, baseUrls: readonly string[]): unknown {
  const { model } = exchange;
  return {
    baseUrls,
    regions: exchange.front.regions,
    seed: exchange.seed,
    nowMs: model.nowMs(),
    speed: exchange.clock.speed,
    markets: model.markets().map(({ spec, last, mark }) => ({ name: spec.name, last, mark })),
    accounts: model.accountIds().map((id) =>
      Object.assign(
        {
          positions: model.openPositions(id).length,
          openOrders: model.openOrders(id).length,
          creditLines: model.creditLines(id).length,
        },
        model.account(id),
      ),
    ),
    readings: model.readings(),
    faults: exchange.faults.list(),
    requests: { total: exchange.log.total, held: exchange.front.delays.heldCount },
  };
}

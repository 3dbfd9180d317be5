import type { Timers } from '../core/ports/clock.ts';
import type { Decimal } from '../core/quantities/decimal.ts';
import { type AccountAccess, AccountDirectory, ALL_PERMISSIONS, type KeyPermissions } from './accounts.ts';
import { CARD_PROVIDER } from './defaults.ts';
import { allEndpoints } from './endpoints/all.ts';
import { DEPOSIT_PAGE_PREFIX, depositPage } from './endpoints/deposit-page.ts';
import type { EndpointParts, FiatService } from './endpoints/parts.ts';
import type { ExchangeClock } from './exchange-clock.ts';
import { clientOrderIdOf, type Dispatched, Dispatcher, type IncomingRequest } from './http/dispatch.ts';
import { FaultBook, type FaultSpec } from './http/faults.ts';
import { ExchangeFront } from './http/front.ts';
import { type EnforcedLimit, RateLimiter } from './http/rate-limit.ts';
import { privateError } from './http/reply.ts';
import { RequestLog } from './http/request-log.ts';
import type { ExchangeModel } from './model/exchange-model.ts';
import { changeReadings, type Readings } from './model/readings.ts';
import type { SeedAccount } from './model/types.ts';
import type { PriceSource } from './prices/price-source.ts';
import { createRandom } from './scenarios/random.ts';
import { Timeline } from './timeline.ts';

export interface ExchangeSetup {
  readonly model: ExchangeModel;
  readonly clock: ExchangeClock;
  readonly seed: number;
  readonly limits: readonly EnforcedLimit[];
  readonly allowedDomains: readonly string[];
  readonly logCapacity: number;
  readonly time: SimulatorTime;
}

/** Time of the machine that runs the exchange; exchange time is that of `clock`. */
export interface SimulatorTime {
  /** Unix milliseconds. */
  readonly wallMs: () => number;
  /** Never steps back. */
  readonly monotonicMs: () => number;
  readonly timers: Pick<Timers, 'after'>;
}

/** An invalid setting; the message names it and its rule. */
export class SimulatorError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'SimulatorError';
    this.code = code;
  }
}

const LONGEST_CATCH_UP_MS = 10;
/** Separates the faults' random numbers from those of the markets. */
const FAULT_SEED = 0x5f_a1_75;
const ACCOUNT_ID_SYNTAX = /^[A-Za-z0-9._-]{1,64}$/;

/** The model with keys, faults, limits, log and time. All changes go through it, so that lagging reads see them. */
export class SimulatedExchange {
  readonly model: ExchangeModel;
  readonly clock: ExchangeClock;
  readonly seed: number;
  readonly accounts: AccountDirectory;
  readonly faults: FaultBook;
  readonly log: RequestLog;
  readonly limiter: RateLimiter;
  readonly fiat: FiatService;
  readonly front: ExchangeFront;
  /** Names used by the request log and by faults. */
  readonly endpointNames: readonly string[];
  /** Bugs that clients saw as HTTP 500. */
  readonly internalErrors: unknown[] = [];
  /** Added to the wall clock for the Date header and the nonce window. */
  serverTimeSkewMs = 0;
  /** Where deposit links point; set once the exchange listens. */
  baseUrl = '';
  readonly #timeline: Timeline;
  #keepsHistory = false;
  readonly #dispatcher: Dispatcher;
  readonly #time: SimulatorTime;

  constructor(setup: ExchangeSetup) {
    this.model = setup.model;
    this.clock = setup.clock;
    this.seed = setup.seed;
    this.#time = setup.time;
    this.accounts = new AccountDirectory(setup.seed);
    const random = createRandom(setup.seed ^ FAULT_SEED);
    this.faults = new FaultBook(() => random.uniform());
    this.log = new RequestLog(setup.logCapacity);
    this.limiter = new RateLimiter(setup.limits);
    this.fiat = {
      mode: 'up',
      cardProvider: CARD_PROVIDER,
      allowedDomains: setup.allowedDomains,
      linkUrl: (token) => `${this.baseUrl}${DEPOSIT_PAGE_PREFIX}${token}`,
    };
    this.#timeline = new Timeline(this.model, this.clock);
    const parts: EndpointParts = {
      model: this.model,
      revision: this.#timeline.revision,
      fiat: this.fiat,
      reads: (accountId, staleMs) => this.#timeline.reads(accountId, staleMs),
    };
    const endpoints = allEndpoints(parts);
    this.endpointNames = [...endpoints.values()].map((endpoint) => endpoint.name);
    const shared = {
      accounts: this.accounts,
      endpoints,
      model: this.model,
      serverTimeMs: () => this.serverTimeMs(),
    };
    this.#dispatcher = new Dispatcher({
      ...shared,
      limiter: this.limiter,
      monotonicMs: this.#time.monotonicMs,
      onInternalError: (error) => this.internalErrors.push(error),
    });
    this.front = new ExchangeFront({
      ...shared,
      timers: setup.time.timers,
      dispatch: (request, staleMs) => this.#dispatch(request, staleMs),
      faults: this.faults,
      log: this.log,
      clock: this.clock,
      cancelOrder: (accountId, orderId) => this.change((model) => model.cancelOrder(accountId, orderId).ok),
      page: (request) => this.change(() => depositPage(parts, request)),
    });
  }

  /** Starts keeping the past that lagging reads have to show. Call it once the exchange is set up. */
  beginHistory(): void {
    this.#keepsHistory = true;
    this.#fitAges();
  }

  /** Time shown to clients, Unix milliseconds: real time plus skew, even if exchange time runs at another speed. */
  serverTimeMs(): number {
    return this.#time.wallMs() + this.serverTimeSkewMs;
  }

  /** Advances the exchange to its clock. If the clock is too fast it loses time, so that no request waits long. */
  catchUp(): void {
    const { monotonicMs } = this.#time;
    const startMs = monotonicMs();
    const isThere = this.#timeline.catchUp(() => monotonicMs() - startMs < LONGEST_CATCH_UP_MS);
    if (!isThere) this.clock.rebase(this.model.nowMs());
  }

  /** Moves exchange time and the markets ahead by `ms`, however long that takes. */
  advance(ms: number): void {
    this.catchUp();
    this.clock.step(ms);
    this.#timeline.catchUp();
  }

  /** Applies a change to the model; every change goes through here. */
  change<T>(effect: (model: ExchangeModel) => T): T {
    this.catchUp();
    const result = effect(this.model);
    this.#timeline.remember();
    return result;
  }

  setPrice(
    market: string,
    price: Decimal,
    options?: { readonly mark?: Decimal; readonly last?: Decimal },
  ): void {
    this.change((model) => model.setPrice(market, price, options));
  }

  setPriceSource(market: string, source: PriceSource | null): void {
    this.change((model) => model.setPriceSource(market, source));
  }

  /** @throws SimulatorError that names every reading which is unknown or has an impossible value */
  setReadings(changes: Readonly<Record<string, unknown>>): Readings {
    const result = changeReadings(this.model.readings(), changes);
    if (!result.ok) throw new SimulatorError('invalid-reading', result.errors.join('; '));
    const outcome = this.change((model) => model.setReadings(result.readings));
    if (!outcome.ok)
      throw new SimulatorError('positions-open', Object.values(outcome.errors).flat().join(' '));
    this.#fitAges();
    return outcome.readings;
  }

  injectFault(spec: FaultSpec): number {
    const id = this.faults.inject(spec, this.clock.nowMs());
    this.#fitAges();
    return id;
  }

  clearFaults(id?: number): number {
    const cleared = this.faults.clear(id);
    this.#fitAges();
    return cleared;
  }

  /** @throws SimulatorError if the id is taken or invalid, or the balances or positions are impossible */
  createAccount(seed: SeedAccount, permissions: KeyPermissions = ALL_PERMISSIONS): AccountAccess {
    if (!ACCOUNT_ID_SYNTAX.test(seed.id)) {
      throw new SimulatorError(
        'invalid-account',
        `account id ${JSON.stringify(seed.id)}: 1 to 64 letters, digits, dots, dashes or underscores`,
      );
    }
    if (this.accounts.has(seed.id)) {
      throw new SimulatorError('account-exists', `account ${seed.id} exists already`);
    }
    try {
      this.change((model) => model.createAccount(seed));
    } catch (error) {
      if (error instanceof RangeError) throw new SimulatorError('invalid-account', error.message);
      throw error;
    }
    this.#timeline.restart();
    return this.accounts.add(seed.id, permissions);
  }

  rotateKey(accountId: string): AccountAccess {
    const { access, retiredApiKey } = this.accounts.rotateKey(accountId);
    this.#dispatcher.forgetKey(retiredApiKey);
    return access;
  }

  #dispatch(request: IncomingRequest, staleMs: number): Dispatched {
    try {
      this.catchUp();
      const lagMs = Math.max(staleMs, this.model.readings().readLagMs);
      const dispatched = this.#dispatcher.dispatch(request, lagMs);
      if (dispatched.isCommand === true) this.#recordCommand(request, dispatched);
      return dispatched;
    } catch (error) {
      this.internalErrors.push(error);
      return { reply: privateError(500, 0, 'Internal error') };
    }
  }

  /** Records commands in the ledger too, after their effects. */
  #recordCommand(request: IncomingRequest, { accountId, nonce, reply, params }: Dispatched): void {
    this.model.recordRequest(accountId ?? null, {
      path: request.path,
      nonce: nonce ?? null,
      status: reply.status,
      code: reply.error?.code ?? null,
      message: reply.error?.message ?? null,
      clientOrderId: clientOrderIdOf(params),
    });
    this.#timeline.remember();
  }

  /** Keeps as much of the past as the readings and faults let reads look back. */
  #fitAges(): void {
    if (!this.#keepsHistory) return;
    const ages = this.faults.list().map((fault) => (fault.effect.kind === 'stale' ? fault.effect.ageMs : 0));
    this.#timeline.setAges([this.model.readings().readLagMs, ...ages].filter((ageMs) => ageMs > 0));
  }
}

import type { Clock } from '../../core/ports/clock.ts';
import type { CallPriority } from '../../core/ports/exchange.ts';
import type { PermitGrant, PermitRequest, RateLimitStore } from '../../core/ports/rate-limit-store.ts';
import { BoundedStore } from '../bounded-store.ts';
import type { ScopeTime } from '../call/call-scope.ts';
import { GatewayPause } from './gateway-pause.ts';
import { limitsOf, type RateLimit, type RateLimitTable } from './rate-limit-table.ts';

export interface LimiterSettings {
  /** Shared by all clients behind one IP address. */
  readonly store: RateLimitStore;
  /** Used while the shared store is lost, with a share of each limit. */
  readonly fallback: RateLimitStore;
  readonly table: RateLimitTable;
  /** Egress group: the same name for all processes behind one IP address. */
  readonly egress: string;
  /** Share of each limit that only protective calls may use, 0 to 1. */
  readonly reservedShare: number;
  readonly storeTimeoutMs: number;
  readonly onStoreChange: (available: boolean) => void;
}

export type Permit = { readonly kind: 'granted' } | { readonly kind: 'wait'; readonly retryInMs: number };

/** A store that answers later than this counts as lost: its permits would have lapsed. */
const MAX_STORE_MS = 250;
/** The window is longer than the exchange's by the lifetime of permits and by the variation of travel times. */
const BLOCK_VALIDITY_MS = 300;
const TRAVEL_MARGIN_MS = 250;
const MAX_BLOCK_SHARE = 0.02;
/** The share of each limit that this process uses while the shared store is lost. */
const FALLBACK_SHARE = 0.25;
const PENALTY = { factor: 0.5, floor: 0.1, recoveryMs: 60_000 };
const DEFAULT_BLOCK_MS = 1000;
const MOST_BLOCK_MS = 60_000;

/** How long nobody asks again after a refusal. */
export function blockMsOf(retryAfterMs: number | undefined): number {
  return Math.min(retryAfterMs ?? DEFAULT_BLOCK_MS, MOST_BLOCK_MS);
}

/**
 * Keeps the requests of all clients that share the store and egress group within the exchange's limits. Permits come in
 * small blocks that lapse soon, so that most requests need no round trip. The window is longer by the lapse time, so
 * that no sliding window of the exchange can see too many requests.
 */
export class Limiter {
  readonly #clock: Clock;
  readonly #budgets = new Map<string, readonly Budget[]>();
  readonly #byName = new Map<string, Budget>();
  readonly #settings: LimiterSettings;
  readonly #store: BoundedStore<RateLimitStore>;
  readonly #gateway = new GatewayPause();

  constructor({ clock, timers }: ScopeTime, settings: LimiterSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#store = new BoundedStore(settings.store, {
      clock,
      timers,
      timeoutMs: Math.min(settings.storeTimeoutMs, MAX_STORE_MS),
      onChange: settings.onStoreChange,
    });
  }

  /** Fetches a permit for a protective call that is about to be made. An unused permit lapses. */
  prefetch(path: string): void {
    const now = this.#clock.monotonicMs();
    for (const budget of this.#budgetsOf(path)) {
      if (budget.blockWith('protective', now) !== undefined) continue;
      const refilling = budget.refill('protective', (count) => this.#take(budget, 'protective', count));
      void refilling.catch(() => undefined);
    }
  }

  /** Takes one permit in each budget of the path, or returns how long to wait before asking again. */
  async acquire(path: string, priority: CallPriority): Promise<Permit> {
    const budgets = this.#budgetsOf(path);
    // Checked before permits are taken, because they would lapse.
    const waitMs = this.#gateway.waitMs(priority, this.#clock.monotonicMs());
    if (waitMs > 0) return { kind: 'wait', retryInMs: waitMs };
    for (;;) {
      const held: Block[] = [];
      for (const budget of budgets) {
        let block = budget.use(priority, this.#clock.monotonicMs());
        while (block === undefined) {
          const grant = await budget.refill(priority, (count) => this.#take(budget, priority, count));
          if (grant.granted === 0) return { kind: 'wait', retryInMs: grant.retryInMs };
          block = budget.use(priority, this.#clock.monotonicMs());
        }
        held.push(block);
      }
      const now = this.#clock.monotonicMs();
      const pausedMs = this.#gateway.waitMs(priority, now);
      if (pausedMs > 0) return { kind: 'wait', retryInMs: pausedMs };
      if (held.every(({ untilMs }) => untilMs > now)) {
        this.#gateway.leaves(priority, now);
        for (const budget of budgets) budget.countUse(now);
        return GRANTED;
      }
      // The first permits lapsed during the wait for the last one.
    }
  }

  /** The exchange answered 429 for the path because a limit was reached. */
  refused(path: string, retryAfterMs: number | undefined): void {
    this.#penalize(this.#budgetsOf(path), retryAfterMs);
  }

  /** A gateway's 429 concerns every path: all that share the store stop polling and pace their protective calls. */
  refusedByGateway(retryAfterMs: number | undefined, sentAtMs: number): void {
    const pauseMs = this.#gateway.refused(retryAfterMs, sentAtMs, this.#clock.monotonicMs());
    if (pauseMs === undefined) return;
    const budgets = Object.entries(this.#settings.table).map(([name, limit]) =>
      this.#budgetNamed(name, limit),
    );
    this.#penalize(budgets, pauseMs);
  }

  /** The exchange itself, or a gateway for another reason, answered a request that was sent at this time. */
  passedGateway(sentAtMs: number): void {
    this.#gateway.passed(sentAtMs);
  }

  /** A request to the path was answered without a 429. */
  passed(path: string): void {
    for (const budget of this.#budgetsOf(path)) budget.turns.passed();
  }

  #penalize(budgets: readonly Budget[], retryAfterMs: number | undefined): void {
    const blockMs = blockMsOf(retryAfterMs);
    for (const budget of budgets) {
      budget.drop();
      const penalty = { scope: budget.scope, ...PENALTY, blockMs };
      void this.#settings.fallback.penalize(penalty);
      void this.#store.use((store) => store.penalize(penalty));
    }
  }

  /** The share of the tightest limit that this client has used in the current and the previous period. */
  ownUse(path: string): number {
    const now = this.#clock.monotonicMs();
    return Math.max(0, ...this.#budgetsOf(path).map((budget) => budget.ownUse(now)));
  }

  /** The share of each limit, by name, that this process has used within the last period. */
  uses(): ReadonlyMap<string, number> {
    const now = this.#clock.monotonicMs();
    return new Map([...this.#byName].map(([name, budget]) => [name, budget.slidingUse(now)]));
  }

  async #take(budget: Budget, priority: CallPriority, count: number): Promise<PermitGrant> {
    const protective = priority === 'protective';
    // The gateway pause already paces these calls.
    const isPaced = priority === 'watching' && this.#gateway.holds(this.#clock.monotonicMs());
    const request = {
      scope: budget.scope,
      limit: budget.limit,
      periodMs: budget.periodMs + BLOCK_VALIDITY_MS + TRAVEL_MARGIN_MS,
      share: protective ? 1 : 1 - this.#settings.reservedShare,
      count,
      ignorePenalty: protective || isPaced,
    };
    const grant = await this.#takeOf(request);
    if (protective) return grant;
    const retryInMs = budget.turns.waitMs(grant, this.#clock.monotonicMs());
    if (retryInMs > 0 || !grant.isPause) return { ...grant, retryInMs };
    return this.#takeOf({ ...request, count: 1, ignorePenalty: true });
  }

  async #takeOf(request: PermitRequest): Promise<PermitGrant> {
    const shared = await this.#store.use((store) => store.take(request));
    if (shared !== undefined) return shared;
    const share = request.share * FALLBACK_SHARE;
    return this.#settings.fallback.take({ ...request, share });
  }

  #budgetsOf(path: string): readonly Budget[] {
    let budgets = this.#budgets.get(path);
    if (budgets === undefined) {
      // The tightest first: a call waiting for it must not use up the wider ones, which others need.
      budgets = limitsOf(path, this.#settings.table)
        .sort(([, a], [, b]) => a.limit / a.periodMs - b.limit / b.periodMs)
        .map(([name, limit]) => this.#budgetNamed(name, limit));
      this.#budgets.set(path, budgets);
    }
    return budgets;
  }

  #budgetNamed(name: string, limit: RateLimit): Budget {
    let budget = this.#byName.get(name);
    if (budget === undefined) {
      budget = new Budget(`${this.#settings.egress}/${name}`, limit, this.#clock);
      this.#byName.set(name, budget);
    }
    return budget;
  }
}

const GRANTED: Permit = { kind: 'granted' };

/** Permits at hand until they lapse; every refill makes a new block. */
interface Block {
  left: number;
  readonly untilMs: number;
}

const NO_PERMITS: Block = { left: 0, untilMs: 0 };

/** The permits that this process holds of one budget. Those that not every call may use are kept apart. */
class Budget {
  readonly scope: string;
  readonly limit: number;
  readonly periodMs: number;
  readonly turns = new Turns();
  readonly #clock: Clock;
  readonly #blocks = { normal: NO_PERMITS, watching: NO_PERMITS, protective: NO_PERMITS };
  readonly #refilling: Partial<Record<CallPriority, Promise<PermitGrant>>> = {};
  readonly #waiting = { normal: 0, watching: 0, protective: 0 };
  #blockSize = 1;
  /** Uses in the current and the previous period: enough to judge how near the limit this client is. */
  #uses = { period: 0, current: 0, previous: 0 };

  constructor(scope: string, { limit, periodMs }: RateLimit, clock: Clock) {
    this.scope = scope;
    this.limit = limit;
    this.periodMs = periodMs;
    this.#clock = clock;
  }

  /** Takes one permit if one is at hand, and returns its block. */
  use(priority: CallPriority, now: number): Block | undefined {
    const block = this.blockWith(priority, now);
    if (block !== undefined) block.left -= 1;
    return block;
  }

  blockWith(priority: CallPriority, now: number): Block | undefined {
    const { normal, [priority]: own } = this.#blocks;
    return [normal, own].find(({ left, untilMs }) => left > 0 && untilMs > now);
  }

  /** Runs one refill at a time for each kind of caller; later callers wait for it. */
  async refill(kind: CallPriority, take: (count: number) => Promise<PermitGrant>): Promise<PermitGrant> {
    this.#waiting[kind] += 1;
    try {
      return await (this.#refilling[kind] ??= this.#refill(kind, take));
    } finally {
      this.#waiting[kind] -= 1;
    }
  }

  drop(): void {
    this.#blocks.normal = NO_PERMITS;
    this.#blocks.watching = NO_PERMITS;
    this.#blocks.protective = NO_PERMITS;
  }

  ownUse(now: number): number {
    this.#rollPeriod(now);
    return (this.#uses.current + this.#uses.previous) / this.limit;
  }

  /** Share used within one sliding period, assuming that the uses of the previous period are evenly spread. */
  slidingUse(now: number): number {
    this.#rollPeriod(now);
    const elapsed = (now % this.periodMs) / this.periodMs;
    return (this.#uses.current + this.#uses.previous * (1 - elapsed)) / this.limit;
  }

  async #refill(kind: CallPriority, take: (count: number) => Promise<PermitGrant>): Promise<PermitGrant> {
    try {
      // Count callers of the same turn before choosing the size.
      await Promise.resolve();
      const startedMs = this.#clock.monotonicMs();
      const usedUpInTime = this.#blocks[kind].untilMs > startedMs;
      this.#blockSize = usedUpInTime ? this.#blockSize * 2 : Math.max(1, this.#blockSize / 2);
      this.#blockSize = Math.min(this.#blockSize, Math.max(1, Math.floor(this.limit * MAX_BLOCK_SHARE)));
      const waiting = this.#waiting[kind];
      const count = kind === 'normal' ? Math.max(waiting, Math.ceil(this.#blockSize)) : waiting;
      const grant = await take(count);
      if (grant.granted > 0) {
        this.#blocks[kind] = { left: grant.granted, untilMs: startedMs + BLOCK_VALIDITY_MS };
      }
      return grant;
    } finally {
      delete this.#refilling[kind];
    }
  }

  countUse(now: number): void {
    this.#rollPeriod(now);
    this.#uses.current += 1;
  }

  #rollPeriod(now: number): void {
    const period = Math.floor(now / this.periodMs);
    if (period === this.#uses.period) return;
    const previous = period === this.#uses.period + 1 ? this.#uses.current : 0;
    this.#uses = { period, current: 0, previous };
  }
}

const TURN_MS = 1000;
/** A pause seen later than this after the last known end is a new pause. */
const SAME_PAUSE_MS = 5000;

/**
 * Bounds how long a pause can hold up polls. Protective calls go on during a pause, and each one that the exchange
 * refuses prolongs it, or starts a new one as soon as it ends. A single endangered account would thus stop the polls of
 * all others.
 * So no call waits past the end that was first announced. After that, one call a second ignores the pause, and the next
 * one goes at once when the exchange answered without a refusal.
 */
export class Turns {
  #toldUntilMs = -Infinity;
  #firstUntilMs = -Infinity;
  #nextMs = -Infinity;

  /** @returns how long the caller has to wait, ms; 0 during a pause: it may ignore the pause */
  waitMs({ retryInMs, isPause }: PermitGrant, nowMs: number): number {
    if (!isPause) return retryInMs;
    const untilMs = nowMs + retryInMs;
    if (nowMs - this.#toldUntilMs > SAME_PAUSE_MS) this.#firstUntilMs = untilMs;
    this.#toldUntilMs = untilMs;
    const waitMs = Math.max(this.#firstUntilMs, this.#nextMs) - nowMs;
    if (waitMs > 0) return Math.min(waitMs, retryInMs);
    this.#nextMs = nowMs + TURN_MS;
    return 0;
  }

  passed(): void {
    this.#nextMs = -Infinity;
  }
}

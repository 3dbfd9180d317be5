import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import type { OperatorOrder } from '../core/controls/controls.ts';
import { type OperatorTrust, TRUSTING } from '../core/ports/operator-trust.ts';
import type { RateLimitStore } from '../core/ports/rate-limit-store.ts';
import { bucketOf } from '../core/ports/state-store.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { moneyOf, quoteOf } from '../core/quantities/units.ts';
import { compileRules } from '../core/rules/compiled-rules.ts';
import type { ConditionSpec } from '../core/rules/rule.ts';
import type { ExchangeObserver } from '../exchange/call/observer.ts';
import { Connections, systemWays } from '../exchange/call/transport.ts';
import { createExchangeClient, createSharedLimiter, type ExchangeClient } from '../exchange/client.ts';
import { fiatDeposit, guard } from '../exchange/guarded-exchange.ts';
import { withLastPrices } from '../exchange/last-prices.ts';
import type { Limiter } from '../exchange/limits/limiter.ts';
import { overrideLimits } from '../exchange/limits/rate-limit-table.ts';
import type { AccountBook, WatchedAccount } from '../pipeline/pipeline-context.ts';
import type { BudgetUse } from '../telemetry/record.ts';
import { clientAccess, hasKey, NO_KEY, proxyOf, type Ways } from './client-access.ts';
import { LastPriceReaders, type ReaderParts } from './last-price-readers.ts';
import { countSharing, leastInterval, WHOLE } from './least-interval.ts';
import type { DepositAccess } from './web/deposit-desk.ts';

export interface AccountParts extends ReaderParts {
  readonly limits: RateLimitStore;
  readonly telemetry: Telemetry;
  /** Number of this process among several, 0 to 8 (see nonce-ordinals.ts): keeps nonces apart while their store is lost. */
  readonly ordinal: number;
  /** Identifies this process among those that share the store; default: each client has a random name. */
  readonly instance?: string;
  /** Connections to the exchange; default: over sockets. */
  readonly connections?: Connections;
  /** Default: trusts every operator order. */
  readonly operators?: OperatorTrust;
}

interface Entry {
  readonly compiled: CompiledAccount;
  readonly watched: WatchedAccount;
  readonly client: ExchangeClient;
  /** Shared by the accounts of its egress group. */
  readonly limiter: Limiter;
  /** See `connectionOf`: a different value requires a new client. */
  readonly connection: string;
}

/** What the accounts of one config share while it is adopted. */
interface Adoption {
  readonly limiters: Map<string, Limiter>;
  readonly sharing: ReadonlyMap<string, number>;
}

const LAST_GOOD_ADDRESS = 'the name cannot be resolved (DNS); its last good address is used';

/** The configured accounts with their clients, replaced as a whole when a new config is adopted. */
export class ConfiguredAccounts implements AccountBook {
  readonly #parts: AccountParts;
  readonly #connections: Connections;
  readonly #lastPrices: LastPriceReaders;
  #clients = 0;
  #entries = new Map<string, Entry>();
  #buckets = new Map<number, readonly string[]>();
  #closing = new Set<Promise<void>>();
  /** Until when operator orders are remembered that were taken. */
  readonly #taken = new Map<string, number>();

  constructor(parts: AccountParts) {
    this.#parts = parts;
    const lost = { kind: 'exchangePath', error: 'nameNotResolved', words: LAST_GOOD_ADDRESS } as const;
    const nameLost = (host: string): void => parts.telemetry.emit({ ...lost, host });
    this.#connections = parts.connections ?? new Connections(systemWays(nameLost));
    this.#lastPrices = new LastPriceReaders(parts, this.#connections);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(accountId: string): WatchedAccount | undefined {
    return this.#entries.get(accountId)?.watched;
  }

  inBucket(bucket: number): readonly string[] {
    return this.#buckets.get(bucket) ?? [];
  }

  /** Assets of the main balance to show. */
  balancesOf(accountId: string): readonly string[] | undefined {
    return this.#entries.get(accountId)?.compiled.watch.balances;
  }

  /** Least distance of an activation price from the mark, as a fraction; undefined: the market has no entry. */
  gapOf(accountId: string, market: string): number | undefined {
    return this.#entries.get(accountId)?.compiled.settings.marketSettings(market)?.basisAllowance;
  }

  /** The currency of a market's amounts. */
  moneyOf(accountId: string, market: string): string {
    const settings = this.#entries.get(accountId)?.compiled.settings;
    return settings === undefined ? quoteOf(market) : moneyOf(market, settings);
  }

  /** For deposit links, which the guarded exchange does not offer. */
  depositAccess(accountId: string): DepositAccess | undefined {
    const entry = this.#entries.get(accountId);
    const settings = entry?.compiled.depositLink;
    return entry === undefined || settings === undefined
      ? undefined
      : { settings, deposit: hasKey(entry.compiled) ? fiatDeposit(entry.client) : undefined };
  }

  all(): readonly WatchedAccount[] {
    return [...this.#entries.values()].map(({ watched }) => watched);
  }

  /** This process's recent use of each request budget, by egress group and limit. */
  budgets(): readonly BudgetUse[] {
    const uses = new Map<string, BudgetUse>();
    const limiters = new Map([...this.#entries.values()].map(({ limiter, compiled }) => [limiter, compiled]));
    for (const [limiter, { egress }] of limiters) {
      for (const [limit, used] of limiter.uses()) {
        // After a config change, one group may have two limiters for a while.
        const key = JSON.stringify([egress, limit]);
        uses.set(key, { egress, limit, used: used + (uses.get(key)?.used ?? 0) });
      }
    }
    return [...uses.values()];
  }

  /** Buckets that have accounts, in order. */
  buckets(): readonly number[] {
    return [...this.#buckets.keys()].sort((a, b) => a - b);
  }

  /**
   * Adopts a config. Accounts with the same key and connection keep their client; an unused client closes after its
   * last request.
   */
  adopt(config: CompiledConfig): void {
    const before = this.#entries;
    const adoption: Adoption = { limiters: new Map(), sharing: countSharing(config) };
    const entries = config.accounts.map((compiled): [string, Entry] => [
      compiled.id,
      this.#entryFor(compiled, config, before.get(compiled.id), adoption),
    ]);
    this.#entries = new Map(entries);
    const buckets = new Map<number, string[]>();
    for (const { id } of config.accounts) {
      const bucket = bucketOf(id);
      buckets.set(bucket, [...(buckets.get(bucket) ?? []), id]);
    }
    this.#buckets = buckets;
    const kept = new Set([...this.#entries.values()].map(({ client }) => client));
    for (const { client } of before.values()) if (!kept.has(client)) this.#end(client);
    this.#lastPrices.keep(config);
  }

  #entryFor(
    compiled: CompiledAccount,
    config: CompiledConfig,
    before: Entry | undefined,
    adoption: Adoption,
  ): Entry {
    const connection = connectionOf(compiled, config);
    const { client, limiter } =
      before?.connection === connection && hasSameKey(before.compiled, compiled)
        ? before
        : this.#connect(compiled, config, adoption.limiters);
    const { operators = TRUSTING } = this.#parts;
    return {
      compiled,
      client,
      limiter,
      connection,
      watched: {
        ...watchedAccount(compiled, config, client, adoption.sharing),
        exchange: withLastPrices(guard(client), this.#lastPrices.of(compiled, config)),
        orderFault: (order, epochId) =>
          this.#taken.has(takenKey(compiled.id, order, epochId))
            ? 'it was taken before: somebody has put it back'
            : operators.orderFault(compiled.id, order),
        orderTaken: (order, epochId) => {
          const nowMs = this.#parts.clock.nowMs();
          for (const [key, untilMs] of this.#taken) if (untilMs < nowMs) this.#taken.delete(key);
          this.#taken.set(takenKey(compiled.id, order, epochId), order.expiresAtMs + TAKEN_FOR_MS);
        },
      },
    };
  }

  #connect(
    account: CompiledAccount,
    config: CompiledConfig,
    limiters: Map<string, Limiter>,
  ): Pick<Entry, 'client' | 'limiter'> {
    const { clock, random, nonces, limits, fallbackLimits, ordinal, instance } = this.#parts;
    const timing = { clock, ...(this.#parts.timers === undefined ? {} : { timers: this.#parts.timers }) };
    this.#clients += 1;
    const { nonceStart: start = 0 } = account;
    const owner = instance === undefined ? {} : { owner: `${instance}.${this.#clients}` };
    const { exchange, egress } = config;
    const { reservedShare } = egress[account.egress] ?? WHOLE;
    const limiter = {
      store: limits,
      fallback: fallbackLimits,
      egress: account.egress,
      reservedShare,
      limits: limitsFor(account, config),
    };
    const observer = this.#observerOf(account.id, exchange.baseUrls);
    const access = clientAccess(account, config);
    const { timeouts } = access;
    const sharedLimiter =
      limiters.get(account.egress) ?? createSharedLimiter({ limiter, timeouts, ...timing, observer });
    limiters.set(account.egress, sharedLimiter);
    const client = createExchangeClient({
      ...access,
      ...(hasKey(account) ? {} : { credentials: NO_KEY }),
      nonce: { mode: account.settings.nonceMode, store: nonces, start, ordinal, ...owner },
      limiter,
      sharedLimiter,
      sharedConnections: this.#connections,
      cardProviders: cardProvidersOf(account),
      pool: { connections: CONNECTIONS_PER_ACCOUNT },
      ...timing,
      random,
      observer,
    });
    return { client, limiter: sharedLimiter };
  }

  #observerOf(accountId: string, baseUrls: readonly string[]): ExchangeObserver {
    const { telemetry } = this.#parts;
    return {
      onDrift: ({ endpoint, path, expected, got }) =>
        telemetry.emit({ kind: 'contractDrift', accountId, endpoint, path, expected, got }),
      onStore: (event) => telemetry.emit({ kind: 'exchangeStore', accountId, ...event }),
      onPathFailure: ({ baseUrlIndex, error, message: words }) => {
        const host = URL.parse(baseUrls[baseUrlIndex] ?? '')?.hostname ?? '';
        telemetry.emit({ kind: 'exchangePath', host, error, words });
      },
      onCall: (call) => telemetry.emit({ kind: 'call', accountId, call }),
    };
  }

  #end(client: ExchangeClient): void {
    const ended = client.close().finally(() => this.#closing.delete(ended));
    this.#closing.add(ended);
  }

  async close(): Promise<void> {
    for (const { client } of this.#entries.values()) this.#end(client);
    this.#entries = new Map();
    this.#buckets = new Map();
    await Promise.all([...this.#closing, this.#lastPrices.close()]);
  }
}

/** Enough for one request of each lane and the reads beside them: a request that waits for another is too late. */
const CONNECTIONS_PER_ACCOUNT = 64;

/** All inputs of an account's client except its key. */
function connectionOf(account: CompiledAccount, config: CompiledConfig): string {
  const { baseUrls, dialect, attemptTimeoutMs, callTimeoutMs, limits, certificateAuthorities } =
    config.exchange;
  const { share, reservedShare } = config.egress[account.egress] ?? WHOLE;
  const shared = [account.egress, share, reservedShare, limits];
  const sent = [baseUrls, proxyOf(account.egress, config), dialect, attemptTimeoutMs, callTimeoutMs];
  const own = [account.settings.nonceMode, account.nonceStart ?? null, cardProvidersOf(account)];
  return JSON.stringify([...own, ...shared, ...sent, certificateAuthorities]);
}

export function cardProvidersOf({ depositLink }: CompiledAccount): readonly string[] {
  return depositLink?.byCard === true ? [depositLink.provider] : [];
}

function hasSameKey(a: CompiledAccount, b: CompiledAccount): boolean {
  return a.apiKey.equals(b.apiKey) && a.apiSecret.equals(b.apiSecret);
}

type Limits = CompiledConfig['exchange']['limits'];

/** Scales the limits to the egress group's share. */
export function limitsFor(account: CompiledAccount, { exchange: { limits }, egress }: Ways): Limits {
  const { share } = egress[account.egress] ?? WHOLE;
  if (share === 1) return limits;
  return Object.fromEntries(
    Object.entries(overrideLimits(limits)).map(([name, limit]) => [
      name,
      { ...limit, limit: Math.max(1, Math.floor(limit.limit * share)) },
    ]),
  );
}

function watchedAccount(
  account: CompiledAccount,
  config: CompiledConfig,
  client: ExchangeClient,
  sharing: ReadonlyMap<string, number>,
): Omit<WatchedAccount, 'orderFault' | 'orderTaken' | 'exchange'> {
  // Addresses are personal data; the decisions made from them are in the snapshot.
  const { marketSettings: _resolved, withdrawalAllowList: _personal, ...settings } = account.settings;
  return {
    id: account.id,
    rules: compileRules(account.rules, account.settings),
    rulesSource: { rules: account.rules, settings, markets: config.markets },
    sources: account.watch.sources,
    lookbackMs: { transfers: lookback(account, 'transfers'), spotOrders: lookback(account, 'spotOrders') },
    leastIntervalMs: leastInterval(account, config, sharing),
    prefetch: (call) => client.prefetch(call),
  };
}

/** Histories are shown even if no rule reads them. */
const LEAST_LOOKBACK_MS = 3_600_000;
/** Beyond their expiry, as clocks of processes differ. */
const TAKEN_FOR_MS = 3_600_000;

function takenKey(accountId: string, { id }: OperatorOrder, epochId: string): string {
  return JSON.stringify([accountId, epochId, id]);
}

function lookback(account: CompiledAccount, source: 'transfers' | 'spotOrders'): number {
  if (!account.watch.sources.includes(source)) return 0;
  const windows = account.rules.flatMap(({ when }) => windowsOf(when));
  return Math.max(LEAST_LOOKBACK_MS, ...windows);
}

function windowsOf(condition: ConditionSpec): readonly number[] {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return condition.conditions.flatMap(windowsOf);
    case 'not':
      return windowsOf(condition.condition);
    case 'field':
      return condition.parameter?.windowMs === undefined ? [] : [condition.parameter.windowMs];
  }
}

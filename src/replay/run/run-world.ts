import type { CompiledAccount } from '../../config/compiled-config.ts';
import { known } from '../../core/quantities/quantity.ts';
import { compileRules } from '../../core/rules/compiled-rules.ts';
import { actionsOf } from '../../core/rules/rule-parts.ts';
import { marksOf } from '../../core/view/marks.ts';
import { readFault } from '../../simulator/control/fault-routes.ts';
import type { LedgerEntry } from '../../simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../world/open-world.ts';
import { REFERENCE } from '../exposure.ts';
import type { StartingAccount } from '../positions/starting-account.ts';
import { type AccountRecord, type RunRecord, valueAt } from '../record.ts';
import { AccountTracks, barriersOf } from './account-tracks.ts';
import { DaemonWatch } from './daemon-watch.ts';
import { type LedgerContext, ledgerEvents } from './ledger-events.ts';
import type { RunHooks, RunPlan } from './plan.ts';
import { PriceTape } from './price-tape.ts';

const DAEMON = 'breakwater';

/** Plays one variant over one path in virtual time, and collects what happened. */
export async function runWorld(plan: RunPlan, hooks: RunHooks = {}) {
  const watcher = new RunWatcher(plan);
  const { world } = watcher;
  watcher.begin(hooks.onProgress);
  await world.run(() => hooks.signal?.aborted === true);
  return {
    record: watcher.record(),
    /** Milliseconds since the start; less than planned if the run was stopped. */
    elapsedMs: world.elapsedMs(),
    /** Unexpected errors in the daemon; none in a sound run. */
    errors: world.errors,
  };
}

/** Interval of looking at prices for curves; whether a point is recorded depends on what happened. */
export const LOOK_FOR_CURVES_MS = 1_000;
/** A price move that adds a point to every curve. */
const WORTH_A_POINT = 0.001;
/** Number of points of a curve in which nothing happens. */
const CALM_POINTS = 1_000;

interface WatchedAccount {
  readonly account: StartingAccount;
  readonly tracks: AccountTracks;
  /** Ids of its reducing rules. */
  readonly reducing: ReadonlySet<string>;
  readonly thresholds: ReturnType<typeof thresholdsOf>;
  /** For each breach that was answered: milliseconds until its first fill. */
  readonly breachToFillMs: number[];
  /** Start of the newest breach that was answered. */
  answeredMs: number | undefined;
}

class RunWatcher {
  readonly world: World;
  readonly #plan: RunPlan;
  readonly #tape = new PriceTape();
  readonly #watch: DaemonWatch;
  readonly #accounts = new Map<string, WatchedAccount>();
  readonly #positionNames = new Map<string, string>();
  #seenSeq = 0;
  #lookedAt: Readonly<Record<string, number>> = {};
  #lookedMs = 0;

  constructor(plan: RunPlan) {
    this.#plan = plan;
    this.#watch = new DaemonWatch(
      (_, subject) => this.#positionNames.get(subject) ?? subjectWords(subject),
      (accountId, ruleId) => this.#accounts.get(accountId)?.reducing.has(ruleId) ?? false,
    );
    const prices = new Map(
      [...plan.sources].map(([market, source]) => [market, this.#tape.hear(market, source)]),
    );
    const { config } = plan;
    const { latency, faults, ...terms } = plan.conditions;
    this.world = openWorld(
      {
        seed: plan.seed,
        startMs: plan.startMs,
        durationMs: plan.durationMs,
        exchange: {
          accounts: plan.accounts,
          prices: plan.startPrices,
          markets: plan.markets,
          ...terms,
        },
        daemons: config === undefined ? [] : [{ name: DAEMON, config: config.text }],
        network: { toExchange: latency, toDaemon: latency },
        ...(plan.events === undefined ? {} : { events: plan.events }),
      },
      {
        prices,
        observe: () => this.#watch,
        ...(config === undefined ? {} : { configFile: config.file }),
      },
    );
    const { exchange } = this.world;
    if (config !== undefined)
      for (const fault of faults) exchange.injectFault(readFault(exchange, fault, 'fault'));
    const compiled = config === undefined ? undefined : this.world.daemon(DAEMON).config;
    for (const account of plan.accounts) {
      const configured = compiled?.accounts.find(({ id }) => id === account.id);
      this.#accounts.set(account.id, {
        account,
        tracks: new AccountTracks(exchange, account),
        reducing: reducingRules(configured),
        thresholds: thresholdsOf(configured, account.positions),
        breachToFillMs: [],
        answeredMs: undefined,
      });
    }
  }

  begin(onProgress: RunHooks['onProgress']): void {
    this.#look();
    const { world } = this;
    const { durationMs, lookMs } = this.#plan;
    const again = (): void => {
      world.exchange.catchUp();
      if (this.#hasNews()) this.#look();
      onProgress?.(world.elapsedMs());
      if (world.elapsedMs() < durationMs) world.schedule(world.elapsedMs() + lookMs, again);
    };
    world.schedule(lookMs, again);
  }

  #nowMs(): number {
    return this.#plan.startMs + this.world.elapsedMs();
  }

  #hasNews(): boolean {
    const { model } = this.world.exchange;
    if (model.ledgerTotals().total > this.#seenSeq) return true;
    if (this.#nowMs() - this.#lookedMs >= this.#plan.durationMs / CALM_POINTS) return true;
    return [...this.#plan.sources.keys()].some((market) => {
      const [before, now] = [this.#lookedAt[market], this.#tape.last(market)];
      return before === undefined || now === undefined || Math.abs(now / before - 1) >= WORTH_A_POINT;
    });
  }

  #look(): void {
    const atMs = this.#nowMs();
    this.#takeFills();
    for (const [id, { tracks, thresholds, reducing }] of this.#accounts) {
      const positions = tracks.look(atMs);
      for (const { positionId, direction, market } of positions)
        this.#positionNames.set(`position:${positionId}`, `${direction} ${market}`);
      const distances = thresholds.filter(({ ruleId }) => reducing.has(ruleId));
      const nearest = Math.max(0, ...distances.map(({ distance }) => distance));
      this.#tape.setBarriers(id, nearest === 0 ? [] : barriersOf(positions, nearest), atMs);
    }
    this.#lookedMs = atMs;
    this.#lookedAt = Object.fromEntries(
      [...this.#plan.sources.keys()].map((market) => [market, this.#tape.last(market) ?? Number.NaN]),
    );
  }

  /** Takes the first reducing fill after a breach as its answer. Runs before fills move the barriers. */
  #takeFills(): void {
    const entries = this.world.exchange.model.ledger({ afterSeq: this.#seenSeq });
    this.#seenSeq = entries.at(-1)?.seq ?? this.#seenSeq;
    for (const { kind, accountId, atMs, clientOrderId = '' } of entries) {
      if (kind !== 'fill' || accountId === null) continue;
      const { reductions, holdsSinceMs } = this.#watch.of(accountId);
      if (!reductions.has(clientOrderId)) continue;
      const watched = this.#accounts.get(accountId);
      const breachedMs = this.#tape.breachBefore(accountId, atMs)?.fromMs ?? holdsSinceMs;
      if (watched === undefined || breachedMs === undefined || watched.answeredMs === breachedMs) continue;
      watched.answeredMs = breachedMs;
      watched.breachToFillMs.push(atMs - breachedMs);
    }
  }

  record(): RunRecord {
    this.world.exchange.catchUp();
    this.#look();
    const { variant, path } = this.#plan;
    const accounts = [...this.#accounts.values()].map((watched) => this.#account(watched));
    return { variant, path, prices: this.#tape.prices, accounts };
  }

  #account({ account, tracks, thresholds, breachToFillMs }: WatchedAccount): AccountRecord {
    const { id, positions } = account;
    const entries = this.world.exchange.model.ledger({ accountId: id });
    const watch = this.#watch.of(id);
    const context: LedgerContext = {
      prices: this.#tape.prices,
      reasonOf: (clientOrderId) => watch.reasons.get(clientOrderId),
      mainMarket: positions[0]?.market ?? [...this.#plan.sources.keys()][0],
    };
    const events = [...ledgerEvents(entries, context), ...watch.events];
    const fills = entries.filter(({ kind, details }) => kind === 'fill' && details?.['reduced'] === true);
    const { equity } = tracks;
    return {
      id,
      money: REFERENCE,
      equityStart: equity[0]?.[1] ?? 0,
      equityEnd: equity.at(-1)?.[1] ?? 0,
      equity,
      liquidatedAtMs: entries.find(({ kind }) => HARM.has(kind))?.atMs ?? null,
      closedFraction: closedShare(fills, positions, this.#plan.startPrices),
      orders: entries.filter(({ kind }) => kind === 'order_placed').length,
      fees: fills.reduce((sum, { fee = '0' }) => sum + Number(fee), 0),
      slippage: fills.reduce((sum, fill) => sum + this.#slippage(fill), 0),
      breachToFillMs,
      positions: tracks.positions,
      bands: this.#watch.bands(id, this.#nowMs()),
      thresholds,
      events: events.toSorted((a, b) => a.atMs - b.atMs),
    };
  }

  /** Against the last price at that moment; a loss is positive. */
  #slippage({ market = '', atMs, side, price, amount }: LedgerEntry): number {
    const before = valueAt(this.#tape.prices[market] ?? [], atMs);
    if (before === null || price === undefined || amount === undefined) return 0;
    return (side === 'sell' ? before - Number(price) : Number(price) - before) * Number(amount);
  }
}

const HARM: ReadonlySet<LedgerEntry['kind']> = new Set(['liquidation', 'loan_liquidation']);

function closedShare(
  fills: readonly LedgerEntry[],
  positions: StartingAccount['positions'],
  prices: Readonly<Record<string, string>>,
): number {
  const worth = (market: string, amount: string): number => Number(amount) * Number(prices[market] ?? 0);
  const held = positions.reduce((sum, { market, amount }) => sum + worth(market, amount), 0);
  const closed = fills.reduce((sum, { market = '', amount = '0' }) => sum + worth(market, amount), 0);
  return held === 0 ? 0 : Math.min(1, closed / held);
}

/** Distances to liquidation below which rules fire for the account's holdings. */
function thresholdsOf(account: CompiledAccount | undefined, positions: StartingAccount['positions']) {
  if (account === undefined) return [];
  const rules = compileRules(account.rules, account.settings).position;
  const marks = positions.flatMap(({ market, side }) => marksOf(rules, { market, direction: known(side) }));
  const distances = marks
    .filter(({ field, op }) => field === 'liquidationDistance' && op === 'below')
    .map(({ ruleId, threshold }) => [`${ruleId} ${threshold}`, { ruleId, distance: threshold }] as const);
  return [...new Map(distances).values()];
}

function reducingRules(account: CompiledAccount | undefined): ReadonlySet<string> {
  const rules = account?.rules ?? [];
  const reducing = rules.filter((rule) => actionsOf(rule).some(({ kind }) => kind === 'reduce'));
  return new Set(reducing.map(({ id }) => id));
}

function subjectWords(subject: string): string {
  const [kind = '', rest = ''] = subject.split(':');
  return kind === 'creditLine' ? `the loan of ${rest.split('@')[0] ?? ''}` : subject;
}

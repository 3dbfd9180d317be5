import { createHash } from 'node:crypto';
import { OPERATOR_CHAIN } from '../core/audit/audit-record.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { HistoryReader } from '../core/ports/history-reader.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { AccountAccess } from '../simulator/accounts.ts';
import type { ExchangeModel } from '../simulator/model/exchange-model.ts';
import type { PriceSource } from '../simulator/prices/price-source.ts';
import type { SimulatedExchange } from '../simulator/simulated-exchange.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../state/nonce/nonce-memory.ts';
import { createMemoryPlace, createMemoryState } from '../state/state.ts';
import { applyEvent } from './apply-event.ts';
import { chanceOf, type LatencySpec, latencyOf } from './chance.ts';
import { loadWorldConfig } from './config.ts';
import { EventQueue } from './event-queue.ts';
import { openExchange } from './exchange.ts';
import { Machine, MachineProcess } from './machine.ts';
import { Network } from './network.ts';
import { People } from './people.ts';
import type { LinkedStores } from './process-parts.ts';
import type { DaemonSpec, WorldEvent, WorldSpec } from './spec.ts';
import { StoreLink, type StoreState } from './store-link.ts';
import { Ticks } from './ticks.ts';
import { WorldDaemon, type WorldSurroundings } from './world-daemon.ts';

export interface WorldOptions {
  /** Price sources by market, in Unix milliseconds; they override those of the specification. */
  readonly prices?: ReadonlyMap<string, PriceSource>;
  /** Gets every event of a daemon at once; must not keep any part of a snapshot. */
  readonly observe?: (daemon: string) => Telemetry | undefined;
  /** Name of the config in problems; relative paths in it start at its folder. Default `breakwater.yaml`. */
  readonly configFile?: string;
}

/** The daemon's real code against the simulated exchange, in virtual time. Nothing is left of it when it is dropped. */
export interface World {
  readonly spec: WorldSpec;
  readonly exchange: SimulatedExchange;
  readonly daemons: readonly WorldDaemon[];
  /** Unix milliseconds at the start. */
  readonly startMs: number;
  /** Milliseconds since the start. */
  elapsedMs(): number;
  daemon(name: string): WorldDaemon;
  /** Applies an event now. */
  readonly apply: (event: WorldEvent) => Promise<void>;
  /** Calls `call` at a time, milliseconds since the start. */
  schedule(atMs: number, call: () => void): void;
  /** Lets time pass until a moment (ms since the start) or until a condition holds; resolves to whether it held. */
  run(until?: number | (() => boolean)): Promise<boolean>;
  /** Operators and readers outside the daemons, with direct access to the shared store. */
  readonly operators: OperatorControls;
  readonly audit: AuditReader;
  readonly history: HistoryReader;
  readonly store: StateStore;
  /** SHA-256 of the ledger and the audit trail so far. */
  hash(): Promise<string>;
  /** Unexpected errors; none in a sound world, except for a store that was down. */
  readonly errors: readonly unknown[];
}

const DEFAULT_START_MS = Date.UTC(2026, 0, 1);
const DEFAULT_LATENCY_MS = 20;
/** Number of base addresses of the exchange. */
const REGIONS = 2;

/** The same specification gives the same ledger and audit. @throws WorldConfigError, SimulatorError, RangeError */
export function openWorld(spec: WorldSpec, options: WorldOptions = {}): World {
  const { seed, startMs = DEFAULT_START_MS } = spec;
  const errors: unknown[] = [];
  const queue = new EventQueue();
  const outside = new MachineProcess(queue, new Machine(queue, startMs));
  const { clock, timers } = outside;
  const exchange = openExchange(
    spec,
    startMs,
    { wallMs: () => clock.nowMs(), monotonicMs: () => queue.nowMs, timers },
    options.prices ?? new Map(),
  );
  const shared = openShared(spec, outside, queue);
  const separate = new Map<string, Shared>();
  const sharedBy = ({ store }: DaemonSpec): Shared => {
    if (store === undefined) return shared;
    const own = separate.get(store) ?? openShared(spec, outside, queue);
    separate.set(store, own);
    return own;
  };
  const people = new People();
  const network = openNetwork(spec, queue, exchange);
  const configs = { file: options.configFile ?? 'breakwater.yaml', accessOf: keysOf(spec, exchange) };
  const surroundings: Omit<WorldSurroundings, keyof StoreSide | 'hasCompany'> = {
    queue,
    seed,
    startMs,
    connect: (region, from) => network.dispatcher(Math.min(region, REGIONS - 1), from, ADDRESS),
    loadConfig: (text) => loadWorldConfig(text, configs),
    observe: options.observe,
    people,
    errors,
  };
  const daemons = spec.daemons.map((daemon, ordinal) => {
    const { linkFor, storeTime, ticks } = sharedBy(daemon);
    const hasCompany = spec.daemons.filter(({ store }) => store === daemon.store).length > 1;
    return new WorldDaemon(daemon, ordinal, { ...surroundings, linkFor, storeTime, ticks, hasCompany });
  });
  const daemon = (name: string): WorldDaemon => namedIn(daemons, name);
  const { state, storeState, stepStoreClock } = shared;
  const stage = {
    exchange,
    operators: state.controls,
    store: state.store,
    people,
    storeState,
    stepStoreClock,
    daemon,
    nowMs: () => clock.nowMs(),
  };
  const accountIds = exchange.accounts.list().map(({ id }) => id);
  const apply = (event: WorldEvent): Promise<void> => applyEvent(stage, event);
  const world: World = {
    spec,
    exchange,
    daemons,
    startMs,
    elapsedMs: () => queue.nowMs,
    daemon,
    apply,
    schedule: (atMs, call) => void queue.at(atMs, call),
    async run(until = spec.durationMs) {
      const held =
        typeof until === 'number'
          ? await queue.run(until, () => false)
          : await queue.run(spec.durationMs, until);
      exchange.catchUp();
      return held;
    },
    operators: state.controls,
    audit: state.audit,
    history: state.history,
    store: state.store,
    hash: () => hashWorld(exchange.model, state.audit, accountIds),
    errors,
  };
  script(world, queue, (error) => errors.push(error));
  return world;
}

function namedIn(daemons: readonly WorldDaemon[], name: string): WorldDaemon {
  const found = daemons.find((one) => one.name === name);
  if (found === undefined) throw new RangeError(`there is no daemon ${JSON.stringify(name)}`);
  return found;
}

const ENTRIES_AT_ONCE = 10_000;
/** More than an account keeps. */
const MOST_RECORDS = 1_000_000;

/** SHA-256, in hex, of everything that happened: each ledger entry, and each audit record. */
async function hashWorld(
  model: ExchangeModel,
  audit: AuditReader,
  accountIds: readonly string[],
): Promise<string> {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(model.ledgerTotals()));
  let afterSeq = 0;
  for (;;) {
    const entries = model.ledger({ afterSeq, limit: ENTRIES_AT_ONCE });
    for (const entry of entries) hash.update(JSON.stringify(entry));
    const last = entries.at(-1);
    if (last === undefined) break;
    afterSeq = last.seq;
  }
  for (const id of [...accountIds, OPERATOR_CHAIN]) {
    const records = await audit.tail(id, MOST_RECORDS);
    hash.update(`${id} ${records.length}\n`);
    for (const record of records) hash.update(`${record.number} ${record.hash}\n`);
  }
  return hash.digest('hex');
}

/** The API key of each account that a config may name. */
function keysOf({ exchange: { accounts } }: WorldSpec, { accounts: directory }: SimulatedExchange) {
  const further = accounts.flatMap(({ id, alsoAs = [] }) =>
    alsoAs.map((name) => [name, directory.addKey(id, name)] as const),
  );
  const keys = new Map(further);
  return (id: string): AccountAccess | undefined =>
    keys.get(id) ?? (directory.has(id) ? directory.access(id) : undefined);
}

/** The daemons share one outgoing address, like two hosts behind one gateway. */
const ADDRESS = '10.0.0.1';

/** Schedules the starts, faults and events of the specification. */
function script(
  { spec, exchange, daemons, apply }: World,
  queue: EventQueue,
  fail: (error: unknown) => void,
) {
  for (const [index, { startAtMs = 0 }] of spec.daemons.entries()) {
    queue.at(startAtMs, () => daemons[index]?.start());
  }
  for (const { atMs, untilMs, fault } of spec.faults ?? []) {
    queue.at(atMs, () => {
      const id = exchange.injectFault(fault);
      if (untilMs !== undefined) queue.at(untilMs, () => exchange.clearFaults(id));
    });
  }
  for (const { atMs, ...event } of spec.events ?? []) {
    queue.at(atMs, () => void apply(event).catch(fail));
  }
}

function openNetwork(
  { seed, network = {} }: WorldSpec,
  queue: EventQueue,
  exchange: SimulatedExchange,
): Network {
  const { toExchange = DEFAULT_LATENCY_MS, toDaemon = DEFAULT_LATENCY_MS } = network;
  return new Network(
    {
      queue,
      front: exchange.front,
      toExchangeMs: latencyOf(toExchange, chanceOf(seed, 'to the exchange')),
      toDaemonMs: latencyOf(toDaemon, chanceOf(seed, 'to the daemon')),
    },
    REGIONS,
  );
}

/** A daemon's side of the store that it shares. */
type StoreSide = Pick<WorldSurroundings, 'linkFor' | 'storeTime' | 'ticks'>;

interface Shared extends StoreSide {
  readonly storeState: StoreState;
  readonly stepStoreClock: (byMs: number) => void;
  /** For operators and readers outside the daemons. */
  readonly state: ReturnType<typeof createMemoryState>;
}

/** Stands in for Redis: one place for state, nonces, request budgets and the ticks of the queue. */
function openShared({ seed, network = {} }: WorldSpec, outside: MachineProcess, queue: EventQueue): Shared {
  const { clock } = outside;
  const host = new Machine(queue, outside.machine.wallMs());
  // Redis has one clock for everything, and that clock can be set.
  const hostMs = (): number => host.wallMs();
  const storeClock: Clock = {
    nowMs: hostMs,
    monotonicMs: hostMs,
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
  };
  const place = createMemoryPlace({ clock: storeClock });
  const { backend } = place;
  const nonces = createMemoryNonceStore(clock);
  const limits = createMemoryRateLimitStore(clock);
  const storeState: StoreState = { isDown: false };
  const latency: LatencySpec = network.store ?? 0;
  const links = new WeakMap<MachineProcess, StoreLink>();
  const linkFor = (process: MachineProcess, instance: string): LinkedStores => {
    const latencyMs = latencyOf(latency, chanceOf(seed, `store of ${instance}`));
    const link = new StoreLink({ queue, process, store: storeState, latencyMs, isInstant: latency === 0 });
    links.set(process, link);
    return {
      backend: { ...link.over(backend), leases: link.over(backend.leases) },
      nonces: link.overNonces(nonces),
      limits: link.over(limits),
      probe: () => link.probe(),
    };
  };
  const storeTime = async (process: MachineProcess): Promise<number> => {
    const asked = links.get(process)?.over({ now: async () => hostMs() });
    return await (asked?.now() ?? Promise.resolve(hostMs()));
  };
  const chance = chanceOf(seed, 'outside');
  const state = createMemoryState({ clock, randomBelow: (bound) => chance.below(bound) }, place);
  const ticks = new Ticks(queue, () => clock.nowMs(), { random: chanceOf(seed, 'ticks'), store: storeState });
  return { linkFor, storeTime, ticks, storeState, stepStoreClock: (byMs) => host.stepWall(byMs), state };
}

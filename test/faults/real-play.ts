import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';
import type { RequestRecord } from '../../src/simulator/http/request-log.ts';
import { ExchangeServer } from '../../src/simulator/http/server.ts';
import { interpolate, sourceFromPoints } from '../../src/simulator/prices/price-source.ts';
import type { SimulatedExchange } from '../../src/simulator/simulated-exchange.ts';
import { createOperatorTrust } from '../../src/state/controls/operator-seal.ts';
import { createRedisState, type State } from '../../src/state/state.ts';
import { applyEvent } from '../../src/world/apply-event.ts';
import { openExchange } from '../../src/world/exchange.ts';
import { People } from '../../src/world/people.ts';
import type { PriceSpec, WorldEvent } from '../../src/world/spec.ts';
import { OPERATORS_KEY } from '../daemon/config.ts';
import { Closers } from '../support/closers.ts';
import { startRedisServer } from '../support/redis.ts';
import { breachSince, isBreached } from './breach.ts';
import { faultWorld } from './fault-world.ts';
import { type Judged, judgePlayed } from './judge.ts';
import type { FaultWorld } from './parts.ts';
import { PREFIX, RealDaemon } from './real-daemon.ts';

const LOOK_MS = 500;
const CATCH_UP_MS = 20;
const REGIONS = 2;

/** Clock steps are left out of real plays: all hosts are this machine. */
export function isForReal({ spec: { events = [] } }: FaultWorld): boolean {
  return !events.some(({ kind }) => kind === 'stepClock' || kind === 'stepStoreClock');
}

/** The first worlds, from a seed on, that real parts can play. */
export function* realWorlds(from: number, count: number): Generator<FaultWorld> {
  for (let [seed, found] = [from, 0]; found < count; seed++) {
    const world = faultWorld(seed);
    if (!isForReal(world)) continue;
    found += 1;
    yield world;
  }
}

/**
 * Plays a world in real time: each daemon is a process, on a real Redis, and the exchange serves HTTP. It is then
 * judged as in virtual time, except for notices and other telemetry. Rejects if it cannot be played to its end.
 */
export async function playForReal(faultWorld: FaultWorld, signal?: AbortSignal): Promise<Judged> {
  const closers = new Closers();
  try {
    const scene = await openScene(faultWorld, closers);
    await Promise.all(scene.daemons.map((daemon) => daemon.start()));
    const seen = await playOut(scene, signal);
    await Promise.all(scene.daemons.map((daemon) => daemon.stop()));
    const { exchange, state, daemons } = scene;
    const said = daemons.map((daemon) => daemon.said()).join('\n');
    const errors = daemons.flatMap((daemon) => daemon.errors);
    const polls = seen.log.filter(({ endpoint }) => endpoint === 'openPositions').length;
    return await judgePlayed(
      { faultWorld, exchange, audit: state.audit, ...seen, said, errors, polls },
      () => [],
    );
  } finally {
    await closers.close();
  }
}

interface Scene {
  readonly faultWorld: FaultWorld;
  readonly exchange: SimulatedExchange;
  readonly daemons: readonly RealDaemon[];
  /** The state as an outside observer reads it. */
  readonly state: State;
}

async function openScene(faultWorld: FaultWorld, closers: Closers): Promise<Scene> {
  const { spec } = faultWorld;
  const server = await startRedisServer({ persistent: true });
  closers.add(() => server.stop());
  const exchange = openExchange(
    { ...spec, prices: [] },
    Date.now(),
    { wallMs: Date.now, monotonicMs: () => performance.now(), timers: systemTimers },
    new Map(),
  );
  const http = new ExchangeServer(exchange.front);
  closers.add(() => http.close());
  const regionPorts: number[] = [];
  for (let region = 0; region < REGIONS; region++) {
    const url = await http.listen(0, '127.0.0.1');
    exchange.baseUrl ||= url;
    regionPorts.push(Number(new URL(url).port));
  }
  const ticker = setInterval(() => exchange.catchUp(), CATCH_UP_MS);
  closers.add(async () => clearInterval(ticker));
  const keys = spec.exchange.accounts.flatMap(({ id }, index) => {
    const { apiKey, apiSecret } = exchange.accounts.access(id);
    return [
      [`KEY_${index}`, apiKey],
      [`SECRET_${index}`, apiSecret],
    ];
  });
  const env = { ...Object.fromEntries(keys), OPERATORS_KEY };
  const surroundings = { env, redisPort: server.port, regionPorts, closers };
  const daemons = await Promise.all(
    spec.daemons.map((daemon, ordinal) => RealDaemon.open(daemon, ordinal, surroundings)),
  );
  const redis = new Redis(server.url);
  const operators = createOperatorTrust({ key: () => OPERATORS_KEY, isGuarded: false });
  const state = createRedisState({ redis, prefix: PREFIX, clock: systemClock, operators, timeoutMs: 60_000 });
  closers.add(async () => {
    state.close();
    redis.disconnect();
  });
  return { faultWorld, exchange, daemons, state };
}

interface Seen {
  readonly startMs: number;
  readonly log: readonly RequestRecord[];
  readonly breachMs: number | undefined;
}

/** Plays the world, whose times count from the call. */
async function playOut(scene: Scene, signal: AbortSignal | undefined): Promise<Seen> {
  const { exchange, faultWorld } = scene;
  const { spec, second } = faultWorld;
  exchange.catchUp();
  const startMs = exchange.model.nowMs();
  // Requests before that belong to no world.
  const log: RequestRecord[] = [];
  let afterSeq = exchange.log.list({}).at(-1)?.seq ?? 0;
  let breachMs: number | undefined;
  for (const price of spec.prices ?? []) play(exchange, price, startMs);
  const until = (atMs: number): Promise<void> => untilClock(exchange, startMs + atMs, signal);
  const faults = (spec.faults ?? []).map(async ({ atMs, untilMs, fault }) => {
    await until(atMs);
    const id = exchange.injectFault(fault);
    if (untilMs === undefined) return;
    await until(untilMs);
    exchange.clearFaults(id);
  });
  const events = (spec.events ?? []).map(async ({ atMs, ...event }) => {
    await until(atMs);
    await happen(scene, event);
  });
  const looks = async (): Promise<void> => {
    for (let atMs = LOOK_MS; atMs <= spec.durationMs; atMs += LOOK_MS) {
      await until(atMs);
      log.push(...exchange.log.list({ after: afterSeq }));
      afterSeq = log.at(-1)?.seq ?? afterSeq;
      breachMs = breachSince(breachMs, isBreached(exchange, second), atMs);
    }
  };
  await Promise.all([...faults, ...events, looks()]);
  return { startMs, log, breachMs };
}

/** By the exchange's clock, which loses time when it cannot keep up. */
async function untilClock(
  exchange: SimulatedExchange,
  atMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (;;) {
    const leftMs = atMs - exchange.model.nowMs();
    if (leftMs <= 0) return;
    await sleep(Math.max(1, leftMs), undefined, { signal });
  }
}

function play(exchange: SimulatedExchange, price: PriceSpec, startMs: number): void {
  const { market } = price;
  const { spec } = exchange.model.market(market) ?? {};
  if (spec === undefined || !('points' in price)) throw new RangeError(`the prices of ${market} are no path`);
  const { tickMs = 1, points } = price;
  const path = points.map(([atMs, text]) => ({ atMs: startMs + atMs, price: decimal(text) }));
  exchange.setPriceSource(market, sourceFromPoints(interpolate(path, tickMs, spec.priceStep)));
}

async function happen({ exchange, state, daemons }: Scene, event: WorldEvent): Promise<void> {
  const named = (name: string): RealDaemon => {
    const found = daemons.find((daemon) => daemon.name === name);
    if (found === undefined) throw new RangeError(`there is no daemon ${name}`);
    return found;
  };
  switch (event.kind) {
    case 'kill':
      return await named(event.daemon).kill();
    case 'start':
      return await named(event.daemon).start();
    case 'stop':
      return await named(event.daemon).stop();
    case 'suspend':
      return named(event.daemon).signal('SIGSTOP');
    case 'resume':
      return named(event.daemon).signal('SIGCONT');
    case 'reload':
      return await named(event.daemon).reload(event.config);
    case 'link':
      return named(event.daemon).setLink(event.to, event.state);
    case 'store':
      for (const daemon of daemons) daemon.setStore(event.state);
      return;
    default: {
      const { store, controls: operators } = state;
      const notHere = () => {
        throw new RangeError(`${event.kind} is for no real play`);
      };
      const stage = {
        exchange,
        operators,
        store,
        people: new People(),
        storeState: { isDown: false },
        stepStoreClock: notHere,
        daemon: notHere,
        nowMs: Date.now,
      };
      return await applyEvent(stage, event);
    }
  }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Daemon, startDaemon } from '../../../src/app/daemon.ts';
import type { DaemonEvent } from '../../../src/core/ports/telemetry.ts';
import { systemTimers } from '../../../src/exchange/system-clock.ts';
import { ExchangeServer } from '../../../src/simulator/http/server.ts';
import type { SimulatedExchange } from '../../../src/simulator/simulated-exchange.ts';
import { applyEvent } from '../../../src/world/apply-event.ts';
import { openExchange } from '../../../src/world/exchange.ts';
import { openWorld, type World } from '../../../src/world/open-world.ts';
import { People } from '../../../src/world/people.ts';
import type { WorldSpec } from '../../../src/world/spec.ts';
import { OPERATORS_KEY } from '../../daemon/config.ts';
import { type PrivateRedis, startPrivateRedis } from '../../support/redis.ts';
import {
  accountIdOf,
  CADENCE_MS,
  configText,
  durationOf,
  eventsOf,
  exchangeOf,
  faultsOf,
  type Group,
  later,
  sourcesOf,
} from './scenario.ts';
import { ReadLog, type Trace, traceOf } from './trace.ts';

/** The trace of each account of a group. */
export interface Played {
  readonly traces: ReadonlyMap<string, Trace>;
  /** Unexpected failures; empty in a sound play. */
  readonly errors: readonly unknown[];
}

/**
 * Both plays begin their paths at a multiple of this, in Unix milliseconds, so that ticks fall on the same times of the
 * paths.
 */
const ALIGNED_MS = 1_000;
/** In the world: from the start of the daemon to that of the paths. Every account has been polled by then. */
const LEAD_MS = 4 * CADENCE_MS;
/** Half of a store request's latency in the world, plus the store's resolution. */
const STORE_ERROR_MS = 1.2;
const START_MS = Date.UTC(2026, 0, 1);
export const SEED = 12;

function specOf(group: Group): WorldSpec {
  return {
    seed: SEED,
    startMs: START_MS,
    durationMs: LEAD_MS + durationOf(group),
    exchange: exchangeOf(group),
    daemons: [
      { name: 'north', config: configText(group, { baseUrl: 'https://one.example', redis: undefined }) },
    ],
    network: { toExchange: 1, toDaemon: 1, store: 0.2 },
    faults: faultsOf(group).map((fault) => ({ atMs: LEAD_MS, fault })),
    events: later(eventsOf(group), LEAD_MS),
  };
}

export async function playInWorld(group: Group): Promise<Played> {
  const spec = specOf(group);
  const beginMs = START_MS + LEAD_MS;
  const reads = new ReadLog(
    () => world.exchange.clock.nowMs(),
    () => STORE_ERROR_MS,
  );
  const world = openWorld(spec, { prices: sourcesOf(group, beginMs), observe: () => reads });
  await world.run();
  const traces = await tracesOf(group, world, reads, beginMs);
  return { traces, errors: [...world.errors, ...world.exchange.internalErrors] };
}

async function tracesOf(
  { scenarios }: Group,
  { exchange, audit }: Pick<World, 'exchange' | 'audit'>,
  reads: ReadLog,
  beginMs: number,
): Promise<ReadonlyMap<string, Trace>> {
  const ids = scenarios.map(accountIdOf);
  const traces = await Promise.all(
    ids.map((accountId) => traceOf(exchange, audit, reads, { accountId, beginMs })),
  );
  return new Map(ids.map((id, index) => [id, traces[index] as Trace]));
}

/** As `playInWorld`, in real time: the daemon with its queues on a real Redis, the exchange over HTTP. */
export async function playForReal(group: Group): Promise<Played> {
  const redis = await startPrivateRedis();
  try {
    return await playOverHttp(group, redis);
  } finally {
    await redis.stop();
  }
}

async function playOverHttp(group: Group, redis: PrivateRedis): Promise<Played> {
  const exchange = openExchange(
    { ...specOf(group), daemons: [] },
    Date.now(),
    { wallMs: Date.now, monotonicMs: () => performance.now(), timers: systemTimers },
    new Map(),
  );
  const server = new ExchangeServer(exchange.front);
  const baseUrl = await server.listen(0, '127.0.0.1');
  exchange.baseUrl = baseUrl;
  const ticker = setInterval(() => exchange.catchUp(), CATCH_UP_MS);
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-equivalence-'));
  try {
    const configFile = path.join(folder, 'breakwater.yaml');
    const place = { url: redis.url, prefix: redis.prefix.replace(/:$/, '') };
    await writeFile(configFile, configText(group, { baseUrl, redis: place }));
    return await playWithDaemon(group, exchange, configFile);
  } finally {
    clearInterval(ticker);
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const CATCH_UP_MS = 20;

async function playWithDaemon(
  group: Group,
  exchange: SimulatedExchange,
  configFile: string,
): Promise<Played> {
  const waiting = new Set(group.scenarios.map(accountIdOf));
  const seen = Promise.withResolvers<void>();
  const errors: unknown[] = [];
  const emit = (event: DaemonEvent): void => {
    // A poll abandoned because a lane of the account acts is no failure.
    const isFailure =
      event.kind === 'workerError' || (event.kind === 'pollFailed' && event.why !== 'aborted');
    if (isFailure) errors.push(event);
    if (event.kind !== 'evaluated' || !waiting.delete(event.accountId) || waiting.size > 0) return;
    seen.resolve();
  };
  let clockErrorMs = (): number => 0;
  const reads = new ReadLog(
    () => exchange.clock.nowMs(),
    () => clockErrorMs(),
  );
  const env = { ...environmentOf(group, exchange), OPERATORS_KEY };
  const daemon = await startDaemon({ configFile, env, telemetry: [{ emit }, reads] });
  clockErrorMs = () => daemon.time.errorMs;
  try {
    await seen.promise;
    const beginMs = beginAfter(exchange.clock.nowMs() + ALIGNED_MS / 2);
    const events = await playOut(group, exchange, daemon, beginMs);
    errors.push(...events, ...exchange.internalErrors);
    return { traces: await tracesOf(group, { exchange, audit: daemon.state.audit }, reads, beginMs), errors };
  } finally {
    await daemon.stop('the play is over', STOP_WITHIN_MS);
  }
}

const STOP_WITHIN_MS = 10_000;

function beginAfter(atMs: number): number {
  return Math.ceil(atMs / ALIGNED_MS) * ALIGNED_MS;
}

/** Resolves to the failures of the events, when the paths are over. */
async function playOut(
  group: Group,
  exchange: SimulatedExchange,
  daemon: Daemon,
  beginMs: number,
): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  const stage = {
    exchange,
    operators: daemon.state.controls,
    store: daemon.state.store,
    people: new People(),
    storeState: { isDown: false },
    stepStoreClock: () => {
      throw new RangeError("the store's clock is the machine's in a real play");
    },
    daemon: (name: string) => {
      throw new RangeError(`an event for the daemon ${name}: not in a real play`);
    },
    nowMs: Date.now,
  };
  for (const [market, source] of sourcesOf(group, beginMs)) exchange.setPriceSource(market, source);
  await until(exchange, beginMs);
  for (const fault of faultsOf(group)) exchange.injectFault(fault);
  const happened = eventsOf(group).map(async ({ atMs, ...event }) => {
    await until(exchange, beginMs + atMs);
    await applyEvent(stage, event).catch((error: unknown) => errors.push(error));
  });
  await until(exchange, beginMs + durationOf(group));
  await Promise.all(happened);
  exchange.catchUp();
  return errors;
}

/** By the exchange's clock, which loses time when it cannot keep up. */
async function until({ clock }: SimulatedExchange, atMs: number): Promise<void> {
  for (let leftMs = atMs - clock.nowMs(); leftMs > 0; leftMs = atMs - clock.nowMs()) await sleep(leftMs);
}

function environmentOf({ scenarios }: Group, { accounts }: SimulatedExchange): Record<string, string> {
  return Object.fromEntries(
    scenarios.flatMap((scenario) => {
      const { apiKey, apiSecret } = accounts.access(accountIdOf(scenario));
      return [
        [`KEY_${scenario.id}`, apiKey],
        [`SECRET_${scenario.id}`, apiSecret],
      ];
    }),
  );
}

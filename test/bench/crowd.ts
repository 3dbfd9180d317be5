import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/exchange/system-clock.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { createRedisState } from '../../src/state/state.ts';
import { connectTo } from '../state/support/place.ts';
import {
  breachPrice,
  CROWD,
  callsBetween,
  crowdAccount,
  crowdConfig,
  crowdMarkets,
  LEADER,
  storeCalls,
} from '../support/crowd.ts';
import { freePort, type RedisServer, startRedisServer } from '../support/redis.ts';
import { startSlowRedis } from '../support/slow-redis.ts';
import { median, report } from './rounds.ts';

/**
 * Sixty markets in one account, all breached by one move, with Redis 2 ms away: `breakwater run` in its own process
 * against the simulated exchange over HTTP. Measured per run: from the move to the arrival of the last order (the poll
 * that sees it is up to half a second away), requests to the store per order, lane runs that gave up, and doubts. A
 * single market is the baseline. The runs alternate.
 */
const RUNS = Number(process.env['BENCH_ROUNDS'] ?? '20');
const MARKETS = [1, 60];
const ROUND_TRIP_MS = Number(process.env['BENCH_REDIS_MS'] ?? '2');
const WAIT_MS = 40_000;

interface Run {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly callsPerOrder: number;
  readonly contended: number;
  readonly doubts: number;
}

const redis = await startRedisServer({ persistent: true });
const runs = new Map<number, Run[]>(MARKETS.map((count) => [count, []]));
for (let round = 0; round < RUNS; round++) {
  for (const count of MARKETS) runs.get(count)?.push(await play(count, redis, `crowd${round}-${count}`));
}
for (const [count, all] of runs) {
  const of = (figure: (run: Run) => number): number => median(all.map(figure));
  report('markets breached together, Redis some ms away: ms until orders arrive, store calls per order', {
    markets: count,
    redisMs: ROUND_TRIP_MS,
    first: of(({ firstMs }) => firstMs),
    last: of(({ lastMs }) => lastMs),
    targetLast: 1_500,
    worstLast: Math.max(...all.map(({ lastMs }) => lastMs)),
    callsPerOrder: of(({ callsPerOrder }) => callsPerOrder),
    contended: Math.max(...all.map(({ contended }) => contended)),
    doubts: Math.max(...all.map(({ doubts }) => doubts)),
    runs: all.length,
  });
}
await redis.stop();

async function play(count: number, { url }: RedisServer, prefix: string): Promise<Run> {
  const simulator = await startSimulatedExchange({
    speed: 1,
    limits: [],
    readings: { marginModel: 'isolated' },
    accounts: [crowdAccount(count)],
    config: { markets: crowdMarkets(count) },
  });
  const slow = await startSlowRedis(url, ROUND_TRIP_MS);
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-bench-'));
  const webPort = await freePort();
  const configFile = path.join(folder, 'breakwater.yaml');
  await writeFile(configFile, crowdConfig({ count, simulator, redis: { url: slow.url, prefix }, webPort }));
  const secrets = simulator.accounts.flatMap(({ id, apiKey, apiSecret }) => [
    [`KEY_${id}`, apiKey],
    [`SECRET_${id}`, apiSecret],
  ]);
  const main = new URL('../../src/cli/main.ts', import.meta.url).pathname;
  const daemon = spawn(process.execPath, [main, 'run', '--config', configFile, '--log-level', 'error'], {
    env: { ...process.env, ...Object.fromEntries(secrets) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  try {
    await until(() => polls(simulator) >= 6, 'polls');
    const before = storeCalls(slow);
    const breachMs = Date.now();
    simulator.setPrice(LEADER, breachPrice(simulator));
    await until(() => orders(simulator).length >= count, 'an order in each market');
    // The outcomes are recorded, and the leases released.
    await sleep(300);
    const calls = callsBetween(before, storeCalls(slow));
    const metrics = await (await fetch(`http://127.0.0.1:${webPort}/metrics`)).text();
    const atMs = orders(simulator).map((order) => order.atMs - breachMs);
    return {
      firstMs: Math.min(...atMs),
      lastMs: Math.max(...atMs),
      callsPerOrder: calls / count,
      contended: Number(
        /breakwater_lane_runs_total\{[^}]*end="contended"[^}]*\} (\d+)/.exec(metrics)?.[1] ?? 0,
      ),
      doubts: await doubtsOf(url, prefix),
    };
  } finally {
    daemon.kill('SIGTERM');
    await once(daemon, 'exit');
    await slow.stop();
    await simulator.close();
    await rm(folder, { recursive: true });
  }
}

function orders(simulator: RunningSimulator) {
  return simulator.ledger({ accountId: CROWD, kinds: ['order_placed'] });
}

function polls(simulator: RunningSimulator): number {
  return simulator.requestLog({ endpoint: 'openPositions' }).length;
}

async function doubtsOf(url: string, prefix: string): Promise<number> {
  const connection = connectTo(url);
  const state = createRedisState({ redis: connection, prefix, clock: systemClock });
  const records = await state.audit.tail(CROWD, 10_000);
  state.close();
  connection.disconnect();
  return records.filter(
    ({ record: { content } }) => content.kind === 'action' && content.event.kind === 'doubt',
  ).length;
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await sleep(20);
  }
}

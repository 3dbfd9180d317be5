import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decimal, ZERO } from '../../src/core/quantities/decimal.ts';
import { marketYaml, PERPETUAL, seedOf } from '../../src/demo/accounts.ts';
import { watchOverDeath } from '../../src/redis-server/death-watch.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { startRedisServer } from '../support/redis.ts';
import { endInTime } from './end-in-time.ts';
import { cpuMsOf } from './installed.ts';
import { median, report } from './rounds.ts';

/**
 * From a breach that the exchange shows to the order that it receives, without the wait for the poll: `breakwater run`
 * in its own process, in enforce mode, against the simulated exchange over HTTP. All accounts are long at 10x and
 * breached by one move of the price; their positions are closed, and reopened for the next wave. Measured per account:
 * from the arrival of the first request for its positions after the move to the arrival of the first order; and, as a
 * separate figure, from the end of that request's reply. The first wave warms up and does not count. Every wave
 * includes the consequence of a fill that only the position showed: the daemon cancels, reads and only then places, so
 * each figure includes three requests. The limiter's budgets are overridden, because one address may send too few
 * orders for this. The daemon's processor time until the last order depends less on other load of the machine; it
 * includes polls. `BENCH_MAIN` is the program to measure instead of the sources, such as a build of another commit.
 */
const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? '100');
const WAVES = Number(process.env['BENCH_ROUNDS'] ?? '4');
/** Below the rule's threshold of 5 %. */
const BREACHED = 0.045;
const PRICE = 60_000;
const WAIT_MS = 60_000;
const LOOK_MS = 100;
/** Reads of each account before a breach. */
const READS = 5;
/** Longer than an order may take to fill before the next one follows. */
const QUIET_MS = 5_000;
const POSITIONS = '/api/v4/collateral-account/positions/open';
const STOP_LIMIT = '/api/v4/order/collateral/stop-limit';

interface Seen {
  reads: number;
  /** Times within the wave: the first request for positions, its answer, and the first order. */
  readMs: number | undefined;
  repliedMs: number | undefined;
  orderMs: number | undefined;
  /** Requests within the wave, from the read to the order, both included. */
  requests: number;
}

/** Milliseconds until the order and requests until then, one figure per account. */
interface Wave {
  readonly fromRead: readonly number[];
  readonly fromReply: readonly number[];
  readonly requests: readonly number[];
  /** The daemon's processor time, from the breach to the last order. */
  readonly cpuMs: number;
}

const NOT_YET = { readMs: undefined, repliedMs: undefined, orderMs: undefined, requests: 0 };

const simulator = await startSimulatedExchange({
  speed: 1,
  limits: [],
  depth: '1000',
  accounts: Array.from({ length: ACCOUNTS }, (_, index) => seedOf(`a${index}`)),
});
const { model } = simulator;
const ids = simulator.accounts.map(({ id }) => id);
const seen = new Map<string, Seen>(
  simulator.accounts.map(({ apiKey }) => [apiKey, { reads: 0, ...NOT_YET }]),
);
let lastOrderMs = 0;
subscribe('http.server.request.start', (message) => note((message as { request: IncomingMessage }).request));
subscribe('http.server.response.finish', (message) =>
  noteReply((message as { request: IncomingMessage }).request),
);
const redis = await startRedisServer({ persistent: true });
const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-bench-'));
const daemon = await startDaemon();
const { pid = Number.NaN } = daemon;
const deathWatch = watchOverDeath({ pid, folders: [folder] });
const waves: Wave[] = [];
try {
  for (let wave = 0; wave <= WAVES; wave++) {
    await open();
    const passed = await breach();
    if (wave > 0) waves.push(passed);
    await settle();
  }
} finally {
  await endInTime(daemon);
  await deathWatch.release();
  await simulator.close();
  await redis.stop();
  await rm(folder, { recursive: true });
}
const of = (share: number, from: 'fromRead' | 'fromReply' | 'requests' = 'fromRead'): number =>
  median(waves.map((wave) => part(wave[from], share)));
report('reaction: breach visible to order received, without the wait for the poll, ms (limits overridden)', {
  p50: of(0.5),
  targetP50: 5,
  p99: of(0.99),
  targetP99: 25,
  worst: Math.max(...waves.flatMap(({ fromRead }) => fromRead)),
  p50FromReply: of(0.5, 'fromReply'),
  p99FromReply: of(0.99, 'fromReply'),
  requests: of(0.5, 'requests'),
  cpuMsPerOrder: median(waves.map(({ cpuMs }) => cpuMs)) / ACCOUNTS,
  accounts: ACCOUNTS,
  fewestInAWave: Math.min(...waves.map(({ fromRead }) => fromRead.length)),
  waves: WAVES,
});

function note({ url, headers }: IncomingMessage): void {
  const one = seen.get(String(headers['x-txc-apikey']));
  if (one === undefined) return;
  const nowMs = performance.now();
  if (one.orderMs === undefined && (one.readMs !== undefined || url === POSITIONS)) one.requests += 1;
  if (url === POSITIONS) {
    one.reads += 1;
    one.readMs ??= nowMs;
  } else if (url === STOP_LIMIT) {
    lastOrderMs = nowMs;
    if (one.readMs !== undefined) one.orderMs ??= nowMs;
  }
}

function noteReply({ url, headers }: IncomingMessage): void {
  const one = seen.get(String(headers['x-txc-apikey']));
  if (url === POSITIONS && one?.readMs !== undefined) one.repliedMs ??= performance.now();
}

/** Restores every account's initial positions, and waits until the daemon has seen them for a while. */
async function open(): Promise<void> {
  simulator.setPrice(PERPETUAL, String(PRICE));
  for (const id of ids) reopen(id);
  const before = new Map([...seen].map(([key, { reads }]) => [key, reads]));
  await until(
    () =>
      [...seen].every(([key, { reads }]) => reads >= (before.get(key) ?? 0) + READS) &&
      performance.now() - lastOrderMs > QUIET_MS,
    'every account polled',
  );
}

function reopen(id: string): void {
  if (model.openPositions(id, PERPETUAL).length > 0) return;
  const { collateral, positions = [] } = seedOf(id);
  simulator.exchange.change(() => {
    for (const [ticker, wanted] of Object.entries(collateral)) {
      // The owner's orders pay a fee and the spread.
      const amount = wanted.times(decimal('1.03')).minus(model.account(id).equity);
      if (amount.lte(ZERO)) continue;
      expectOk(model.deposit(id, { ticker, amount }));
      expectOk(model.moveFunds(id, { from: 'main', to: 'collateral', ticker, amount }));
    }
    for (const { market, amount } of positions) {
      expectOk(model.placeCollateralOrder(id, { market, side: 'buy', amount }));
    }
  });
}

function expectOk(outcome: { readonly ok: boolean }): void {
  if (!outcome.ok) throw new Error(`the exchange refused: ${JSON.stringify(outcome)}`);
}

/** Moves the price until every account is breached, and waits for their orders. */
async function breach(): Promise<Wave> {
  const liquidations = ids.flatMap((id) =>
    model.openPositions(id, PERPETUAL).map(({ liquidationPrice }) => liquidationPrice?.toNumber() ?? 0),
  );
  if (liquidations.length !== ACCOUNTS) throw new Error(`${liquidations.length} positions are open`);
  for (const one of seen.values()) Object.assign(one, NOT_YET);
  const cpuBeforeMs = cpuMsOf(pid);
  simulator.setPrice(PERPETUAL, (Math.min(...liquidations) / (1 - BREACHED)).toFixed(1));
  await until(() => [...seen.values()].every(({ orderMs }) => orderMs !== undefined), 'an order for each');
  const all = [...seen.values()];
  return {
    fromRead: all.map(({ readMs = Number.NaN, orderMs = Number.NaN }) => orderMs - readMs),
    fromReply: all.map(({ repliedMs = Number.NaN, orderMs = Number.NaN }) => orderMs - repliedMs),
    requests: all.map(({ requests }) => requests),
    cpuMs: cpuMsOf(pid) - cpuBeforeMs,
  };
}

/**
 * Moves the price on in small steps until every position is closed. Nothing may be left that a further fall would
 * breach again before a busy machine has reached the last account.
 */
async function settle(): Promise<void> {
  let mark = model.market(PERPETUAL)?.mark.toNumber() ?? Number.NaN;
  await until(() => {
    mark *= 0.999;
    simulator.setPrice(PERPETUAL, mark.toFixed(1));
    return ids.every(
      (id) => model.openPositions(id, PERPETUAL).length === 0 && model.openOrders(id).length === 0,
    );
  }, 'every position closed');
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await sleep(LOOK_MS);
  }
}

function part(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

async function startDaemon(): Promise<ChildProcess> {
  const configFile = path.join(folder, 'breakwater.yaml');
  await writeFile(configFile, config());
  const secrets = simulator.accounts.flatMap(({ id, apiKey, apiSecret }) => [
    [`KEY_${id}`, apiKey],
    [`SECRET_${id}`, apiSecret],
  ]);
  const main = process.env['BENCH_MAIN'] ?? new URL('../../src/cli/main.ts', import.meta.url).pathname;
  return spawn(process.execPath, [main, 'run', '--config', configFile, '--log-level', 'error'], {
    env: { ...process.env, ...Object.fromEntries(secrets) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

function config(): string {
  const huge = '{ limit: 100000000, period: 10s }';
  const accounts = simulator.accounts.map(
    ({ id }) =>
      `  - { id: ${id}, apiKey: { env: KEY_${id} }, apiSecret: { env: SECRET_${id} }, watch: { positions: true }, rules: [near] }`,
  );
  return `mode: enforce
insecure: [redis]
exchange:
  baseUrls: ["${simulator.baseUrl}"]
  limits: { positions: ${huge}, order: ${huge} }
redis: { url: "${redis.url}", prefix: bench }
web: { port: 0 }
cadence: { calm: 1s, alert: 1s }
acting: { fillWithin: 3s }
markets:
${marketYaml()}
accounts:
${accounts.join('\n')}
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 9% }, disagreement: false }
    do: [{ reduce: { by: 100%, slippage: [2%, 4%] } }]
    severity: critical
`;
}

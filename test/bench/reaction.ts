import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { marketYaml, PERPETUAL, seedOf } from '../../src/demo/accounts.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { startRedisServer } from '../support/redis.ts';
import { median, report } from './rounds.ts';

/**
 * From a breach that the exchange shows to the order that it receives, without the wait for the poll: `breakwater run`
 * in a process of its own, in enforce mode, against the simulated exchange over HTTP. All accounts are long at 10x and
 * breached by one move of the price. For each, from the arrival of the first request for its positions after the move
 * to the arrival of the first order; and, as a figure of its own, from the end of that request's reply. The first wave
 * warms up and does not count: a daemon has run for long in epoch. Every wave counts in full what follows a fill that
 * only the position showed: the daemon cancels, reads and only then places, so that three requests are in each figure.
 * The limiter's budgets are overridden, so that what is measured is not how few orders one address may send.
 */
const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? '100');
const WAVES = Number(process.env['BENCH_ROUNDS'] ?? '4');
/** Below the rule's threshold of 5 %. */
const BREACHED = 0.045;
/** Above what makes the rule resolve. */
const CALM = 0.1;
const WAIT_MS = 40_000;
/** Longer than an order may take to be filled before the next one follows. */
const QUIET_MS = 5_000;
const POSITIONS = '/api/v4/collateral-account/positions/open';
const STOP_LIMIT = '/api/v4/order/collateral/stop-limit';

interface Seen {
  reads: number;
  /** Of the wave: when its positions were asked for first, when that was answered, and an order came first. */
  readMs: number | undefined;
  repliedMs: number | undefined;
  orderMs: number | undefined;
}

/** Milliseconds until its order, one figure per account. */
interface Wave {
  readonly fromRead: readonly number[];
  readonly fromReply: readonly number[];
}

const NOT_YET = { readMs: undefined, repliedMs: undefined, orderMs: undefined };

const simulator = await startSimulatedExchange({
  speed: 1,
  limits: [],
  depth: '1000',
  accounts: Array.from({ length: ACCOUNTS }, (_, index) => seedOf(`a${index}`)),
});
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
await until(() => [...seen.values()].every(({ reads }) => reads >= 5), 'every account polled');

const waves: Wave[] = [];
for (let wave = 0; wave <= WAVES; wave++) {
  const passed = await breach();
  if (wave > 0) waves.push(passed);
  await settle();
}
const of = (share: number, from: keyof Wave = 'fromRead'): number =>
  median(waves.map((wave) => part(wave[from], share)));
report('reaction: breach visible to order received, without the wait for the poll, ms (limits overridden)', {
  p50: of(0.5),
  targetP50: 5,
  p99: of(0.99),
  targetP99: 25,
  worst: Math.max(...waves.flatMap(({ fromRead }) => fromRead)),
  p50FromReply: of(0.5, 'fromReply'),
  p99FromReply: of(0.99, 'fromReply'),
  accounts: ACCOUNTS,
  fewestInAWave: Math.min(...waves.map(({ fromRead }) => fromRead.length)),
  waves: WAVES,
});
daemon.kill('SIGTERM');
await once(daemon, 'exit');
await simulator.close();
await redis.stop();
await rm(folder, { recursive: true });

function note({ url, headers }: IncomingMessage): void {
  const one = seen.get(String(headers['x-txc-apikey']));
  if (one === undefined) return;
  const nowMs = performance.now();
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

/** Moves the price until every account is breached, and waits for their orders. */
async function breach(): Promise<Wave> {
  const lowest = Math.min(...positions(simulator).map(({ liquidation }) => liquidation));
  simulator.setPrice(PERPETUAL, (lowest / (1 - BREACHED)).toFixed(1));
  for (const one of seen.values()) Object.assign(one, NOT_YET);
  await until(() => [...seen.values()].every(({ orderMs }) => orderMs !== undefined), 'an order for each');
  const all = [...seen.values()];
  return {
    fromRead: all.map(({ readMs = Number.NaN, orderMs = Number.NaN }) => orderMs - readMs),
    fromReply: all.map(({ repliedMs = Number.NaN, orderMs = Number.NaN }) => orderMs - repliedMs),
  };
}

/** Moves the price on, a little at a time, until all orders are filled and the rule has resolved. */
async function settle(): Promise<void> {
  const isCalm = (): boolean =>
    positions(simulator).every(({ mark, liquidation }) => (mark - liquidation) / mark > CALM);
  await until(() => {
    if (isCalm() && simulator.accounts.every(({ id }) => simulator.model.openOrders(id).length === 0)) {
      return true;
    }
    const mark = positions(simulator)[0]?.mark ?? Number.NaN;
    simulator.setPrice(PERPETUAL, (mark * 0.9995).toFixed(1));
    return false;
  }, 'every order filled');
  await until(() => performance.now() - lastOrderMs > QUIET_MS, 'no more orders');
}

function positions({ model, accounts }: RunningSimulator) {
  const mark = model.market(PERPETUAL)?.mark.toNumber() ?? Number.NaN;
  return accounts.flatMap(({ id }) =>
    model
      .openPositions(id, PERPETUAL)
      .map(({ liquidationPrice }) => ({ mark, liquidation: liquidationPrice?.toNumber() ?? 0 })),
  );
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await sleep(100);
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
  const main = new URL('../../src/cli/main.ts', import.meta.url).pathname;
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
    do: [{ reduce: { untilDistance: 15%, slippage: [2%, 4%] } }]
    severity: critical
`;
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { startDaemon } from '../../src/app/daemon.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { sign, signingKey } from '../../src/exchange/signer.ts';
import { startRedisServer } from '../support/redis.ts';
import { median, report } from './rounds.ts';

/**
 * The whole daemon at a steady rate: accounts with three positions and one loan, judged by the rule sets balanced
 * and credit-line, audit on, each polled once a second. The limiter's budgets are overridden, as one address may
 * not make that many requests. Against raw undici POSTs of the same bytes at the same rate, in turn.
 */
const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? '1000');
const WINDOW_MS = Number(process.env['BENCH_WINDOW_MS'] ?? '10000');
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? '3');
const WARM_UP_MS = 5_000;
const PATHS = ['/api/v4/collateral-account/positions/open', '/api/v4/credit-line/loans/info'];

const server = spawn(process.execPath, [new URL('reply-server.ts', import.meta.url).pathname], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [line] = (await once(server.stdout, 'data')) as [Buffer];
const baseUrl = `http://127.0.0.1:${Number(line.toString())}`;
const redisServer = await startRedisServer({ persistent: true });
const redis = new Redis(redisServer.url);
const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-bench-'));
const configFile = path.join(folder, 'breakwater.yaml');
await writeFile(configFile, config());

interface Window {
  readonly cpuUs: number;
  readonly redisUs: number;
  readonly share: number;
  readonly rate: number;
  readonly lags: readonly number[];
}

const windows: Window[] = [];
const raws: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  raws.push(await rawRound());
  windows.push(await daemonRound());
}
const lags = windows.flatMap((window) => window.lags).toSorted((a, b) => a - b);
const at = (part: number): number => lags[Math.floor((lags.length - 1) * part)] ?? Number.NaN;
const cpu = median(windows.map(({ cpuUs }) => cpuUs));
report('daemon: processor time per account-poll, us (limits overridden)', {
  daemon: cpu,
  raw: median(raws),
  ratio: cpu / median(raws),
  targetRatio: 2.5,
  redis: median(windows.map(({ redisUs }) => redisUs)),
  targetRedis: 70,
  rounds: ROUNDS,
});
report('daemon: accounts polled once a second', {
  accounts: ACCOUNTS,
  pollsPerSecond: median(windows.map(({ rate }) => rate)),
  coreShare: median(windows.map(({ share }) => share)),
  targetShare: 0.4,
  lagP50Ms: at(0.5),
  lagP99Ms: at(0.99),
  targetLagP99Ms: 40,
});
redis.disconnect();
await redisServer.stop();
await rm(folder, { recursive: true });
server.stdin.end();

function config(): string {
  const accounts = Array.from(
    { length: ACCOUNTS },
    (_, index) =>
      `  - { id: bench-${index}, apiKey: { env: KEY }, apiSecret: { env: SECRET_${index} }, watch: { positions: true, creditLine: true }, rules: [balanced, credit-line] }`,
  );
  const huge = '{ limit: 100000000, period: 10s }';
  return `mode: observe
exchange:
  baseUrls: ["${baseUrl}"]
  limits: { positions: ${huge}, credit-line: ${huge}, order: ${huge} }
redis: { url: "${redisServer.url}", prefix: bench }
web: { port: 0 }
cadence: { calm: 1s, alert: 1s }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${accounts.join('\n')}
`;
}

function environment(): Record<string, string> {
  const secrets = Array.from({ length: ACCOUNTS }, (_, index) => [`SECRET_${index}`, `secret-${index}`]);
  return { KEY: 'key', ...Object.fromEntries(secrets) };
}

async function redisCpuUs(): Promise<number> {
  const info = await redis.info('cpu');
  const part = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return (part('used_cpu_sys') + part('used_cpu_user')) * 1e6;
}

async function daemonRound(): Promise<Window> {
  let polls = 0;
  let taken: number[] = [];
  const emit = (event: DaemonEvent): void => {
    if (event.kind === 'evaluated') polls += 1;
    if (event.kind === 'ticked') for (let index = 0; index < event.due; index++) taken.push(event.lagMs);
  };
  const daemon = await startDaemon({ configFile, env: environment(), telemetry: [{ emit }] });
  await sleep(WARM_UP_MS);
  polls = 0;
  taken = [];
  const [cpuBefore, redisBefore, startedMs] = [process.cpuUsage(), await redisCpuUs(), performance.now()];
  await sleep(WINDOW_MS);
  const { user, system } = process.cpuUsage(cpuBefore);
  const elapsedMs = performance.now() - startedMs;
  const redisUs = (await redisCpuUs()) - redisBefore;
  const window = {
    cpuUs: (user + system) / polls,
    redisUs: redisUs / polls,
    share: (user + system) / 1000 / elapsedMs,
    rate: (polls * 1000) / elapsedMs,
    lags: taken,
  };
  if (!(await daemon.stop('the round ended', 20_000))) throw new Error('the daemon did not stop');
  return window;
}

/** Two requests per account-poll, spread over each second in as many pieces as there are buckets. */
async function rawRound(): Promise<number> {
  const pool = new Pool(baseUrl, { connections: 128 });
  const requests = PATHS.map((target) => {
    const body = `{"request":"${target}","nonce":"1760000000000000"}`;
    const { payload, signature } = sign(body, signingKey('bench-secret'));
    const headers = {
      'Content-Type': 'application/json',
      'X-TXC-APIKEY': 'bench-key',
      'X-TXC-PAYLOAD': payload,
      'X-TXC-SIGNATURE': signature,
    };
    return async (): Promise<void> => {
      const reply = await pool.request({ path: target, method: 'POST', headers, body });
      if ((await reply.body.text()).length === 0) throw new Error('empty');
    };
  });
  const pieces = 64;
  const window = async (ms: number): Promise<number> => {
    let polls = 0;
    const startedMs = performance.now();
    const running: Promise<void>[] = [];
    for (let piece = 0; performance.now() - startedMs < ms; piece++) {
      const count = Math.round(ACCOUNTS / pieces);
      for (let index = 0; index < count; index++) running.push(...requests.map((request) => request()));
      polls += count;
      await sleep(Math.max(0, startedMs + ((piece + 1) * 1000) / pieces - performance.now()));
    }
    await Promise.all(running);
    return polls;
  };
  await window(WARM_UP_MS / 2);
  const before = process.cpuUsage();
  const polls = await window(WINDOW_MS);
  const { user, system } = process.cpuUsage(before);
  await pool.close();
  return (user + system) / polls;
}

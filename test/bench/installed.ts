import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import { freePort, startRedisServer } from '../support/redis.ts';
import type { CalmExchange } from './calm-exchange.ts';

/**
 * `breakwater run` as installed: the program built by `npm run build`, in its own process, with a config of many
 * accounts, its own Redis, and the simulated exchange in a third process. It is observed only from outside: its state
 * in Redis shows which accounts it has judged, /proc shows its memory and processor time.
 */
export interface Installed {
  readonly accounts: number;
  /** Starts the daemon on an empty store, and waits until it has judged its first account, then all of them. */
  start(): Promise<Started>;
  close(): Promise<void>;
}

/** Milliseconds until the first account, and until all of them, were judged. */
export interface Started {
  readonly firstCpuMs: number;
  readonly firstMs: number;
  readonly allCpuMs: number;
  readonly allMs: number;
  readonly daemon: RunningDaemon;
}

export interface RunningDaemon {
  readonly pid: number;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Sends SIGTERM. @throws an error with the log when the daemon does not end gracefully. */
  stop(): Promise<void>;
}

/** Memory of a process, in megabytes (1e6 bytes), and processor time of all its threads. */
export interface Held {
  readonly residentMb: number;
  /** Shared pages count in proportion (PSS). */
  readonly proportionalMb: number;
  /** Memory without a backing file: heap, stacks, buffers and machine code. */
  readonly anonymousMb: number;
  readonly peakMb: number;
  readonly cpuMs: number;
  readonly threads: number;
}

const ROOT = path.join(import.meta.dirname, '../..');
const PREFIX = 'installed';
const START_MS = 60_000;
/** How often to check whether an account was judged. */
const LOOK_MS = 5;
const KB = 1_024;
const MB = 1e6;
/** Clock ticks of /proc/PID/stat: 100 per second on every Linux that Node runs on. */
const TICK_MS = 10;

/** The program to measure: `BENCH_MAIN` (such as a build of another commit), or the local output of `npm run build`. */
export async function builtProgram(): Promise<string> {
  const named = process.env['BENCH_MAIN'];
  if (named !== undefined) return path.resolve(named);
  const build = spawn(process.execPath, [path.join(ROOT, 'scripts/build.mjs')], { stdio: 'inherit' });
  const [code] = (await once(build, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the build ended with ${String(code)}`);
  return path.join(ROOT, 'dist/src/cli/main.js');
}

/** Runs the program on that many accounts. */
export async function openInstalled(program: string, accounts: number): Promise<Installed> {
  const exchange = spawn(
    process.execPath,
    [path.join(import.meta.dirname, 'calm-exchange.ts'), String(accounts)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const [line] = (await once(createInterface({ input: exchange.stdout }), 'line')) as [string];
  const { baseUrl, keys } = JSON.parse(line) as CalmExchange;
  const redisServer = await startRedisServer();
  const redis = new Redis(redisServer.url);
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-installed-'));
  const port = await freePort();
  const files = {
    program,
    configFile: path.join(folder, 'breakwater.yaml'),
    logFile: path.join(folder, 'log'),
  };
  await writeFile(files.configFile, configOf(keys, { baseUrl, redisUrl: redisServer.url, port }));
  const env = environmentOf(keys);
  const states = keys.map(({ id }) => `${PREFIX}:{b${bucketOf(id)}}:account:${id}`);
  return {
    accounts,
    async start() {
      await redis.flushall();
      const startedMs = performance.now();
      const daemon = spawnDaemon(files, env);
      const { pid } = daemon;
      const until = async (count: number): Promise<readonly [number, number]> => {
        while ((await redis.exists(...states)) < count) {
          if (daemon.exitCode !== null || performance.now() - startedMs > START_MS) {
            daemon.kill('SIGKILL');
            throw new Error(`the daemon judged nothing:\n${await readFile(files.logFile, 'utf8')}`);
          }
          await sleep(LOOK_MS);
        }
        return [cpuMsOf(pid), performance.now() - startedMs];
      };
      const [firstCpuMs, firstMs] = await until(1);
      const [allCpuMs, allMs] = await until(keys.length);
      const stop = (): Promise<void> => stopDaemon(daemon, files.logFile);
      return {
        firstCpuMs,
        firstMs,
        allCpuMs,
        allMs,
        daemon: {
          pid,
          url: `http://127.0.0.1:${port}`,
          stop,
        },
      };
    },
    async close() {
      redis.disconnect();
      await redisServer.stop();
      await rm(folder, { recursive: true });
      const ended = once(exchange, 'exit');
      exchange.stdin.end();
      const [code] = (await ended) as [number | null];
      if (code !== 0) throw new Error(`the exchange ended with ${String(code)}`);
    },
  };
}

type Daemon = ChildProcess & { readonly pid: number };

function spawnDaemon(
  { program, configFile, logFile }: Readonly<Record<'program' | 'configFile' | 'logFile', string>>,
  env: NodeJS.ProcessEnv,
): Daemon {
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [program, 'run', '--config', configFile], {
    env,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  if (child.pid === undefined) throw new Error('the daemon did not start');
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  return child as Daemon;
}

async function stopDaemon(daemon: Daemon, logFile: string): Promise<void> {
  const ended = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  const [code] = (await ended) as [number | null];
  if (code !== 0)
    throw new Error(`the daemon ended with ${String(code)}:\n${await readFile(logFile, 'utf8')}`);
}

/** Current memory of a process. */
export function heldBy(pid: number): Held {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mb = (text: string, name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * KB) / MB;
  return {
    residentMb: mb(rollup, 'Rss'),
    proportionalMb: mb(rollup, 'Pss'),
    anonymousMb: mb(rollup, 'Anonymous'),
    peakMb: mb(status, 'VmHWM'),
    cpuMs: cpuMsOf(pid),
    threads: readdirSync(`/proc/${pid}/task`).length,
  };
}

/** Processor time of all its threads so far. */
export function cpuMsOf(pid: number): number {
  // The program's name is in parentheses and may contain any character.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

interface Addresses {
  readonly baseUrl: string;
  readonly redisUrl: string;
  readonly port: number;
}

/** A hand-written style of config; its rules are far from firing. */
function configOf(keys: CalmExchange['keys'], { baseUrl, redisUrl, port }: Addresses): string {
  const accounts = keys.map(
    ({ id }, index) =>
      `  - { id: ${id}, apiKey: { env: KEY_${index} }, apiSecret: { env: SECRET_${index} }, rules: [likely, near, last, together, blind] }`,
  );
  return `mode: enforce
insecure: [redis]
exchange: { baseUrls: ["${baseUrl}"] }
redis: { url: "${redisUrl}", prefix: ${PREFIX} }
web: { port: ${port} }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
  BTC_USDT: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${accounts.join('\n')}
rules:
  - id: likely
    on: position
    when: { liquidationProbability: { within: 1h, above: 20%, clearBelow: 10% } }
    for: 1m
    keepFiringFor: 5m
    do: [{ notify: {} }]
  - id: near
    on: position
    when: { liquidationDistance: { below: 4%, clearAbove: 7% } }
    do: [{ notify: {} }, { reduce: { untilDistance: 30%, slippage: [2%, 3%] } }]
    limits: { cooldown: 5m, perHour: 6 }
    severity: critical
  - id: last
    on: position
    when: { liquidationDistance: { below: 2.5%, clearAbove: 4% } }
    do: [{ notify: {} }, { reduce: { untilDistance: 40%, slippage: [3%, 5%] } }]
    severity: critical
  - id: together
    on: account
    when: { positionCount: { above: 1 }, jointDistance: { below: 5%, clearAbove: 8% } }
    do: [{ notify: {} }]
  - id: blind
    on: account
    when: { dataAge: { above: 2m } }
    do: [{ notify: {} }]
`;
}

function environmentOf(keys: CalmExchange['keys']): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_OPTIONS } = process.env;
  const secrets = keys.flatMap(({ apiKey, apiSecret }, index) => [
    [`KEY_${index}`, apiKey],
    [`SECRET_${index}`, apiSecret],
  ]);
  return { PATH, HOME, TMPDIR, NODE_OPTIONS, ...(Object.fromEntries(secrets) as Record<string, string>) };
}

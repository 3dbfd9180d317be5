import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { runDaemon } from '../../src/app.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { startRedisServer } from '../support/redis.ts';

/**
 * The whole daemon at a steady rate, composed as `breakwater run` composes it: audit, metrics, web server and log at
 * its usual level. Every account has three positions and a loan, uses the rule sets balanced and credit-line, and is
 * polled once a second. The limiter's budgets are overridden, because one address may not make that many requests.
 */
export interface Steady {
  /** Address of the server that stands in for the exchange, in its own process. */
  readonly baseUrl: string;
  /** Starts a daemon for that many accounts, warms it up, measures it, and ends it. */
  measure(accounts: number, windowMs: number): Promise<Measured>;
  /** The same, for several measurements before it ends. */
  start(accounts: number): Promise<SteadyDaemon>;
  close(): Promise<void>;
}

export interface SteadyDaemon {
  readonly configFile: string;
  during(windowMs: number): Promise<Omit<Measured, 'redisBytes'>>;
  stop(): Promise<void>;
}

export interface Measured {
  readonly polls: number;
  readonly elapsedMs: number;
  /** Processor time of the daemon's process, and of Redis, in microseconds. */
  readonly cpuUs: number;
  readonly redisCpuUs: number;
  /** How much later than planned the tick began, for each account that was due with it. */
  readonly lagsMs: readonly number[];
  /** Between two decisions on the same account, both within the window. */
  readonly gapsMs: readonly number[];
  /** Accounts without a decision within the window. */
  readonly silent: number;
  readonly residentBytes: number;
  /** Bytes that Redis holds for the accounts after the window. */
  readonly redisBytes: number;
}

/** A daemon that just started reserves nonces in short blocks; after this time most blocks are long. */
const WARM_UP_MS = 20_000;
const PREFIX = 'bench';

export async function openSteady(): Promise<Steady> {
  const server = spawn(process.execPath, [new URL('reply-server.ts', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const baseUrl = `http://127.0.0.1:${Number(line.toString())}`;
  const redisServer = await startRedisServer({ persistent: true });
  const redis = new Redis(redisServer.url);
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-bench-'));
  const configFile = path.join(folder, 'breakwater.yaml');
  const nowhere = createWriteStream('/dev/null');
  const start = async (accounts: number): Promise<SteadyDaemon> => {
    await writeFile(configFile, configOf(accounts, baseUrl, redisServer.url));
    const probe = new Probe();
    const daemon = await runDaemon({
      configFile,
      env: environmentOf(accounts),
      log: { stream: nowhere, isTerminal: false, colours: false },
      telemetry: [probe],
    });
    await sleep(WARM_UP_MS);
    return {
      configFile,
      during: (windowMs) => probe.during(windowMs, redis, accounts),
      async stop() {
        if (!(await daemon.stop('the round ended', 20_000))) throw new Error('the daemon did not stop');
      },
    };
  };
  return {
    baseUrl,
    start,
    async measure(accounts, windowMs) {
      await redis.flushall();
      const emptyBytes = await redisFigure(redis, 'memory', 'used_memory');
      const daemon = await start(accounts);
      const measured = await daemon.during(windowMs);
      const redisBytes = (await redisFigure(redis, 'memory', 'used_memory')) - emptyBytes;
      await daemon.stop();
      return { ...measured, redisBytes };
    },
    async close() {
      redis.disconnect();
      await redisServer.stop();
      nowhere.end();
      await rm(folder, { recursive: true });
      server.stdin.end();
    },
  };
}

class Probe {
  #polls = 0;
  #lagsMs: number[] = [];
  #gapsMs: number[] = [];
  #last = new Map<string, number>();

  emit(event: DaemonEvent): void {
    if (event.kind === 'ticked') {
      for (let index = 0; index < event.due; index++) this.#lagsMs.push(event.lagMs);
    }
    if (event.kind !== 'evaluated') return;
    this.#polls += 1;
    const nowMs = performance.now();
    const lastMs = this.#last.get(event.accountId);
    if (lastMs !== undefined) this.#gapsMs.push(nowMs - lastMs);
    this.#last.set(event.accountId, nowMs);
  }

  async during(windowMs: number, redis: Redis, accounts: number): Promise<Omit<Measured, 'redisBytes'>> {
    this.#polls = 0;
    this.#lagsMs = [];
    this.#gapsMs = [];
    this.#last = new Map();
    const [before, redisBefore, startedMs] = [process.cpuUsage(), await redisCpuUs(redis), performance.now()];
    await sleep(windowMs);
    const { user, system } = process.cpuUsage(before);
    return {
      polls: this.#polls,
      elapsedMs: performance.now() - startedMs,
      cpuUs: user + system,
      redisCpuUs: (await redisCpuUs(redis)) - redisBefore,
      lagsMs: this.#lagsMs,
      gapsMs: this.#gapsMs,
      silent: accounts - this.#last.size,
      residentBytes: process.memoryUsage.rss(),
    };
  }
}

async function redisCpuUs(redis: Redis): Promise<number> {
  const [system, user] = [
    await redisFigure(redis, 'cpu', 'used_cpu_sys'),
    await redisFigure(redis, 'cpu', 'used_cpu_user'),
  ];
  return (system + user) * 1e6;
}

async function redisFigure(redis: Redis, section: string, name: string): Promise<number> {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(await redis.info(section))?.[1]);
}

function configOf(accounts: number, baseUrl: string, redisUrl: string): string {
  const items = Array.from(
    { length: accounts },
    (_, index) =>
      `  - { id: bench-${index}, apiKey: { env: KEY_${index} }, apiSecret: { env: SECRET_${index} }, watch: { positions: true, creditLine: true }, rules: [balanced, credit-line] }`,
  );
  const huge = '{ limit: 100000000, period: 10s }';
  return `mode: observe
exchange:
  baseUrls: ["${baseUrl}"]
  limits: { positions: ${huge}, credit-line: ${huge}, order: ${huge} }
redis: { url: "${redisUrl}", prefix: ${PREFIX} }
web: { port: 0 }
cadence: { calm: 1s, alert: 1s }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${items.join('\n')}
`;
}

function environmentOf(accounts: number): Record<string, string> {
  const each = Array.from({ length: accounts }, (_, index) => index);
  return Object.fromEntries(
    each.flatMap((index) => [
      [`KEY_${index}`, `key-of-account-${index}`],
      [`SECRET_${index}`, `secret-of-account-${index}`],
    ]),
  );
}

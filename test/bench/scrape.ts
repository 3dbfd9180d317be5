import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createRedisState } from '../../src/state/state.ts';
import { loadText } from '../daemon/config.ts';
import { freePort, startRedisServer } from '../support/redis.ts';
import { fleetConfig, writeFleet } from '../telemetry/fleet.ts';

/**
 * A scrape of 1,000 accounts with 5 positions, a loan and 17 rule lines each, over HTTP, from a process with the
 * role `web` alone, in whose memory nothing of them is at first; and what one account takes in Redis.
 */
const ACCOUNTS = 1_000;
const POSITIONS = 5;
const ROUNDS = 7;

const server = await startRedisServer();
const redis = { url: server.url, prefix: 'fleet' };
const ids = Array.from({ length: ACCOUNTS }, (_, index) => `desk-${index}`);
const { text, env } = fleetConfig(ids, redis);
const connection = new Redis(server.url, { maxRetriesPerRequest: null });
const state = createRedisState({ redis: connection, prefix: redis.prefix, clock: systemClock });
const config = loadText(text, env);
await writeFleet(state, config, POSITIONS, Date.now());
const used = /^used_memory:(\d+)/m.exec(await connection.info('memory'))?.[1];
const keys = await connection.keys(`${redis.prefix}:*account:desk-0`);
const stored = await connection.hgetall(keys[0]!);

const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-scrape-'));
const configFile = path.join(folder, 'breakwater.yaml');
const port = await freePort();
await writeFile(configFile, text);
const main = new URL('../../src/cli/main.ts', import.meta.url).pathname;
const daemon = spawn(
  process.execPath,
  [main, 'run', '--config', configFile, '--roles', 'web', '--port', String(port)],
  {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  },
);
const url = `http://127.0.0.1:${port}`;
const isUp = async (): Promise<boolean> =>
  await fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
const giveUpMs = performance.now() + 20_000;
while (performance.now() < giveUpMs && daemon.exitCode === null && !(await isUp()))
  await new Promise((resolve) => setTimeout(resolve, 50));

/** Megabytes, and processor milliseconds so far, of the daemon. */
async function daemonUse(): Promise<{ rss: number; peak: number; cpuMs: number }> {
  const status = await readFile(`/proc/${daemon.pid}/status`, 'utf8');
  const stat = await readFile(`/proc/${daemon.pid}/stat`, 'utf8');
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
  const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuMs = (Number(ticks[11]) + Number(ticks[12])) * 10;
  return { rss: kilobytes('VmRSS') / 1e3, peak: kilobytes('VmHWM') / 1e3, cpuMs };
}

interface Scrape {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly bytes: number;
  readonly series: number;
}

async function scrape(): Promise<Scrape> {
  const before = await daemonUse();
  const started = performance.now();
  const reply = await fetch(`${url}/metrics`);
  const body = await reply.text();
  const wallMs = performance.now() - started;
  const { cpuMs } = await daemonUse();
  const series = body.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  return { wallMs, cpuMs: cpuMs - before.cpuMs, bytes: Buffer.byteLength(body), series };
}

const idle = await daemonUse();
const first = await scrape();
const afterFirst = await daemonUse();
const later: Scrape[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  // As after polls of every account by another process.
  await writeFleet(state, config, POSITIONS, Date.now());
  later.push(await scrape());
}
const atEnd = await daemonUse();
const median = (of: (one: Scrape) => number): number =>
  later.map(of).toSorted((a, b) => a - b)[Math.floor(later.length / 2)]!;
const sizes = Object.fromEntries(Object.entries(stored).map(([field, value]) => [field, value.length]));
process.stdout.write(
  `${JSON.stringify({
    bench: 'scrape',
    accounts: ACCOUNTS,
    positions: POSITIONS,
    series: first.series,
    megabytes: Number((first.bytes / 1e6).toFixed(2)),
    firstMs: Math.round(first.wallMs),
    laterMs: Math.round(median(({ wallMs }) => wallMs)),
    laterCpuMs: Math.round(median(({ cpuMs }) => cpuMs)),
    idleRss: Math.round(idle.rss),
    peakRssFirst: Math.round(afterFirst.peak),
    peakRssLater: Math.round(atEnd.peak),
    rssLater: Math.round(atEnd.rss),
    redisBytesPerAccount: Math.round(Number(used) / ACCOUNTS),
    documentBytes: sizes,
  })}\n`,
);
daemon.kill('SIGTERM');
await once(daemon, 'exit');
state.close();
connection.disconnect();
await server.stop();
await rm(folder, { recursive: true, force: true });

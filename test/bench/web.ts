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
 * The API over 1,000 accounts with 5 positions each, from a process with only the role `web`, while other processes
 * write all of them every 2 s: the time of a page of accounts, and the cost of listeners.
 */
const ACCOUNTS = 1_000;
const POSITIONS = 5;
const SHOWN = 25;
const WRITE_MS = 2_000;
const WATCH_MS = 12_000;

const server = await startRedisServer();
const redis = { url: server.url, prefix: 'fleet' };
const ids = Array.from({ length: ACCOUNTS }, (_, index) => `desk-${index}`);
const { text, env } = fleetConfig(ids, redis);
const connection = new Redis(server.url, { maxRetriesPerRequest: null });
const state = createRedisState({ redis: connection, prefix: redis.prefix, clock: systemClock });
const config = loadText(text, env);
await writeFleet(state, config, POSITIONS, Date.now());
const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-web-'));
const configFile = path.join(folder, 'breakwater.yaml');
const port = await freePort();
await writeFile(configFile, text);
const main = new URL('../../src/cli/main.ts', import.meta.url).pathname;
const arguments_ = [main, 'run', '--config', configFile, '--roles', 'web', '--port', String(port)];
const daemon = spawn(process.execPath, arguments_, { env: { ...process.env, ...env }, stdio: 'ignore' });
const url = `http://127.0.0.1:${port}`;
const isUp = async (): Promise<boolean> =>
  await fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
const giveUpMs = performance.now() + 20_000;
while (performance.now() < giveUpMs && daemon.exitCode === null && !(await isUp())) await pause(50);

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Megabytes, and processor milliseconds so far, of the daemon. */
async function use(): Promise<{ readonly rss: number; readonly cpuMs: number }> {
  const status = await readFile(`/proc/${daemon.pid}/status`, 'utf8');
  const stat = await readFile(`/proc/${daemon.pid}/stat`, 'utf8');
  const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const rss = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1e3;
  return { rss: Math.round(rss), cpuMs: (Number(ticks[11]) + Number(ticks[12])) * 10 };
}

const over = new AbortController();
const writer = (async () => {
  while (!over.signal.aborted) {
    const started = performance.now();
    await writeFleet(state, config, POSITIONS, Date.now());
    await pause(Math.max(0, WRITE_MS - (performance.now() - started)));
  }
})();

async function listed(): Promise<{ readonly ms: number; readonly kilobytes: number }> {
  const started = performance.now();
  const reply = await fetch(`${url}/api/v1/accounts?limit=${SHOWN}`);
  const body = await reply.text();
  return { ms: Math.round(performance.now() - started), kilobytes: Math.round(body.length / 1e3) };
}

/** What that many listeners of a page of accounts each receive, and what they cost. */
async function listening(count: number): Promise<object> {
  const ended = new AbortController();
  let bytes = 0;
  let events = 0;
  const clients = Array.from({ length: count }, async (_, index) => {
    const from = (index * SHOWN) % ACCOUNTS;
    const wanted = ids.slice(from, from + SHOWN).join(',');
    try {
      const reply = await fetch(`${url}/api/v1/events?accounts=${wanted}`, { signal: ended.signal });
      for await (const chunk of reply.body ?? []) {
        bytes += chunk.byteLength;
        events += Buffer.from(chunk).toString().split('\n\n').length - 1;
      }
    } catch {
      // This side ended them.
    }
  });
  await pause(4_000);
  const [before, start] = [await use(), performance.now()];
  bytes = 0;
  events = 0;
  const first = await listed();
  await pause(WATCH_MS);
  const seconds = (performance.now() - start) / 1e3;
  const after = await use();
  ended.abort();
  await Promise.all(clients);
  const cpuPercent = Math.round((after.cpuMs - before.cpuMs) / seconds / 10);
  const perListener = count === 0 ? 0 : bytes / seconds / count / 1e3;
  return {
    count,
    cpuPercent,
    kilobytesPerSecondEach: Number(perListener.toFixed(1)),
    eventsPerSecondEach: count === 0 ? 0 : Number((events / seconds / count).toFixed(1)),
    rss: after.rss,
    listMs: first.ms,
  };
}

const cold = await listed();
const warm = [await listed(), await listed(), await listed()];
const result = {
  bench: 'web',
  accounts: ACCOUNTS,
  positions: POSITIONS,
  shown: SHOWN,
  cold,
  warm,
  listeners: [await listening(0), await listening(1), await listening(40)],
};
process.stdout.write(`${JSON.stringify(result)}\n`);
over.abort();
await writer;
daemon.kill('SIGTERM');
await once(daemon, 'exit');
state.close();
connection.disconnect();
await server.stop();
await rm(folder, { recursive: true, force: true });

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createRedisState } from '../../src/state/state.ts';
import { loadText } from '../daemon/config.ts';
import { probed } from '../support/probe.ts';
import { freePort, startRedisServer } from '../support/redis.ts';
import { fleetConfig, writeFleet } from '../telemetry/fleet.ts';

/** Many accounts in their own Redis, and a process with only the role `web`, which polls none of them. */
export interface FleetServer {
  readonly ids: readonly string[];
  readonly prefix: string;
  readonly redis: Redis;
  readonly daemon: ChildProcess;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Writes every account as a poll of another process would. */
  write(): Promise<void>;
  close(): Promise<void>;
}

const START_MS = 20_000;

export async function openFleetServer(accounts: number, positions: number): Promise<FleetServer> {
  const server = await startRedisServer();
  const prefix = 'fleet';
  const ids = Array.from({ length: accounts }, (_, index) => `desk-${index}`);
  const { text, env } = fleetConfig(ids, { url: server.url, prefix });
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  const state = createRedisState({ redis, prefix, clock: systemClock });
  const config = loadText(text, env);
  const write = (): Promise<void> => writeFleet(state, config, positions, Date.now());
  await write();
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-fleet-'));
  const configFile = path.join(folder, 'breakwater.yaml');
  await writeFile(configFile, text);
  const port = await freePort();
  const main = path.join(import.meta.dirname, '../../src/cli/main.ts');
  const args = ['run', '--config', configFile, '--roles', 'web', '--port', String(port)];
  const daemon = probed(main, args, {
    env: { ...process.env, ...env },
  });
  const url = `http://127.0.0.1:${port}`;
  await answering(url, daemon);
  return {
    ids,
    prefix,
    redis,
    daemon,
    url,
    write,
    async close() {
      const ended = once(daemon, 'exit');
      daemon.kill('SIGTERM');
      await ended;
      state.close();
      redis.disconnect();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answering(url: string, daemon: ChildProcess): Promise<void> {
  const giveUpMs = performance.now() + START_MS;
  while (performance.now() < giveUpMs && daemon.exitCode === null) {
    const isUp = await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await pause(50);
  }
  throw new Error('the daemon did not start');
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

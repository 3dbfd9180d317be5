import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { type Daemon, type DaemonOptions, startDaemon } from '../../src/app/daemon.ts';
import { openOperations } from '../../src/app/operations.ts';
import type { ChainVerdict } from '../../src/core/ports/audit-reader.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { shareRedis } from '../support/redis.ts';
import { type ConfigParts, configText, environment, type RedisPart } from './config.ts';

export { eventually } from '../pipeline/world.ts';

/** A Redis, a config file, and the daemons that use them. */
export interface DaemonWorld {
  readonly simulator: RunningSimulator;
  readonly redisUrl: string;
  readonly prefix: string;
  readonly configFile: string;
  readonly env: Readonly<Record<string, string>>;
  readonly events: DaemonEvent[];
  start(options?: Partial<DaemonOptions>): Promise<Daemon>;
  /** Rewrites the config; no daemon is notified. */
  write(parts: ConfigParts | string): Promise<void>;
}

export interface DaemonWorldOptions {
  /** Default: the server of the test file. `none`: the daemon keeps everything in its `stateDir`. */
  readonly redis?: RedisPart | 'none';
}

const NO_REDIS: RedisPart = { url: '', prefix: '' };

export async function openDaemonWorld(
  simulator: RunningSimulator,
  parts: ConfigParts,
  options: DaemonWorldOptions = {},
): Promise<DaemonWorld> {
  const isAlone = options.redis === 'none';
  const given = options.redis === 'none' ? NO_REDIS : options.redis;
  const redis = given === undefined ? await shareRedis() : { ...given, stop: async () => {} };
  closeAfterTest(() => redis.stop());
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-daemon-'));
  closeAfterTest(() => rm(folder, { recursive: true, force: true }));
  const configFile = path.join(folder, 'breakwater.yaml');
  const prefix = redis.prefix.replace(/:$/, '');
  const env = environment(simulator);
  const events: DaemonEvent[] = [];
  // Written atomically: a watchdog could otherwise find, and refuse, an empty file.
  const write = async (next: ConfigParts | string): Promise<void> => {
    const text =
      typeof next === 'string'
        ? next
        : configText(simulator, isAlone ? next : { ...next, redis: { ...given, url: redis.url, prefix } });
    await writeFile(`${configFile}.new`, text);
    await rename(`${configFile}.new`, configFile);
  };
  await write(parts);
  return {
    simulator,
    redisUrl: redis.url,
    prefix,
    configFile,
    env,
    events,
    write,
    async start(more = {}) {
      const daemon = await startDaemon({
        configFile,
        env,
        telemetry: [{ emit: (event) => void events.push(event) }],
        ...more,
      });
      closeAfterTest(async () => {
        if (!(await daemon.stop('the test ended', 30_000)))
          throw new Error('the daemon did not stop in time');
      });
      return daemon;
    },
  };
}

export function ledgerOf(simulator: RunningSimulator, accountId: string, ...kinds: LedgerEntry['kind'][]) {
  return simulator.ledger({ accountId, kinds });
}

/** Troubles of the daemons, for the message of a test that waited in vain. */
export function troubles(events: readonly DaemonEvent[]): readonly unknown[] {
  const quiet = new Set(['evaluated', 'read', 'ticked', 'call', 'commit']);
  return events
    .filter(({ kind }) => !quiet.has(kind))
    .slice(-25)
    .map((event) => ('error' in event ? Object.assign({}, event, { error: String(event.error) }) : event));
}

/** The verdict of `audit verify`. It reads the store, because a daemon may just be alone. */
export async function verdictOf({ configFile, env }: DaemonWorld, accountId: string): Promise<ChainVerdict> {
  const operations = await openOperations({ config: configFile, env });
  try {
    return await operations.audit.verify(accountId);
  } finally {
    await operations.close();
  }
}

export async function keysOf(world: Pick<DaemonWorld, 'redisUrl' | 'prefix'>): Promise<readonly string[]> {
  const redis = new Redis(world.redisUrl, { maxRetriesPerRequest: 1 });
  try {
    return (await redis.keys(`${world.prefix}*`)).sort();
  } finally {
    redis.disconnect();
  }
}

/** A key may expire, and be replaced by another type, between two commands: one script reads type and value. */
const READ_KEY = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {} end
local commands = {
  string = { 'GET' }, hash = { 'HGETALL' }, set = { 'SMEMBERS' }, stream = { 'XRANGE', '-', '+' },
  zset = { 'ZRANGE', '0', '-1', 'WITHSCORES' }, list = { 'LRANGE', '0', '-1' },
}
local command = commands[kind]
return redis.call(command[1], KEYS[1], unpack(command, 2))`;

/** All keys and values in Redis, as one text. */
export async function storedIn(world: Pick<DaemonWorld, 'redisUrl' | 'prefix'>): Promise<string> {
  const redis = new Redis(world.redisUrl, { maxRetriesPerRequest: 1 });
  try {
    const parts = (await keysOf(world)).map(async (key) => [key, await redis.eval(READ_KEY, 1, key)]);
    return JSON.stringify(await Promise.all(parts));
  } finally {
    redis.disconnect();
  }
}

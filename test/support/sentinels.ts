import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { serverProgram } from '../../src/redis-server/redis-server.ts';
import { freePort, type RedisServer, startRedisServer } from './redis.ts';
import { until } from './until.ts';

export const PRIMARY = 'main';

export interface Sentinel {
  readonly port: number;
  /** Pauses it: it accepts connections and does not answer. */
  pause(): void;
  stop(): Promise<void>;
}

/** A primary, a replica of it, and three Sentinels, of which two suffice for a failover. */
export interface SentinelScene {
  readonly servers: readonly [primary: RedisServer, replica: RedisServer];
  readonly sentinels: readonly Sentinel[];
  /** `host:port,...` of the Sentinels. */
  readonly hosts: string;
  /** Stops replication to the replica: later writes of the primary are lost when it takes over. */
  cutReplication(): Promise<void>;
  /** Makes the replica the primary; the previous primary continues as a replica. */
  swap(): Promise<void>;
  /** Port of the server that the Sentinels name. */
  namedPort(): Promise<number>;
  /** A connection to one of the servers, for the test itself. */
  connect(server: RedisServer): Redis;
}

export interface SentinelSceneOptions {
  /** Called with functions that close parts of the scene. */
  readonly closing: (close: () => Promise<void>) => void;
  /** Password of servers and Sentinels alike; user `default`. */
  readonly password?: string;
  /** Further lines for each Sentinel. */
  readonly ofSentinels?: string;
}

const DOWN_AFTER_MS = 800;

export async function openSentinelScene(options: SentinelSceneOptions): Promise<SentinelScene> {
  const { closing, password } = options;
  const own = [
    ...(password === undefined ? [] : ['--requirepass', password]),
    '--masteruser',
    'replica',
    '--masterauth',
    'replica',
    '--repl-diskless-sync-delay',
    '0',
    // A separate user, so that a test can cut replication alone.
    '--user',
    'replica',
    'on',
    '>replica',
    '+psync',
    '+replconf',
    '+ping',
  ];
  const start = async (...args: readonly string[]): Promise<RedisServer> => {
    const server = await startRedisServer({ persistent: true, args: [...own, ...args] });
    closing(() => server.stop());
    return server;
  };
  const connect = ({ port }: { readonly port: number }): Redis => {
    const redis = new Redis({
      port,
      ...(password === undefined ? {} : { password }),
      retryStrategy: () => 50,
    });
    redis.on('error', () => undefined);
    closing(async () => redis.disconnect());
    return redis;
  };
  const primary = await start();
  const replica = await start('--replicaof', '127.0.0.1', String(primary.port));
  const look = connect(replica);
  await until(async () => (await look.info('replication')).includes('master_link_status:up'), 'the replica');
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(primary.port, options)));
  const ask = new Redis({ port: sentinels[1]!.port, ...(password === undefined ? {} : { password }) });
  ask.on('error', () => undefined);
  closing(async () => ask.disconnect());
  const isReady = async (): Promise<boolean> => {
    const state = (await ask.call('SENTINEL', 'MASTER', PRIMARY)) as string[];
    const of = (name: string): string | undefined => state[state.indexOf(name) + 1];
    return of('num-other-sentinels') === '2' && of('num-slaves') === '1';
  };
  await until(isReady, 'Sentinels that know one another');
  return {
    servers: [primary, replica],
    sentinels,
    hosts: sentinels.map(({ port }) => `127.0.0.1:${port}`).join(','),
    async cutReplication() {
      const redis = connect(primary);
      await redis.call('ACL', 'SETUSER', 'replica', 'off');
      await redis.call('CLIENT', 'KILL', 'USER', 'replica');
    },
    async swap() {
      await ask.call('SENTINEL', 'FAILOVER', PRIMARY);
    },
    async namedPort() {
      const [, port] = (await ask.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', PRIMARY)) as string[];
      return Number(port);
    },
    connect,
  };
}

async function startSentinel(
  watched: number,
  { closing, password, ofSentinels = '' }: SentinelSceneOptions,
): Promise<Sentinel> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-sentinel-'));
  const port = await freePort();
  const file = path.join(folder, 'sentinel.conf');
  const access =
    password === undefined ? '' : `requirepass ${password}\nsentinel auth-pass ${PRIMARY} ${password}\n`;
  await writeFile(
    file,
    `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor ${PRIMARY} 127.0.0.1 ${watched} 2
sentinel down-after-milliseconds ${PRIMARY} ${DOWN_AFTER_MS}
sentinel failover-timeout ${PRIMARY} 5000
${access}${ofSentinels}`,
  );
  const program = serverProgram() ?? 'redis-server';
  const child = spawn(program, [file, '--sentinel'], { stdio: 'ignore', detached: true });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const stop = async (): Promise<void> => {
    await end(child);
    process.off('exit', killWithUs);
    await rm(folder, { recursive: true, force: true });
  };
  closing(stop);
  await untilAnswered(port, password);
  return { port, pause: () => void child.kill('SIGSTOP'), stop };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function untilAnswered(port: number, password: string | undefined): Promise<void> {
  const redis = new Redis({ port, ...(password === undefined ? {} : { password }), retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  try {
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Redis } from 'ioredis';

const START_ATTEMPTS = 5;
const STOP_TIMEOUT_MS = 5_000;

/** A place in some Redis that is this test's alone. */
export interface PrivateRedis {
  readonly url: string;
  /** In front of every key (and BullMQ prefix) that the test makes: the server may be shared. */
  readonly prefix: string;
  /** Removes everything under the prefix, or the whole private server. Disconnect clients first. */
  stop(): Promise<void>;
}

/**
 * The server at REDIS_URL, of which only keys under a random prefix are used and removed,
 * or else a server of its own on a free loopback port, without persistence.
 */
export async function startPrivateRedis(): Promise<PrivateRedis> {
  const prefix = `test-${randomBytes(6).toString('hex')}:`;
  const shared = process.env['REDIS_URL'];
  if (shared !== undefined && shared !== '') {
    return { url: shared, prefix, stop: () => removeKeys(shared, prefix) };
  }
  const server = await startRedisServer();
  return { url: server.url, prefix, stop: () => server.stop() };
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 })) {
      const found = keys as string[];
      if (found.length > 0) await redis.unlink(...found);
    }
  } finally {
    redis.disconnect();
  }
}

export interface RedisServerOptions {
  /** Keeps an append-only file, so that a restart finds the data again. */
  readonly persistent?: boolean;
  /** Further options of the server, such as `['--maxmemory', '50mb']`. */
  readonly args?: readonly string[];
}

/** A Redis server that a test may pause, kill and start again. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data after `kill`. */
  start(): Promise<void>;
  /** Holds it (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** Whether `startRedisServer` can work here; with only a REDIS_URL it cannot. */
export function hasRedisServer(): boolean {
  return serverProgram() !== undefined;
}

export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const program = serverProgram();
  if (program === undefined)
    throw new Error('No redis-server or valkey-server on the PATH; `npm test` installs one.');
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-redis-'));
  let running: ChildProcess | undefined;
  const start = async (port: number) => {
    running = await launch(program, port, folder, options);
  };
  let port = 0;
  try {
    port = await firstThatWorks(start);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: () => end(running, 'SIGKILL'),
    start: () => start(port),
    pause: () => void running?.kill('SIGSTOP'),
    resume: () => void running?.kill('SIGCONT'),
    stop: async () => {
      running?.kill('SIGCONT');
      await end(running, 'SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A free port can be taken by somebody else before the server binds it: then the next one. */
async function firstThatWorks(start: (port: number) => Promise<void>): Promise<number> {
  let last: unknown;
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    const port = await freePort();
    try {
      await start(port);
      return port;
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function launch(
  program: string,
  port: number,
  folder: string,
  options: RedisServerOptions,
): Promise<ChildProcess> {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: options.persistent === true ? 'yes' : 'no',
    hz: '100',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(program, [...args, ...(options.args ?? [])], { stdio: ['ignore', 'pipe', 'ignore'] });
  // A worker that ends early must not leave its server behind.
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  child.once('exit', () => process.off('exit', killWithUs));
  await readyOrEnded(child);
  return child;
}

async function readyOrEnded(child: ChildProcessByStdio<null, Readable, null>): Promise<void> {
  const output: string[] = [];
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`The Redis server did not start:\n${output.join('\n')}`)));
  });
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output.push(line);
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
  await Promise.race([ready, failed]);
  failed.catch(() => undefined);
  output.length = 0;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

function serverProgram(): string | undefined {
  const named = process.env['REDIS_SERVER'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const files = folders.flatMap((folder) =>
    ['redis-server', 'valkey-server'].map((name) => path.join(folder, name)),
  );
  return files.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** A port that was free a moment ago, on loopback. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  return address.port;
}

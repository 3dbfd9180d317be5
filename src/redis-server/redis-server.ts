import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { watchOverDeath } from './death-watch.ts';

const START_ATTEMPTS = 5;
const STOP_TIMEOUT_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

export interface RedisServerOptions {
  /** Keeps an append-only file, so that a restart finds the data again. */
  readonly persistent?: boolean;
  /** Further options of the server, such as `['--maxmemory', '50mb']`. */
  readonly args?: readonly string[];
  /** Where REDIS_SERVER and PATH are looked up; those of this process if absent. */
  readonly env?: Environment;
}

/** A private Redis server on loopback, for the demo and for tests. */
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

export class NoRedisServerError extends Error {
  readonly code = 'no-redis-server';
  constructor() {
    const cure = 'install one, or name it in REDIS_SERVER, or set REDIS_URL';
    super(`no redis-server or valkey-server was found: ${cure}`);
    this.name = 'NoRedisServerError';
  }
}

/** @throws NoRedisServerError (code no-redis-server), or an error with what the server said when it does not start. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const program = serverProgram(options.env);
  if (program === undefined) throw new NoRedisServerError();
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-redis-'));
  let running: Launched | undefined;
  const start = async (port: number): Promise<number> => {
    running = await launch(program, port, folder, options);
    return port;
  };
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  const port = await startAnywhere(start).catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: () => end(running, 'SIGKILL'),
    async start() {
      await start(port);
    },
    pause: () => void running?.child.kill('SIGSTOP'),
    resume: () => void running?.child.kill('SIGCONT'),
    stop: async () => {
      running?.child.kill('SIGCONT');
      await end(running, 'SIGTERM');
      await removeFolder();
    },
  };
}

/** Somebody else may take a free port before the server binds it: then the next one. */
async function startAnywhere(start: (port: number) => Promise<number>, attempt = 1): Promise<number> {
  try {
    return await start(await freePort());
  } catch (error) {
    if (attempt === START_ATTEMPTS) throw error;
    return await startAnywhere(start, attempt + 1);
  }
}

interface Launched {
  readonly child: ChildProcess;
  /** Resolves when it and its watch have ended. */
  readonly ended: Promise<void>;
}

async function launch(
  program: string,
  port: number,
  folder: string,
  options: RedisServerOptions,
): Promise<Launched> {
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
  const child = spawn(program, [...args, ...(options.args ?? [])], {
    stdio: ['ignore', 'pipe', 'ignore'],
    // In a group of its own: Ctrl-C in the terminal is for this process, which still needs it to end in order.
    detached: true,
  });
  // A process that ends early, or is killed, must not leave its server behind.
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const watch = child.pid === undefined ? undefined : watchOverDeath({ pid: child.pid, folders: [folder] });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const release = () => {
    process.off('exit', killWithUs);
    // From now on the process id may be somebody else's.
    resolve(watch?.release());
  };
  child.once('exit', release);
  child.once('error', release);
  try {
    await readyOrEnded(child);
  } catch (error) {
    await ended;
    throw error;
  }
  return { child, ended };
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

async function end(running: Launched | undefined, signal: NodeJS.Signals): Promise<void> {
  if (running === undefined) return;
  const { child, ended } = running;
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

export function serverProgram(env: Environment = process.env): string | undefined {
  const named = env['REDIS_SERVER'];
  if (named !== undefined && named !== '') return named;
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
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

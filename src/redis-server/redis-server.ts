import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { watchOverDeath } from './death-watch.ts';
import { killWithUs } from './kill-with-us.ts';

const STOP_TIMEOUT_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

export interface ServerOptions {
  /** Source of REDIS_SERVER and PATH. */
  readonly env: Environment;
  /** Keeps an append-only file. */
  readonly persistent?: boolean;
}

export class NoRedisServerError extends Error {
  readonly code = 'no-redis-server';
  constructor() {
    const cure = 'install one, or name it in REDIS_SERVER, or set REDIS_URL';
    super(`no redis-server or valkey-server was found: ${cure}`);
    this.name = 'NoRedisServerError';
  }
}

/**
 * Starts a private server, for the demo and for tests. Nobody but this user can reach it: it listens on a socket in a
 * folder of mode 0700.
 *
 * @throws NoRedisServerError (code no-redis-server), or an error with the server's output if it does not start.
 */
export async function startRedisServer({ env, persistent = false }: ServerOptions) {
  const program = serverProgram(env);
  if (program === undefined) throw new NoRedisServerError();
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-redis-'));
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  const socket = path.join(folder, 'redis.sock');
  const args = ['--port', '0', '--unixsocket', socket, '--unixsocketperm', '600'];
  try {
    const running = await launch(program, folder, [...args, ...(persistent ? KEEPS_ALL : [])]);
    const stop = async (): Promise<void> => {
      await end(running, 'SIGTERM');
      await removeFolder();
    };
    return { url: `unix://${socket}`, stop };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/** Options of a server that keeps its data across a restart. */
export const KEEPS_ALL = ['--appendonly', 'yes'] as const;

export interface Launched {
  readonly child: ChildProcess;
  /** Resolves when the server and its watch have ended. */
  readonly ended: Promise<void>;
}

/** `args`: where it listens, and further options of the server, such as `['--maxmemory', '50mb']`. */
export async function launch(program: string, folder: string, args: readonly string[]): Promise<Launched> {
  const settings = {
    dir: folder,
    save: '',
    appendonly: 'no',
    hz: '100',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
  };
  const standard = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(program, [...standard, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    // In its own process group: Ctrl-C is for this process, which still needs the server to end in order.
    detached: true,
  });
  // A process that ends early, or is killed, must not leave its server behind.
  killWithUs(child);
  const watch = child.pid === undefined ? undefined : watchOverDeath({ pid: child.pid, folders: [folder] });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const release = () => {
    // From here on, the pid may belong to another process.
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
      if (/ready to accept connections/i.test(line)) resolve();
    });
  });
  await Promise.race([ready, failed]);
  failed.catch(() => undefined);
  output.length = 0;
}

export async function end({ child, ended }: Launched, signal: NodeJS.Signals): Promise<void> {
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

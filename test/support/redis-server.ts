import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  end,
  KEEPS_ALL,
  type Launched,
  launch,
  NoRedisServerError,
  serverProgram,
} from '../../src/redis-server/redis-server.ts';
import { freePort } from './free-port.ts';

export interface RedisServerOptions {
  /** Keeps an append-only file, so that a restart keeps the data. */
  readonly persistent?: boolean;
  /** Further options of the server, such as `['--maxmemory', '50mb']`. */
  readonly args?: readonly string[];
}

/** A private Redis server on loopback that can be killed and paused. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Kills it, as a power cut would. */
  kill(): Promise<void>;
  /** Restarts it on the same port and data after `kill`. */
  start(): Promise<void>;
  /** Pauses it (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

/** @throws NoRedisServerError (code no-redis-server), or an error with the server's output when it does not start */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const program = serverProgram();
  if (program === undefined) throw new NoRedisServerError();
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-redis-'));
  const args = [...(options.persistent === true ? KEEPS_ALL : []), ...(options.args ?? [])];
  const start = (port: number): Promise<Launched> =>
    launch(program, folder, ['--port', String(port), '--bind', '127.0.0.1', ...args]);
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  const first = await startAnywhere(start).catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });
  const { port } = first;
  let { running } = first;
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill: () => end(running, 'SIGKILL'),
    async start() {
      running = await start(port);
    },
    pause: () => void running.child.kill('SIGSTOP'),
    resume: () => void running.child.kill('SIGCONT'),
    stop: async () => {
      running.child.kill('SIGCONT');
      await end(running, 'SIGTERM');
      await removeFolder();
    },
  };
}

const START_ATTEMPTS = 5;

/** Another process may take the free port before the server binds it: then it tries the next one. */
export async function startAnywhere(
  start: (port: number) => Promise<Launched>,
  attempt = 1,
): Promise<{ readonly port: number; readonly running: Launched }> {
  const port = await freePort();
  try {
    return { port, running: await start(port) };
  } catch (error) {
    if (attempt === START_ATTEMPTS) throw error;
    return await startAnywhere(start, attempt + 1);
  }
}

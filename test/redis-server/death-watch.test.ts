import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { singleAttempt } from '../../src/queues/connection.ts';
import { takeFootprint } from '../support/leaks.ts';
import { hasRedisServer } from '../support/redis.ts';

const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
const REMAINS = path.join(import.meta.dirname, 'fixtures/remains.ts');
const OFTEN = { interval: 50 };

interface Scene {
  readonly child: ChildProcess;
  /** The child's folder for temporary files. */
  readonly folder: string;
  /** All descendants, by command line. */
  readonly processes: () => readonly string[];
  readonly nextLine: () => Promise<Record<string, unknown>>;
}

/** A process with its own folder for temporary files. */
async function spawnScene(script: string, args: (folder: string) => readonly string[]): Promise<Scene> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-kill-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const mark = `BREAKWATER_KILL_TEST=${randomUUID()}`;
  const { REDIS_URL: _shared, ...env } = process.env;
  const child = spawn(process.execPath, [script, ...args(folder)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...env, TMPDIR: folder, [mark.split('=')[0] ?? '']: mark.split('=')[1] },
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    folder,
    processes: () =>
      [...takeFootprint(mark).processes].filter(([pid]) => !before.has(pid)).map(([, command]) => command),
    nextLine: async () => JSON.parse((await lines.next()).value ?? '{}') as Record<string, unknown>,
  };
}

const before: ReadonlySet<number> = new Set(takeFootprint(randomUUID()).processes.keys());

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Socket of Redis in the config of the demo's daemon. */
function redisSocketOf(folder: string): string {
  const demo = readdirSync(folder).find((name) => name.startsWith('breakwater-demo-')) ?? '';
  const config = readFileSync(path.join(folder, demo, 'breakwater.yaml'), 'utf8');
  return /unix:\/\/(\/[^"]+)/.exec(config)?.[1] ?? '';
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8);
}

/** Whether the server behind a socket answers, and its setting. */
async function settingOf(socket: string, name: string): Promise<string | undefined> {
  const redis = new Redis({ path: socket, ...singleAttempt(1_000) });
  redis.on('error', () => undefined);
  try {
    return (await redis.config('GET', name))[1];
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
}

if (!hasRedisServer()) process.stderr.write('No redis-server: what SIGKILL leaves of one is not tested.\n');

describe.runIf(hasRedisServer())('the death watch', () => {
  test('removes the Redis server and folders after SIGKILL', async () => {
    const scene = await spawnScene(REMAINS, (folder) => [path.join(folder, 'other')]);
    const { port } = await scene.nextLine();
    expect(await isListening(Number(port))).toBe(true);
    expect(readdirSync(scene.folder)).toHaveLength(2);
    await kill(scene.child);
    await expect.poll(() => isListening(Number(port)), OFTEN).toBe(false);
    await expect.poll(() => readdirSync(scene.folder), OFTEN).toEqual([]);
    await expect.poll(scene.processes, OFTEN).toEqual([]);
  });

  test('has nothing left to remove after a graceful end', async () => {
    const scene = await spawnScene(REMAINS, (folder) => [path.join(folder, 'other')]);
    const { port } = await scene.nextLine();
    const ended = once(scene.child, 'exit');
    scene.child.stdin?.end();
    expect(await ended).toEqual([0, null]);
    expect(await isListening(Number(port))).toBe(false);
    expect(scene.processes()).toEqual([]);
  });

  test('another user of the machine cannot reach the Redis server of a demo', async () => {
    const scene = await spawnScene(MAIN, () => ['demo', '--redis', '--json', '--duration', '10m']);
    await scene.nextLine();
    const socket = redisSocketOf(scene.folder);
    // No port, and a socket for this user in a folder for this user.
    expect(await settingOf(socket, 'port')).toBe('0');
    expect([modeOf(socket), modeOf(path.dirname(socket))]).toEqual(['600', '700']);
    await kill(scene.child);
  });

  test('removes everything of a whole demo after SIGKILL', async () => {
    const scene = await spawnScene(MAIN, () => ['demo', '--redis', '--json', '--duration', '10m']);
    expect(await scene.nextLine()).toMatchObject({ event: expect.any(String) });
    expect(readdirSync(scene.folder).toSorted()).toEqual([
      expect.stringMatching(/^breakwater-demo-/),
      expect.stringMatching(/^breakwater-redis-/),
    ]);
    const socket = redisSocketOf(scene.folder);
    expect(await settingOf(socket, 'port')).toBe('0');
    await kill(scene.child);
    await expect.poll(() => settingOf(socket, 'port'), OFTEN).toBeUndefined();
    await expect.poll(() => readdirSync(scene.folder), OFTEN).toEqual([]);
    await expect.poll(scene.processes, OFTEN).toEqual([]);
  });
});

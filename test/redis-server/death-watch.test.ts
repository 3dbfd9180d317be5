import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
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

/** Port of Redis in the config of the demo's daemon. */
function redisPortOf(folder: string): number {
  const demo = readdirSync(folder).find((name) => name.startsWith('breakwater-demo-')) ?? '';
  const config = readFileSync(path.join(folder, demo, 'breakwater.yaml'), 'utf8');
  return Number(/redis:\/\/127\.0\.0\.1:(\d+)/.exec(config)?.[1]);
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

  test('removes everything of a whole demo after SIGKILL', async () => {
    const scene = await spawnScene(MAIN, () => ['demo', '--json', '--duration', '10m']);
    expect(await scene.nextLine()).toMatchObject({ event: expect.any(String) });
    expect(readdirSync(scene.folder).toSorted()).toEqual([
      expect.stringMatching(/^breakwater-demo-/),
      expect.stringMatching(/^breakwater-redis-/),
    ]);
    const port = redisPortOf(scene.folder);
    expect(await isListening(port)).toBe(true);
    await kill(scene.child);
    await expect.poll(() => isListening(port), OFTEN).toBe(false);
    await expect.poll(() => readdirSync(scene.folder), OFTEN).toEqual([]);
    await expect.poll(scene.processes, OFTEN).toEqual([]);
  });
});

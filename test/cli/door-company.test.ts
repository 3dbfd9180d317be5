import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { ours, polls } from '../daemon/scene.ts';
import { eventually, troubles } from '../daemon/world.ts';
import { type CliRun, runCommandLine } from '../support/cli.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { startSlowRedis } from '../support/slow-redis.ts';
import { expectEnd, expectOk, json, openOperatorWorld } from './operator.ts';

/** Several processes on one store, or without it: a command says which of them have confirmed, and which have not. */

const BY = ['--author', 'ann', '--reason', 'looking into it'];
const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
const SAID_MS = 3_000;

async function openTwo() {
  const world = await openOperatorWorld();
  const run = (name: string): string => path.join(path.dirname(world.configFile), name);
  const envOf = (name: string) => ({ ...world.env, RUNTIME_DIRECTORY: run(name) });
  return {
    world,
    envOf,
    start: (name: string, ordinal: number, more: Parameters<typeof world.start>[0] = {}) =>
      world.start({ ordinal, env: envOf(name), ...more }),
    /** Asks the daemon whose socket is in this folder. */
    cli: async (name: string, ...args: readonly string[]): Promise<CliRun> => {
      const fromMs = performance.now();
      const done = await world.cli([...args, ...BY], { env: envOf(name) });
      expect(performance.now() - fromMs).toBeLessThan(SAID_MS);
      return done;
    },
    isAlone: async (): Promise<void> => {
      await eventually(
        () => world.events.some((event) => event.kind === 'standby' && event.state === 'alone'),
        'the loss noticed',
        () => troubles(world.events),
      );
    },
  };
}

const processesOf = (run: CliRun) =>
  (json(run)['processes'] as { readonly instance: string; readonly confirmed: boolean }[])
    .map(({ instance, confirmed }) => `${instance.split('-')[0]} ${confirmed}`)
    .toSorted();

/** A config of the same accounts whose way to Redis can be closed. */
async function farConfig(world: Awaited<ReturnType<typeof openTwo>>['world']) {
  const far = await startSlowRedis(world.redisUrl, 0);
  closeAfterTest(() => far.stop());
  const text = await readFile(world.configFile, 'utf8');
  const configFile = `${world.configFile}.far.yaml`;
  await writeFile(configFile, text.replace(world.redisUrl, far.url));
  return { far, configFile };
}

test('every process confirms a command at any of them, and one that has stopped is not asked for', async () => {
  const { world, start, cli } = await openTwo();
  await start('a', 0);
  const second = await start('b', 1);
  await start('c', 2, { roles: ['web'] });
  for (const name of ['a', 'b', 'c']) {
    const paused = await cli(name, 'pause', '--json');
    expectOk(paused);
    expect(processesOf(paused)).toEqual(['i0 true', 'i1 true', 'i2 true']);
    expectOk(await cli(name, 'resume'));
  }
  expect((await cli('c', 'pause')).stderr).toMatch(
    /^Confirmed by i2-\w+ on \S+, i[01]-\w+ on \S+, i[01]-\w+ on/m,
  );
  await second.stop('it ends', 30_000);
  const after = await cli('a', 'pause', '--json');
  expectOk(after);
  expect(processesOf(after)).toEqual(['i0 true', 'i2 true']);
  expect(await world.state.controls.list()).toHaveLength(1);
});

test('a process with the role act alone acts, and is asked for', async () => {
  const { start, cli } = await openTwo();
  await start('a', 0, { roles: ['poll'] });
  await start('b', 1, { roles: ['act'] });
  await start('c', 2, { roles: ['web'] });
  const paused = json(await cli('a', 'pause', '--json'))['processes'] as readonly Record<string, unknown>[];
  const acts = paused.map(({ instance, acts: does }) => `${String(instance).split('-')[0]} ${String(does)}`);
  expect(acts.toSorted()).toEqual(['i0 true', 'i1 true', 'i2 false']);
});

test('one cut off from Redis is listed as not confirmed, and the exit code says that it holds in part', async () => {
  const { world, start, envOf, cli, isAlone } = await openTwo();
  const { far, configFile } = await farConfig(world);
  await start('a', 0);
  await start('b', 1, { configFile });
  await polls(world, 'long', 2);
  far.close();
  // Before it has noticed.
  const fromMs = performance.now();
  const atOnce = await runCommandLine(['pause', ...BY, '--config', configFile], { env: envOf('b') });
  expect(performance.now() - fromMs).toBeLessThan(SAID_MS);
  expectEnd(atOnce, EXIT.inPart);
  await isAlone();
  const paused = await cli('a', 'pause', '--json');
  expectEnd(paused, EXIT.inPart);
  expect(processesOf(paused)).toEqual(['i0 true', 'i1 false']);
  expect(paused.stderr).toMatch(
    /Not confirmed within 2 s by i1-\w+ on \S+\. Those that run GO ON ACTING until/,
  );
  // It is remembered after its sign has lapsed, and its own door says the same of the others.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const later = await cli('a', 'resume', '--json');
  expectEnd(later, EXIT.inPart);
  expect(processesOf(later)).toEqual(['i0 true', 'i1 false']);
  const there = await runCommandLine(['pause', ...BY, '--json', '--config', configFile], { env: envOf('b') });
  expectEnd(there, EXIT.inPart);
  expect(processesOf(there)).toEqual(['i0 false', 'i1 true']);
  expect((await runCommandLine(['status', '--config', configFile], { env: envOf('b') })).stdout).toContain(
    'paused',
  );
  far.open();
});

test('one that acts is not forgotten for another of its number that does not', async () => {
  const { world, start, cli } = await openTwo();
  const { far, configFile } = await farConfig(world);
  await start('a', 0);
  await start('b', 1, { configFile, roles: ['act'] });
  far.close();
  // Its number is free, and its sign has lapsed.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const web = await start('c', 1, { roles: ['web'] });
  const paused = await cli('a', 'pause', '--json');
  expectEnd(paused, EXIT.inPart);
  expect(processesOf(paused)).toEqual(['i0 true', 'i1 false', 'i1 true']);
  // One that does the same takes its place.
  await web.stop('its number is free', 30_000);
  await start('c', 1, { roles: ['act'] });
  const replaced = await cli('a', 'resume', '--json');
  expectOk(replaced);
  expect(processesOf(replaced)).toEqual(['i0 true', 'i1 true']);
  far.open();
});

test.runIf(hasRedisServer())(
  'without Redis it holds in the process asked, and a process that does not act confirms nothing',
  async () => {
    const server = await startRedisServer();
    closeAfterTest(() => server.stop());
    const { world, start, cli } = await openTwo();
    const text = await readFile(world.configFile, 'utf8');
    await writeFile(world.configFile, text.replace(world.redisUrl, server.url));
    await start('a', 0);
    const web = await start('c', 2, { roles: ['web'] });
    await polls(world, 'long', 2);
    // Who does not act goes on alone neither when Redis was emptied, nor when it is lost.
    expectOk(await cli('c', 'pause'));
    await web.state.store.read('long');
    await web.shared!.redis.flushall();
    await web.state.store.read('long');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expectOk(await cli('c', 'resume'));
    await server.kill();
    // Before it has noticed.
    const paused = await cli('a', 'pause', '--json');
    expectOk(paused);
    expect(processesOf(paused)).toEqual(['i0 true', 'i2 false']);
    const lost = await cli('c', 'pause');
    expectEnd(lost, EXIT.unknownOutcome);
    expect(lost.stdout).toBe('');
    expect(lost.stderr).toMatch(
      /Redis does not answer: this reaches nobody that acts, and nothing is confirmed/,
    );
    const lifted = await cli('c', 'resume');
    expect([lifted.exitCode, lifted.stdout]).not.toEqual([EXIT.ok, expect.stringContaining('Lifted')]);
    expect(ours(world.simulator, 'long')).toEqual([]);
  },
);

test('a stopped process (SIGSTOP) is found out within 3 s, and one that ends is none', async () => {
  const { world, envOf, cli, start } = await openTwo();
  const args = [MAIN, 'run', '--config', world.configFile, '--roles', 'poll,act', '--instance', '1'];
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { ...process.env, ...envOf('a') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  closeAfterTest(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await eventually(async () => (await cli('a', 'pause')).exitCode === EXIT.ok, 'a daemon that runs');
  child.kill('SIGSTOP');
  const hung = await cli('a', 'resume');
  expectEnd(hung, EXIT.unreachable);
  expect(hung.stderr).toMatch(/nothing was lifted: the daemon at \S+ does not answer/);
  await start('c', 2, { roles: ['web'] });
  const partly = await cli('c', 'silence', '--rule', 'far', '--for', '1h', '--json');
  expectEnd(partly, EXIT.inPart);
  expect(processesOf(partly)).toEqual(['i1 false', 'i2 true']);
  expect(await world.state.controls.list()).toHaveLength(2);
  child.kill('SIGKILL');
  await ended;
  const gone = await cli('a', 'pause');
  expectEnd(gone, EXIT.unreachable);
  expect(gone.stderr).toContain('no daemon with this config runs');
});

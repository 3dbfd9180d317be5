import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../support/cli.ts';
import { openReceiver } from '../support/receiver.ts';
import { startChild } from './child.ts';
import { drift, hasFilled, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles, verdictOf } from './world.ts';

// A daemon without Redis: its state is in `stateDir`. Judged by the simulated exchange's ledger.

/** Keeps firing after the target is reached: a daemon that forgets the target halves again. */
const HALVE = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ notify: {} }, { reduce: { by: 50%, slippage: 1% } }]
`;

async function open(more = '') {
  const simulator = await openScene();
  // In profit, so that no rule fires yet.
  move(simulator, 0.02);
  const parts = { accounts: { long: { rules: ['rule'] } }, rules: HALVE, more };
  const world = await openDaemonWorld(simulator, parts, { redis: 'none' });
  const folder = path.join(path.dirname(world.configFile), 'state');
  return { simulator, world, folder };
}

type Scene = Awaited<ReturnType<typeof open>>;

async function halves({ simulator, world }: Scene): Promise<void> {
  move(simulator, -0.04);
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.3), 'the fill', world);
}

const polled = async (world: DaemonWorld): Promise<void> => await polls(world, 'long', 3);

describe('a daemon without Redis', () => {
  test('protects, and its next start neither forgets the target nor halves again', async () => {
    const scene = await open();
    const { simulator, world } = scene;
    const first = await world.start();
    await polled(world);
    await halves(scene);
    // No alert on a Redis that nobody has.
    const metrics = await (await fetch(`${first.webUrl()}/metrics`)).text();
    expect(metrics).toContain('breakwater_mirror_failing 0');
    expect(metrics).not.toMatch(/^breakwater_redis_available /m);
    expect(await first.stop('test', 30_000)).toBe(true);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 2);
    // Without a daemon its state can be read.
    expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
    world.events.length = 0;
    await world.start();
    await polls(world, 'long', 6);
    await drift(simulator, -0.0005, () => true, 'a further fall', world);
    await polls(world, 'long', 4);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 2);
    expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
  });

  test('killed in a pause keeps the pause, and acts when it is lifted', async () => {
    const scene = await open();
    const { simulator, world } = scene;
    const child = startChild(world);
    await child.watching;
    const paused = await runCommandLine(
      ['pause', '--reason', 'over the weekend', '-c', world.configFile],
      world,
    );
    expect(paused.exitCode).toBe(0);
    child.child.kill('SIGKILL');
    await child.ended;
    const status = await runCommandLine(['status', '-c', world.configFile], world);
    expect(status.stdout + status.stderr).toContain('no daemon');
    expect(status.stdout).toContain('over the weekend');
    const again = startChild(world);
    await again.watching;
    move(simulator, -0.04);
    const reads = () => simulator.requestLog({ account: 'long' }).length;
    const before = reads();
    await eventually(() => reads() > before + 8, 'further polls', again.output);
    expect(ours(simulator, 'long')).toEqual([]);
    const resumed = await runCommandLine(['resume', '--reason', 'checked', '-c', world.configFile], world);
    expect(resumed.exitCode).toBe(0);
    await eventually(() => ours(simulator, 'long').length > 0, 'an order', again.output);
    expect(await again.stop()).toBe(0);
  });

  test('refuses to run beside another one with its directory, and names that one', async () => {
    const { world } = await open();
    const first = await world.start();
    await polled(world);
    const child = startChild(world);
    expect(await child.ended).toBe(1);
    expect(child.output()).toContain(`process ${process.pid} on`);
    expect(child.output()).toContain('stateDir');
    expect(await first.stop('test', 30_000)).toBe(true);
  });

  test('acts although its disk takes nothing, and says so', async () => {
    const scene = await open();
    const { world, folder } = scene;
    // A file where the directory should be.
    await writeFile(folder, '');
    await world.start();
    await polled(world);
    expect(world.events).toContainEqual(expect.objectContaining({ kind: 'mirror', state: 'failing' }));
    await halves(scene);
    await rm(folder);
    const isWell = () => world.events.some((event) => event.kind === 'mirror' && event.state === 'well');
    await eventually(isWell, 'a disk that works again', () => troubles(world.events));
    expect((await readdir(folder)).some((name) => name.startsWith('journal-'))).toBe(true);
  });

  test('with a tampered journal is told, and starts in doubt', async () => {
    const scene = await open();
    const { world, folder } = scene;
    const first = await world.start();
    await polled(world);
    await first.stop('test', 30_000);
    const name = (await readdir(folder)).find((one) => one.startsWith('journal-')) ?? '';
    const file = path.join(folder, name);
    await writeFile(file, (await readFile(file, 'utf8')).replace('"kind":"bucket"', '"kind":"Bucket"'));
    world.events.length = 0;
    await world.start();
    await polled(world);
    const unread = world.events.find((event) => event.kind === 'mirror' && event.state === 'unread');
    expect(unread).toMatchObject({ words: expect.stringContaining('lacks the seal') });
    expect((await readdir(folder)).some((one) => one.endsWith('.damaged'))).toBe(true);
    await halves(scene);
  });

  test('delivers after a restart what it could not deliver before, once', async () => {
    const receiver = await openReceiver();
    receiver.status = 503;
    const scene = await open(`channels: { own: { type: webhook, url: "${receiver.url}" } }\n`);
    const { world } = scene;
    const first = await world.start();
    await polled(world);
    move(scene.simulator, -0.04);
    await eventually(
      () => receiver.bodies.length > 0,
      'an attempt',
      () => troubles(world.events),
    );
    await first.stop('test', 30_000);
    receiver.status = 200;
    receiver.bodies.length = 0;
    const second = await world.start();
    const firings = () =>
      receiver.bodies.filter((body) => body.includes('"firing"') && body.includes('"rule"'));
    await eventually(
      () => firings().length > 0,
      'the notice',
      () => troubles(world.events),
    );
    // Stopped before it knows of the answer, it would have to send it again.
    const isKnown = () =>
      world.events.some(
        (event) =>
          event.kind === 'delivered' &&
          event.report.channel === 'own' &&
          event.report.delivery.kind === 'delivered',
      );
    await eventually(isKnown, 'the answer', () => troubles(world.events));
    await polls(world, 'long', 2);
    await second.stop('test', 30_000);
    await world.start();
    await polls(world, 'long', 6);
    expect(firings()).toHaveLength(1);
  });

  test('keeps its files from other users', async () => {
    const { world, folder } = await open();
    await mkdir(folder);
    await chmod(folder, 0o777);
    const daemon = await world.start();
    await polled(world);
    await daemon.stop('test', 30_000);
    expect((await stat(folder)).mode & 0o077).toBe(0);
    for (const name of await readdir(folder))
      expect([name, (await stat(path.join(folder, name))).mode & 0o077]).toEqual([name, 0]);
  });
});

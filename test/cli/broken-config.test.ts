import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { drift, move, ours, polls } from '../daemon/scene.ts';
import { eventually, troubles } from '../daemon/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { freePort } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { expectOk, FAR, type OperatorWorld, openOperatorWorld } from './operator.ts';

/** A running daemon keeps the previous config; the commands of people must keep working too. */

const BY = ['--author', 'ann', '--reason', 'typo at night'];
const FALLS = `${FAR}  - id: falls
    on: position
    when: { liquidationDistance: { below: 30% } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const SLIPS: readonly (readonly [string, (text: string) => string])[] = [
  ['a mode that is none', (text) => text.replace('mode: enforce', 'mode: enforse')],
  ['a tab in the rules', (text) => `${text}\n\t- id: more\n`],
];

async function openBroken(slip: (text: string) => string, web?: string) {
  const world = await openOperatorWorld({
    accounts: { long: { rules: ['falls'] } },
    rules: FALLS,
    ...(web === undefined ? {} : { web }),
  });
  const daemon = await world.start();
  await polls(world, 'long');
  await world.write(slip(await readFile(world.configFile, 'utf8')));
  return { ...world, daemon };
}

async function refusedNothing(world: OperatorWorld, args: readonly string[]) {
  const run = await world.cli(args);
  expectOk(run);
  expect(run.stderr).toMatch(/breakwater\.yaml:\d+:\d+.*Of this file only what says how daemons are reached/);
  return run;
}

test.each(sliceOf(SLIPS, 2, 'typos'))(
  'a typo in the config does not stop a pause: %s',
  async (_slip, slip) => {
    const world = await openBroken(slip);
    expect((await refusedNothing(world, ['pause', ...BY])).stdout).toMatch(/^Paused: every account/);
    await eventually(
      async () => {
        if ((await world.cli(['status'])).stdout.includes('rules fire, and nothing is done')) return true;
        move(world.simulator, -0.004);
        return false;
      },
      'the rule fires',
      () => troubles(world.events),
    );
    expect(ours(world.simulator, 'long')).toEqual([]);
    expect((await refusedNothing(world, ['status', '--account', 'long'])).stdout).toContain('paused by ann');
    expect((await refusedNothing(world, ['pause', '--list'])).stdout).toContain('typo at night');
    await refusedNothing(world, ['silence', '--rule', 'falls', '--for', '1h', ...BY]);
    await refusedNothing(world, ['silence', '--rule', 'falls', '--lift', ...BY]);
    await refusedNothing(world, ['acknowledge', '--all', ...BY]);
    expect((await refusedNothing(world, ['resume', ...BY])).stdout).toBe('Lifted: pause of every account.\n');
    await eventually(
      () => ours(world.simulator, 'long').length > 0,
      'an order',
      () => troubles(world.events),
    );
    const verified = await world.cli(['audit', 'verify']);
    expect([verified.exitCode, verified.stdout]).toEqual([
      EXIT.ok,
      expect.stringContaining('@operators: intact'),
    ]);
  },
);

test.each(sliceOf(SLIPS, 2, 'typos'))(
  'a typo in the config does not stop a flatten: %s',
  async (_slip, slip) => {
    const world = await openBroken(slip);
    const run = await refusedNothing(world, ['flatten', '--account', 'long', '--urgent', '--yes', ...BY]);
    expect(run.stdout).toContain('A daemon has taken it');
    const open = () => world.simulator.model.openPositions('long').length;
    await drift(world.simulator, 0.001, () => open() === 0, 'the position closed', world);
    expect((await world.cli(['flatten', '--account', 'lnog', '--yes', ...BY])).stderr).toContain(
      'Did you mean long?',
    );
  },
);

test('if even the Redis address is unreadable, the daemon is asked all the same; without it, status names --redis and --url', async () => {
  const port = await freePort();
  const { daemon, ...world } = await openBroken(
    (text) => text.replace(/^redis:/m, 'redis: [').replace(/^web:.*$/m, ''),
    `{ port: ${port} }`,
  );
  const found = await world.cli(['status']);
  expect([found.exitCode, found.stdout]).toEqual([EXIT.ok, expect.stringContaining('long')]);
  const url = ['--url', `http://127.0.0.1:${port}`];
  const asked = await world.cli(['status', ...url]);
  expect([asked.exitCode, asked.stdout]).toEqual([EXIT.ok, expect.stringContaining('long')]);
  const byRedis = await world.cli(['status', '--redis', world.redisUrl, '--redis-prefix', world.prefix]);
  expect([byRedis.exitCode, byRedis.stdout]).toEqual([EXIT.ok, expect.stringContaining('long')]);
  // What the daemon has written down is found by the name of the config.
  const paused = await world.cli(['pause', ...BY]);
  expect([paused.exitCode, paused.stdout]).toEqual([EXIT.ok, expect.stringContaining('Paused')]);
  expect((await world.cli(['status', ...url])).stdout).toContain('paused by ann');
  await daemon.stop('seen enough', 30_000);
  const lost = await world.cli(['status']);
  expect([lost.exitCode, lost.stdout]).toEqual([EXIT.failed, '']);
  expect(lost.stderr).toMatch(/--url.*--redis.*breakwater check.*No daemon with this config runs/);
});

test('--url reaches the daemon without a config at hand', async () => {
  const port = await freePort();
  const world = await openBroken((text) => text, `{ port: ${port} }`);
  const url = ['--url', `http://127.0.0.1:${port}`];
  const { env } = world;
  const gone = ['--config', `${world.configFile}.gone`];
  for (const place of [gone, ['--redis', 'redis://127.0.0.1:1']]) {
    const asked = await runCommandLine(['status', ...place, ...url], { env });
    expect([place, asked.exitCode, asked.stdout]).toEqual([place, EXIT.ok, expect.stringContaining('long')]);
  }
  // Its token is not found without the config.
  const refused = await runCommandLine(['pause', ...BY, ...gone, ...url], { env });
  expect([refused.exitCode, refused.stderr]).toEqual([
    EXIT.failed,
    expect.stringContaining('web.controlToken'),
  ]);
  // Who names a daemon elsewhere is not shown what another one has left here.
  const noDaemon = ['--url', `http://127.0.0.1:${await freePort()}`];
  const elsewhere = await runCommandLine(['status', ...noDaemon], { env });
  expect([elsewhere.exitCode, elsewhere.stdout]).toEqual([EXIT.unreachable, '']);
  expect(elsewhere.stderr).toMatch(/nothing was read: no daemon answers at http/);
  const stored = await world.cli(['status', ...noDaemon]);
  expect(stored.stderr).toMatch(/This is what is stored: no daemon answers at http/);
  const nowhere = await runCommandLine(['status', '--redis', 'redis://127.0.0.1:1'], { env });
  expect([nowhere.exitCode, nowhere.stderr]).toEqual([
    EXIT.failed,
    expect.stringContaining('cannot be used'),
  ]);
});

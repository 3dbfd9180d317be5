import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { drift, ours, polls } from '../daemon/scene.ts';
import { runCommandLine } from '../support/cli.ts';
import { expectOk, type OperatorWorld, openOperatorWorld } from './operator.ts';

/** Commands without the key of the daemons, which therefore do not obey. */

const BY = ['--author', 'ann', '--reason', 'typo at night'];
const FALLS = `  - id: falls
    on: position
    when: { liquidationDistance: { below: 30% } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

async function openFalling() {
  const world = await openOperatorWorld({ accounts: { long: { rules: ['falls'] } }, rules: FALLS });
  await world.start();
  await polls(world, 'long');
  const place = ['--redis', world.redisUrl, '--redis-prefix', world.prefix];
  return { world, keyless: (...args: readonly string[]) => runCommandLine([...args, ...place]) };
}

async function verdict(world: OperatorWorld) {
  return await world.cli(['audit', 'verify']);
}

test('`pause --redis` without the key of the daemon fails, pauses nothing, and leaves the audit intact', async () => {
  const { world, keyless } = await openFalling();
  expectOk(await world.cli(['pause', '--account', 'long', '--for', '1s', ...BY]));
  const run = await keyless('pause', ...BY);
  expect([run.exitCode, run.stdout]).toEqual([EXIT.failed, '']);
  expect(run.stderr).toMatch(
    /nothing was paused: the daemon takes only what is sealed .* this command has no key/,
  );
  expect(run.stderr).toMatch(/--config/);
  await drift(world.simulator, -0.004, () => ours(world.simulator, 'long').length > 0, 'an order', world);
  expect(await world.state.controls.list()).toEqual([]);
  expect(await verdict(world)).toMatchObject({ exitCode: EXIT.ok });
});

const KEYLESS: readonly (readonly [command: string, args: readonly string[], words: RegExp])[] = [
  ['silence', ['--rule', 'falls', '--for', '1h', ...BY], /nothing was silenced/],
  ['silence', ['--rule', 'falls', '--lift', ...BY], /nothing was lifted/],
  ['resume', ['--account', 'long', ...BY], /nothing was lifted/],
  ['acknowledge', ['--account', 'long', ...BY], /nothing was changed/],
  ['flatten', ['--account', 'long', '--yes', ...BY], /nothing was ordered.*use the exchange/],
  ['reduce', ['--account', 'long', '--withdraw', 'abc', '--yes', ...BY], /nothing was ordered/],
  ['approve', ['long', '12345678-1', '--yes', ...BY], /not approved/],
  ['veto', ['long', '12345678-1', ...BY], /not vetoed/],
];

test('commands without the key of the daemon change nothing, and fail', async () => {
  const { world, keyless } = await openFalling();
  expectOk(await world.cli(['pause', '--account', 'long', '--reason', 'first']));
  const lastSeq = async () => (await world.state.audit.tail('long', 1))[0]?.record.seq;
  const before = await lastSeq();
  for (const [command, args, words] of KEYLESS) {
    const { exitCode, stdout, stderr } = await keyless(command, ...args);
    expect({ command, args, exitCode, stdout, stderr }).toEqual({
      command,
      args,
      exitCode: EXIT.failed,
      stdout: '',
      stderr: expect.stringMatching(words),
    });
    expect([command, await world.state.controls.list()]).toEqual([command, [expect.anything()]]);
    expect([command, await lastSeq()]).toEqual([command, before]);
    expect([command, await verdict(world)]).toMatchObject([command, { exitCode: EXIT.ok }]);
  }
});

test('a pause that one of two daemons obeys fails, and says so', async () => {
  const { world, keyless } = await openFalling();
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace(/^operators: .*$/m, ''));
  const other = await world.start({ ordinal: 1 });
  const mixed = await keyless('pause', '--account', 'long', ...BY);
  expect([mixed.exitCode, mixed.stdout]).toEqual([
    EXIT.failed,
    expect.stringContaining('Paused: account long'),
  ]);
  expect(mixed.stderr).toMatch(/Not obeyed by one of several daemons/);
  await other.stop('seen enough', 30_000);
});

test('without a daemon, a pause without the key is refused where sealed ones exist', async () => {
  const world = await openOperatorWorld();
  const keyless = (...args: readonly string[]) =>
    runCommandLine([...args, '--redis', world.redisUrl, '--redis-prefix', world.prefix]);
  const daemon = await world.start();
  await polls(world, 'long');
  expectOk(await world.cli(['pause', '--account', 'long', ...BY]));
  await daemon.stop('a night without a daemon', 30_000);
  const run = await keyless('pause', '--account', 'long', ...BY);
  expect([run.exitCode, run.stdout]).toEqual([EXIT.failed, '']);
  expect(run.stderr).toMatch(/bears seals of an operators\.key/);
  expectOk(await world.cli(['pause', '--account', 'long', ...BY]));
});

test('with no daemon running `resume --id` lifted the sealed pause of an account without the key', async () => {
  const world = await openOperatorWorld();
  expectOk(await world.cli(['pause', '--account', 'long', ...BY]));
  const [pause] = await world.state.controls.list();
  const place = ['--redis', world.redisUrl, '--redis-prefix', world.prefix];
  const run = await runCommandLine(['resume', '--id', pause?.id ?? '', ...BY, ...place]);
  expect([run.exitCode, run.stdout]).toEqual([EXIT.failed, '']);
  expect(run.stderr).toMatch(/nothing was lifted: .* bears seals of an operators\.key/);
  expect(await world.state.controls.list()).toEqual([pause]);
  expectOk(await world.cli(['resume', '--id', pause?.id ?? '', ...BY]));
  expect(await world.state.controls.list()).toEqual([]);
});

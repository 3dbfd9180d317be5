import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { polls } from '../daemon/scene.ts';
import { eventually } from '../daemon/world.ts';
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

const KEYLESS: readonly (readonly [command: string, args: readonly string[], words: RegExp])[] = [
  ['flatten', ['--account', 'long', '--yes', ...BY], /nothing was ordered.*use the exchange/],
  ['reduce', ['--account', 'long', '--withdraw', 'abc', '--yes', ...BY], /nothing was ordered/],
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
  const { world } = await openFalling();
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace(/^operators: .*$/m, ''));
  const other = await world.start({ ordinal: 1 });
  const place = ['--url', other.webUrl() ?? ''];
  let mixed = await world.cli(['pause', '--account', 'long', ...BY, ...place]);
  // Daemons show themselves each second.
  await eventually(async () => {
    mixed = await world.cli(['pause', '--account', 'long', ...BY, ...place]);
    return mixed.exitCode === EXIT.failed;
  }, 'the other one is known');
  expect(mixed.stdout).toContain(`Paused at ${other.webUrl()} alone: account long`);
  expect(mixed.stderr).toMatch(/GO ON ACTING .* or if they have another operators\.key/);
  await other.stop('seen enough', 30_000);
});

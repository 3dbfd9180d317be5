import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { allCommands } from '../../src/cli/commands.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import type { CliIo } from '../../src/cli/io.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { type CliRun, runCommandLine } from '../support/cli.ts';
import { openOperatorWorld, pauseIn } from './operator.ts';

const BY = ['--reason', 'a test'];
/** Required arguments of each command with `--redis`. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  call: ['balance', '--base-url', 'http://127.0.0.1:1'],
  status: [],
  pause: BY,
  report: ['--from', '2026-01-01', '--to', '2026-01-02'],
  digest: [],
  init: ['--out', '/nowhere/a.yaml', '--exchange', 'http://127.0.0.1:1', '--account', 'a', '--offline'],
  resume: BY,
  approve: ['a', 'q-1', ...BY],
  veto: ['a', 'q-1', ...BY],
  acknowledge: ['--rule', 'r', '--account', 'a', ...BY],
  silence: ['--rule', 'r', '--account', 'a', '--for', '1h', ...BY],
  reduce: ['--account', 'a', '--position', '1', '--by', '10%', '--yes', ...BY],
  flatten: ['--account', 'a', '--yes', ...BY],
  'audit tail': ['--account', 'a'],
  'audit show': ['--account', 'a', '1'],
  'audit verify': [],
  'audit export': ['--account', 'a'],
  'audit prune': ['--account', 'a', '--keep', '1', '--out', '/nowhere/a', '--yes', ...BY],
};
const REGISTERED = await allCommands();
// The demo's takes no address.
const WITH_REDIS = withOption('--redis').filter((name) => name !== 'demo');

function withOption(name: string): readonly string[] {
  const program = new Command();
  for (const register of REGISTERED) register(program, {} as CliIo);
  const walk = (command: Command, parents: readonly string[]): readonly string[] => {
    const names = [...parents, command.name()];
    const own = command.options.some(({ long }) => long === name) ? [names.join(' ')] : [];
    return [...own, ...command.commands.flatMap((child) => walk(child, names))];
  };
  return program.commands.flatMap((command) => walk(command, []));
}

test.each(WITH_REDIS)('%s refuses a password on its command line, and says the cure', async (name) => {
  const needed = NEEDS[name] ?? expect.fail(`what does ${name} need?`);
  const env = { BREAKWATER_API_KEY: 'k', BREAKWATER_API_SECRET: 's' };
  const args = [...name.split(' '), ...needed, '--redis', 'redis://u:sesame@127.0.0.1:1'];
  const run = await runCommandLine(args, { env });
  expect([run.exitCode, run.stderr]).toEqual([
    EXIT.usage,
    expect.stringMatching(/password.*env:NAME or file:PATH/s),
  ]);
  expect(run.stdout + run.stderr).not.toContain('sesame');
});

// `init` only writes the reference, and does not read it.
const READING = WITH_REDIS.filter((name) => name !== 'init');
test.each(READING)('%s takes its Redis from a variable or a file', async (name) => {
  const needed = NEEDS[name] ?? expect.fail(`what does ${name} need?`);
  for (const [redis, words] of [
    ['env:NOT_THERE', /NOT_THERE/],
    ['file:/nowhere/redis-url', /--redis: cannot read the file that it names/],
  ] as const) {
    const env = { BREAKWATER_API_KEY: 'k', BREAKWATER_API_SECRET: 's' };
    const run = await runCommandLine([...name.split(' '), ...needed, '--redis', redis], { env });
    expect([run.exitCode, run.stderr]).toEqual([EXIT.usage, expect.stringMatching(words)]);
  }
});

test('a variable or a file works instead; errors in them are reported without their text', async () => {
  const world = await openOperatorWorld();
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-cli-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'redis-url');
  await writeFile(file, `${world.redisUrl}\n`);
  await chmod(file, 0o600);
  await pauseIn(world, 'long');
  const list = async (redis: string, env = {}): Promise<CliRun> =>
    await runCommandLine(['status', '--account', 'long', '--redis', redis, '--redis-prefix', world.prefix], {
      env,
    });
  expect(await list(`file:${file}`)).toMatchObject({ exitCode: EXIT.ok });
  expect(await list('env:REDIS_URL', { REDIS_URL: world.redisUrl })).toMatchObject({ exitCode: EXIT.ok });
  await writeFile(file, 'sesame');
  for (const run of [
    await list(`file:${file}`),
    await list('env:__proto__'),
    await list('env:REDIS_URL'),
    await list('file:/nowhere'),
  ]) {
    expect(run).toMatchObject({
      exitCode: EXIT.usage,
      stderr: expect.stringContaining('--redis: ') as string,
    });
    expect(run.stderr).not.toContain('sesame');
  }
});

test('an unset variable, and an empty variable or file, are named as such', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-cli-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'redis-url');
  await writeFile(file, '\n');
  for (const [redis, words] of [
    ['env:NOT_THERE', 'in the variable NOT_THERE, which is not set.'],
    ['env:__proto__', 'in the variable __proto__, which is not set.'],
    ['env:EMPTY', 'in the variable EMPTY, which is empty.'],
    [`file:${file}`, 'in its file, which is empty.'],
    ['env:OTHER', 'in the variable OTHER, got another text.'],
  ] as const) {
    const run = await runCommandLine(['status', '--redis', redis], { env: { EMPTY: ' ', OTHER: 'sesame' } });
    expect([run.exitCode, run.stderr]).toEqual([EXIT.usage, expect.stringContaining(words)]);
    expect(run.stderr).not.toContain('sesame');
  }
});

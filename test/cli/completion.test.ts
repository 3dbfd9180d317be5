import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { allCommands, type RegisterCommand } from '../../src/cli/commands.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { runCommandLine } from '../support/cli.ts';

async function scriptFor(shell: string, commands?: readonly RegisterCommand[]): Promise<string> {
  const { exitCode, stdout } = await runCommandLine(
    ['completion', shell],
    commands === undefined ? {} : { commands },
  );
  expect(exitCode).toBe(0);
  return stdout;
}

/** What bash offers after these words once it has sourced the script; the last word is being typed. */
function offersOf(script: string): (...words: readonly string[]) => readonly string[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-completion-'));
  closeAfterTest(async () => await rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'completion');
  writeFileSync(file, script);
  const program =
    '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); complete -p breakwater >/dev/null || exit 9;' +
    ' _breakwater; printf "%s\\n" "${COMPREPLY[@]}"';
  return (...words) => {
    const args = ['--norc', '-c', program, 'bash', file, 'breakwater', ...words];
    const output = execFileSync('bash', args, { encoding: 'utf8' });
    return output.split('\n').filter((line) => line !== '');
  };
}

test('bash completes every command that --help lists, and every option of each', async () => {
  const offers = offersOf(await scriptFor('bash'));
  const help = (await runCommandLine(['--help'])).stdout;
  const names = [...help.matchAll(/^ {2}([a-z]+)(?:\|[a-z]+)? (?=.* {2})/gm)].map(([, name = '']) => name);
  expect(names).toEqual(expect.arrayContaining(['status', 'version', 'completion', 'flatten']));
  expect(offers('')).toEqual(expect.arrayContaining(names));
  for (const name of names.filter((one) => one !== 'help')) {
    const { stdout } = await runCommandLine([name, '--help']);
    const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option);
    expect(options).toContain('--help');
    expect(offers(name, '-')).toEqual(expect.arrayContaining(options));
  }
});

test('bash completes partial words, subcommands, and known values', async () => {
  const offers = offersOf(await scriptFor('bash'));
  expect(offers('sta')).toEqual(['status']);
  expect(offers('status', '--wat')).toEqual(['--watch']);
  expect(offers('audit', 'ta')).toEqual(['tail']);
  expect(offers('audit', 'tail', '--fol')).toEqual(['--follow']);
  expect(offers('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  expect(offers('call', '--dialect', '')).toEqual(['spec', 'camel']);
  // The value of an option is not completed as an option, and file names are left to bash.
  expect(offers('status', '--config', '')).toEqual([]);
  // An account may have the name of a command.
  expect(offers('status', '--account', 'audit', '--wat')).toEqual(['--watch']);
});

test('options of the short name of a command, and values after "=", were not completed', async () => {
  const offers = offersOf(await scriptFor('bash'));
  expect(offers('ack', '--acc')).toEqual(['--account']);
  // Bash makes words of what stands on both sides of "=".
  expect(offers('call', '--dialect', '=')).toEqual(['spec', 'camel']);
  expect(offers('call', '--dialect', '=', 'ca')).toEqual(['camel']);
  expect(offers('status', '--config', '=', '')).toEqual([]);
  expect(await scriptFor('fish')).toContain("-n '__fish_seen_subcommand_from ack' -s a -l account");
});

test('a new command is completed without any other change', async () => {
  const register: RegisterCommand = (program) => {
    program.command('moor').summary("the ship's own").option('--rope <kind>', "the rope's kind");
  };
  const offers = offersOf(await scriptFor('bash', [...(await allCommands()), register]));
  expect(offers('moo')).toEqual(['moor']);
  expect(offers('moor', '--r')).toEqual(['--rope']);
  const fish = await scriptFor('fish', [...(await allCommands()), register]);
  expect(fish).toContain(`-n '__fish_use_subcommand' -f -a moor -d 'the ship'\\''s own'`);
  expect(fish).toContain(`-n '__fish_seen_subcommand_from moor' -l rope -r -d 'the rope'\\''s kind'`);
});

test('zsh uses the same script through bashcompinit; other shells are refused', async () => {
  const zsh = await scriptFor('zsh');
  expect(zsh.split('\n')[0]).toBe('autoload -U +X bashcompinit && bashcompinit');
  expect(zsh).toContain(await scriptFor('bash'));
  const refused = await runCommandLine(['completion', 'tcsh']);
  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain('bash, zsh, fish');
});

test('version prints what --version does, and what a bug report needs', async () => {
  const short = (await runCommandLine(['--version'])).stdout.trim();
  const { stdout } = await runCommandLine(['version']);
  expect(stdout).toBe(
    `breakwater ${short}, Node.js ${process.version}, ${process.platform} ${process.arch}\n`,
  );
  const json = await runCommandLine(['version', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ version: short, node: process.version });
});

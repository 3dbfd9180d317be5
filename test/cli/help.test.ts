import { execFileSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { allCommands } from '../../src/cli/commands.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { ctrlC, runCommandLine } from '../support/cli.ts';

/** `[]` is the program itself. */
function namesOf(command: Command, path: readonly string[] = []): readonly (readonly string[])[] {
  return [path, ...command.commands.flatMap((child) => namesOf(child, [...path, child.name()]))];
}

async function realProgram(): Promise<Command> {
  const stream = new PassThrough();
  const isTty = { stdin: false, stdout: false, stderr: false };
  const { signal } = new AbortController();
  const io = { stdin: stream, stdout: stream, stderr: stream, isTty, env: {}, signal, setExitCode: ctrlC };
  return buildProgram(io, '1.2.3', await allCommands());
}

async function everyCommand(): Promise<readonly (readonly string[])[]> {
  return namesOf(await realProgram());
}

function everyOption(command: Command): readonly (readonly [string, Option])[] {
  const own = command.options.map((option) => [command.name(), option] as const);
  return [...own, ...command.commands.flatMap(everyOption)];
}

/** The text of `(default: ...)` in the help. */
function shownDefault({ defaultValue, defaultValueDescription }: Option): string {
  return (
    defaultValueDescription ??
    (typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue))
  );
}

async function helpOf(path: readonly string[]): Promise<string> {
  return (await runCommandLine([...path, '--help'])).stdout;
}

test('no help is wider than a terminal of 80 columns', async () => {
  const names = await everyCommand();
  expect(names.length).toBeGreaterThan(30);
  for (const path of names) {
    const help = await helpOf(path);
    expect(help).toContain('Usage: breakwater');
    const wide = help.split('\n').filter((line) => line.length > 80);
    expect({ path, wide }).toEqual({ path, wide: [] });
  }
});

test('a multi-line example can be pasted into a shell', async () => {
  const help = await helpOf(['flatten']);
  const [, example = ''] = /\$ (breakwater [^\n]*--market(?:.*\\\n)*.*)/.exec(help) ?? [];
  expect(example).toContain(' \\\n');
  const script = `breakwater() { for word; do echo "$word"; done; }\n${example}`;
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
  expect(words.slice(0, 3)).toEqual(['flatten', '--account', 'desk-1']);
  expect(words).toContain('ETH_*');
  expect(words).toContain('event risk');
});

test('the help shows every default as its option accepts it', async () => {
  const options = everyOption(await realProgram()).filter(
    ([, { parseArg, defaultValue }]) => parseArg !== undefined && defaultValue !== undefined,
  );
  expect(options.length).toBeGreaterThan(20);
  for (const [command, option] of options) {
    const shown = shownDefault(option);
    const read = () => option.parseArg?.(shown, undefined);
    expect(read, `${command} ${option.flags} (default: ${shown})`).not.toThrow();
    expect([command, option.flags, read()]).toEqual([command, option.flags, option.defaultValue]);
  }
});

test.each([
  ['0s', 'Expected a duration above 0, such as 90s, 2h or 1d.'],
  ['0', 'Expected a duration such as 90s, 2h or 1d.'],
  ['99999d', 'Expected a duration of at most 3660d, such as 90s, 2h or 1d.'],
  ['99999 days', 'Expected a duration such as 90s, 2h or 1d.'],
  ['90', 'Expected a duration such as 90s, 2h or 1d. Did you mean 90s?'],
  ['7200000', 'Expected a duration such as 90s, 2h or 1d. Did you mean 7200000ms?'],
])('a refused duration is answered with a valid one: %s', async (text, words) => {
  const { stderr } = await runCommandLine(['pause', '--reason', 'x', '--for', text]);
  expect(stderr).toBe(
    `breakwater: option '--for <duration>' argument '${text}' is invalid. ${words} See: breakwater pause --help\n`,
  );
});

test.each([
  [['audit', 'tail'], 'audit tail'],
  [['notify', 'test', '--foo'], 'notify test'],
  [['ack', '--foo'], 'acknowledge'],
  [['--debug', 'audit', '--debug', 'tail', '--foo'], 'audit tail'],
  [['pause', '--reason', 'audit', '--foo'], 'pause'],
  [['audit', '--foo', 'tail'], 'audit'],
])('%j points at the help of its own command', async (args, name) => {
  const { exitCode, stderr } = await runCommandLine(args);
  expect(exitCode).toBe(EXIT.usage);
  expect(stderr).toContain(` See: breakwater ${name} --help\n`);
});

test.each([
  [['help', 'audit', 'tail'], 'audit tail'],
  [['audit', 'help', 'tail'], 'audit tail'],
  [['help', 'ack'], 'acknowledge|ack'],
  [['help', 'notify'], 'notify'],
])('%j prints the help of the subcommand', async (args, name) => {
  const { exitCode, stdout, stderr } = await runCommandLine(args);
  expect([exitCode, stderr]).toEqual([EXIT.ok, '']);
  expect(stdout).toContain(`Usage: breakwater ${name} [options]`);
});

test('help without a command prints the help of the program', async () => {
  const run = await runCommandLine(['help']);
  expect(run).toEqual({ exitCode: EXIT.ok, stdout: await helpOf([]), stderr: '' });
});

test.each([[['tune', '--prices', 'BTC_PERP=btc.csv']], [['tune', '--help']], [['help', 'tune']]])(
  '%j says that the command was removed, and what to use instead',
  async (args) => {
    const run = await runCommandLine(args);
    expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
    expect(run.stderr).toMatch(
      /^breakwater: the command 'tune' was removed\. .*breakwater replay.*stress.*\n$/,
    );
  },
);

test.each([
  [['help', 'foo'], "unknown command 'foo'. See: breakwater --help"],
  [['help', 'stauts'], "unknown command 'stauts'. Did you mean status? See: breakwater --help"],
  [['help', 'audit', 'tial'], "unknown command 'tial'. Did you mean tail? See: breakwater audit --help"],
  [['help', 'status', 'foo'], "unknown command 'foo'. See: breakwater status --help"],
  [['foo', '--help'], "unknown command 'foo'. See: breakwater --help"],
  [['--help', 'foo'], "unknown command 'foo'. See: breakwater --help"],
  [['audit', 'replay', '--help'], "unknown command 'replay'. See: breakwater audit --help"],
])('%j is refused as an unknown command, with the help to look at', async (args, words) => {
  const run = await runCommandLine(args);
  expect(run).toEqual({ exitCode: EXIT.usage, stdout: '', stderr: `breakwater: ${words}\n` });
});

import { execFileSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { allCommands } from '../../src/cli/commands.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { ctrlC, runCommandLine } from '../support/cli.ts';

/** `[]` is the program itself. */
function namesOf(command: Command, path: readonly string[] = []): readonly (readonly string[])[] {
  return [path, ...command.commands.flatMap((child) => namesOf(child, [...path, child.name()]))];
}

async function everyCommand(): Promise<readonly (readonly string[])[]> {
  const stream = new PassThrough();
  const isTty = { stdin: false, stdout: false, stderr: false };
  const { signal } = new AbortController();
  const io = { stdin: stream, stdout: stream, stderr: stream, isTty, env: {}, signal, setExitCode: ctrlC };
  return namesOf(buildProgram(io, '1.2.3', await allCommands()));
}

async function helpOf(path: readonly string[]): Promise<string> {
  return (await runCommandLine([...path, '--help'])).stdout;
}

test('half of all helps were wider than a terminal of 80 columns', async () => {
  const names = await everyCommand();
  expect(names.length).toBeGreaterThan(30);
  for (const path of names) {
    const help = await helpOf(path);
    expect(help).toContain('Usage: breakwater');
    const wide = help.split('\n').filter((line) => line.length > 80);
    expect({ path, wide }).toEqual({ path, wide: [] });
  }
});

test('an example that takes several lines can be pasted into a shell', async () => {
  const help = await helpOf(['flatten']);
  const [, example = ''] = /\$ (breakwater [^\n]*--market(?:.*\\\n)*.*)/.exec(help) ?? [];
  expect(example).toContain(' \\\n');
  const script = `breakwater() { for word; do echo "$word"; done; }\n${example}`;
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
  expect(words.slice(0, 3)).toEqual(['flatten', '--account', 'desk-1']);
  expect(words).toContain('ETH_*');
  expect(words).toContain('event risk');
});

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runCommandLine } from '../support/cli.ts';
import { run } from '../support/programs.ts';
import { ROOT, read } from './files.ts';

const UNIT = 'config/systemd/breakwater.service';
const CREDENTIALS = 'config/systemd/credentials.conf';

test('the unit runs existing commands with existing options', async () => {
  const lines = [...read(UNIT).matchAll(/^Exec(?:Start|StartPre)=\/usr\/bin\/env breakwater (.*)$/gm)];
  expect(lines).toHaveLength(2);
  for (const [, line = ''] of lines) {
    const [name = '', ...words] = line.split(' ');
    const { exitCode, stdout } = await runCommandLine([name, '--help']);
    expect([name, exitCode]).toEqual([name, 0]);
    const options = stdout.split(/[\s,]+/);
    for (const word of words.filter((each) => each.startsWith('-'))) expect(options).toContain(word);
  }
});

test('the unit restarts it after any end, gives it time to stop, and lets it write only its state', () => {
  const unit = read(UNIT);
  for (const line of [
    'Restart=always',
    'StartLimitIntervalSec=0',
    'TimeoutStopSec=20',
    'User=breakwater',
    'ProtectSystem=strict',
    'NoNewPrivileges=yes',
    // A core dump has every key in it.
    'LimitCORE=0',
  ]) {
    expect(unit.split('\n')).toContain(line);
  }
});

test('systemd finds nothing wrong with the unit', async ({ skip }) => {
  const found = await run('systemd-analyze', ['verify', new URL(UNIT, ROOT).pathname]);
  if (found === undefined) skip('systemd-analyze is not installed');
  // Whether the user and the program exist depends on the machine, not on the unit.
  const problems = (found?.output ?? '').split('\n').filter((line) => line.includes('breakwater.service:'));
  expect(problems.filter((line) => !/not executable|Failed to resolve|No such file/.test(line))).toEqual([]);
});

test('the unit has an exposure below 2.0 in systemd-analyze security', async ({ skip }) => {
  const file = new URL(UNIT, ROOT).pathname;
  const found = await run('systemd-analyze', [
    'security',
    '--offline=true',
    '--no-pager',
    '--threshold=20',
    file,
  ]);
  if (found === undefined) skip('systemd-analyze is not installed');
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(found?.output ?? '') ?? [];
  expect(exposure, `${found?.output}`).toBeDefined();
  expect(Number(exposure)).toBeLessThan(2);
});

test('the unit leaves no core dump and lets no signal open a debugger', () => {
  const lines = read(UNIT).split('\n');
  for (const line of ['LimitCORE=0', 'Environment=NODE_OPTIONS=--disable-sigusr1'])
    expect(lines).toContain(line);
});

test('systemd accepts the drop-in for credentials, and the docs name the path where it puts them', async ({
  skip,
}) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-unit-'));
  try {
    const unit = path.join(folder, 'breakwater.service');
    await writeFile(unit, read(UNIT));
    await mkdir(`${unit}.d`);
    await writeFile(path.join(`${unit}.d`, 'credentials.conf'), read(CREDENTIALS));
    const [, id] = /^LoadCredential=(\w+):\/etc\/breakwater\/secrets$/m.exec(read(CREDENTIALS)) ?? [];
    expect(read('docs/deployment.md')).toContain(`/run/credentials/breakwater.service/${id}_`);
    const found = await run('systemd-analyze', ['verify', unit]);
    if (found === undefined) skip('systemd-analyze is not installed');
    expect(found?.output).not.toContain('credentials.conf');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

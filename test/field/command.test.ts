import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { inTurn, sliceOf } from '../support/slice.ts';
import type { FieldReport } from './report.ts';

const plays = inTurn(['a report', 'a case'], 2, 'runs of the field');

const PROGRAM = new URL('main.ts', import.meta.url).pathname;

function start(...args: readonly string[]) {
  return spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function run(...args: readonly string[]) {
  const child = start(...args);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { stdout, stderr, code };
}

test('the help names every factor with its values, and explains the exit codes', async () => {
  const { stdout, code } = await run('--help');
  expect(code).toBe(0);
  expect(stdout).toContain('latency: 0.1 s | 0.4 s | 0.8 s | 1.5 s | 3 s');
  expect(stdout).toContain('Ends with 0');
});

const REFUSED = [
  [['--cases', 'many'], '--cases many: expected a whole number'],
  [['--only', 'latency=4 s'], '--only latency=4 s: expected factor=value'],
  [['--case', '1-s99999'], '--case 1-s99999: there is no such case'],
  [['--sead', '1'], "Unknown option '--sead'"],
] as const;

test.each(sliceOf(REFUSED, 4, 'options that make no sense'))(
  '%j is refused with the reason',
  async (args, reason) => {
    const { stdout, stderr, code } = await run(...args);
    expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
    expect(stderr).toContain(reason);
  },
);

test.runIf(plays('a report'))(
  'a run with one value of a factor reports only that value, as JSON, and is reproducible',
  async () => {
    const args = [
      '--cases',
      '1',
      '--controls',
      '1',
      '--no-scenarios',
      '--only',
      'account=one short',
      '--json',
    ];
    const [first, second] = await Promise.all([run(...args), run(...args)]);
    const reports = [first, second].map(({ stdout }) => JSON.parse(stdout) as FieldReport);
    const [report, again] = reports;
    expect({ ...again, tookMs: 0, cpuMs: 0 }).toEqual({ ...report, tookMs: 0, cpuMs: 0 });
    expect(report?.values.filter(({ factor }) => factor === 'account')).toMatchObject([
      { value: 'one short' },
    ]);
    expect(report?.total.preventable).toBeGreaterThanOrEqual(1);
    expect(report?.controls.played).toBe(1);
    expect(first.code).toBe(report?.bars.every(({ holds }) => holds) === true ? 0 : 1);
  },
);

test.runIf(plays('a case'))(
  "a case replays with the exchange's view and the daemon's decisions",
  async () => {
    const { stdout, code } = await run('--case', '1-7');
    expect(code).toBe(0);
    expect(stdout).toContain('Case 1-7 (case)');
    expect(stdout).toMatch(/exchange: position_seeded/);
    expect(stdout).toMatch(/daemon: +intentOpened/);
  },
);

test('Ctrl-C prints the results so far', async () => {
  const child = start('--cases', '5000', '--controls', '0', '--no-scenarios');
  const output = text(child.stdout);
  // After this line it plays, and handles signals.
  const [said] = (await once(child.stderr, 'data')) as [Buffer];
  expect(String(said)).toContain('Playing 5000 cases');
  child.kill('SIGINT');
  const [code] = (await once(child, 'exit')) as [number | null];
  expect(code).toBe(130);
  expect(await output).toContain('Stopped early');
});

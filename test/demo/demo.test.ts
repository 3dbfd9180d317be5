import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../src/cli/run.ts';
import { ctrlC, runCommandLine } from '../support/cli.ts';

interface Line {
  readonly event: string;
  readonly [key: string]: unknown;
}

/** Where a Redis is to be found. */
const env = Object.fromEntries(
  ['PATH', 'REDIS_URL', 'REDIS_SERVER'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);

const lines = (stdout: string): Line[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

const KEYS = ['event', 'liquidations', 'closedFraction', 'accounts', 'actions', 'breachToOrderMs', 'alerts'];

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`);

describe('breakwater demo', () => {
  /** Every fifteen seconds, in a straight line from each price to the next. */
  async function candleFile(prices: readonly number[]): Promise<string> {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-candles-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'candles.csv');
    const rows = prices.slice(1).map((close, index) => {
      const open = prices[index] ?? close;
      return [index * 15_000, open, Math.max(open, close), Math.min(open, close), close, 1].join(',');
    });
    await writeFile(file, ['timestamp_ms,open,high,low,close,volume', ...rows, ''].join('\n'));
    return file;
  }

  /** Half a percent a second in real time: a busy machine is no reason to lose anybody. */
  async function play(prices: readonly number[]) {
    const seconds = 3 * (prices.length - 1);
    const args = ['--duration', `${seconds}s`, '--speed', '5', '--prices', await candleFile(prices)];
    const run = await runCommandLine(['demo', '--json', ...args], { env });
    expect(run.stderr).toBe('');
    const all = lines(run.stdout);
    expect(all.filter(({ event }) => event === 'failure')).toEqual([]);
    expect(run.exitCode).toBe(0);
    const result = all.at(-1) as Line & {
      accounts: { id: string; liquidated: boolean | null; twinLiquidated: boolean | null }[];
    };
    expect(Object.keys(result)).toEqual(KEYS);
    return { all, fate: (id: string) => result.accounts.find((account) => account.id === id) };
  }

  test.concurrent('a crash: the long comes through, its twin does not, and the borrower is told before the margin call', {
    timeout: 120_000,
  }, async () => {
    const { all, fate } = await play([100, 100, 98.5, 97, 95.5, 94, 92.5, 91, 89.5, 88]);
    expect(fate('long-10x')).toMatchObject({ liquidated: false, twinLiquidated: true });
    expect(fate('short-10x')).toMatchObject({ liquidated: false, twinLiquidated: false, closedFraction: 0 });
    expect(fate('hedged')).toMatchObject({ liquidated: false, closedFraction: 0 });
    expect(fate('borrower')).toMatchObject({ liquidated: null, closedFraction: null });
    const told = all.map(({ text }) => String(text));
    const alert = told.findIndex((text) =>
      /alert: borrower.*for 65 % LTV repay \d+ USDT or pledge/.test(text),
    );
    const called = told.findIndex((text) => /borrower: margin call of its credit line/.test(text));
    expect(alert).toBeGreaterThan(-1);
    expect(called).toBeGreaterThan(alert);
  });

  test.concurrent('a rally: the short comes through, its twin does not, and longs are left alone', {
    timeout: 120_000,
  }, async () => {
    const { fate } = await play([100, 100, 101.5, 103, 104.5, 106, 107.5, 109]);
    expect(fate('short-10x')).toMatchObject({ liquidated: false, twinLiquidated: true });
    expect(fate('long-10x')).toMatchObject({ liquidated: false, twinLiquidated: false, closedFraction: 0 });
    expect(fate('long-3x')).toMatchObject({ liquidated: false, closedFraction: 0 });
  });

  test('on a terminal it draws a table in place, gives the cursor back, and ends with another table', async () => {
    const run = await runCommandLine(['demo', '--duration', '1s'], {
      tty: true,
      env: { ...env, FORCE_COLOR: '1' },
    });
    expect(run.stdout).toContain('ONLY WATCHED');
    expect(run.stdout.indexOf(HIDE_CURSOR)).toBeLessThan(run.stdout.lastIndexOf(SHOW_CURSOR));
    expect(run.stdout).toMatch(COLOUR);
    expect(run.stdout).toContain('long at 10x');
    expect(run.stdout).toContain("What happened, by the exchange's ledger");
  });

  test('with NO_COLOR it still draws in place, without a colour', async () => {
    const run = await runCommandLine(['demo', '--duration', '1s'], {
      tty: true,
      env: { ...env, NO_COLOR: '1' },
    });
    expect(run.stdout).toContain(SHOW_CURSOR);
    expect(run.stdout).not.toMatch(COLOUR);
  });

  test.each([
    ['without a terminal', { tty: false, env }],
    ['on a terminal that cannot move its cursor', { tty: true, env: { ...env, TERM: 'dumb' } }],
  ])('%s it writes lines, and says on standard error what is played', async (_name, options) => {
    const run = await runCommandLine(['demo', '--duration', '1s'], options);
    expect(run.stdout).not.toContain('\u001b');
    expect(run.stdout).toMatch(/^ +0\.\d s {2}BTC_PERP .*nearest to liquidation: long at 20x/m);
    expect(run.stdout).toContain("What happened, by the exchange's ledger");
    expect(run.stderr).toContain('crashThenRally: down, then up');
  });

  /** Pressed once prices move. */
  async function stopped(args: readonly string[], options: { readonly tty: boolean }) {
    const controller = new AbortController();
    const stdout = new PassThrough();
    let text = '';
    stdout.on('data', (chunk: Buffer) => {
      text += String(chunk);
      if (text.includes('BTC_PERP')) controller.abort(ctrlC());
    });
    const exitCode = await runCli(['demo', '--duration', '60s', ...args], {
      stdin: new PassThrough().end(),
      stdout,
      stderr: new PassThrough().resume(),
      isTty: { stdin: options.tty, stdout: options.tty, stderr: options.tty },
      env,
      signal: controller.signal,
    });
    return { exitCode, text };
  }

  test('Ctrl-C ends the live table in order with 130: the cursor is back, then comes what happened so far', async () => {
    const { exitCode, text } = await stopped([], { tty: true });
    expect(exitCode).toBe(130);
    const after = text.slice(text.lastIndexOf(SHOW_CURSOR));
    expect(after).toMatch(/Stopped after \d+\.\d s\. What had happened by then, by the exchange's ledger/);
    expect(after).toMatch(/short at 10x +came through/);
    expect(after).not.toContain('Not as it should be');
  });

  test('Ctrl-C with --json: says that it was stopped, and the last line is as ever', async () => {
    const { exitCode, text } = await stopped(['--json'], { tty: false });
    expect(exitCode).toBe(130);
    const all = lines(text);
    expect(all.filter(({ event }) => event === 'failure')).toEqual([]);
    expect(all.at(-3)).toEqual({ event: 'stopped', afterMs: expect.any(Number) });
    expect(all.at(-2)).toEqual({ event: 'machine', longestStallMs: expect.any(Number) });
    expect(Object.keys(all.at(-1) ?? {})).toEqual(KEYS);
  });

  test('Ctrl-C before anything moves ends it with 130 and without a word', async () => {
    const controller = new AbortController();
    controller.abort(ctrlC());
    const run = await runCommandLine(['demo'], { env, signal: controller.signal });
    expect(run).toEqual({ exitCode: 130, stdout: '', stderr: '' });
  });

  test('--help says what is shown, when it fails, and what the lines of --json are', async () => {
    const { stdout, exitCode } = await runCommandLine(['demo', '--help']);
    expect(exitCode).toBe(0);
    for (const flag of ['duration', 'seed', 'scenario', 'prices', 'speed', 'headless', 'json']) {
      expect(stdout).toContain(`--${flag}`);
    }
    for (const event of ['frame', 'remark', 'failure', 'stopped', 'machine', 'demo']) {
      expect(stdout).toContain(`"${event}"`);
    }
    expect(stdout).toMatch(/ 0 +by the exchange's ledger/);
    expect(stdout).toMatch(/ 130 +Ctrl-C/);
    expect(stdout).toContain('$ breakwater demo --prices candles.csv');
  });

  test.each([
    [['--duration', 'soon'], /from 1s to 60m/],
    [['--seed', '-1'], /whole number/],
    [['--speed', '21'], /from 1 to 20/],
    [['--scenario', 'flood'], /no scenario "flood"; there are .*crash/],
    [['--prices', '/nowhere/candles.csv'], /cannot be read/],
    [['--prices', '/dev/null', '--scenario', 'crash'], /Leave one out/],
  ])('%j is refused with what would be right', async (args, expected) => {
    const run = await runCommandLine(['demo', ...args], { env });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toMatch(expected);
  });
});

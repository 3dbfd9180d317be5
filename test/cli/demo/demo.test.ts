import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ctrlC, runCommandLine } from '../../support/cli.ts';

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

describe('breakwater demo', () => {
  test('a crash and a rally: the protected come through, their twins do not', {
    timeout: 120_000,
  }, async () => {
    const run = await runCommandLine(['demo', '--json', '--duration', '15s', '--speed', '5'], { env });
    expect(run.stderr).toBe('');
    const all = lines(run.stdout);
    expect(all.filter(({ event }) => event === 'failure')).toEqual([]);
    expect(run.exitCode).toBe(0);
    const result = all.at(-1) as Line & {
      accounts: { id: string; liquidated: boolean | null; twinLiquidated: boolean | null }[];
    };
    expect(Object.keys(result)).toEqual(KEYS);
    const fate = (id: string) => result.accounts.find((account) => account.id === id);
    expect(fate('long-10x')).toMatchObject({ liquidated: false, twinLiquidated: true });
    expect(fate('short-10x')).toMatchObject({ liquidated: false, twinLiquidated: true });
    expect(fate('hedged')).toMatchObject({ liquidated: false, closedFraction: 0 });
    expect(fate('borrower')).toMatchObject({ liquidated: null, closedFraction: null });
    const told = all.map(({ text }) => String(text));
    const alert = told.findIndex((text) => /alert: borrower/.test(text));
    const called = told.findIndex((text) => /borrower: margin call of its loan/.test(text));
    expect(alert).toBeGreaterThan(-1);
    expect(called).toBeGreaterThan(alert);
  });

  test('candles are played around their largest move, and a rally leaves longs alone', {
    timeout: 120_000,
  }, async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-candles-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'candles.csv');
    const prices = [100, 100, 100, 100, 103, 107, 110, 110, 110];
    const rows = prices.slice(1).map((close, index) => {
      const open = prices[index] ?? close;
      return [index * 60_000, open, Math.max(open, close), Math.min(open, close), close, 1].join(',');
    });
    await writeFile(file, ['timestamp_ms,open,high,low,close,volume', ...rows, ''].join('\n'));
    const run = await runCommandLine(
      ['demo', '--json', '--duration', '12s', '--speed', '20', '--prices', file],
      { env },
    );
    expect(run.stderr).toBe('');
    expect(run.exitCode).toBe(0);
    const result = lines(run.stdout).at(-1) as unknown as {
      accounts: { id: string; closedFraction: number }[];
    };
    const closed = (id: string) => result.accounts.find((account) => account.id === id)?.closedFraction;
    expect(closed('short-10x')).toBeGreaterThan(0.3);
    expect(closed('long-10x')).toBe(0);
  });

  test('on a terminal it draws a table in place, gives the cursor back, and ends with another table', async () => {
    const run = await runCommandLine(['demo', '--duration', '1s'], {
      tty: true,
      env: { ...env, FORCE_COLOR: '1' },
    });
    expect(run.stdout).toContain('ONLY WATCHED');
    expect(run.stdout.indexOf('\u001b[?25l')).toBeLessThan(run.stdout.lastIndexOf('\u001b[?25h'));
    expect(run.stdout).toContain('long at 10x');
    expect(run.stdout).toContain("What happened, by the exchange's ledger");
  });

  test('Ctrl-C ends it in order with 130, and the cursor is back', async () => {
    const controller = new AbortController();
    const running = runCommandLine(['demo', '--duration', '60s'], {
      tty: true,
      env: { ...env, FORCE_COLOR: '1' },
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(ctrlC()), 2_500);
    const run = await running;
    expect(run.exitCode).toBe(130);
    expect(run.stdout === '' || run.stdout.endsWith('\u001b[?25h')).toBe(true);
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

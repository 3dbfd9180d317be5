import { describe, expect, test } from 'vitest';
import { ctrlC, runCommandLine } from '../../support/cli.ts';

interface Line {
  readonly event: string;
  readonly [key: string]: unknown;
}

const lines = (stdout: string): Line[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

describe('breakwater demo', () => {
  test('a crash in two seconds: reads succeed, and the summary comes from the ledger', async () => {
    const run = await runCommandLine(['demo', '--json', '--duration', '2s', '--scenario', 'crash']);
    expect(run.stderr).toBe('');
    expect(run.exitCode).toBe(0);
    const all = lines(run.stdout);
    const first = all.find(({ event }) => event === 'frame');
    expect(first).toMatchObject({
      durationMs: 2_000,
      baseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
    });
    const summary = all.at(-1) as Line & { accounts: { id: string; liquidations: number }[] };
    expect(summary).toMatchObject({ event: 'demo', reads: { failed: 0 } });
    expect(summary.accounts).toHaveLength(5);
    // A fall of 30 % does not leave a long of seven times its collateral alone.
    expect(summary.accounts.find(({ id }) => id === 'account-1')?.liquidations).toBeGreaterThan(0);
    expect(
      all.some(({ event, text }) => event === 'remark' && /account-1: long BTC_PERP/.test(String(text))),
    ).toBe(true);
  });

  test('on a terminal it draws a table in place and gives the cursor back', async () => {
    const run = await runCommandLine(['demo', '--duration', '1s'], { tty: true, env: { FORCE_COLOR: '1' } });
    expect(run.exitCode).toBe(0);
    expect(run.stdout).toContain('ROOM BEFORE LIQUIDATION');
    expect(run.stdout.indexOf('\u001b[?25l')).toBeLessThan(run.stdout.lastIndexOf('\u001b[?25h'));
    expect(run.stdout).toContain('account-1');
  });

  test('Ctrl-C ends it in order with 130, and the cursor is back', async () => {
    const controller = new AbortController();
    const running = runCommandLine(['demo', '--duration', '60s'], {
      tty: true,
      env: { FORCE_COLOR: '1' },
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(ctrlC()), 500);
    const run = await running;
    expect(run.exitCode).toBe(130);
    expect(run.stdout.endsWith('\u001b[?25h')).toBe(true);
  });

  test.each([
    [['--duration', 'soon'], /from 1s to 60m/],
    [['--seed', '-1'], /whole number/],
    [['--scenario', 'flood'], /no scenario "flood"; there are .*crash/],
  ])('%j is refused with what would be right', async (args, expected) => {
    const run = await runCommandLine(['demo', ...args]);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toMatch(expected);
  });
});

import process from 'node:process';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/run.ts';
import type { DemoSide } from '../../src/demo/result.ts';
import { ctrlC, runCommandLine } from '../support/cli.ts';
import { inTurn, sliceOf } from '../support/slice.ts';

const plays = inTurn(['a table', 'no colours'], 2, 'terminals of a demo');

interface Line {
  readonly event: string;
  readonly [key: string]: unknown;
}

/** Environment that locates a Redis. */
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

const KEYS = ['event', 'currency', 'protected', 'unprotected', 'keptMore', 'alerts'];

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`);

describe('breakwater demo', () => {
  test('in a crash the protected account survives and keeps more; its twin is liquidated', async () => {
    const run = await runCommandLine(['demo', '--json'], { env });
    expect(run.stderr).toBe('');
    const all = lines(run.stdout);
    expect(all.filter(({ event }) => event === 'failure')).toEqual([]);
    expect(run.exitCode).toBe(0);
    const result = all.at(-1) as Line & Record<'protected' | 'unprotected', DemoSide>;
    expect(Object.keys(result)).toEqual(KEYS);
    expect(result.protected).toMatchObject({ equityBefore: '3000', wasLiquidated: false });
    expect(result.unprotected).toMatchObject({ equityBefore: '3000', wasLiquidated: true, requests: 0 });
    expect(result.protected.ordersPlaced).toBeGreaterThan(0);
    const kept = Number(result.protected.equity) - Number(result.unprotected.equity);
    expect(Number(result['keptMore'])).toBeCloseTo(kept, 6);
    expect(kept).toBeGreaterThan(0);
    const told = all.map(({ text }) => String(text));
    expect(told).toContainEqual(
      expect.stringMatching(/^Breakwater says: distance to liquidation is .* below 5 %/),
    );
    expect(told.filter((text) => text.startsWith('unprotected: LIQUIDATION begins'))).toHaveLength(1);
    expect(all.find(({ event }) => event === 'frame')).toMatchObject({ protectedSide: { amount: '0.5' } });
  });

  test.runIf(plays('a table'))(
    'on a terminal it draws a table in place, restores the cursor, and ends with another table',
    async () => {
      const run = await runCommandLine(['demo', '--duration', '1s'], {
        tty: true,
        env: { ...env, FORCE_COLOR: '1' },
      });
      expect(run.stdout).toContain('NOT PROTECTED');
      expect(run.stdout.indexOf(HIDE_CURSOR)).toBeLessThan(run.stdout.lastIndexOf(SHOW_CURSOR));
      expect(run.stdout).toMatch(COLOUR);
      expect(run.stdout).toContain('long at 10x');
      expect(run.stdout).toContain("What happened, by the exchange's own ledger");
    },
  );

  test.runIf(plays('no colours'))('with NO_COLOR it still draws in place, without colours', async () => {
    const run = await runCommandLine(['demo', '--duration', '1s'], {
      tty: true,
      env: { ...env, NO_COLOR: '1' },
    });
    expect(run.stdout).toContain(SHOW_CURSOR);
    expect(run.stdout).not.toMatch(COLOUR);
  });

  const plain: [string, Parameters<typeof runCommandLine>[1]][] = [
    ['without a terminal', { tty: false, env }],
    ['on a terminal that cannot move its cursor', { tty: true, env: { ...env, TERM: 'dumb' } }],
  ];
  test.each(sliceOf(plain, 2, 'places without a picture'))('%s it writes lines', async (_name, options) => {
    const run = await runCommandLine(['demo', '--duration', '1s'], options);
    expect(run.stdout).not.toContain('\u001b');
    expect(run.stdout).toMatch(
      /^ +0\.\d s {2}BTC_PERP 60,000\.0 .*: protected 3,000\.00 USDT, twin 3,000\.00 USDT$/m,
    );
    expect(run.stdout).toContain("What happened, by the exchange's own ledger");
  });

  /** Presses Ctrl-C once prices move. */
  async function stopped(
    args: readonly string[],
    { size = {}, ...options }: { readonly tty: boolean; readonly size?: object },
  ) {
    const controller = new AbortController();
    const stdout = Object.assign(new PassThrough(), size);
    let text = '';
    stdout.on('data', (chunk: Buffer) => {
      text += String(chunk);
      if (/BTC_PERP|"frame"/.test(text)) controller.abort(ctrlC());
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

  test('Ctrl-C ends the live table with 130: the cursor is restored, then the results so far follow', async () => {
    const { exitCode, text } = await stopped([], { tty: true });
    expect(exitCode).toBe(130);
    const after = text.slice(text.lastIndexOf(SHOW_CURSOR));
    expect(after).toMatch(/Stopped after \d+\.\d s\. What had happened by then, by the exchange's ledger/);
    expect(after).toMatch(/protected +3,000\.00 USDT/);
    expect(after).not.toContain('Not as it should be');
  });

  const small = [
    { columns: 79, rows: 24 },
    { columns: 80, rows: 23 },
  ];
  test.each(sliceOf(small, 2, 'terminals that are too small'))(
    'a terminal of %o is too small for the picture: it writes lines',
    async (size) => {
      const { exitCode, text } = await stopped([], { tty: true, size });
      expect(exitCode).toBe(130);
      expect(text).not.toContain(HIDE_CURSOR);
      expect(text).toMatch(/s {2}BTC_PERP 60,000\.0/);
    },
  );

  test('Ctrl-C with --json says that it was stopped, and the last line is as usual', async () => {
    const { exitCode, text } = await stopped(['--json'], { tty: false });
    expect(exitCode).toBe(130);
    const all = lines(text);
    expect(all.filter(({ event }) => event === 'failure')).toEqual([]);
    expect(all.at(-2)).toEqual({ event: 'stopped', afterMs: expect.any(Number) });
    expect(Object.keys(all.at(-1) ?? {})).toEqual(KEYS);
  });

  test('Ctrl-C before prices move ends it silently with 130', async () => {
    const controller = new AbortController();
    controller.abort(ctrlC());
    const run = await runCommandLine(['demo'], { env, signal: controller.signal });
    expect(run).toEqual({ exitCode: 130, stdout: '', stderr: '' });
  });

  test('--help explains the display, when it fails, and the lines of --json', async () => {
    const { stdout, exitCode } = await runCommandLine(['demo', '--help']);
    expect(exitCode).toBe(0);
    for (const flag of ['duration', 'json']) {
      expect(stdout).toContain(`--${flag}`);
    }
    for (const event of ['frame', 'remark', 'failure', 'stopped', 'demo']) {
      expect(stdout).toContain(`"${event}"`);
    }
    expect(stdout).toMatch(/ 0 +by the exchange's ledger/);
    expect(stdout).toMatch(/ 130 +Ctrl-C/);
    expect(stdout).toContain('$ breakwater demo --duration 2m');
  });

  test('--duration 1m30s was refused, though every other command takes it', async () => {
    const { exitCode } = await stopped(['--duration', '1m30s'], { tty: false });
    expect(exitCode).toBe(130);
  });

  test.each(['soon', '0.5s', '61m'])('--duration %s is refused with a valid one', async (given) => {
    const run = await runCommandLine(['demo', '--duration', given], { env });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toMatch(/from 1s to 60m/);
  });
});

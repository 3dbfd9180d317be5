import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { type StatusAccount, statusLines } from '../../src/cli/operate/status-text.ts';
import { runCli } from '../../src/cli/run.ts';
import type { StateLine } from '../../src/core/view/state-line.ts';
import { closeAfterTest, openExchange } from '../contract/support/world.ts';
import { eventually, openDaemonWorld } from '../daemon/world.ts';
import { account, rule } from '../support/account-view.ts';
import { ctrlC } from '../support/cli.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { FAR, openOperatorWorld } from './operator.ts';

const COLUMNS = 80;

const UNREACHABLE: StateLine = {
  kind: 'blind',
  cause: 'unreachable',
  words: 'blind: the exchange is unreachable (no answer within 5 s from https://api.exchange.example)',
  severity: 'critical',
  sinceMs: Date.now() - 90_000,
};
const FIRING: StateLine = {
  kind: 'watching',
  cause: 'ruleFiring',
  words: 'watching closely: rule close fires for position:1: distance to liquidation is 4.1 %, below 5 %',
  severity: 'warning',
  sinceMs: Date.now() - 5_000,
};

function place(columns?: number) {
  const stdout = Object.assign(new PassThrough(), columns === undefined ? {} : { columns });
  const isTty = columns !== undefined;
  return {
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough(),
    isTty: { stdin: isTty, stdout: isTty, stderr: isTty },
    env: { NO_COLOR: '1' },
    signal: new AbortController().signal,
    setExitCode: () => undefined,
  };
}

function shown(accounts: readonly StatusAccount[], columns?: number): readonly string[] {
  return statusLines(
    place(columns),
    {
      atMs: Date.now(),
      stored: null,
      controls: [],
      refusedControls: [],
      watchers: 1,
      pausedQueues: [],
      troubles: [],
      accounts,
    },
    false,
  );
}

function many(count: number, state?: StateLine): StatusAccount[] {
  return Array.from({ length: count }, (_, at) => ({
    ...account(`desk-${at}`, state === undefined ? {} : { state }),
    calmMs: null,
    events: [],
    alarms: [],
  }));
}

test('200 accounts take at most 205 lines of 80 columns, also in an outage, and the first line says what is wrong', () => {
  for (const state of [undefined, UNREACHABLE, FIRING]) {
    const lines = shown(many(200, state), COLUMNS);
    expect(lines.length).toBeLessThanOrEqual(205);
    expect(lines.filter((line) => line.length > COLUMNS)).toEqual([]);
    expect(new Set(lines.map((line) => /^desk-\d+/.exec(line)?.[0])).size).toBe(201);
  }
  expect(shown(many(200, UNREACHABLE), COLUMNS)[0]).toBe('200 accounts blind: the exchange is unreachable.');
});

test('the worst account stands first; in the same state, the nearest to harm', () => {
  const [calm, near, blind, firing] = many(4);
  const lines = shown([
    calm!,
    { ...near!, nearest: 0.051 },
    { ...firing!, state: FIRING },
    { ...blind!, state: UNREACHABLE },
  ]);
  expect(lines[0]).toMatch(
    /^desk-2 blind: the exchange is unreachable .*; desk-3 watching closely: .*; 2 accounts calm\.$/,
  );
  const rows = lines.filter((line) => /^desk-\d +\d/.test(line));
  expect(rows.map((line) => line.slice(0, 6))).toEqual(['desk-2', 'desk-3', 'desk-1', 'desk-0']);
  expect(rows[2]).toMatch(/^desk-1 +5\.1 % +44\.3K +calm: /);
});

test('PERP, the end of the names of perpetuals, stood as a currency behind what is at risk', () => {
  const row = shown(many(2)).find((line) => line.startsWith('desk-1 '));
  expect(row).toMatch(/ 44\.3K +calm: /);
});

test('a recent alarm stands first in its account and in the summary line', () => {
  const alarm = (ago: number, reason: string) => ({
    seq: 1,
    atMs: Date.now() - ago,
    kind: 'operatorOrderRefused',
    market: null,
    reason,
    words: 'the config has no operators.key',
    alarm: true,
  });
  const alarms = [500_000, 120_000, 90_000, 60_000].map((ago, index) => alarm(ago, `n${index}`));
  const [first, ...others] = many(2, FIRING);
  if (first === undefined) throw new Error('no account');
  const lines = shown([{ ...first, alarms }, ...others]);
  const table = lines.findIndex((line) => line.startsWith('ACCOUNT'));
  const told = lines.slice(0, table).filter((line) => line.startsWith('ALARM'));
  expect(told[0]).toBe(
    `ALARM 1 min ago, ${first.accountId}: operatorOrderRefused (n3): the config has no operators.key`,
  );
  expect(told).toHaveLength(4);
  expect(told[3]).toBe('ALARM: 1 more in the last minutes; see audit tail.');
});

test('a file gets every line in full, unless COLUMNS bounds it', () => {
  expect(shown(many(2, FIRING)).filter((line) => /below 5 %, for \d+ s/.test(line))).toHaveLength(2);
  const report = {
    atMs: Date.now(),
    stored: null,
    controls: [],
    watchers: 1,
    refusedControls: [],
    pausedQueues: [],
    troubles: [],
    accounts: many(2, FIRING),
  };
  const bounded = statusLines({ ...place(), env: { COLUMNS: '80' } }, report, false);
  expect(bounded.filter((line) => line.length > COLUMNS)).toEqual([]);
});

test.runIf(hasRedisServer())(
  '--watch keeps printing off a terminal, survives a lost Redis, and ends with Ctrl-C',
  async () => {
    const server = await startRedisServer();
    closeAfterTest(() => server.stop());
    const simulator = await openExchange({ speed: 1 });
    const redis = { url: server.url, prefix: 'bw' };
    const parts = { accounts: { long: { rules: ['far'] } }, rules: FAR };
    const world = await openDaemonWorld(simulator, parts, { redis });
    const { output, ended, stop } = watching(world.configFile, world.env);
    await eventually(() => (output().match(/^ACCOUNT/gm) ?? []).length >= 2, 'two reports', output);
    expect(output()).not.toContain('\u001b');
    await server.kill();
    await eventually(
      () => /^From here every account is blind: Redis is down/m.test(output()),
      'lost',
      output,
    );
    await server.start();
    const lost = output().length;
    await eventually(() => /^ACCOUNT/m.test(output().slice(lost)), 'it is back', output);
    stop();
    expect(await ended).toBe(EXIT.interrupted);
  },
);

test('--watch redraws in place on a terminal, no more than fits, and restores the cursor', async () => {
  const world = await openOperatorWorld();
  const { output, ended, stop } = watching(world.configFile, world.env, { columns: COLUMNS, rows: 6 });
  await eventually(() => output().split('\u001b[H').length > 2, 'two frames', output);
  stop();
  expect(await ended).toBe(EXIT.interrupted);
  expect(output().startsWith('\u001b[?25l')).toBe(true);
  expect(output().endsWith('\u001b[?25h')).toBe(true);
  const [, frame = ''] = output().split('\u001b[H');
  expect(frame.split('\n').length).toBeLessThanOrEqual(6);
  // oxlint-disable-next-line no-control-regex
  for (const line of frame.replaceAll(/\u001b\[\d*[A-Za-z]/g, '').split('\n'))
    expect(line.length).toBeLessThanOrEqual(COLUMNS);
  expect(frame).toContain('more lines');
});

function watching(
  configFile: string,
  env: Readonly<Record<string, string>>,
  size?: { readonly columns: number; readonly rows: number },
) {
  const controller = new AbortController();
  const io = place(size?.columns);
  Object.assign(io.stdout, size ?? {});
  let text = '';
  io.stdout.on('data', (chunk: Buffer) => {
    text += String(chunk);
  });
  const ended = runCli(['status', '--watch', '500ms', '--config', configFile], {
    ...io,
    env: { ...env, NO_COLOR: '1' },
    signal: controller.signal,
  });
  return { output: () => text, ended, stop: () => controller.abort(ctrlC()) };
}

test("an account in observe mode with a rule that asks and then acts is shown with that rule's mode", () => {
  const asks = { ...rule('early', 'position:1'), mode: 'approve' } as const;
  const rules = [
    asks,
    { ...asks, subject: 'position:2' as const },
    { ...rule('late', 'position:1'), mode: 'observe' as const },
  ];
  const lines = shown(
    [{ ...account('desk-1', { mode: 'observe', rules }), calmMs: null, events: [], alarms: [] }],
    120,
  );
  expect(lines.find((line) => line.startsWith('desk-1  '))).toMatch(/^desk-1 +observe, 1 rule approve +/);
});

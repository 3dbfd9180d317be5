import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../support/cli.ts';

const GOOD = `exchange: { baseUrls: [https://api.exchange.example] }
accounts:
  - { id: desk-1, apiKey: { env: K }, apiSecret: { env: K }, rules: [watch] }
rules:
  - { id: watch, on: position, when: { liquidationDistance: { below: 5% } }, for: 3s }
`;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'breakwater-check-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(text: string): string {
  const name = path.join(folder, 'breakwater.yaml');
  writeFileSync(name, text);
  return name;
}

describe('breakwater check', () => {
  test('exits with 0 for a good file', async () => {
    const name = file(GOOD);
    expect(await runCommandLine(['check', name], { env: { K: 'k' } })).toEqual({
      exitCode: 0,
      stdout: `${name}: no problems\n`,
      stderr: '',
    });
  });

  test('exits with 0 for a warning', async () => {
    const name = file(GOOD);
    const { exitCode, stdout } = await runCommandLine(['check', name]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      `${name}:3:27 accounts[0].apiKey: warning: expected a value in the environment variable K`,
    );
    expect(stdout).toContain(`${name}: can be used: 2 warnings\n`);
  });

  test('exits with 1 for errors, each on its own line', async () => {
    const name = file(GOOD.replace('for: 3s', 'for: 3').replace('below: 5%', 'below: 5'));
    const { exitCode, stdout } = await runCommandLine(['check', name], { env: { K: 'k' } });
    expect(exitCode).toBe(1);
    expect(stdout.split('\n')).toEqual([
      `${name}:5:70 rules[0].when.liquidationDistance.below: expected a ratio such as 5% or 0.05, got 5; did you mean 5%?`,
      `${name}:5:82 rules[0].for: expected a duration such as 3s, 5m or 1h30m, got 3; did you mean 3s?`,
      `${name}: cannot be used: 2 errors`,
      '',
    ]);
  });

  test("exits with 1 for mistakes of many kinds, including a rule's condition, in words and as JSON", async () => {
    const text = GOOD.replace('apiKey: { env: K }', 'apiKey: aBcD1234aBcD1234aBcD')
      .replace('on: position', 'on: positon')
      .replace('below: 5%', 'below: five')
      .replace('for: 3s', 'do: [{ cancelAll: { types: [futurs] } }]');
    const name = file(`${text}mode: enforced\n`);
    const places = ['3:27', '5:22', '5:69', '5:107', '6:7'];
    const { exitCode, stdout } = await runCommandLine(['check', name], { env: { K: 'k' } });
    const lines = stdout.trimEnd().split('\n');
    expect(exitCode).toBe(1);
    expect(lines.slice(0, -1).map((one) => one.slice(name.length + 1, one.indexOf(' ')))).toEqual(places);
    expect(lines.at(-1)).toBe(`${name}: cannot be used: 5 errors`);
    const json = await runCommandLine(['check', name, '--json'], { env: { K: 'k' } });
    expect(json.exitCode).toBe(1);
    const report = JSON.parse(json.stdout) as { problems: { line: number; column: number; text: string }[] };
    expect(report).toMatchObject({ ok: false, errors: 5, warnings: 0 });
    expect(report.problems.map(({ line, column }) => `${line}:${column}`)).toEqual(places);
    expect(report.problems.map(({ text: one }) => one)).toEqual(lines.slice(0, -1));
  });

  test('exits with 1 for a missing file, and with 2 without a file', async () => {
    const name = path.join(folder, 'nowhere.yaml');
    const missing = await runCommandLine(['check', name]);
    expect([missing.exitCode, missing.stdout.split('\n')[0]]).toEqual([
      1,
      `${name}:1:1: expected a config file here, got no such file`,
    ]);
    expect((await runCommandLine(['check'])).exitCode).toBe(2);
  });

  test('--print lists the rules of each account', async () => {
    const { stdout } = await runCommandLine(['check', file(GOOD), '--print'], { env: { K: 'k' } });
    expect(stdout).toContain(
      'account desk-1 (observe)\n  watch (warning):\n    when a position is nearer than 5.0 % to liquidation for 3 s: only show it.\n',
    );
  });

  test('--print lists rules shared by 200 accounts once, with every name, and others separately', async () => {
    const account = (id: string, rules = 'watch') =>
      `  - { id: ${id}, apiKey: { env: K }, apiSecret: { env: K }, rules: [${rules}] }\n`;
    const ids = Array.from({ length: 200 }, (_, at) => `desk-${at}`);
    const text = GOOD.replace(
      /accounts:\n.*\n/,
      `accounts:\n${ids.map((id) => account(id)).join('')}${account('idle', '')}`,
    );
    const { stdout } = await runCommandLine(['check', file(text), '--print'], { env: { K: 'k' } });
    const words = stdout.slice(stdout.indexOf('200 accounts (observe):'));
    const [names = '', rest = ''] = words.split('  watch (warning):', 2);
    expect(names.match(/desk-\d+/g)).toEqual(ids);
    expect(rest).toContain('account idle (observe)\n  no rules: it is only watched\n');
    expect(stdout.match(/nearer than 5\.0 %/g)).toHaveLength(1);
    expect(words.split('\n').length).toBeLessThan(40);
    expect(words.split('\n').filter((line) => line.startsWith('  desk') && line.length > 80)).toEqual([]);
  });

  test('--print says that a heartbeat is sent, but not where', async () => {
    const text = `${GOOD}heartbeat: { url: { env: PING }, every: 90s }\n`;
    const { stdout } = await runCommandLine(['check', file(text), '--print'], {
      env: { K: 'k', PING: 'https://hc.example/planted' },
    });
    expect(stdout).toContain(
      'heartbeat: every 1 min 30 s, and at /fail when an account is not judged in time\n',
    );
    expect(stdout).not.toContain('planted');
  });

  test('--json prints one object on one line', async () => {
    const name = file(GOOD.replace('severity', 'x').replace('for: 3s', 'fro: 3s'));
    const { exitCode, stdout, stderr } = await runCommandLine(['check', name, '--json'], { env: { K: 'k' } });
    expect([exitCode, stderr, stdout.split('\n').length]).toEqual([1, '', 2]);
    expect(JSON.parse(stdout)).toEqual({
      file: name,
      ok: false,
      errors: 1,
      warnings: 0,
      problems: [
        {
          severity: 'error',
          code: 'unknown-key',
          file: name,
          line: 5,
          column: 78,
          path: 'rules[0].fro',
          message: 'expected a known key, got "fro"; did you mean for?',
          text: `${name}:5:78 rules[0].fro: expected a known key, got "fro"; did you mean for?`,
        },
      ],
    });
    const printed = await runCommandLine(['check', file(GOOD), '--json', '--print'], { env: { K: 'k' } });
    expect(JSON.parse(printed.stdout)).toMatchObject({
      ok: true,
      accounts: [{ id: 'desk-1', mode: 'observe', rules: [{ id: 'watch', severity: 'warning' }] }],
    });
  });
});

describe('breakwater run', () => {
  test('reports a broken config with the places that check reports, and a cure', async () => {
    const name = file(GOOD.replace('for: 3s', 'for: 3').replace('below: 5%', 'below: 5'));
    const env = { K: 'k' };
    const [run, check] = [
      await runCommandLine(['run', '--config', name], { env }),
      await runCommandLine(['check', name], { env }),
    ];
    const problems = check.stdout.split('\n').slice(0, 2);
    expect(run.stderr).toBe(
      `breakwater: the config cannot be used: ${problems.join('; ')} See: breakwater check ${name}\n`,
    );
    expect(run.exitCode).toBe(1);
  });

  test('without a config, names the command that makes one', async () => {
    const name = path.join(folder, 'nowhere.yaml');
    const run = await runCommandLine(['run', '--config', name, '--json']);
    expect(JSON.parse(run.stderr)).toEqual({
      error: {
        code: 'config-refused',
        message: `the config cannot be used: ${name}:1:1: expected a config file here, got no such file.`,
        cure: `Name another with --config, or make it: breakwater init --out ${name}`,
      },
    });
  });
});

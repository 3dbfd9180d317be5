import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { CliIo } from '../../src/cli/io.ts';
import type { DemoOutcome } from '../../src/demo/open-demo.ts';
import { outcomeLines } from '../../src/demo/outcome.ts';
import { failuresOf, keptMore } from '../../src/demo/result.ts';
import { runCommandLine } from '../support/cli.ts';
import { LOST, SAVED } from './sides.ts';

const outcome: DemoOutcome = {
  result: {
    currency: 'USDT',
    protected: SAVED,
    unprotected: LOST,
    keptMore: keptMore({ protectedSide: SAVED, twin: LOST }),
    alerts: 2,
  },
  failures: [],
};

function linesOf(
  failures: readonly string[] = [],
  stoppedAfterMs?: number,
  env: CliIo['env'] = {},
): readonly string[] {
  const stdout = Object.assign(new PassThrough(), { columns: 80 });
  const io = {
    stdout,
    stderr: stdout,
    isTty: { stdin: true, stdout: true, stderr: true },
    env: { NO_COLOR: '1', ...env },
  } as unknown as CliIo;
  return outcomeLines(io, { ...outcome, failures }, stoppedAfterMs);
}

test('the result has the money that each account had, has and lost, and the fate of its position', () => {
  const text = linesOf().join('\n');
  expect(text).toMatch(/protected +3,000\.00 USDT +1,730\.56 USDT +-1,269\.44 USDT +closed 59\.0 %/);
  expect(text).toMatch(/not protected +3,000\.00 USDT +240\.64 USDT +-2,759\.36 USDT +liquidated 97\.0 %/);
  expect(text).toContain('Kept more with Breakwater: +1,489.92 USDT. Orders: 1, alerts: 2.');
});

test('no line of the result is wider than 80 columns, and without colours none has control characters', () => {
  const everything = failuresOf({
    protectedSide: { ...LOST, wasLiquidated: true },
    twin: { ...SAVED, requests: 1 },
  });
  expect(everything).toHaveLength(4);
  for (const line of [...linesOf(everything), ...linesOf([], 12_345)]) {
    expect(line.length).toBeLessThanOrEqual(80);
    expect(stripVTControlCharacters(line)).toBe(line);
  }
});

test('the result reports unexpected outcomes, unless it was stopped too early', () => {
  expect(linesOf(['the protected account was liquidated'])).toContain(
    'Not as it should be: the protected account was liquidated.',
  );
  const stopped = linesOf(['the protected account was liquidated'], 12_345).join('\n');
  expect(stopped).toContain('Stopped after 12.3 s.');
  expect(stopped).not.toContain('Not as it should be');
});

test('the next commands fit how the program runs: in a checkout, as called there', () => {
  const how = 'Here `breakwater` is: npm run --silent breakwater --';
  expect(linesOf()).not.toContain(how);
  expect(linesOf([], undefined, { npm_lifecycle_event: 'demo' }).at(-4)).toBe(how);
});

test('the last three lines name next steps: commands and files that exist', async () => {
  const next = linesOf().slice(-3).join('\n');
  const commands = [...next.matchAll(/breakwater (\w+) /g)].map(([, command = '']) => command);
  expect(commands).toEqual(['simulate', 'check', 'run']);
  for (const command of commands) {
    const { exitCode, stdout } = await runCommandLine([command, '--help']);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringContaining(`breakwater ${command}`) as string,
    });
  }
  const files = [...next.matchAll(/(?:docs|config)\/[\w.-]+/g)].map(([file]) => file);
  expect(files).toHaveLength(3);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

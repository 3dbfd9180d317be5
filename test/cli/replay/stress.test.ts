import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../support/cli.ts';
import { sliceOf } from '../../support/slice.ts';

const CONFIG = `mode: enforce
exchange: { baseUrls: [https://api.exchange.example] }
markets: { "*_PERP": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
accounts: [{ id: desk-1, apiKey: { env: K }, apiSecret: { env: S }, rules: [near] }]
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 5% } }, do: [{ reduce: { untilDistance: 12%, slippage: 0.5% } }] }
`;
const BOOK =
  'accounts: [{ id: desk-1, collateral: { USDT: 4500 }, positions: [{ market: BTC_PERP, side: long, amount: 0.5 }] }]';

const ROOT = path.resolve(import.meta.dirname, '../../..');

let folder: string;
const at = (name: string): string => path.join(folder, name);
const stress = (...args: readonly string[]) =>
  runCommandLine(['stress', '--config', at('breakwater.yaml'), '--positions', at('book.yaml'), ...args]);

/** Keys with the types of their values; for a list, of its first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [shapeOf(value[0])];
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-stress-'));
  await writeFile(at('breakwater.yaml'), CONFIG);
  await writeFile(at('book.yaml'), BOOK);
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe('breakwater stress', () => {
  test('the guide shows what the command prints on the example book', async () => {
    const guide = await readFile(path.join(ROOT, 'docs/replay.md'), 'utf8');
    const [, command = '', shown = ''] =
      /```sh\n(breakwater stress --config docs[^`]*)```\n\n```\n([^`]*)```/.exec(guide) ?? [];
    const words = command.replaceAll('\\\n', ' ').trim().split(/\s+/).slice(1);
    expect(words.filter((word) => word === '--scenario')).toHaveLength(4);
    // The guide's crashes take longer than the shock.
    const ROWS = { 'shock-down-10': [/Shock -10 % /, 6], 'grid-down-12': [/^-12 % /, 1] } as const;
    const slice = sliceOf(Object.keys(ROWS) as (keyof typeof ROWS)[], 2, 'scenarios of the guide');
    const isLeftOut = (word = ''): boolean =>
      words[words.indexOf(word) - 1] === '--scenario' && !slice.some((id) => id === word);
    const args = words
      .filter((word, index) => !isLeftOut(word) && !isLeftOut(words[index + 1]))
      .map((word) => (word.startsWith('docs/') ? path.join(ROOT, word) : word));
    expect(args.filter((word) => slice.some((id) => id === word))).toEqual(slice);
    const { exitCode, stdout } = await runCommandLine(args);
    expect(exitCode).toBe(0);
    const rows = (text: string): readonly string[] =>
      text.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, '  '));
    const printed = rows(stdout).filter((row) => !row.startsWith('Worst'));
    for (const [row, count] of slice.map((id) => ROWS[id]))
      expect(printed.filter((one) => row.test(one))).toHaveLength(count);
    expect(rows(shown)).toEqual(expect.arrayContaining(printed));
  });

  test('prints what each scenario would do, and the worst', async () => {
    const { exitCode, stdout } = await stress(
      '--price',
      'BTC_PERP=60000',
      '--scenario',
      'shock-down-20',
      '--scenario',
      'grid-down-8',
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/Shock -20 % +calm +1 of 1 +1 of 1/);
    expect(stdout).toMatch(/Shock -20 % +crash/);
    expect(stdout).toMatch(/desk-1 +Shock -20 %/);
    expect(stdout).toMatch(/-8 % +46\.7 %/);
    expect(stdout).toContain('Worst: Shock -20 %');
  });

  test('--beta sets how far a market moves', async () => {
    const args = ['--price', 'BTC_PERP=60000', '--scenario', 'grid-down-4'];
    // 4,500 less 4 %, and twice over 4 %, of 30,000.
    expect((await stress(...args)).stdout).toContain('73.3 %');
    expect((await stress(...args, '--beta', 'BTC_PERP=2')).stdout).toContain('47.7 %');
  });

  test('--json prints the fields that the guide shows, and --out writes the report', async () => {
    const guide = await readFile(path.join(ROOT, 'docs/replay.md'), 'utf8');
    const documented: unknown = JSON.parse(/^\{"event":"stress".*\}$/m.exec(guide)?.[0] ?? '');
    const { stdout } = await stress(
      '--price',
      'BTC_PERP=60000',
      '--scenario',
      'shock-up-5',
      '--json',
      '--out',
      at('stress.html'),
    );
    const line: unknown = JSON.parse(stdout);
    expect(shapeOf(line)).toEqual(shapeOf(documented));
    expect(line).toMatchObject({
      event: 'stress',
      seed: 1,
      stopped: false,
      cases: [{ scenario: { id: 'shock-up-5' } }, {}],
    });
    expect(await readFile(at('stress.html'), 'utf8')).toContain('<h1>Stress test of 1 account</h1>');
  });

  test('--list names the scenarios', async () => {
    const { stdout } = await runCommandLine(['stress', '--list']);
    expect(stdout).toMatch(/^2020-03-12 +Half of the price/m);
    expect(JSON.parse((await runCommandLine(['stress', '--list', '--json'])).stdout)).toHaveLength(39);
  });

  test.each([
    [
      'a price that nobody told',
      ['--scenario', 'wick'],
      1,
      'BTC_PERP: expected its present price, found none: add --price BTC_PERP=PRICE',
    ],
    [
      'a scenario that there is not',
      ['--scenario', 'flood'],
      2,
      '--scenario flood: there is none of that id',
    ],
    [
      'a beta of a market that nobody holds',
      ['--price', 'BTC_PERP=60000', '--beta', 'SOL_PERP=2'],
      1,
      '--beta SOL_PERP: expected a market that matters to the accounts (BTC_PERP)',
    ],
    [
      'a price of a market that nobody holds',
      ['--price', 'BTC_PREP=60000', '--price', 'ETH_PERP=3000'],
      1,
      '--price ETH_PERP: expected a market that matters to the accounts (BTC_PERP)',
    ],
    [
      'a price twice',
      ['--price', 'BTC_PERP=60000', '--price', 'BTC_PERP=50000'],
      2,
      '--price BTC_PERP: expected it once, got it again',
    ],
    [
      'a report into no folder',
      ['--price', 'BTC_PERP=6', '--out', '/nowhere/a.html'],
      1,
      'there is no folder',
    ],
    ['a beta that is none', ['--beta', 'BTC_PERP=0'], 2, '--beta BTC_PERP=0: expected a number above 0'],
    [
      'a price that is none',
      ['--price', 'BTC_PERP=much'],
      2,
      '--price BTC_PERP=much: expected a number above 0',
    ],
  ])('%s is refused', async (_name, args, code, words) => {
    const { exitCode, stderr } = await stress(...args);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(words)]);
  });
});

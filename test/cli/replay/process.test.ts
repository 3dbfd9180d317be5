import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { sliceOf } from '../../support/slice.ts';

/** Requires a separate process: signals, time zone, locale. */

const MAIN = path.join(import.meta.dirname, '../../../src/cli/main.ts');
const GUIDE = new URL('../../../docs/replay.md', import.meta.url);
const START_MS = Date.UTC(2025, 9, 10, 20, 30);
const CONFIG = `mode: observe
exchange: { baseUrls: [https://api.exchange.example] }
markets: { "*_PERP": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
accounts: [{ id: desk-1, apiKey: { env: K }, apiSecret: { env: S }, cadence: { calm: 10s, alert: 1s }, rules: [near] }]
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 5% } }, do: [{ reduce: { untilDistance: 12%, slippage: 0.5% } }] }
`;
const BOOK =
  'accounts: [{ id: desk-1, collateral: { USDT: 4500 }, positions: [{ market: BTC_PERP, side: long, amount: 0.5 }] }]';

let folder: string;
const at = (name: string): string => path.join(folder, name);

function candles(closes: readonly number[]): string {
  const rows = closes.map((close, index) => {
    const open = closes[index - 1] ?? 60;
    const prices = [open, Math.max(open, close), Math.min(open, close), close].map((price) => price * 1000);
    return [START_MS + index * 60_000, ...prices, 1].join(',');
  });
  return rows.join('\n');
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-replay-process-'));
  await writeFile(at('breakwater.yaml'), CONFIG);
  await writeFile(at('book.yaml'), BOOK);
  await writeFile(at('fall.csv'), candles([60, 59, 57, 55, 53, 51, 51]));
  // Days of market time: no machine finishes before the Ctrl-C.
  await writeFile(at('long.csv'), candles(Array.from({ length: 20_000 }, (_, index) => 60 + (index % 2))));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

interface Ended {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    texts.stdout += String(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    texts.stderr += String(chunk);
  });
  const ended = once(child, 'close').then(([exit]): Ended => ({ exit: exit as number | null, ...texts }));
  return { child, ended };
}

const replayOf = (prices: string): readonly string[] => [
  'replay',
  '--positions',
  'book.yaml',
  '--prices',
  `BTC_PERP=${prices}`,
];

describe('Ctrl-C in the middle of a run', () => {
  const plays: [string, readonly string[], RegExp][] = [
    [
      'of a replay prints the table of what was played',
      replayOf('long.csv'),
      /Stopped after \d+ % of a run: the figures are incomplete\.[^]*desk-1 +without protection/,
    ],
    [
      'of a stress test prints the cases that were finished',
      ['stress', '--positions', 'book.yaml', '--price', 'BTC_PERP=60000', '--scenario', '2020-03-12'],
      /Stopped early: what follows is incomplete\./,
    ],
  ];
  test.each(sliceOf(plays, 2, 'plays that are stopped'))(
    '%s, and ends with 130',
    async (_what, args, words) => {
      const { child, ended } = start([...args, '--out', 'stopped.html']);
      // The note on the mode is printed last before the run begins.
      await once(child.stderr, 'data');
      await sleep(1_000);
      child.kill('SIGINT');
      const { exit, stdout } = await ended;
      expect(stdout).toMatch(words);
      expect(exit).toBe(EXIT.interrupted);
      expect(await readFile(at('stopped.html'), 'utf8')).toContain('incomplete');
    },
  );
});

/** Names of all keys, nested ones with their parent's name; `[]` for a list. */
function keysOf(value: unknown, within = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => keysOf(item, `${within}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = `${within}.${key}`;
    return [name].concat(keysOf(inner, name));
  });
}

test('the last JSON line has the documented fields, and all except wallMs follow from input and seed', async () => {
  const args = [...replayOf('fall.csv'), '--json', '--seed', '5', '--paths', 'bridge'];
  const zones = [
    { TZ: 'Pacific/Auckland', LC_ALL: 'de_DE.UTF-8' },
    { TZ: 'America/Los_Angeles', LC_ALL: 'C' },
  ];
  const [east, west] = await Promise.all(zones.map(async (env) => await start(args, env).ended));
  expect([east?.exit, west?.exit]).toEqual([0, 0]);
  const lineOf = (run: Ended | undefined) => JSON.parse(run?.stdout.trim().split('\n').at(-1) ?? '');
  expect({ ...lineOf(west), wallMs: 0 }).toEqual({ ...lineOf(east), wallMs: 0 });
  const documented = /^\{"event":"replay".*\}$/m.exec(await readFile(GUIDE, 'utf8'))?.[0] ?? '';
  const keys = new Set(keysOf(JSON.parse(documented)));
  expect(new Set(keysOf(lineOf(east)))).toEqual(keys);
});

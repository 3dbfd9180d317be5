import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { runCommandLine } from '../../support/cli.ts';

const CONFIG = `mode: observe
redis: { url: { env: REDIS_URL } }
exchange: { baseUrls: [https://one.example] }
markets:
  BTC_PERP: { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% }
acting: { cancel: always }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 4%, clearAbove: 5% } }, do: [{ reduce: { to: 0%, slippage: 3% } }] }
`;
const BOOK = `accounts:
  - { id: desk-1, collateral: { USDT: 3000 }, positions: [{ market: BTC_PERP, side: long, amount: 0.5 }] }
`;
const MINUTE_MS = 60_000;

/** Ten minutes to a price and back, then ten that lead to another. */
function candles(): string {
  const minutes = Array.from({ length: 20 }, (_, minute) => {
    const price = (at: number): number => (at < 10 ? 60_000 - 50 * at : 59_500 - 700 * (at - 10));
    const [open, close] = [price(minute), price(minute + 1)];
    return [Date.UTC(2026, 0, 1) + minute * MINUTE_MS, open, open, close, close, 1].join(',');
  });
  return `timestamp_ms,open,high,low,close,volume\n${minutes.join('\n')}\n`;
}

async function files(): Promise<{
  readonly args: readonly string[];
  readonly folder: string;
  readonly config: string;
}> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tune-'));
  const at = (name: string): string => path.join(folder, name);
  await writeFile(at('config.yaml'), CONFIG);
  await writeFile(at('book.yaml'), BOOK);
  await writeFile(at('btc.csv'), candles());
  const args = [
    '--config',
    at('config.yaml'),
    '--positions',
    at('book.yaml'),
    '--prices',
    `BTC_PERP=${at('btc.csv')}`,
  ];
  return { args, folder, config: at('config.yaml') };
}

test('tune ends at its budget with its best result, leaves the config alone, and says when it has none', async () => {
  const { args, config } = await files();
  const run = await runCommandLine([
    'tune',
    ...args,
    '--budget',
    '1s',
    '--threads',
    '1',
    '--walks',
    '0',
    '--json',
  ]);
  const record = JSON.parse(run.stdout) as {
    readonly cases: { readonly used: number };
    readonly end: string;
  };
  expect(record).toMatchObject({ event: 'tune', end: 'budget' });
  expect(run.exitCode).toBe(record.cases.used === 0 ? EXIT.failed : EXIT.ok);
  expect(await readFile(config, 'utf8')).toBe(CONFIG);
});

test('tune refuses invalid options, and missing prices', async () => {
  const { args } = await files();
  expect(await runCommandLine(['tune'])).toMatchObject({ exitCode: EXIT.usage });
  expect(await runCommandLine(['tune', ...args, '--budget', 'soon'])).toMatchObject({ exitCode: EXIT.usage });
  const other = await runCommandLine([
    'tune',
    ...args.slice(0, 4),
    '--prices',
    `ETH_PERP=${args[5]?.split('=')[1]}`,
  ]);
  expect(other.exitCode).toBe(EXIT.failed);
  expect(other.stderr).toContain('expected --prices BTC_PERP=FILE, found none');
  const help = await runCommandLine(['tune', '--help']);
  expect(help.stdout).toContain('GIVEN UP');
});

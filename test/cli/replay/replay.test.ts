import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import { emptyView } from '../../../src/core/view/account-view.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../../src/simulator/start-simulated-exchange.ts';
import { CALM } from '../../support/account-view.ts';
import { ctrlC, runCommandLine } from '../../support/cli.ts';

const START_MS = Date.UTC(2025, 9, 10, 20, 30);
const CONFIG = `mode: observe
exchange: { baseUrls: [BASE_URL] }
markets: { "*_PERP": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
accounts:
  - { id: desk-1, apiKey: { env: K }, apiSecret: { env: S }, cadence: { calm: 10s, alert: 1s }, rules: [near] }
  - { id: desk-2, apiKey: { env: K2 }, apiSecret: { env: S2 } }
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 5% } }, do: [{ reduce: { untilDistance: 12%, slippage: 0.5% } }] }
`;
const BOOK = `accounts:
  - id: desk-1
    collateral: { USDT: 4500 }
    positions: [{ market: BTC_PERP, side: long, amount: 0.5 }]
`;

function candles(): string {
  const closes = [60, 60, 59, 57, 55, 53, 51, 51];
  const rows = closes.map((close, index) => {
    const open = closes[index - 1] ?? 60;
    const prices = [open, Math.max(open, close), Math.min(open, close), close].map((price) => price * 1000);
    return [START_MS + index * 60_000, ...prices, 1].join(',');
  });
  return rows.join('\n');
}

let folder: string;
const at = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-replay-'));
  const config = CONFIG.replace('BASE_URL', 'https://api.exchange.example');
  await writeFile(at('breakwater.yaml'), config);
  await writeFile(at('tighter.yaml'), config.replace('below: 5%', 'below: 8%'));
  await writeFile(at('book.yaml'), BOOK);
  await writeFile(at('btc.csv'), candles());
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

const replay = (args: readonly string[], options: Parameters<typeof runCommandLine>[1] = {}) =>
  runCommandLine(['replay', '--config', at('breakwater.yaml'), ...args], options);
const given = (): readonly string[] => [
  '--prices',
  `BTC_PERP=${at('btc.csv')}`,
  '--positions',
  at('book.yaml'),
];

describe('breakwater replay', () => {
  test('prints the fate of every account, without and with the rules', async () => {
    const { exitCode, stdout, stderr } = await replay([...given(), '--paths', 'adverse']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Replay of BTC_PERP');
    expect(stdout).toMatch(/desk-1 +without protection +yes +4,500/);
    expect(stdout).toMatch(/ +with the config's rules +no +4,500/);
    expect(stderr).toContain('The config observes; it was replayed as if it enforced.');
    expect(stderr).toContain('Account desk-2 of the config holds nothing in');
  });

  // That it follows from input and seed: test/cli/replay/process.test.ts.
  test('--json ends with one line', async () => {
    const args = [...given(), '--json', '--against', at('tighter.yaml'), '--seed', '7'];
    const line = JSON.parse((await replay(args)).stdout.trim());
    expect(line).toMatchObject({ event: 'replay', seed: 7, wallMs: expect.any(Number) });
    expect(line.variants.map(({ name }: { name: string }) => name)).toEqual([
      'unprotected',
      'config',
      at('tighter.yaml'),
    ]);
    expect(line.variants[0].accounts[0]).toMatchObject({ id: 'desk-1', liquidated: true, orders: 0 });
    expect(line.variants[0].paths.map(({ path: name }: { path: string }) => name)).toEqual([
      'adverse',
      'favourable',
      'bridge',
    ]);
  });

  test('plays several markets at once, one from candles and one from trades', async () => {
    const trades = Array.from({ length: 8 * 60 }, (_, second) =>
      [START_MS + second * 1_000, 3_000 - (second % 3), 0.1].join(','),
    );
    await writeFile(at('eth.csv'), `timestamp_ms,price,amount\n${trades.join('\n')}`);
    const more = 'amount: 0.5 }, { market: ETH_PERP, side: short, amount: 0.2 }';
    await writeFile(at('both.yaml'), BOOK.replace('amount: 0.5 }', more));
    const prices = ['--prices', `BTC_PERP=${at('btc.csv')}`, '--prices', `ETH_PERP=${at('eth.csv')}`];
    const { exitCode, stdout, stderr } = await replay([...prices, '--positions', at('both.yaml'), '--json']);
    expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('error')]);
    const { variants } = JSON.parse(stdout);
    // 4,500 when the market begins; the long of BTC is lost, the short of ETH stands still.
    expect(variants[0].accounts[0]).toMatchObject({ id: 'desk-1', liquidated: true, equityStart: 4_500 });
    expect(variants[1].accounts[0]).toMatchObject({ liquidated: false });
  });

  test('--out writes the report', async () => {
    const { exitCode, stderr } = await replay([...given(), '--paths', 'bridge', '--out', at('report.html')]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain(`Report: ${at('report.html')}`);
    expect(await readFile(at('report.html'), 'utf8')).toMatch(
      /<h1>Replay of BTC_PERP<\/h1>[\s\S]*Kept from liquidation/,
    );
    const refused = await replay([...given(), '--paths', 'bridge', '--out', at('nowhere/report.html')]);
    // Reported before the run, not after.
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
    expect(refused.stderr).toContain(`there is no folder ${at('nowhere')}`);
  });

  test('--from and --to select a part', async () => {
    const { stdout } = await replay([
      ...given(),
      '--from',
      '2025-10-10T20:32',
      '--to',
      '2025-10-10T20:34',
      '--paths',
      'adverse',
    ]);
    expect(stdout).toContain('2025-10-10T20:32:00.000Z to 2025-10-10T20:34:00.000Z');
    const { stderr, exitCode } = await replay([...given(), '--from', '2025-10-12']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `${at('btc.csv')}: expected prices from 2025-10-12 00:00 UTC on, found some from`,
    );
  });

  test('on a terminal it shows progress on standard error, and clears it at the end', async () => {
    const { stdout, stderr } = await replay([...given(), '--paths', 'adverse'], {
      tty: true,
      env: { TERM: 'xterm' },
    });
    expect(stderr).toMatch(/[━─] +\d+ %  unprotected, adverse/);
    expect(stdout).not.toContain('━');
  });

  test('Ctrl-C prints the results so far', async () => {
    const { stdout } = await replay(given(), { signal: AbortSignal.abort(ctrlC()) });
    expect(stdout).toContain('Stopped after 0 %');
  });

  /** Both accounts hold half a bitcoin at the exchange; desk-1 also has a loan there. */
  async function withExchange(
    holders: readonly string[],
    work: (run: {
      readonly simulator: RunningSimulator;
      readonly live: (...args: readonly string[]) => ReturnType<typeof runCommandLine>;
    }) => Promise<void>,
  ): Promise<void> {
    const simulator = await startSimulatedExchange({
      speed: 0,
      accounts: ['desk-1', 'desk-2'].map((id) => ({
        id,
        hedgeMode: false,
        leverage: 10,
        collateral: { USDT: decimal('4500') },
        main: { BTC: decimal('1') },
        positions: holders.includes(id)
          ? [{ market: 'BTC_PERP', direction: 'long', amount: decimal('0.5') }]
          : [],
      })),
    });
    try {
      const file = at('live.yaml');
      await writeFile(file, CONFIG.replace('BASE_URL', simulator.baseUrl));
      const [one, two] = simulator.accounts;
      const env = {
        K: one?.apiKey ?? '',
        S: one?.apiSecret ?? '',
        K2: two?.apiKey ?? '',
        S2: two?.apiSecret ?? '',
      };
      const prices = ['--prices', `BTC_PERP=${at('btc.csv')}`, '--paths', 'adverse'];
      await work({
        simulator,
        live: (...args) =>
          runCommandLine(['replay', '--config', file, ...prices, '--live', ...args], { env }),
      });
    } finally {
      await simulator.close();
    }
  }

  test("--live plays the accounts' current holdings at the exchange, and only reads", async () => {
    await withExchange(['desk-1'], async ({ simulator, live }) => {
      const { exitCode, stdout, stderr } = await live();
      expect([exitCode, stderr]).toEqual([0, expect.stringContaining('worked out from liquidation prices')]);
      expect(stdout).toMatch(/desk-1 +without protection +yes +4,500/);
      expect(stderr).toContain('Account desk-2 holds no position: left out.');
      const asked = new Set(simulator.requestLog().map(({ endpoint }) => endpoint));
      expect([...asked].toSorted()).toEqual(['creditLine', 'openPositions']);
    });
  });

  test('--live took a position that is listed without an amount for none, and said so', async () => {
    await withExchange(['desk-1', 'desk-2'], async ({ simulator, live }) => {
      const effect = { kind: 'nullRecord', inPlace: true, market: 'BTC_PERP' } as const;
      const target = { endpoint: 'openPositions', account: 'desk-2' } as const;
      simulator.exchange.injectFault({ effect, target });
      const { exitCode, stderr } = await live();
      expect(exitCode).toBe(0);
      expect(stderr).toContain(
        'Account desk-2: a position in BTC_PERP is left out, as the exchange lists it without an amount',
      );
      expect(stderr).not.toContain('desk-2 holds no position');
    });
  });

  test('--live and --positions: loans are added, and an account with positions in the file is not requested from the exchange', async () => {
    await withExchange(['desk-1', 'desk-2'], async ({ simulator, live }) => {
      const terms = { asset: 'USDT', collateralAsset: 'BTC', initialLtv: decimal('0.5') };
      const amounts = { amount: decimal('5000'), collateralAmount: decimal('0.2') };
      expect(
        simulator.exchange.change((model) => model.openLoan('desk-1', { ...terms, ...amounts })),
      ).toMatchObject({
        ok: true,
      });
      const alone = await live('--json');
      expect(alone.stderr).toContain('Account desk-1: its loan of 5000 USDT is left out');
      expect(alone.stderr).toContain('--live --positions FILE');
      await writeFile(
        at('loans.yaml'),
        `accounts:
  - { id: desk-1, loans: [{ asset: USDT, amount: 5000, collateralAsset: BTC, collateralAmount: 0.2 }] }
  - { id: desk-2, collateral: { USDT: 9000 }, positions: [{ market: BTC_PERP, side: short, amount: 0.1 }] }
`,
      );
      const before = simulator.requestLog().length;
      const both = await live('--positions', at('loans.yaml'), '--json');
      expect([both.exitCode, both.stderr]).toEqual([0, expect.not.stringContaining('is left out')]);
      const equities = ({ stdout }: typeof both): Record<string, number> =>
        Object.fromEntries(
          JSON.parse(stdout.trim()).variants[0].accounts.map(
            ({ id, equityStart }: { id: string; equityStart: number }) => [id, Math.round(equityStart)],
          ),
        );
      // 0.2 BTC at 60,000; the borrowed amount is held, and owed.
      expect(equities(alone)).toEqual({ 'desk-1': 4_500, 'desk-2': 4_500 });
      expect(equities(both)).toEqual({ 'desk-1': 4_500 + 12_000, 'desk-2': 9_000 });
      const asked = simulator.requestLog().slice(before);
      expect(new Set(asked.map(({ account }) => account))).toEqual(new Set(['desk-1']));
    });
  });
});

describe('invalid input', () => {
  test.each<[string, () => readonly string[], RegExp]>([
    ['no prices', () => ['--positions', at('book.yaml')], /--prices is missing/],
    ['no positions', () => ['--prices', 'BTC_PERP=x.csv'], /--positions FILE, --live, or both/],
    [
      'prices without a market',
      () => ['--prices', 'x.csv', '--live'],
      /expected NAME=VALUE, such as BTC_PERP=btc.csv/,
    ],
    [
      'a path that there is not',
      () => [...given(), '--paths', 'adverse,worst'],
      /Expected some of adverse, favourable, bridge/,
    ],
    [
      'a market with prices twice',
      () => [...given(), '--prices', 'BTC_PERP=other.csv'],
      /--prices BTC_PERP: expected it once, got it again/,
    ],
    [
      'a rival twice',
      () => [...given(), '--against', at('tighter.yaml'), '--against', at('tighter.yaml')],
      /--against \S+tighter\.yaml: expected it once, got it again/,
    ],
    [
      'a rival with the name of a variant',
      () => [...given(), '--against', 'config'],
      /--against config: this is the name of a variant\. Write \.\/config/,
    ],
    [
      'a reading twice',
      () => [...given(), '--readings', 'shortAmount=signed', '--readings', 'shortAmount=unsigned'],
      /--readings shortAmount: expected it once/,
    ],
    ['a latency', () => [...given(), '--latency', 'fast'], /--latency: expected 100ms/],
    ['a depth of 0', () => [...given(), '--depth', '0'], /--depth: expected a number above 0/],
    ['a time', () => [...given(), '--from', 'noon'], /--from noon: expected a time such as/],
    [
      'an end before the beginning',
      () => [...given(), '--from', '2025-10-11', '--to', '2025-10-10'],
      /--to: expected a time after --from/,
    ],
    ['a fault', () => [...given(), '--faults', 'earthquake'], /no fault "earthquake"/],
    [
      'what was removed',
      () => ['--history', 'redis://u:sesame@127.0.0.1:1'],
      /^(?!.*sesame).*--history was removed\. Play prices of that time: .* audit tail\.\n$/,
    ],
    ['a reading', () => [...given(), '--readings', 'mood=bad'], /mood/],
  ])('%s ends with 2', async (_name, args, words) => {
    const { exitCode, stderr } = await replay(args());
    expect(stderr).toMatch(words);
    expect(exitCode).toBe(2);
  });

  test.each<[string, string, string, (file: string) => readonly string[], RegExp]>([
    [
      'prices',
      'bad.csv',
      '1,2,3,4',
      (file) => ['--prices', `BTC_PERP=${file}`, '--positions', at('book.yaml')],
      /bad\.csv:1: expected candles .*, found 4 columns/,
    ],
    [
      'prices that do not begin as any known kind',
      'head.csv',
      'time;open\n1;2',
      (file) => ['--prices', `BTC_PERP=${file}`, '--positions', at('book.yaml')],
      /head\.csv:1: expected candles \(timestamp_ms,.*\) or trades .*, found /,
    ],
    [
      'prices with a number that is none',
      'number.csv',
      `${candles()}\n${START_MS + 600_000},1,x,1,1,1`,
      (file) => ['--prices', `BTC_PERP=${file}`, '--positions', at('book.yaml')],
      /number\.csv:9: expected a positive number as high, found "x"/,
    ],
    [
      'prices out of order',
      'order.csv',
      `${candles()}\n${START_MS},1,1,1,1,1`,
      (file) => ['--prices', `BTC_PERP=${file}`, '--positions', at('book.yaml')],
      /order\.csv:9: expected /,
    ],
    [
      'a high below the low',
      'range.csv',
      `${START_MS},5,4,6,5,1`,
      (file) => ['--prices', `BTC_PERP=${file}`, '--positions', at('book.yaml')],
      /range\.csv:1: expected /,
    ],
    [
      'no prices',
      'empty.csv',
      '',
      (file) => ['--prices', `BTC_PERP=${file}`, '--positions', at('book.yaml')],
      /empty\.csv:1: expected candles .*, found an empty file/,
    ],
    [
      'positions that are no YAML',
      'broken.yaml',
      'accounts: [',
      (file) => ['--prices', `BTC_PERP=${at('btc.csv')}`, '--positions', file],
      /broken\.yaml:1:12: expected/,
    ],
    [
      'positions with a negative amount',
      'amount.yaml',
      BOOK.replace('amount: 0.5', 'amount: -0.5'),
      (file) => ['--prices', `BTC_PERP=${at('btc.csv')}`, '--positions', file],
      /amount\.yaml:4:\d+ accounts\[0\]\.positions\[0\]\.amount: expected .*-0\.5/,
    ],
    [
      'a config with a key that there is not',
      'key.yaml',
      `${CONFIG}colour: red\n`,
      (file) => [...given(), '--config', file],
      /key\.yaml:\d+:1 colour: expected a known key such as /,
    ],
    [
      'a config that is no YAML',
      'syntax.yaml',
      'mode: [',
      (file) => [...given(), '--config', file],
      /syntax\.yaml:1:\d+: expected/,
    ],
    [
      'positions',
      'bad.yaml',
      BOOK.replace('desk-1', 'desk-9'),
      (file) => ['--prices', `BTC_PERP=${at('btc.csv')}`, '--positions', file],
      /bad\.yaml:2:9: accounts\[0\]\.id: expected an account of the config|bad\.yaml:2:9 accounts\[0\]\.id: expected an account of the config/,
    ],
    [
      'a rival config',
      'rival.yaml',
      'mode: 5',
      (file) => [...given(), '--against', file],
      /rival\.yaml:1:7 mode: expected one of observe, approve, enforce/,
    ],
    [
      'a market without prices',
      'eth.yaml',
      BOOK.replace('BTC_PERP', 'ETH_PERP'),
      (file) => ['--prices', `BTC_PERP=${at('btc.csv')}`, '--positions', file],
      /account desk-1 holds ETH_PERP: expected --prices ETH_PERP=FILE, found none/,
    ],
  ])('%s with a mistake ends with 1 and names the place', async (_name, name, text, args, words) => {
    await writeFile(at(name), text);
    const { exitCode, stderr } = await replay(args(at(name)));
    expect(stderr).toMatch(words);
    expect(exitCode).toBe(1);
  });

  test('a gap in the candles is reported', async () => {
    const rows = candles().split('\n');
    await writeFile(at('gap.csv'), rows.filter((_, index) => index < 3 || index > 4).join('\n'));
    const args = ['--prices', `BTC_PERP=${at('gap.csv')}`, '--positions', at('book.yaml')];
    const { exitCode, stderr } = await replay([...args, '--paths', 'adverse']);
    expect([exitCode, stderr]).toEqual([
      0,
      expect.stringContaining(
        `${at('gap.csv')} has a gap of 2 min from 2025-10-10 20:33 UTC: the price stands still in it, then jumps.`,
      ),
    ]);
  });

  test('a status output from before the first read is not taken for empty accounts', async () => {
    const printed = { ...emptyView('desk-1', CALM), calmMs: 10_000, events: [] };
    await writeFile(at('status.json'), JSON.stringify({ atMs: START_MS, controls: [], accounts: [printed] }));
    const prices = ['--prices', `BTC_PERP=${at('btc.csv')}`];
    const { exitCode, stderr } = await replay([...prices, '--positions', at('status.json')]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('expected an account that holds something, found none');
    expect(stderr).toContain(
      `Account desk-1 had not been read yet when ${at('status.json')} was printed: left out.`,
    );
  });

  test('a missing file is named', async () => {
    const { exitCode, stderr } = await replay([
      '--prices',
      'BTC_PERP=/nowhere/btc.csv',
      '--positions',
      at('book.yaml'),
    ]);
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('/nowhere/btc.csv: expected a readable file, got ENOENT'),
    ]);
  });
});

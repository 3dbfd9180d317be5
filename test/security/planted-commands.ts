import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inject } from 'vitest';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import type { DaemonWorld } from '../daemon/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { FULL } from '../support/slice.ts';
import { PLANTED } from './planted.ts';

interface CommandScene {
  readonly world: DaemonWorld;
  readonly simulator: RunningSimulator;
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the planted files; reports go there too. */
  readonly folder: string;
  readonly sentinels: string;
}

const BOOK = `accounts:
  - { id: long, collateral: { USDT: 3000 }, positions: [{ market: BTC_PERP, side: long, amount: 0.5 }] }
`;

/** Six minutes of a falling market. */
function candles(): string {
  const rows = Array.from({ length: 6 }, (_, minute) => {
    const [open, close] = [60_000 - 1_500 * minute, 58_500 - 1_500 * minute];
    return [Date.UTC(2026, 0, 1) + minute * 60_000, open, open, close, close, 1].join(',');
  });
  return `timestamp_ms,open,high,low,close,volume\n${rows.join('\n')}\n`;
}

/** Everything printed and written by each command whose output people might share. */
export async function commandTexts({
  world,
  simulator,
  env,
  folder,
  sentinels,
}: CommandScene): Promise<ReadonlyMap<string, string>> {
  const at = (name: string): string => path.join(folder, name);
  await writeFile(at('book.yaml'), BOOK);
  await writeFile(at('btc.csv'), candles());
  // The same config at a realistic pace: a simulation takes a thirtieth of the time.
  const text = await readFile(world.configFile, 'utf8');
  await writeFile(at('slow.yaml'), text.replace(/^cadence: .*$/m, 'cadence: { calm: 30s, alert: 10s }'));
  const texts = new Map<string, string>();
  const run = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { exitCode, stdout, stderr } = await runCommandLine(args, { env: { ...env, ...more } });
    texts.set(`breakwater ${args.join(' ')}`, `${exitCode}\n${stdout}\n${stderr}`);
    const out = args[args.indexOf('--out') + 1];
    if (args.includes('--out'))
      texts.set(`what ${args[0]} ${args[1]} wrote`, await readFile(out ?? '', 'utf8'));
    return stdout;
  };
  // Text or JSON alternately, swapped with another seed of the run; both with FULL=1.
  let turn = inject('fastCheckSeed');
  const inTurn = async (
    asText: readonly string[],
    asJson: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    turn += 1;
    if (FULL || turn % 2 === 0) await run(asText, more);
    if (FULL || turn % 2 === 1) await run(asJson, more);
  };
  const both = async (...args: readonly string[]): Promise<void> =>
    await inTurn([...args, '--config', world.configFile], [...args, '--json', '--config', world.configFile]);
  await inTurn(['check', world.configFile, '--print'], ['check', world.configFile, '--print', '--json']);
  await both('doctor');
  await both('status');
  await both('status', '--account', 'long');
  await both('report');
  await both('digest');
  await both('pause', '--list');
  await both('pause', '--account', 'long', '--for', '1s', '--reason', `not ${PLANTED.controlToken}`);
  await both('audit', 'verify');
  for (const chain of ['long', '@operators']) {
    await both('audit', 'tail', '--account', chain, '--lines', '1000');
    await run([
      'audit',
      'export',
      '--account',
      chain,
      '--out',
      at(`${chain}.audit`),
      '--config',
      world.configFile,
    ]);
  }
  for (const seq of ['2', '4']) await both('audit', 'show', seq, '--account', 'long', '--inputs');
  await both('notify', 'test');

  const account = simulator.accounts.find(({ id }) => id === 'long');
  await writeFile(at('key'), account?.apiKey ?? '');
  await writeFile(at('secret'), account?.apiSecret ?? '');
  const keys = [
    '--base-url',
    simulator.baseUrl,
    '--api-key-file',
    at('key'),
    '--api-secret-file',
    at('secret'),
  ];
  for (const what of ['positions', 'credit-lines', 'balance', 'transfers', 'spot-orders']) {
    await inTurn(
      ['call', what, ...keys],
      ['call', what, '--json', ...keys, '--redis', 'env:PLAIN_REDIS', '--redis-prefix', 'planted'],
    );
  }
  const wrong = ['--api-key-file', at('readToken'), '--api-secret-file', at('controlToken')];
  await run(['call', 'positions', '--json', '--debug', '--base-url', simulator.baseUrl, ...wrong]);

  const play = ['--config', at('slow.yaml'), '--positions', at('book.yaml')];
  const prices = ['--prices', `BTC_PERP=${at('btc.csv')}`];
  await run(['replay', ...play, ...prices, '--paths', 'adverse', '--out', at('replay.html')]);
  if (FULL) await run(['replay', ...play, ...prices, '--paths', 'adverse', '--json']);
  const live = ['--config', at('slow.yaml'), '--live', '--scenario', 'shock-down-10'];
  await run(['stress', ...live, '--out', at('stress.html')]);
  if (FULL) await run(['stress', ...live, '--json']);

  // And with missing or invalid input.
  const lost = { REDIS: `rediss://:${PLANTED.redisPassword}@127.0.0.1:1` };
  for (const args of [['status'], ['doctor'], ['audit', 'tail', '--account', 'long']]) {
    const asked = [...args, '--debug', '--config', world.configFile];
    await inTurn(asked, [...asked, '--json'], lost);
  }
  await writeFile(at('sentinels.yaml'), sentinels);
  for (const command of ['check', 'doctor', 'status']) {
    const named = command === 'check' ? [at('sentinels.yaml')] : ['--config', at('sentinels.yaml')];
    await inTurn([command, ...named, '--debug'], [command, ...named, '--debug', '--json']);
  }
  await run(['status', '--redis', 'env:REDIS', '--debug'], {
    REDIS: `not an address, ${PLANTED.hookSecret}`,
  });
  return texts;
}

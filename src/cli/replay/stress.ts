import type { Command } from 'commander';
import type { StressOptions, StressRecord } from '../../app.ts';
import { UsageError } from '../errors.ts';
import { withExamples, withJson, withRemarks } from '../help.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { collect, DEFAULT_CONFIG, whole } from '../option-values.ts';
import { tableLines } from '../table.ts';
import { runWithProgress } from './progress.ts';
import { holdingsOf, type PlayFlags, pairs, refuseToPlay, requireFolderOf, writeReport } from './values.ts';

interface Flags extends PlayFlags {
  readonly price?: readonly string[];
  readonly beta?: readonly string[];
  readonly scenario?: readonly string[];
  readonly list?: boolean;
}

/** `breakwater stress`: plays a library of crashes against the accounts. */
export function registerStress(program: Command, io: CliIo): void {
  const command = program
    .command('stress')
    .summary('what a library of crashes would do to your accounts')
    .description(
      'Plays crashes, rallies and gaps from present prices against your positions, once without protection and once ' +
        'with your rules, each with an exchange that works well and with one as bad as in real crashes. In virtual ' +
        'time; needs neither an exchange nor Redis and sends nothing anywhere, except that --live reads the accounts ' +
        'from the exchange.',
    )
    .option('-c, --config <file>', 'your config; rules act even where it only observes', DEFAULT_CONFIG)
    .option('--positions <file>', 'what accounts hold (repeatable; see replay --help)', collect)
    .option(
      '--live',
      'read what accounts hold now from the exchange, with the keys of the config; --positions wins',
    )
    .option(
      '--price <market=price>',
      'price to start from, instead of what the positions tell (repeatable)',
      collect,
    )
    .option('--beta <market=factor>', 'how far it moves when the majors move by 1 (repeatable)', collect)
    .option('--scenario <id>', 'only this one (repeatable; see --list)', collect)
    .option('--list', 'print the scenarios, and end')
    .option('--seed <number>', 'everything left to chance follows from it', whole(0, 0xff_ff_ff_ff), 1)
    .option('--out <file>', 'write a report: one HTML file, nothing else needed');
  withJson(command);
  withExamples(command, {
    'everything, with what the accounts hold now': 'stress --live',
    'two scenarios': 'stress --positions book.yaml --scenario 2020-03-12 --scenario wick',
    'a report, and a line for scripts': 'stress --positions book.yaml --out stress.html --json',
  });
  withRemarks(command, EXPLANATION);
  command.action((flags: Flags) => stress(io, flags));
}

const EXPLANATION = `
A scenario moves the majors (BTC, ETH) by its percentages, every other coin by 1.4 times as much. The grid moves
everything at once by -66 % to +500 %, as portfolio margin scans a book.

Ctrl-C prints what there is. Ends with 0 when it ran, also when accounts were liquidated; 1 when a file cannot be used,
2 when an option makes no sense.`;

async function stress(io: CliIo, flags: Flags): Promise<void> {
  const app = await import('../../app.ts');
  const known = await app.stressScenarios();
  if (flags.list === true) {
    if (flags.json === true) printJson(io, known);
    else for (const { id, about } of known) printLine(io, `${id.padEnd(16)} ${about}`);
    return;
  }
  const options = optionsOf(io, flags, known);
  await requireFolderOf(flags.out);
  const opened = await app.openStress(options).catch(refuseToPlay);
  const record = await runWithProgress(io, opened);
  if (flags.json === true) printJson(io, { event: 'stress', ...record });
  else for (const line of await lines(io, record)) printLine(io, line);
  if (flags.out !== undefined) await writeReport(io, flags.out, await app.renderStressReport(record));
}

async function lines(io: CliIo, record: StressRecord): Promise<readonly string[]> {
  const { stressTables } = await import('../../app.ts');
  const { scenarios, accounts, grid, worst } = await stressTables(record);
  const titled = (title: string, table: typeof scenarios): readonly string[] =>
    table.rows.length === 0 ? [] : [paint(io, 'stdout', 'bold', title), ...tableLines(io, table), ''];
  return [
    ...(record.stopped ? ['Stopped early: what follows is incomplete.', ''] : []),
    ...titled('Scenarios, all accounts together', scenarios),
    ...titled('Accounts to which something happened', accounts),
    ...titled('Equity kept after an instant move', grid),
    ...(worst === undefined ? [] : [worst]),
  ];
}

function optionsOf(io: CliIo, flags: Flags, known: readonly { readonly id: string }[]): StressOptions {
  const scenarios = flags.scenario ?? [];
  for (const id of scenarios) {
    if (!known.some((scenario) => scenario.id === id)) {
      throw new UsageError(`--scenario ${id}: there is none of that id.`, 'See: stress --list');
    }
  }
  const prices = pairs('--price', flags.price ?? [], 'BTC_PERP=60000');
  const betas = pairs('--beta', flags.beta ?? [], 'SOL_PERP=1.8');
  for (const [market, price] of prices) requirePositive('--price', market, price);
  for (const [market, beta] of betas) requirePositive('--beta', market, beta);
  return {
    config: flags.config,
    holdings: holdingsOf(io, flags),
    prices: Object.fromEntries(prices),
    betas: Object.fromEntries(betas.map(([market, beta]) => [market, Number(beta)])),
    scenarios,
    seed: flags.seed,
    env: io.env,
  };
}

function requirePositive(option: string, market: string, value: string): void {
  if (/^\d{1,20}(\.\d{1,20})?$/.test(value) && Number(value) > 0) return;
  throw new UsageError(`${option} ${market}=${value}: expected a number above 0.`);
}

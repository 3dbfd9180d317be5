import { type Command, InvalidArgumentError, Option } from 'commander';
import type * as appModule from '../../app.ts';
import type { ReplayOptions, ReplayRecord } from '../../app.ts';
import { UsageError } from '../errors.ts';
import { withExamples, withJson, withRemarks } from '../help.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { collect, collectReading, DEFAULT_CONFIG, reading, whole } from '../option-values.ts';
import { tableLines } from '../table.ts';
import { runWithProgress } from './progress.ts';
import {
  holdingsOf,
  momentOf,
  type PlayFlags,
  pairs,
  refuseToPlay,
  requireFolderOf,
  requireOnce,
  writeReport,
} from './values.ts';

interface Flags extends PlayFlags {
  readonly prices?: readonly string[];
  readonly against?: readonly string[];
  readonly paths: ReplayOptions['paths'];
  readonly from?: string;
  readonly to?: string;
  readonly latency: string;
  readonly faults?: readonly string[];
  readonly depth?: string;
  readonly readings?: readonly string[];
}

/** `breakwater replay`: what the rules would have done, in virtual time. */
export function registerReplay(program: Command, io: CliIo): void {
  const command = program
    .command('replay')
    .summary('what your rules would have done in a market of the past')
    .description(
      'Plays prices of the past against the simulated exchange, with your config and your positions, in virtual time: ' +
        'the real daemon, once without protection and once with your rules. Needs neither an exchange nor Redis, and ' +
        'sends nothing anywhere.',
    )
    .option('-c, --config <file>', 'your config; rules act even where it only observes', DEFAULT_CONFIG)
    .option('--prices <market=csv>', 'prices of a market (repeatable; see below)', collect)
    .option('--positions <file>', 'what accounts hold at the start (repeatable; see below)', collect)
    .option(
      '--live',
      'read what accounts hold now from the exchange, with the keys of the config; --positions wins',
    )
    // Exists only to be refused: it was removed.
    .addOption(new Option('--history [place]').hideHelp().preset('').argParser(refuseHistory))
    .option('--against <config>', 'compare with another config, too (repeatable)', collect)
    .option('--from <time>', 'begin here: 2020-03-12, 2020-03-12T10:00 (UTC) or Unix milliseconds')
    .option('--to <time>', 'end here');
  addConditions(command);
  command.option('--out <file>', 'write a report with pictures: one HTML file, nothing else needed');
  withRemarks(command, EXPLANATION);
  withJson(command);
  withExamples(command, {
    'a table of what would have become of your accounts':
      'replay --prices BTC_PERP=btc.csv --positions book.yaml',
    'with pictures and every decision':
      'replay --prices BTC_PERP=btc.csv --positions book.yaml --out report.html',
    'present positions, two sets of rules': 'replay --prices BTC_PERP=btc.csv --live --against tighter.yaml',
  });
  command.action((flags: Flags) => replay(io, flags));
}

function refuseHistory(): never {
  throw new UsageError(
    '--history was removed.',
    'Play prices of that time: replay --prices MARKET=FILE.csv. What the rules did then: audit tail.',
  );
}

function addConditions(command: Command): void {
  command
    .addOption(
      new Option('--paths <models>', 'ways through a candle, all or some of these')
        .argParser(paths)
        .default(MODELS, MODELS.join(',')),
    )
    .option(
      '--latency <time>',
      'of requests, each way: 100ms, 50ms..300ms, or median=100ms,sigma=0.8,max=3s',
      '50ms',
    )
    .option(
      '--faults <fault>',
      'a fault of the exchange, kind,key=value,... (repeatable; see simulate --list)',
      collect,
    )
    .option('--depth <factor>', 'multiplies the amounts in the order books, such as 0.1')
    .option(
      '--readings <name=value>',
      'an open reading of the specification, or live (repeatable; see simulate --list)',
      collectReading,
    )
    .option('--seed <number>', 'everything left to chance follows from it', whole(0, 0xff_ff_ff_ff), 1);
}

const EXPLANATION = `
Prices are CSV: candles of any interval (timestamp_ms,open,high,low,close,volume) or trades
(timestamp_ms,price,amount), with or without that header. Candles do not say how the price went from open to
close, so each of --paths is played, and the result is a range. A gap in the file is said; the price stands still in it.

Positions are YAML or JSON, ids as in the config; without an entry, the first price counts:
  accounts:
    - id: desk-1
      collateral: { USDT: 3000 }
      positions: [{ market: BTC_PERP, side: long, amount: 0.5, entry: 60000 }]
      loans:
        - { asset: USDT, amount: 5000, collateralAsset: BTC, collateralAmount: 0.2 }
The output of \`breakwater status --json\` works as it is, that of \`breakwater call positions --json\` too
(as --positions ACCOUNT=FILE where the config has several accounts). With --live and --positions, an account with
positions in the file is taken from there; one with loans alone adds them to what the exchange says.

The same input and seed give the same result. Ctrl-C prints what there is.
Ends with 0 when it ran, 1 when a file cannot be used (each line says where and what was expected), 2 when an option
makes no sense.`;

async function replay(io: CliIo, flags: Flags): Promise<void> {
  const app = await import('../../app.ts');
  const options = optionsOf(app, io, flags);
  await requireFolderOf(flags.out);
  const opened = await app.openReplay(options).catch(refuseToPlay);
  const record = await runWithProgress(io, opened).catch(refuseToPlay);
  if (flags.json === true) printJson(io, app.summaryOf(record));
  else for (const line of lines(io, record, app.outcomeTable(record))) printLine(io, line);
  if (flags.out !== undefined) await writeReport(io, flags.out, await app.renderReplay(record));
}

function lines(io: CliIo, record: ReplayRecord, table: Parameters<typeof tableLines>[1]): readonly string[] {
  const { stoppedAtMs, fromMs, toMs } = record;
  const stopped =
    stoppedAtMs === undefined
      ? []
      : [
          `Stopped after ${Math.round((100 * (stoppedAtMs - fromMs)) / (toMs - fromMs))} % of a run: the figures are incomplete.`,
          '',
        ];
  const time = `${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()}, seed ${record.seed}`;
  return [paint(io, 'stdout', 'bold', record.title), time, '', ...stopped, ...tableLines(io, table)];
}

type App = typeof appModule;

function optionsOf(app: App, io: CliIo, flags: Flags): ReplayOptions {
  const { prices, depth } = flags;
  if (prices === undefined) throw new UsageError('--prices is missing.', 'Add --prices MARKET=FILE.csv.');
  const latency = app.parseLatency(flags.latency);
  if (latency === undefined) {
    throw new UsageError('--latency: expected 100ms, 50ms..300ms or median=100ms,sigma=0.8,max=3s.');
  }
  if (depth !== undefined && !(/^\d{1,9}(\.\d{1,9})?$/.test(depth) && Number(depth) > 0)) {
    throw new UsageError('--depth: expected a number above 0, such as 0.1.');
  }
  const fromMs = momentOf(app.parseMoment, '--from', flags.from);
  const toMs = momentOf(app.parseMoment, '--to', flags.to);
  if (fromMs !== undefined && toMs !== undefined && toMs <= fromMs)
    throw new UsageError('--to: expected a time after --from.');
  return {
    config: flags.config,
    prices: pairs('--prices', prices, 'BTC_PERP=btc.csv').map(([market, file]) => ({ market, file })),
    holdings: holdingsOf(io, flags),
    against: rivals(flags.against ?? []),
    paths: flags.paths,
    seed: flags.seed,
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
    latency,
    ...(depth === undefined ? {} : { depth }),
    readings: Object.fromEntries(
      pairs('--readings', flags.readings ?? [], 'shortAmount=unsigned').map(reading),
    ),
    faults: flags.faults ?? [],
    env: io.env,
  };
}

/** Rivals are named after their files, next to the variants that always exist. */
function rivals(files: readonly string[]): readonly string[] {
  requireOnce('--against', files);
  const taken = files.find((file) => file === 'unprotected' || file === 'config');
  if (taken === undefined) return files;
  throw new UsageError(`--against ${taken}: this is the name of a variant.`, `Write ./${taken}.`);
}

function paths(text: string): ReplayOptions['paths'] {
  const models = text.split(',').map((model) => model.trim());
  const known = models.flatMap((model) => MODELS.filter((one) => one === model));
  if (known.length === models.length && new Set(models).size === models.length) return known;
  throw new InvalidArgumentError(`Expected some of ${MODELS.join(', ')}, separated by commas.`);
}

const MODELS: ReplayOptions['paths'] = ['adverse', 'favourable', 'bridge'];

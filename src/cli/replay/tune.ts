import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import type { TuneOptions, TuneRecord } from '../../app.ts';
import { UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { withExamples, withJson, withRemarks } from '../help.ts';
import { type CliIo, printJson, printLine, printNote } from '../io.ts';
import { durationMs } from '../operate/values.ts';
import { collect, DEFAULT_CONFIG, whole } from '../option-values.ts';
import { tableLines } from '../table.ts';
import { runWithProgress } from './progress.ts';
import { holdingsOf, type PlayFlags, pairs, refuseToPlay, requireFolderOf, writeReport } from './values.ts';

interface Flags extends PlayFlags {
  readonly prices?: readonly string[];
  readonly ladders?: boolean;
  readonly windows: number;
  readonly window: number;
  readonly walks: number;
  readonly budget: number;
  readonly threads: number;
  readonly all?: boolean;
}

const DEFAULT_BUDGET_MS = 600_000;
const DEFAULT_WINDOW_MS = 7_200_000;

/** `breakwater tune`: the front between equity kept and equity given up, for an operator's book. */
export function registerTune(program: Command, io: CliIo): void {
  const command = program
    .command('tune')
    .summary('which rules keep most for your book, and what they give up')
    .description(
      'Searches over rules for your positions: thresholds, how far a reduction goes, how long it waits, standing stops. ' +
        'Each is played over the wildest stretches of your prices, in virtual time with the real daemon, and over quiet ' +
        'times. Shows the front: of which rules nothing keeps more without giving up more. Never changes your config.',
    )
    .option(
      '-c, --config <file>',
      'your config: markets, accounts, exchange; its rules are in the table',
      DEFAULT_CONFIG,
    )
    .option('--prices <market=csv>', 'prices of a market (repeatable; see replay --help)', collect)
    .option('--positions <file>', 'what accounts hold (repeatable; see replay --help)', collect)
    .option('--live', 'read what accounts hold now from the exchange; --positions wins')
    .option('--ladders', 'try ladders of standing stops, too')
    .option('--windows <count>', 'so many of the wildest stretches, and of calm ones', whole(1, 50), 4)
    .addOption(
      new Option('--window <duration>', 'length of a stretch')
        .argParser(durationMs)
        .default(DEFAULT_WINDOW_MS, '2h'),
    )
    .option('--walks <count>', 'quiet stretches made at each of 1, 2.5 and 5 % a day', whole(0, 500), 20)
    .addOption(
      new Option('--budget <duration>', 'ends with what was finished by then')
        .argParser(durationMs)
        .default(DEFAULT_BUDGET_MS, '10m'),
    )
    .option(
      '--threads <count>',
      'plays so many at once',
      whole(1, 64),
      Math.max(1, availableParallelism() - 1),
    )
    .option('--seed <number>', 'everything left to chance follows from it', whole(0, 0xff_ff_ff_ff), 1)
    .option('--all', 'rules that others beat, too')
    .option('--out <file>', 'write a report with a picture: one HTML file, nothing else needed');
  withJson(command);
  withExamples(command, {
    'ten minutes over a crash': 'tune --prices BTC_PERP=btc.csv --positions book.yaml',
    'an hour, with ladders and a picture':
      'tune --prices BTC_PERP=btc.csv --live --ladders --budget 1h --out front.html',
  });
  withRemarks(command, EXPLANATION);
  command.action((flags: Flags) => tune(io, flags));
}

const EXPLANATION = `
KEPT is the equity that was left, on average, where the account without rules is liquidated (WITHOUT: what is left
then). GIVEN UP is what rules cost where it would have come through by itself: mean and MEDIAN of its equity at the end.
HARMED counts those that were liquidated with rules only, FALSE/1000 D orders that closed something in quiet times, for
each 1,000 days of a position. No rules are best in both columns: choose the most that you can bear to give up.

The search goes by rounds: every set over a few cases, then the better third over three times as many. A case in which
the price never comes near what a set acts at is not played. The table has your own rules, a lone standing stop near
liquidation, and closing at the exchange's margin call. Past crashes are not the next one: rules that are best by a
hair are best by chance.

Ctrl-C ends it and prints the last round that was finished, as the budget does. To use a set, put its rules (with --json
they are in rows[].candidate.rules) into your config, and replay them.
Ends with 0 when there is a table, 1 when a file cannot be used or no round was finished, 2 when an option makes no
sense.`;

async function tune(io: CliIo, flags: Flags): Promise<void> {
  const app = await import('../../app.ts');
  const { prices, out } = flags;
  if (prices === undefined) throw new UsageError('--prices is missing.', 'Add --prices MARKET=FILE.csv.');
  await requireFolderOf(out);
  const options: TuneOptions = {
    config: flags.config,
    prices: pairs('--prices', prices, 'BTC_PERP=btc.csv').map(([market, file]) => ({ market, file })),
    holdings: holdingsOf(io, flags),
    paths: ['adverse', 'favourable', 'bridge'],
    space: await app.tuneSpace(flags.ladders === true),
    windowMs: flags.window,
    windows: flags.windows,
    walks: flags.walks,
    latency: LATENCY_MS,
    seed: flags.seed,
    threads: flags.threads,
    env: io.env,
  };
  const opened = await app.openTune(options).catch(refuseToPlay);
  const record = await runWithProgress(io, {
    notes: opened.notes,
    run: (hooks) => opened.run({ ...hooks, budgetMs: flags.budget }),
  });
  if (record.cases.used === 0) io.setExitCode(EXIT.failed);
  if (flags.json === true) printJson(io, { event: 'tune', ...record });
  else await print(io, record, flags);
  if (out !== undefined) await writeReport(io, out, await app.renderFront(record));
}

const LATENCY_MS = 100;

async function print(io: CliIo, record: TuneRecord, { all, budget }: Flags): Promise<void> {
  const { frontTable, tuneWords } = await (await import('../../app.ts')).tuneTables();
  printLine(io, tuneWords(record));
  for (const note of record.notes.slice(0, MOST_NOTES)) printNote(io, note);
  if (record.cases.used === 0) {
    printNote(
      io,
      `No round was finished within ${budget / 1_000} s: give it a larger --budget, or fewer --windows.`,
    );
    return;
  }
  printLine(io, '');
  for (const line of tableLines(io, frontTable(record, all === true))) printLine(io, line);
}

const MOST_NOTES = 3;

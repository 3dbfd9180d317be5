import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import type { Demo } from '../app.ts';
import { outcomeLines } from '../demo/outcome.ts';
import { inSeconds, renderFrame } from '../demo/view.ts';
import { Watcher } from '../demo/watcher.ts';
import { UsageError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, paint, printJson, printLine, printNote, terminalSize } from './io.ts';
import { refuseToSimulate } from './simulator-errors.ts';

interface Flags {
  readonly duration: number;
  readonly speed: number;
  readonly seed: number;
  readonly scenario?: string;
  readonly prices?: string;
  readonly headless?: boolean;
  readonly json?: boolean;
}

const FRAME_MS = 200;
const HEADLESS_LINE_MS = 5_000;

/** `breakwater demo`: the daemon against a moving market, everything embedded. */
export function registerDemo(program: Command, io: CliIo): void {
  const command = program
    .command('demo')
    .summary('watch the daemon save accounts from a crash')
    .description(
      'Starts a simulated exchange, a private Redis and the daemon on 127.0.0.1. Each account has a twin that the ' +
        'daemon only watches; then the market moves. Nothing leaves this machine, and nothing is left over.',
    )
    .option('--duration <time>', 'how long it takes, such as 90s or 2m', duration, 60_000)
    .option('--seed <number>', 'keys and the noise of the prices follow from it', seed, 1)
    .option('--scenario <name>', 'what the market does: crashThenRally, or see breakwater simulate --list')
    .option('--prices <csv>', 'plays candles instead: those around the largest move in the file')
    .option('--speed <factor>', 'how fast time runs for the exchange and for the rules, 1 to 20', speed, 5)
    .option('--headless', 'lines of text instead of the live table; the default where there is no terminal');
  withJson(command);
  command.addHelpText('after', EXPLANATION);
  withExamples(command, {
    'a minute of a crash and a rally': 'demo',
    'a real crash: timestamp_ms,open,high,low,close,volume': 'demo --prices candles.csv',
    'for scripts: the last line sums up': 'demo --json --duration 30s',
  });
  command.action((flags: Flags) => run(io, flags));
}

const EXPLANATION = `
Accounts, all of the same size: long at 10x, long at 3x with a standing stop, short at 10x, long and short
hedged, and somebody with a credit line, who can only be told in time. A long at 20x is for show: it begins so near
its end that it is not asked to come through. Speed 5 plays five minutes of the market in one; the daemon's
durations (how often it looks, how long it waits for a fill) are divided by the same factor.

Exit codes:
  0    by the exchange's ledger every account came through, a twin did not (where the prices sufficed), nobody
       was reduced for nothing, and the borrower was told before the margin call of the credit line.
       With --prices nobody knows beforehand what is for nothing: an account that was reduced and would
       have come through is said to be so in the table, and only one that was reduced while the prices
       moved away from its liquidation counts
  1    otherwise; the last lines say which
  2    the command line is wrong
  130  Ctrl-C: the table as far as it went is printed, and everything is ended in order

With --json: lines with "event": "frame" (the table, every 5 s), "remark" (what happened), "failure" (why it
exits with 1), "hindsight" (accounts that were reduced and would have come through), "stopped" (by a signal),
"machine" (the longest time for which it let nothing of this run), and the last one, "demo", with what was
counted.`;

async function run(io: CliIo, flags: Flags): Promise<void> {
  const demo = await open(io, flags);
  try {
    const ranMs = await watch(io, flags, demo);
    const outcome = demo.outcome();
    const stopped = io.signal.aborted;
    if (flags.json === true) {
      // What was stopped is not judged: much of it had not happened yet.
      if (stopped) printJson(io, { event: 'stopped', afterMs: Math.round(ranMs) });
      else {
        for (const text of outcome.failures) printJson(io, { event: 'failure', text });
        printJson(io, { event: 'hindsight', accounts: outcome.hindsight });
      }
      printJson(io, { event: 'machine', longestStallMs: Math.round(outcome.longestStallMs) });
      printJson(io, { event: 'demo', ...outcome.result });
    } else {
      for (const line of outcomeLines(io, demo, outcome, stopped ? ranMs : undefined)) printLine(io, line);
    }
    io.signal.throwIfAborted();
    io.setExitCode(outcome.failures.length === 0 ? EXIT.ok : EXIT.failed);
  } finally {
    await demo.close();
  }
}

async function open(io: CliIo, flags: Flags): Promise<Demo> {
  if (flags.prices !== undefined && flags.scenario !== undefined) {
    throw new UsageError('--prices and --scenario both say what the market does.', 'Leave one out.');
  }
  const pricesCsv = flags.prices === undefined ? undefined : await readPrices(flags.prices);
  const { startDemo } = await import('../app.ts');
  return await startDemo({
    seed: flags.seed,
    scenario: flags.scenario ?? 'crashThenRally',
    ...(pricesCsv === undefined ? {} : { pricesCsv }),
    durationMs: flags.duration,
    speed: flags.speed,
    env: io.env,
    signal: io.signal,
  }).catch(refuseToSimulate);
}

async function readPrices(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`--prices: ${file} cannot be read (${error.code ?? error.message}).`);
  });
}

/** Shows the exchange until the time is over or the command is stopped. @returns for how long */
async function watch(io: CliIo, flags: Flags, demo: Demo): Promise<number> {
  const watcher = new Watcher(demo, flags.duration);
  const canDraw = io.isTty.stdout && io.env['TERM'] !== 'dumb';
  const live = flags.headless !== true && flags.json !== true && canDraw;
  const ended = AbortSignal.any([io.signal, AbortSignal.timeout(flags.duration)]);
  if (!live && flags.json !== true) printNote(io, demo.about);
  demo.begin();
  if (live) await drawUntil(io, watcher, ended);
  else await tellUntil(io, flags, watcher, ended);
  demo.halt();
  return watcher.elapsedMs;
}

const ESC = '\u001b[';
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;
const CLEAR_TO_END = `${ESC}0J`;
const CLEAR_LINE = `${ESC}K`;

/** Each frame over the one before, in one write so that nothing flickers. The last is left standing. */
async function drawUntil(io: CliIo, watcher: Watcher, ended: AbortSignal): Promise<void> {
  let drawn = 0;
  const draw = () => {
    watcher.look();
    const frame = renderFrame(watcher.frame(), {
      columns: terminalSize(io, 'columns') ?? 100,
      paint: (style, text) => paint(io, 'stdout', style, text),
    });
    // A frame taller than the terminal would scroll, and its first lines could not be reached again.
    const shown = frame.slice(0, (terminalSize(io, 'rows') ?? 40) - 1);
    const up = drawn > 0 ? `${ESC}${drawn}A\r` : '';
    io.stdout.write(`${up}${shown.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_TO_END}`);
    drawn = shown.length;
  };
  io.stdout.write(HIDE_CURSOR);
  try {
    await repeatUntil(ended, FRAME_MS, draw);
    draw();
  } finally {
    io.stdout.write(SHOW_CURSOR);
  }
}

async function tellUntil(io: CliIo, flags: Flags, watcher: Watcher, ended: AbortSignal): Promise<void> {
  let told = 0;
  const tellEvents = () => {
    watcher.look();
    const { events } = watcher;
    for (const event of events.slice(told)) {
      if (flags.json === true) printJson(io, { event: 'remark', ...event });
      else printLine(io, `${inSeconds(event.atMs).padStart(8)}  ${event.text}`);
    }
    told = events.length;
  };
  let nextLineMs = 0;
  await repeatUntil(ended, FRAME_MS, () => {
    tellEvents();
    if (watcher.elapsedMs < nextLineMs) return;
    nextLineMs += HEADLESS_LINE_MS;
    if (flags.json === true) printJson(io, { event: 'frame', ...watcher.frame(), events: undefined });
    else printLine(io, watcher.line());
  });
  tellEvents();
}

async function repeatUntil(ended: AbortSignal, everyMs: number, act: () => void): Promise<void> {
  while (!ended.aborted) {
    act();
    // A sleep that is cut short is how it ends, and no error.
    await delay(everyMs, undefined, { signal: ended }).catch(() => undefined);
  }
}

function duration(text: string): number {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text);
  const unitMs = { ms: 1, s: 1_000, m: 60_000 }[match?.[2] as 'ms' | 's' | 'm'] ?? Number.NaN;
  const durationMs = Number(match?.[1]) * unitMs;
  if (durationMs >= 1_000 && durationMs <= 3_600_000) return durationMs;
  throw new InvalidArgumentError('Expected a time from 1s to 60m, such as 90s or 2m.');
}

function speed(text: string): number {
  const factor = /^\d{1,2}(\.\d{1,2})?$/.test(text) ? Number(text) : Number.NaN;
  if (factor >= 1 && factor <= 20) return factor;
  throw new InvalidArgumentError('Expected a number from 1 to 20.');
}

function seed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number of at most nine digits.');
}

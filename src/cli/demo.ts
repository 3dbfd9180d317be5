import { setTimeout as delay } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Demo, parseDuration } from '../app.ts';
import { outcomeLines } from '../demo/outcome.ts';
import { type DemoFrame, renderFrame, SMALLEST } from '../demo/view.ts';
import { inSeconds, money, price, signedPercent } from '../demo/words.ts';
import { CLEAR_LINE, CLEAR_TO_END, ESC, HIDE_CURSOR, SHOW_CURSOR } from './ansi.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, paint, printJson, printLine, terminalSize } from './io.ts';

interface Flags {
  readonly duration: number;
  readonly redis?: boolean;
  readonly json?: boolean;
}

const FRAME_MS = 200;
const LINE_MS = 5_000;

/** `breakwater demo`: the daemon against a crash, everything embedded. */
export function registerDemo(program: Command, io: CliIo): void {
  const command = program
    .command('demo')
    .summary('watch the daemon save an account from a crash')
    .description(
      'Starts a simulated exchange and the daemon on 127.0.0.1. Two equal accounts, long at 10x, ' +
        'go through a crash: the daemon protects one and only watches its twin. Nothing leaves this machine, and ' +
        'nothing is left over.',
    )
    .addOption(
      new Option('--duration <time>', 'how long it takes, such as 90s or 2m')
        .argParser(duration)
        .default(60_000, '60s'),
    )
    .option('--redis', 'keep the state of the daemon in a Redis of its own, which must be installed');
  withJson(command);
  withRemarks(command, EXPLANATION);
  withExamples(command, {
    'on a slow machine: the market moves at half the pace': 'demo --duration 2m',
    'for scripts; the last line sums up': 'demo --json --duration 30s',
  });
  command.action((flags: Flags) => run(io, flags));
}

const EXPLANATION = `
The live picture needs a terminal of at least 80 columns and 24 rows; elsewhere the demo writes lines of text.
The market, and every duration in the daemon's config, runs five times as fast as in life.

Exit codes:
  0    by the exchange's ledger the twin was liquidated, the protected account was not, and it kept more
  1    otherwise; the lines "Not as it should be" say why
  2    the command line is wrong
  130  Ctrl-C: prints the result so far, and ends everything in order

With --json: lines with "event": "frame" (both accounts, every 5 s), "remark" (what happened), "failure" (why it
exits with 1), "stopped" (by a signal), and the last one, "demo", with the result. Money is in USDT, amounts are
in BTC.`;

async function run(io: CliIo, flags: Flags): Promise<void> {
  const { startDemo } = await import('../app.ts');
  const demo = await startDemo({
    durationMs: flags.duration,
    withRedis: flags.redis === true,
    env: io.env,
    signal: io.signal,
  });
  try {
    const ended = AbortSignal.any([io.signal, AbortSignal.timeout(flags.duration)]);
    demo.begin();
    if (flags.json !== true && canDraw(io)) await drawUntil(io, demo, ended);
    else await tellUntil(io, flags, demo, ended);
    demo.halt();
    printOutcome(io, flags, demo);
    io.signal.throwIfAborted();
    io.setExitCode(demo.outcome().failures.length === 0 ? EXIT.ok : EXIT.failed);
  } finally {
    await demo.close();
  }
}

function printOutcome(io: CliIo, flags: Flags, demo: Demo): void {
  const outcome = demo.outcome();
  const stoppedAfterMs = io.signal.aborted ? demo.elapsedMs() : undefined;
  if (flags.json !== true) {
    for (const line of outcomeLines(io, outcome, stoppedAfterMs)) printLine(io, line);
    return;
  }
  // A stopped demo is not judged: much of it had not happened yet.
  if (stoppedAfterMs !== undefined) printJson(io, { event: 'stopped', afterMs: Math.round(stoppedAfterMs) });
  else for (const text of outcome.failures) printJson(io, { event: 'failure', text });
  printJson(io, { event: 'demo', ...outcome.result });
}

/** If the size of the terminal is unknown, the usual one. */
function sizeOf(io: CliIo): { readonly columns: number; readonly rows: number } {
  return {
    columns: terminalSize(io, 'columns') ?? SMALLEST.columns,
    rows: terminalSize(io, 'rows') ?? SMALLEST.rows,
  };
}

function canDraw(io: CliIo): boolean {
  const { columns, rows } = sizeOf(io);
  const isLarge = columns >= SMALLEST.columns && rows >= SMALLEST.rows;
  return io.isTty.stdout && io.env['TERM'] !== 'dumb' && isLarge;
}

/** Draws each frame over the one before, in one write so that nothing flickers. The last frame stays. */
async function drawUntil(io: CliIo, demo: Demo, ended: AbortSignal): Promise<void> {
  let drawn = 0;
  const draw = () => {
    const frame = demo.look();
    // The terminal was made smaller: a frame that does not fit would scroll, and could not be drawn over.
    if (!canDraw(io)) return;
    const lines = renderFrame(frame, {
      ...sizeOf(io),
      paint: (style, text) => paint(io, 'stdout', style, text),
    });
    const up = drawn > 0 ? `${ESC}${drawn}A\r` : '';
    io.stdout.write(`${up}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_TO_END}`);
    drawn = lines.length;
  };
  io.stdout.write(HIDE_CURSOR);
  try {
    await repeatUntil(ended, draw);
  } finally {
    io.stdout.write(SHOW_CURSOR);
  }
}

async function tellUntil(io: CliIo, flags: Flags, demo: Demo, ended: AbortSignal): Promise<void> {
  let told = 0;
  let nextLineMs = 0;
  await repeatUntil(ended, () => {
    const { events, ...frame } = demo.look();
    for (const event of events.slice(told)) {
      if (flags.json === true) printJson(io, { event: 'remark', ...event });
      else printLine(io, `${inSeconds(event.atMs).padStart(8)}  ${event.text}`);
    }
    told = events.length;
    if (frame.elapsedMs < nextLineMs) return;
    nextLineMs += LINE_MS;
    if (flags.json === true) printJson(io, { event: 'frame', ...frame });
    else printLine(io, lineOf(frame));
  });
}

function lineOf(frame: Omit<DemoFrame, 'events'>): string {
  const { elapsedMs, price: last, startPrice, protectedSide, twin } = frame;
  const market = `BTC_PERP ${price(last)} (${signedPercent(last / startPrice - 1)})`;
  return `${inSeconds(elapsedMs).padStart(8)}  ${market}: protected ${money(protectedSide.equity)}, twin ${money(twin.equity)}`;
}

/** Acts once more after the end. */
async function repeatUntil(ended: AbortSignal, act: () => void): Promise<void> {
  while (!ended.aborted) {
    act();
    // An aborted sleep is the normal end.
    await delay(FRAME_MS, undefined, { signal: ended }).catch(() => undefined);
  }
  act();
}

function duration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs !== undefined && durationMs >= 1_000 && durationMs <= 3_600_000) return durationMs;
  throw new InvalidArgumentError('Expected a time from 1s to 60m, such as 90s or 2m.');
}

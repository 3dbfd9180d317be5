import { type Command, InvalidArgumentError } from 'commander';
import type { DemoExchange } from '../../app.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { withExamples, withJson } from '../program.ts';
import { explainSimulatorError } from '../simulator-errors.ts';
import { createScreen } from './screen.ts';
import { type DemoSummary, demoSummary } from './summary.ts';
import { renderFrame } from './view.ts';
import { delay, Watcher } from './watcher.ts';

interface Flags {
  readonly duration: number;
  readonly seed: number;
  readonly scenario: string;
  readonly headless?: boolean;
  readonly json?: boolean;
}

const FRAME_MS = 200;
const HEADLESS_LINE_MS = 5_000;

/** `breakwater demo`: the simulated exchange under a moving market, watched by the client. */
export function registerDemo(program: Command, io: CliIo): void {
  const command = program
    .command('demo')
    .summary('watch a crash on the simulated exchange')
    .description(
      'Starts the simulated exchange on 127.0.0.1 with a few leveraged accounts, moves its market, and shows ' +
        'what the client reads of it: how far every position is from liquidation, and every loan from its ' +
        'margin call. Nothing leaves this machine.',
    )
    .option('--duration <time>', 'how long it takes, such as 90s or 2m', duration, 60_000)
    .option('--seed <number>', 'keys and the noise of the prices follow from it', seed, 1)
    .option('--scenario <name>', 'what the market does (see: breakwater simulate --list)', 'crashThenRally')
    .option('--headless', 'lines of text instead of the live table; the default where there is no terminal');
  withJson(command);
  withExamples(command, [
    { line: 'demo', does: 'a minute of a crash and a rally' },
    { line: 'demo --scenario gap --duration 20s', does: 'a jump that no stop-limit order survives' },
    { line: 'demo --json --duration 10s', does: 'for scripts: the last line sums up' },
  ]);
  command.action((flags: Flags) => run(io, flags));
}

async function run(io: CliIo, flags: Flags): Promise<void> {
  const { startDemoExchange } = await import('../../app.ts');
  const demo = await startDemoExchange({
    seed: flags.seed,
    scenario: flags.scenario,
    durationMs: flags.duration,
  }).catch((error: unknown) => {
    throw explainSimulatorError(error);
  });
  try {
    const summary = await watch(io, flags, demo);
    if (flags.json === true) printJson(io, { event: 'demo', ...summary });
    else printSummary(io, summary);
    io.setExitCode(summary.reads.sent > summary.reads.failed ? EXIT.ok : EXIT.failed);
  } finally {
    await demo.close();
  }
}

/** Shows the exchange until the time is over or the command is stopped. */
async function watch(io: CliIo, flags: Flags, demo: DemoExchange): Promise<DemoSummary> {
  const watcher = new Watcher(demo, { title: 'Breakwater demo', durationMs: flags.duration });
  const live = flags.headless !== true && flags.json !== true && io.isTty.stdout;
  const ended = AbortSignal.any([io.signal, AbortSignal.timeout(flags.duration)]);
  const reading = watcher.run(ended);
  try {
    if (live) await drawUntil(io, watcher, ended);
    else await tellUntil(io, flags, watcher, ended);
  } finally {
    await reading;
  }
  io.signal.throwIfAborted();
  return demoSummary(watcher.frame(), demo.ledger(), demo.accountIds);
}

async function drawUntil(io: CliIo, watcher: Watcher, ended: AbortSignal): Promise<void> {
  const screen = createScreen(io);
  const canvas = () => ({
    columns: screen.columns(),
    paint: (style: Parameters<typeof paint>[2], text: string) => paint(io, 'stdout', style, text),
  });
  screen.open();
  try {
    await repeatUntil(ended, FRAME_MS, () => screen.draw(renderFrame(watcher.frame(), canvas())));
    screen.draw(renderFrame(watcher.frame(), canvas()));
  } finally {
    screen.close();
  }
}

async function tellUntil(io: CliIo, flags: Flags, watcher: Watcher, ended: AbortSignal): Promise<void> {
  let told = 0;
  const tellEvents = () => {
    const { events } = watcher.frame();
    for (const event of events.slice(told)) {
      if (flags.json === true) printJson(io, { event: 'remark', ...event });
      else printLine(io, `${(event.atMs / 1000).toFixed(1).padStart(6)} s  ${event.text}`);
    }
    told = events.length;
  };
  let nextLineMs = 0;
  await repeatUntil(ended, FRAME_MS, () => {
    tellEvents();
    const frame = watcher.frame();
    if (frame.elapsedMs < nextLineMs) return;
    nextLineMs += HEADLESS_LINE_MS;
    if (flags.json === true) printJson(io, { event: 'frame', ...frame, events: undefined });
    else printLine(io, watcher.line());
  });
  tellEvents();
}

async function repeatUntil(ended: AbortSignal, everyMs: number, act: () => void): Promise<void> {
  while (!ended.aborted) {
    act();
    await delay(everyMs, ended);
  }
}

function printSummary(io: CliIo, summary: DemoSummary): void {
  printLine(io, '');
  printLine(io, paint(io, 'stdout', 'bold', 'What the exchange did (from its ledger)'));
  for (const account of summary.accounts) {
    const loss = `${account.liquidations} liquidation ${account.liquidations === 1 ? 'step' : 'steps'}`;
    const text = `  ${account.id.padEnd(12)} ${account.liquidations === 0 ? 'came through' : loss}`;
    printLine(io, paint(io, 'stdout', account.liquidations === 0 ? 'green' : 'red', text));
  }
  printLine(io, `${summary.reads.sent} signed reads, ${summary.reads.failed} failed.`);
}

function duration(text: string): number {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text);
  const unitMs = { ms: 1, s: 1_000, m: 60_000 }[match?.[2] as 'ms' | 's' | 'm'] ?? Number.NaN;
  const durationMs = Number(match?.[1]) * unitMs;
  if (durationMs >= 1_000 && durationMs <= 3_600_000) return durationMs;
  throw new InvalidArgumentError('Expected a time from 1s to 60m, such as 90s or 2m.');
}

function seed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number of at most nine digits.');
}

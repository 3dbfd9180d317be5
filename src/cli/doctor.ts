import type { Command } from 'commander';
import type { DoctorCheck, DoctorReport } from '../app.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, paint, printJson, printLine, type Style } from './io.ts';
import { DEFAULT_CONFIG, whole } from './option-values.ts';
import { printable } from './table.ts';

interface Flags {
  readonly config: string;
  readonly timeoutMs: number;
  readonly json?: boolean;
}

/** `breakwater doctor`: checks that everything the daemon needs is there and right. */
export function registerDoctor(program: Command, io: CliIo): void {
  const command = program
    .command('doctor')
    .summary('check config, secrets, Redis, exchange, keys and clocks')
    .description(
      'Checks, all at the same time, what the daemon needs: the config and its secrets, Redis and its settings, ' +
        'the exchange at each address, clocks, keys and their permissions, markets, request budgets, and whether the ' +
        'stored state can be read. Reads only: it places and cancels nothing.',
    )
    .option('-c, --config <file>', "the daemon's config", DEFAULT_CONFIG)
    .option('--timeout-ms <ms>', 'bound on all checks together', whole(100, 600_000), 15_000);
  withJson(command);
  withExamples(command, {
    'before the daemon starts, where it will run': 'doctor --config config/breakwater.yaml',
    'for a script': 'doctor --config config/breakwater.yaml --json',
  });
  withRemarks(command, '\nEnds with 0 when nothing failed (warnings or not), with 1 when something did.\n');
  command.action(async (flags: Flags) => {
    const { examineSetup } = await import('../app.ts');
    const report = await examineSetup({
      config: flags.config,
      env: io.env,
      timeoutMs: flags.timeoutMs,
      signal: io.signal,
    });
    if (flags.json === true) printJson(io, report);
    else print(io, report);
    if (!report.ok) io.setExitCode(EXIT.failed);
  });
}

const STYLES: Readonly<Record<DoctorCheck['status'], Style>> = {
  passed: 'green',
  warning: 'yellow',
  failed: 'red',
  skipped: 'dim',
  note: 'dim',
};
const STATUS_WIDTH = 8;

function print(io: CliIo, { checks, file }: DoctorReport): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, status, about, why, cure } of checks) {
    const state = paint(io, 'stdout', STYLES[status], status.padEnd(STATUS_WIDTH));
    const subject = about === undefined ? '' : `${about}: `;
    printLine(io, `${state}${name.padEnd(width)}  ${printable(`${subject}${why}`)}`);
    if (cure !== undefined) printLine(io, `${' '.repeat(STATUS_WIDTH + width + 2)}-> ${printable(cure)}`);
  }
  const count = (wanted: DoctorCheck['status']) => checks.filter(({ status }) => status === wanted).length;
  const [failed, warnings] = [count('failed'), count('warning')];
  const counted = `${count('passed')} passed, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${failed} failed`;
  printLine(io, `${file}: ${counted}`);
}

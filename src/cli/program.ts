import { Command } from 'commander';
import type { RegisterCommand } from './commands.ts';
import { EXIT, EXIT_MEANING } from './exit-codes.ts';
import { type CliIo, hasColours, paint, terminalSize } from './io.ts';
import { withHelpCommand } from './named-command.ts';

/** Builds the command line without running it. Commander throws instead of exiting, and prints to `io` only. */
export function buildProgram(io: CliIo, version: string, commands: readonly RegisterCommand[]): Command {
  const helpWidth = Math.min(terminalSize(io, 'columns') ?? 80, 110);
  const program = new Command('breakwater')
    .description(
      'Keeps leveraged positions and credit lines from being liquidated,\nand simulates the exchange they are on.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain a command and show examples')
    .option('--debug', 'print stack traces with errors (also: BREAKWATER_DEBUG=1)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // Errors are printed once, by runCli, which knows about --json.
      outputError: () => undefined,
      getOutHasColors: () => hasColours(io, 'stdout'),
      getErrHasColors: () => hasColours(io, 'stderr'),
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
    })
    .configureHelp({
      // Otherwise descriptions beside long names are not wrapped at 80 columns.
      minWidthToWrap: 20,
      styleTitle: (text) => paint(io, 'stdout', 'bold', text),
      styleCommandText: (text) => paint(io, 'stdout', 'cyan', text),
      styleSubcommandText: (text) => paint(io, 'stdout', 'cyan', text),
      styleOptionText: (text) => paint(io, 'stdout', 'green', text),
      styleArgumentText: (text) => paint(io, 'stdout', 'yellow', text),
    })
    .addHelpText(
      'after',
      `\nExit codes:\n${exitCodeTable()}\n\ndocs/glossary.md explains the words: lane, episode, cover, intent.`,
    );
  for (const register of commands) register(program, io);
  withHelpCommand(program);
  return program;
}

function exitCodeTable(): string {
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[];
  return names.map((name) => `  ${String(EXIT[name]).padEnd(4)} ${EXIT_MEANING[name]}`).join('\n');
}

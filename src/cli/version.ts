import process from 'node:process';
import type { Command } from 'commander';
import { readVersion } from '../app.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine } from './io.ts';

/** `breakwater version`: the versions of the program and its runtime, for a problem report. */
export function registerVersion(program: Command, io: CliIo): void {
  const command = program
    .command('version')
    .summary('print the version, and that of Node.js')
    .description(
      'Prints the version of Breakwater, of Node.js, and the platform. --version prints the first alone.',
    );
  withJson(command);
  withExamples(command, { 'what a report of a problem needs': 'version' });
  command.action(({ json }: { readonly json?: boolean }) => {
    const version = readVersion();
    const { platform, arch, version: node } = process;
    if (json === true) printJson(io, { version, node, platform, arch });
    else printLine(io, `breakwater ${version}, Node.js ${node}, ${platform} ${arch}`);
  });
}

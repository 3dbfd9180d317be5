import type { Command } from 'commander';

export interface Example {
  /** What follows `breakwater `. */
  readonly line: string;
  readonly does: string;
}

/** Appends an Examples section to the help of a command. */
export function withExamples(command: Command, examples: readonly Example[]): Command {
  const text = examples.map(({ line, does }) => `  ${does}\n    $ breakwater ${line}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${text}`);
}

/** The `--json` option in its one wording; a command that offers it prints through `printJson` only. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON, one value per line; errors too (on standard error)');
}

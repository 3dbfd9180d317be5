import type { Command } from 'commander';

/** Appends examples to the help of a command: what each does, and what follows `breakwater ` then. */
export function withExamples(command: Command, examples: Readonly<Record<string, string>>): Command {
  const text = Object.entries(examples)
    .map(([does, line]) => `  ${does}\n    $ breakwater ${line}`)
    .join('\n');
  return command.addHelpText('after', `\nExamples:\n${text}`);
}

/** The `--json` option in its one wording; a command that offers it prints through `printJson` only. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON, one value per line; errors too (on standard error)');
}

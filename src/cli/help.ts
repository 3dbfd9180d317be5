import type { Command } from 'commander';
import { filled } from './table.ts';

/** Appends examples to a command's help: each key describes the value, which is what follows `breakwater `. */
export function withExamples(command: Command, examples: Readonly<Record<string, string>>): Command {
  return command.addHelpText('after', () => {
    const width = helpWidthOf(command);
    const lines = Object.entries(examples).flatMap(([does, line]) =>
      brokenLine(`  ${does}`, width).concat(shellLines(`breakwater ${line}`, width)),
    );
    return `\nExamples:\n${lines.join('\n')}`;
  });
}

/** Appends remarks to a command's help, as wide as the help. A line that ends within a sentence joins the next. */
export function withRemarks(command: Command, text: string): Command {
  return command.addHelpText('after', () => {
    const joined = text.replaceAll(/^(\S.*[^\s.:])\n(?=\S)/gm, '$1 ');
    return joined
      .split('\n')
      .flatMap((line) => brokenLine(line, helpWidthOf(command)))
      .join('\n');
  });
}

/** Adds the `--json` option; a command that has it prints through `printJson` only. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON, one value per line; errors too (on standard error)');
}

function helpWidthOf(command: Command): number {
  return command.configureOutput().getOutHelpWidth?.() ?? 80;
}

/** Continuation lines begin below the text of the first line, which may follow a term and two or more blanks. */
function brokenLine(line: string, width: number): readonly string[] {
  const [start = ''] = /^ *(?:(?:\* )?\S+ +(?:\* )?(?<= {2}|\* ))?/.exec(line) ?? [];
  return filled(line.slice(start.length).split(' '), width - start.length).map(
    (part, at) => `${at === 0 ? start : ' '.repeat(start.length)}${part}`,
  );
}

/** Can be pasted: broken by backslashes outside of quotes, and never behind an option's name. */
function shellLines(command: string, width: number): readonly string[] {
  const words = command.match(/(?:-\S+ (?!-))?(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  const lines = filled(words, width - '        '.length - ' \\'.length);
  return lines.map(
    (line, at) => `${at === 0 ? '    $ ' : '        '}${line}${at < lines.length - 1 ? ' \\' : ''}`,
  );
}

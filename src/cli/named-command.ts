import type { Command, Option } from 'commander';
import { suggest } from '../app.ts';
import { UsageError } from './errors.ts';

interface Named {
  readonly command: Command;
  /** The words after it, beginning with the first one that it does not know. */
  readonly rest: readonly string[];
}

/** The command that words name, by name or alias at each level. Options of a level may stand before its commands. */
export function namedCommand(group: Command, words: readonly string[]): Named {
  const [word] = words;
  if (word === undefined || group.commands.length === 0) return { command: group, rest: words };
  const option = optionsOf(group).find(({ long, short }) => word === long || word === short);
  if (option !== undefined || word === '--help' || word === '-h') {
    return namedCommand(group, words.slice(option?.required === true ? 2 : 1));
  }
  const found = group.commands.find((one) => namesOf(one).includes(word));
  return found === undefined ? { command: group, rest: words } : namedCommand(found, words.slice(1));
}

/** `breakwater audit tail` */
export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** Checked before any help: a parent's help would say nothing of a misspelt command. @throws UsageError */
export function requireKnownCommand(program: Command, words: readonly string[]): void {
  const { command, rest } = namedCommand(program, words);
  const [word] = rest;
  if (word !== undefined && !word.startsWith('-') && command.commands.length > 0) {
    throw unknownCommand(command, word);
  }
}

/** Adds `help [command...]`: the help of a command at any depth. */
export function withHelpCommand(group: Command): void {
  group
    .command('help')
    .description('the same as --help')
    .argument('[command...]', 'name of a command, and of one below it')
    .action((words: readonly string[]) => {
      const { command, rest } = namedCommand(group, words);
      const [word] = rest;
      if (word !== undefined) throw unknownCommand(command, word);
      command.outputHelp();
    });
}

/** Commands that were removed, and what to use instead. */
const REMOVED: ReadonlyMap<string, string> = new Map([
  [
    'tune',
    'Try your rules with breakwater replay (past prices) or breakwater stress (a library of crashes).',
  ],
]);

function unknownCommand(group: Command, word: string): UsageError {
  const instead = group.parent === null ? REMOVED.get(word) : undefined;
  if (instead !== undefined) return new UsageError(`the command '${word}' was removed.`, instead);
  const meant = suggest(word, group.commands.flatMap(namesOf));
  const hint = meant === undefined ? '' : `Did you mean ${meant}? `;
  return new UsageError(`unknown command '${word}'.`, `${hint}See: ${fullName(group)} --help`);
}

function optionsOf(group: Command): readonly Option[] {
  return group.parent === null ? group.options : [...group.options, ...optionsOf(group.parent)];
}

function namesOf(command: Command): readonly string[] {
  return [command.name(), ...command.aliases()];
}

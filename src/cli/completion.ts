import { Argument, type Command, type Option } from 'commander';
import { withExamples } from './help.ts';
import { type CliIo, printLine } from './io.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** `breakwater completion`: prints a completion script for a shell, made from the commands themselves. */
export function registerCompletion(program: Command, io: CliIo): void {
  const command = program
    .command('completion')
    .summary('print what your shell needs to complete commands and options')
    .description(
      'Prints a script for your shell, made from the commands of this version. Make it anew after an upgrade.',
    )
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS));
  withExamples(command, {
    'bash, in ~/.bashrc': 'completion bash > ~/.breakwater-completion && . ~/.breakwater-completion',
    'zsh, in ~/.zshrc after compinit':
      'completion zsh > ~/.breakwater-completion && . ~/.breakwater-completion',
    fish: 'completion fish > ~/.config/fish/completions/breakwater.fish',
  });
  command.action((shell: Shell) => printLine(io, SCRIPTS[shell](entriesOf(program)).join('\n')));
}

/** A command and what can follow it. */
interface Entry {
  /** Names below the program: [] is the program itself. */
  readonly path: readonly string[];
  readonly summary: string;
  readonly subcommands: readonly string[];
  readonly options: readonly Option[];
  /** Choices for its first argument; empty: anything. */
  readonly choices: readonly string[];
}

function entriesOf(command: Command, path: readonly string[] = []): readonly Entry[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const own: Entry = {
    path,
    summary: command.summary(),
    subcommands: subcommands.map((one) => one.name()),
    options: help.visibleOptions(command),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
  const below = subcommands.flatMap((one) =>
    [one.name(), ...one.aliases()].flatMap((name) => entriesOf(one, [...path, name])),
  );
  return [own, ...below];
}

const SCRIPTS: Readonly<Record<Shell, (entries: readonly Entry[]) => readonly string[]>> = {
  bash: bashScript,
  zsh: (entries) => ['autoload -U +X bashcompinit && bashcompinit', ...bashScript(entries)],
  fish: fishScript,
};

/** Finds the command's path so far, then completes what can follow it; after an option with any value, file names. */
function bashScript(entries: readonly Entry[]): readonly string[] {
  const keyOf = ({ path }: Entry): string => quoted(`/${path.join('/')}`);
  const paths = entries.filter(({ path }) => path.length > 0).map(keyOf);
  return [
    '_breakwater() {',
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" path=/ next words= i',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    '    next="${path%/}/${COMP_WORDS[i]}"',
    `    case "$next" in ${paths.join('|')}) path="$next" ;; esac`,
    '  done',
    // bash splits `--name=value` into three words.
    '  if [ "$cur" = = ]; then cur=',
    '  elif [ "$prev" = = ]; then prev="${COMP_WORDS[COMP_CWORD-2]}"; fi',
    '  case "$path $prev" in',
    ...entries.flatMap((entry) => entry.options.filter(takesValue).map((option) => valueCase(entry, option))),
    '  esac',
    '  case "$path" in',
    ...entries.map((entry) => `    ${keyOf(entry)}) words=${quoted(wordsOf(entry).join(' '))} ;;`),
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '}',
    'complete -o default -F _breakwater breakwater',
  ];
}

function valueCase({ path }: Entry, option: Option): string {
  const names = namesOf(option).map((name) => quoted(`/${path.join('/')} ${name}`));
  const choices = quoted((option.argChoices ?? []).join(' '));
  return `    ${names.join('|')}) COMPREPLY=($(compgen -W ${choices} -- "$cur")); return ;;`;
}

function fishScript(entries: readonly Entry[]): readonly string[] {
  return entries.flatMap((entry) => {
    const { path, subcommands, options, choices } = entry;
    const isThere =
      path.length === 0
        ? '__fish_use_subcommand'
        : path.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ');
    const none =
      subcommands.length === 0 ? '' : `; and not __fish_seen_subcommand_from ${subcommands.join(' ')}`;
    const line = (rest: string, when = isThere): string =>
      `complete -c breakwater -n ${quoted(when)} ${rest}`;
    const under = path.length === 0 ? isThere : `${isThere}${none}`;
    return [
      ...subcommands.map((name) => {
        const found = entries.find((one) => one.path.join(' ') === [...path, name].join(' '));
        return line(`-f -a ${name} -d ${quoted(found?.summary ?? '')}`, under);
      }),
      ...choices.map((choice) => line(`-f -a ${choice}`)),
      ...options.map((option) => line(fishOption(option))),
    ];
  });
}

function fishOption(option: Option): string {
  const { short, long, description, argChoices } = option;
  const names = [short?.replace(/^-/, '-s '), long?.replace(/^--/, '-l ')].filter(
    (name) => name !== undefined,
  );
  const value = takesValue(option)
    ? [argChoices === undefined ? '-r' : `-x -a ${quoted(argChoices.join(' '))}`]
    : [];
  return [...names, ...value, `-d ${quoted(description)}`].join(' ');
}

/** An option with an optional value can be followed by anything. */
function takesValue({ required }: Option): boolean {
  return required;
}

function namesOf({ short, long }: Option): readonly string[] {
  return [short, long].filter((name) => name !== undefined);
}

function wordsOf({ subcommands, choices, options }: Entry): readonly string[] {
  return [...subcommands, ...choices, ...options.flatMap(namesOf)];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

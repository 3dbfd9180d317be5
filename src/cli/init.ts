import { type Command, InvalidArgumentError, Option } from 'commander';
import { withExamples, withJson, withRemarks } from './help.ts';
import { CHANNEL_TYPES } from './init/choose-channel.ts';
import { type InitFlags, LEVERAGE_IN_WORDS, RULE_SETS, readLeverage } from './init/flags.ts';
import type { CliIo } from './io.ts';
import { collect, configName, DEFAULT_CONFIG, nonceOption, refusedSecret } from './option-values.ts';

/** `breakwater init`: writes a first config in observe mode, from what the account holds. */
export function registerInit(program: Command, io: CliIo): void {
  const command = program
    .command('init')
    .summary('make a first config for an account, in observe mode')
    .description(
      'Makes a config in observe mode for one account, with a comment on each part. It reads what the account holds, ' +
        'proposes the steps of its markets from those figures, and the rule set that is made for its leverage. It only ' +
        'reads: nothing at the exchange is changed. What is missing is asked on a terminal. It overwrites no file.',
    );
  addAccess(command);
  addChoices(command);
  withJson(command);
  withExamples(command, {
    'ask for everything': 'init',
    'for a script, with keys in files':
      'init --exchange https://exchange.example --account desk-1 ' +
      '--key-file desk-1.key --secret-file desk-1.secret --leverage 10',
    'keys in the environment of the daemon, messages to Slack':
      'init --exchange https://exchange.example --account desk-1 --leverage 5 ' +
      '--key-env DESK1_API_KEY --secret-env DESK1_API_SECRET --channel slack,url=file:slack-url',
  });
  withRemarks(command, EXPLANATION);
  command.action(async (flags: InitFlags) => {
    const { init } = await import('./init/init.ts');
    await init(io, flags);
  });
}

const EXPLANATION = `
Channels: ${CHANNEL_TYPES.join(', ')}. What one needs is named as KEY=VALUE, secrets as env:NAME or file:PATH:
  slack,url=... telegram,token=...,chat=... ntfy,topic=... webhook,url=... alertmanager,urls=...
A secret that is typed is not shown, and goes to a file of its own beside the config that only you can read. So do a new
operators.key, which seals what you say to the daemon, and a token for its page; those that are there already are taken.

Ends with 0 when the config was written, 1 when a file is there already, a key or secret of the exchange is not at hand or
the exchange refuses it, and 2 when something is missing or makes no sense. Then nothing is written.`;

function addAccess(command: Command): void {
  const instead = 'Use --key-file and --secret-file, or --key-env and --secret-env.';
  command
    .option('-o, --out <file>', 'the config to make', DEFAULT_CONFIG)
    .option('--exchange <url>', 'the exchange (repeatable: the first healthy one is used)', collect)
    .option('--account <id>', 'name of the account, for you to choose', configName)
    .option('--key-file <file>', 'file with the API key')
    .option('--secret-file <file>', 'file with the API secret')
    .option('--key-env <name>', 'variable with the API key, instead of a file')
    .option('--secret-env <name>', 'variable with the API secret, instead of a file')
    .addOption(refusedSecret('--key [value]', instead))
    .addOption(refusedSecret('--secret [value]', instead))
    .addOption(refusedSecret('--api-key [value]', instead))
    .addOption(refusedSecret('--api-secret [value]', instead))
    .addOption(nonceOption())
    .option('--offline', 'do not ask the exchange: no markets, no check of the keys');
}

function addChoices(command: Command): void {
  command
    .option('--leverage <number>', 'the most leverage that the account is to run at', leverage)
    .addOption(
      new Option('--rule-set <name>', 'instead of the one that fits the leverage').choices(RULE_SETS),
    )
    .addOption(
      new Option(
        '--cancel <choice>',
        'whether orders of yours may be cancelled with its own (else check reminds you)',
      ).choices(['always', 'never']),
    )
    .option('--channel <type,key=value>', 'where to tell people (else only the log)')
    .option(
      '--redis <url>',
      'a Redis that several daemons share (else one keeps everything itself); with a password: env:NAME or file:PATH',
    );
}

function leverage(text: string): number {
  const value = readLeverage(text);
  if (value !== undefined) return value;
  throw new InvalidArgumentError(`Expected ${LEVERAGE_IN_WORDS}.`);
}

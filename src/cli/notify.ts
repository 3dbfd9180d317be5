import type { Command } from 'commander';
import type { ChannelTest } from '../app.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, paint, printJson, printLine, printNote } from './io.ts';
import { DEFAULT_CONFIG } from './option-values.ts';

interface Flags {
  readonly config: string;
  readonly channel?: string;
  readonly json?: boolean;
}

/** `breakwater notify test`: tests whether messages arrive before one has to. */
export function registerNotify(program: Command, io: CliIo): void {
  const notify = program.command('notify').summary('try the channels that people are told through');
  notify.helpCommand(false);
  const command = notify
    .command('test')
    .summary('send a marked test message through each channel')
    .description(
      'Sends a marked test message through each channel of a config file, the log too, and says for each whether\n' +
        'its receiver took it, and if not, why. No channel stands in for another one. An Alertmanager gets an alert\n' +
        'named BreakwaterTest of severity info, which ends by itself. At PagerDuty the alert is acknowledged at once;\n' +
        'end it there by hand, and that of Opsgenie.',
    )
    .option('-c, --config <file>', 'the config file', DEFAULT_CONFIG)
    .option('--channel <name>', 'only this one');
  withJson(command);
  withExamples(command, {
    'every channel': 'notify test',
    'one of them': 'notify test --config config/breakwater.yaml --channel ops',
  });
  withRemarks(command, '\nEnds with 0 when every message was taken, with 1 when one was not.\n');
  command.action(async (flags: Flags) => {
    const { testNotifications } = await import('../app.ts');
    const result = await testNotifications({ ...flags, file: flags.config, env: io.env }, io.signal, (text) =>
      printNote(io, text),
    );
    if (result.kind === 'refused') {
      for (const line of result.problems) printNote(io, line);
      const cure = `See: breakwater check ${flags.config}`;
      throw new CliError('config-refused', `${flags.config} cannot be used.`, { cure });
    }
    if (result.kind === 'noSuchChannel') {
      const cure = `Channels: ${result.channels.join(', ')}.`;
      throw new UsageError(`there is no channel ${JSON.stringify(flags.channel)}.`, cure);
    }
    for (const test of result.tests) {
      if (flags.json === true) printJson(io, plain(test));
      else printLine(io, lineOf(io, test));
    }
    if (result.tests.some(({ delivery }) => delivery.kind !== 'delivered')) io.setExitCode(EXIT.failed);
  });
}

function plain({ channel, type, delivery }: ChannelTest): Readonly<Record<string, unknown>> {
  const { kind, ...rest } = delivery;
  return { channel, type, outcome: kind, ...rest };
}

function lineOf(io: CliIo, { channel, type, delivery }: ChannelTest): string {
  if (delivery.kind === 'delivered') {
    return `${paint(io, 'stdout', 'green', 'ok')}      ${channel} (${type}): taken after ${Math.round(delivery.durationMs)} ms`;
  }
  const why = delivery.kind === 'failed' ? `${delivery.reason}: ${delivery.words}` : delivery.kind;
  return `${paint(io, 'stdout', 'red', 'failed')}  ${channel} (${type}): ${why}`;
}

import { once } from 'node:events';
import { type Command, InvalidArgumentError } from 'commander';
import type { Daemon, Role } from '../app.ts';
import type { DaemonEvent, Telemetry } from '../core/ports/telemetry.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { type CliIo, printJson, printNote } from './io.ts';
import { whole } from './option-values.ts';
import { withExamples, withJson } from './program.ts';

interface Flags {
  readonly config: string;
  readonly roles: readonly Role[];
  readonly instance: number;
  readonly strictRedis?: boolean;
  readonly stopWithin: number;
  readonly json?: boolean;
}

/** As in `ROLES` of the daemon, which is loaded only when it runs. */
const ROLES: readonly Role[] = ['poll', 'act', 'notify', 'web'];
const STOP_WITHIN_S = 10;

/** `breakwater run`: the daemon, until it is stopped. */
export function registerRun(program: Command, io: CliIo): void {
  const command = program
    .command('run')
    .summary('watch the accounts of a config, and act')
    .description(
      'Watches the accounts of a config by its rules, acts where the mode is enforce, and tells the channels. ' +
        'One process does everything, or several share the work through one Redis.',
    )
    .option('-c, --config <file>', 'config file', 'breakwater.yaml')
    .option('--roles <roles>', `what this process does, some of ${ROLES.join(',')}`, readRoles, ROLES)
    .option('--instance <number>', 'which of several processes this is, 0 to 9, each its own', whole(0, 9), 0)
    .option('--strict-redis', 'refuse to start when the settings of Redis only give cause for a warning')
    .option('--stop-within <seconds>', 'how long to end in order at most', whole(1, 600), STOP_WITHIN_S);
  withJson(command);
  withExamples(command, [
    { line: 'run --config breakwater.yaml', does: 'everything in one process' },
    { line: 'run --roles poll,act --instance 1', does: 'a second host that watches and acts' },
  ]);
  command.addHelpText(
    'after',
    '\nSIGHUP, or a change of the file, reads config and secrets again; a config with errors changes nothing.\n' +
      'Ends with 0 when stopped by Ctrl-C or SIGTERM within the time, 1 when it cannot start or does not end in time.',
  );
  command.action(async (flags: Flags) => await run(io, flags));
}

function readRoles(text: string): readonly Role[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !ROLES.some((role) => role === name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`${JSON.stringify(unknown)} is no role; there are ${ROLES.join(', ')}.`);
  }
  return names as Role[];
}

async function run(io: CliIo, flags: Flags): Promise<void> {
  const daemon = await start(io, flags);
  const stopListening = io.onHangup?.(() => void daemon.reload());
  if (!io.signal.aborted) await once(io.signal, 'abort');
  stopListening?.();
  const inTime = await daemon.stop((io.signal.reason as Error).message, flags.stopWithin * 1_000);
  if (!inTime) {
    throw new CliError('stop-too-slow', `the daemon did not end within ${flags.stopWithin} s`, {
      cure: 'What was under way is taken up by the next start.',
    });
  }
  io.setExitCode(EXIT.ok);
}

async function start(io: CliIo, flags: Flags): Promise<Daemon> {
  const { runDaemon } = await import('../app.ts');
  return await runDaemon({
    configFile: flags.config,
    env: io.env,
    roles: flags.roles,
    ordinal: flags.instance,
    strictRedis: flags.strictRedis === true,
    telemetry: [printer(io, flags.json === true)],
  });
}

/** What an operator has to see of the process itself. */
function printer(io: CliIo, json: boolean): Telemetry {
  return {
    emit(event) {
      const words = wordsOf(event);
      if (words === undefined) return;
      if (json) printJson(io, { event: event.kind, message: words });
      else printNote(io, words);
    },
  };
}

function wordsOf(event: DaemonEvent): string | undefined {
  switch (event.kind) {
    case 'started':
      return `watching ${event.accounts} accounts as ${event.instance} (${event.roles.join(', ')})`;
    case 'configReloaded':
      return event.warnings.length === 0 ? undefined : event.warnings.join('\n');
    case 'configRefused':
      return `the config was not taken over, the one before stays in force:\n${event.problems.join('\n')}`;
    case 'redisChecked':
      return event.warnings.length === 0 ? undefined : event.warnings.join('\n');
    case 'redis':
      return event.available ? undefined : 'Redis is unreachable';
    case 'accountRefused':
      return event.problem.message;
    case 'said':
      return event.text;
    case 'stopping':
      return `stopping: ${event.why}`;
    case 'stopped':
      return event.inTime ? 'stopped' : 'not stopped in time';
    default:
      return undefined;
  }
}

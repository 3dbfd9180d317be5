import { once } from 'node:events';
import { type Command, Option } from 'commander';
import type { Daemon, LogLevel, LogOutput, Role } from '../app.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, hasColours } from './io.ts';
import { DEFAULT_CONFIG, someOf, whole } from './option-values.ts';
import { boundYoungGeneration } from './young-generation.ts';

interface Flags {
  readonly config: string;
  readonly roles: readonly Role[];
  readonly instance: number;
  readonly paused?: boolean;
  readonly strictRedis?: boolean;
  readonly logLevel?: LogLevel;
  readonly port?: number;
  readonly healthPort?: number;
  readonly stopWithin: number;
  readonly json?: boolean;
}

/** Same as `ROLES` of the daemon, which is loaded only when it runs. */
const ROLES: readonly Role[] = ['poll', 'act', 'notify', 'web'];
const LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
const STOP_WITHIN_S = 10;
const MAX_PORT = 65_535;

/** `breakwater run`: runs the daemon until it is stopped. */
export function registerRun(program: Command, io: CliIo): void {
  const command = program
    .command('run')
    .summary('watch the accounts of a config, and act')
    .description(
      'Watches the accounts of a config by its rules, acts where the mode is enforce, and tells the channels. ' +
        'One process does everything, or several share the work through one Redis.\n\n' +
        'The role web serves /metrics (Prometheus), /healthz (the process lives) and /readyz (Redis answers if there is one, every ' +
        'account has been judged, the data are fresh) at web.host and web.port of the config, http://127.0.0.1:9642 ' +
        'unless it says otherwise. Counters are per process: scrape every one. Where others than you reach the web ' +
        'server, run it in a process of its own (the last example): what is done to it then slows nothing else down, and ' +
        'it needs no API key of an account.',
    )
    .option('-c, --config <file>', 'config file', DEFAULT_CONFIG)
    .addOption(
      new Option('--roles <roles>', 'what this process does, all or some of these')
        .argParser(someOf(ROLES, 'role'))
        .default(ROLES, ROLES.join(',')),
    )
    .option('--instance <number>', 'which of several processes this is, 0 to 8, each its own', whole(0, 8), 0)
    .option(
      '--paused',
      'pause all actions before anything is watched, until somebody resumes; BREAKWATER_PAUSED=1 does the same',
    )
    .option('--strict-redis', 'refuse to start when the settings of Redis only give cause for a warning')
    .option(
      '--port <port>',
      'port of the web server, before web.port of the config; 0: a free one',
      whole(0, MAX_PORT),
    )
    .option(
      '--health-port <port>',
      'port of a listener for probes alone, before web.health.port of the config; 0: a free one',
      whole(0, MAX_PORT),
    )
    .addOption(
      new Option('--log-level <level>', 'least level that is logged, before log.level of the config').choices(
        LEVELS,
      ),
    )
    .option('--stop-within <seconds>', 'how long to end in order at most', whole(1, 600), STOP_WITHIN_S);
  withJson(command);
  withExamples(command, {
    'everything in one process': 'run --config breakwater.yaml',
    'a second host that watches and acts': 'run --roles poll,act --instance 1',
    'the status page and API apart from what acts, with a listener for probes':
      'run --roles web --instance 2 --port 9643 --health-port 9644',
  });
  withRemarks(
    command,
    '\nThe log goes to standard error, for people on a terminal and as JSON otherwise (log.format of the config); with ' +
      '--json as JSON to standard output.\n' +
      'SIGHUP, or a change of the file, reads config and secrets again; a config with errors changes nothing.\n' +
      'Ends with 0 when stopped by Ctrl-C or SIGTERM within the time, 1 when it cannot start or does not end in time.',
  );
  command.action(async (flags: Flags) => await run(io, flags));
}

async function run(io: CliIo, flags: Flags): Promise<void> {
  const young = boundYoungGeneration();
  const hangups = heldHangups(io);
  try {
    const daemon = await start(io, flags);
    young.follow(() => daemon.accounts.all().length);
    hangups.passTo(() => void daemon.reload());
    await watch(io, flags, daemon);
  } finally {
    hangups.release();
    young.release();
  }
}

/** A SIGHUP during the start may mean a config written after the daemon read it, so it is passed on after the start. */
function heldHangups(io: CliIo) {
  let isHeld = false;
  let reload = (): void => {
    isHeld = true;
  };
  const release = io.onHangup?.(() => reload());
  return {
    passTo(listener: () => void): void {
      reload = listener;
      if (isHeld) listener();
    },
    release: () => release?.(),
  };
}

async function watch(io: CliIo, flags: Flags, daemon: Daemon): Promise<void> {
  io.hide?.((text) => daemon.conceal(text));
  io.outliveOutputs?.();
  if (!io.signal.aborted) await once(io.signal, 'abort');
  const inTime = await daemon.stop((io.signal.reason as Error).message, flags.stopWithin * 1_000);
  if (!inTime) {
    io.leaveOpen?.();
    const cure = 'What was under way is taken up by the next start.';
    throw new CliError('stop-too-slow', `the daemon did not end within ${flags.stopWithin} s`, { cure });
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
    paused: flags.paused === true || !/^(|0|no|off|false)$/i.test(io.env['BREAKWATER_PAUSED'] ?? ''),
    log: logOutput(io, flags),
    ...(flags.port === undefined ? {} : { webPort: flags.port }),
    ...(flags.healthPort === undefined ? {} : { healthPort: flags.healthPort }),
  });
}

function logOutput(io: CliIo, { json, logLevel }: Flags): LogOutput {
  const level = logLevel === undefined ? {} : { level: logLevel };
  if (json === true)
    return { stream: io.stdout, isTerminal: false, colours: false, format: 'json', ...level };
  return { stream: io.stderr, isTerminal: io.isTty.stderr, colours: hasColours(io, 'stderr'), ...level };
}

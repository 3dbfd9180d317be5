import { connectRedisOnce } from '../app/first-contact.ts';
import { readOwnDirectory } from '../app/own-directory.ts';
import { redisTarget } from '../app/redis-target.ts';
import { stateDirectoryOf } from '../app/state-directory.ts';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { checkConfig, loadWithoutSecrets } from '../config/load-config.ts';
import { nodeSurroundings } from '../config/node-files.ts';
import { formatProblem, type Problem } from '../config/problem.ts';
import type { RedisSettings } from '../config/redis.ts';
import { readRedisAddress, showRedisAddress } from '../config/redis-address.ts';
import { openRedisLevel } from '../config/warnings/exposure.ts';
import { StoreLostError } from '../core/ports/state-store.ts';
import { unlessAborted } from '../core/ports/within.ts';
import { systemClock } from '../exchange/system-clock.ts';
import { examineRedis, pausedQueues, type RedisFinding } from '../queues/redis-sanity.ts';
import { createRedisState, type State } from '../state/state.ts';
import type { DoctorCheck, DoctorReport } from './doctor-report.ts';
import { type ExaminedRedis, examineExchange } from './examine-exchange.ts';

export interface DoctorOptions {
  readonly config: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Bound on all checks together, which run at the same time. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Examines everything that the daemon needs, without changing anything at the exchange. */
export async function examineSetup(options: DoctorOptions): Promise<DoctorReport> {
  const surroundings = nodeSurroundings(options.env);
  const result = loadWithoutSecrets(options.config, surroundings);
  // A problem that only a start refuses is a warning for operators' commands, but a failure here.
  const { problems } = checkConfig(options.config, surroundings);
  const checks: DoctorCheck[] = [...examineConfig(options.config, problems)];
  if (result.kind === 'usable') {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
    checks.push(channelsOf(result.config), ...(await examineServices(result.config, options.env, signal)));
    options.signal.throwIfAborted();
  } else {
    const why = 'the config cannot be read';
    for (const name of ['redis', 'exchange']) checks.push({ name, status: 'skipped', why });
  }
  checks.push(...REMINDERS);
  return { file: options.config, ok: checks.every(({ status }) => status !== 'failed'), checks };
}

const OF_SECRETS: ReadonlySet<string> = new Set([
  'secret-missing',
  'secret-world-readable',
  'secret-writable-by-others',
]);

function examineConfig(file: string, problems: readonly Problem[]): readonly DoctorCheck[] {
  const secrets = problems.filter(({ code }) => OF_SECRETS.has(code));
  const others = problems.filter(({ code }) => !OF_SECRETS.has(code));
  const checks = others.map(
    (problem): DoctorCheck => ({
      name: 'config',
      status: problem.severity === 'error' ? 'failed' : 'warning',
      why: formatProblem({ ...problem, severity: 'error' }),
    }),
  );
  if (others.length === 0) checks.push({ name: 'config', status: 'passed', why: `${file} is in order` });
  for (const problem of secrets) {
    const cure =
      problem.code === 'secret-missing'
        ? 'Set it where the daemon runs; if that is elsewhere, run doctor there.'
        : 'Take the right to read or change it from everybody else.';
    const why = formatProblem({ ...problem, severity: 'error' });
    checks.push({ name: 'secrets', status: 'failed', why, cure });
  }
  if (secrets.length === 0 && others.every(({ severity }) => severity === 'warning')) {
    const why = 'all are there, and only their owner can read them';
    checks.push({ name: 'secrets', status: 'passed', why });
  }
  return checks;
}

async function examineServices(
  config: CompiledConfig,
  env: DoctorOptions['env'],
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const { redis: settings } = config;
  const found =
    settings === undefined
      ? [examineOwn(config, env), examineExchange(config, undefined, signal)]
      : [examineWithRedis(config, settings, signal)];
  return (await Promise.all(found)).flat();
}

async function examineWithRedis(
  config: CompiledConfig,
  settings: RedisSettings,
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const { redis, checks } = await openRedis(settings, signal);
  const { prefix } = settings;
  try {
    // Reads the exchange with nonces from the shared store, so that no daemon is disturbed.
    const stores: ExaminedRedis | undefined = redis && { redis, prefix };
    const found = await Promise.all([
      examineServer(redis, config, signal),
      redis === undefined ? [] : examineQueues(redis, prefix),
      redis === undefined
        ? []
        : examineState(createRedisState({ redis, prefix, clock: systemClock }), config),
      examineExchange(config, stores, signal),
    ]);
    return [...checks, ...found.flat()];
  } finally {
    redis?.disconnect();
  }
}

/** What a process without Redis keeps on the disk. */
async function examineOwn(
  config: CompiledConfig,
  env: DoctorOptions['env'],
): Promise<readonly DoctorCheck[]> {
  const about = stateDirectoryOf({ configFile: config.file, stateDir: config.stateDir, env });
  try {
    const { state, faults } = await readOwnDirectory(about, config.operators.key?.reveal());
    const damaged = faults.map(
      ({ file, words }): DoctorCheck => ({ name: 'journal', status: 'failed', about: file, why: words }),
    );
    const read = { name: 'journal', status: 'passed', about, why: 'it can be read' } as const;
    return [
      ...(config.operators.key === undefined ? [] : [examineOperators(config)]),
      ...(damaged.length === 0 ? [read] : damaged),
      ...(await examineState(state, config)),
    ];
  } catch (error) {
    const why = (error as Error).message;
    const cure = 'Name another directory as `stateDir`, or give this one to the user of the daemon.';
    return [{ name: 'journal', status: 'failed', about, why, cure }];
  }
}

type Connection = Awaited<ReturnType<typeof connectRedisOnce>>;

interface OpenedRedis {
  readonly redis: Connection | undefined;
  readonly checks: readonly DoctorCheck[];
}

async function openRedis(place: RedisSettings, signal: AbortSignal): Promise<OpenedRedis> {
  const reading = readRedisAddress(place.url.reveal());
  if (reading.kind === 'none') {
    const why = 'its address is a secret that is not at hand';
    return { redis: undefined, checks: [{ name: 'redis', status: 'failed', why }] };
  }
  const about = showRedisAddress(reading.address);
  try {
    const redis = await unlessAborted(signal, connectRedisOnce(redisTarget(place)));
    return { redis, checks: [{ name: 'redis', status: 'passed', about, why: 'it answers' }] };
  } catch (error) {
    const cure = 'Start it, or correct `redis` in the config.';
    const why = (error as Error).message;
    return { redis: undefined, checks: [{ name: 'redis', status: 'failed', about, why, cure }] };
  }
}

/** Settings of the server, and their consequences for operator orders. */
async function examineServer(
  redis: Connection | undefined,
  config: CompiledConfig,
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  if (redis === undefined) return [examineOperators(config)];
  try {
    const { findings, isGuarded } = await unlessAborted(signal, examineRedis(redis, openRedisLevel(config)));
    return [examineOperators(config, isGuarded), ...findings.map(checkOf)];
  } catch (error) {
    const why = (error as Error).message;
    return [examineOperators(config), { name: 'redis.settings', status: 'failed', why }];
  }
}

function checkOf({ aspect, level, words, cure }: RedisFinding): DoctorCheck {
  const name = `redis.${aspect}`;
  const status = level === 'ok' ? 'passed' : level === 'warning' ? 'warning' : 'failed';
  return { name, status, why: words, ...(cure === undefined ? {} : { cure: `${cure}.` }) };
}

/** Whether somebody has paused a queue. */
async function examineQueues(redis: Connection, prefix: string): Promise<readonly DoctorCheck[]> {
  const paused = await pausedQueues(redis, prefix);
  if (paused.length === 0) return [{ name: 'queues', status: 'passed', why: 'none is paused' }];
  const why = `somebody paused ${paused.join(' and ')}: what goes through a paused queue stands still`;
  const cure = 'A running daemon resumes it within seconds. Find out who has access to Redis.';
  return [{ name: 'queues', status: 'failed', why, cure }];
}

/** `isGuarded`: whether Redis asks for a password; undefined: Redis could not be asked. */
function examineOperators({ operators }: CompiledConfig, isGuarded?: boolean): DoctorCheck {
  const name = 'operators';
  if (operators.key !== undefined) {
    return { name, status: 'passed', why: 'orders by hand and audit records are sealed with operators.key' };
  }
  if (isGuarded === undefined) {
    const why = 'there is no operators.key, and Redis could not be asked whether it wants a password';
    return { name, status: 'skipped', why };
  }
  const cure = 'Set operators.key (docs/operations.md)';
  if (isGuarded) {
    const why = 'without operators.key whoever knows the password of Redis can order reductions';
    return { name, status: 'warning', why, cure: `${cure}.` };
  }
  const why =
    'no order by hand is carried out, as anybody could give it: no operators.key, and no password of Redis';
  return { name, status: 'warning', why, cure: `${cure}, or a password for Redis.` };
}

/** Whether this program can read the stored state. */
async function examineState(state: State, config: CompiledConfig): Promise<readonly DoctorCheck[]> {
  try {
    const loads = await Promise.all(config.accounts.map(({ id }) => state.store.read(id)));
    const refused = loads.flatMap(({ load }) => (load.kind === 'refused' ? [load.problem] : []));
    const seen = loads.filter(({ load }) => load.kind === 'loaded' && load.account.version > 0).length;
    if (refused.length === 0) {
      const why = `readable; ${seen} of ${loads.length} accounts have been watched before`;
      return [{ name: 'state', status: 'passed', why }];
    }
    const name = 'state';
    return refused.map(({ accountId: about, message: why }) => ({ name, status: 'failed', about, why }));
  } catch (error) {
    if (!(error instanceof StoreLostError)) throw error;
    return [{ name: 'state', status: 'failed', why: error.message }];
  } finally {
    state.close();
  }
}

const REMINDERS: readonly DoctorCheck[] = [
  {
    name: 'key.limits',
    status: 'note',
    why: 'a key can be limited at the exchange to addresses and endpoints; no reply tells whether it is',
    cure: 'Limit it to the addresses of your hosts, and to the endpoints in docs/operations.md.',
  },
  {
    name: 'key.orders',
    status: 'note',
    why: 'whether the key may place and cancel orders shows only when it does; doctor sends none',
    cure: 'Look at the permissions of the key before you switch to enforce.',
  },
  {
    name: 'key.idle',
    status: 'note',
    why: 'the exchange switches off keys that were idle for 14 days',
    cure: 'Keep the daemon running, and alert on refused credentials.',
  },
];

function channelsOf({ channels }: CompiledConfig): DoctorCheck {
  const name = 'channels';
  if (channels.length === 0) {
    const why = 'there is no channel, so messages reach the log only';
    return { name, status: 'warning', why, cure: 'Name one under `channels` (docs/notifications.md).' };
  }
  const why = `messages go to ${channels.map((channel) => channel.name).join(', ')}; breakwater notify test sends one`;
  return { name, status: 'passed', why };
}

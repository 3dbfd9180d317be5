import type { Command } from 'commander';
import type { Operations, OperationsPlace } from '../../app.ts';
import { OPERATOR_CHAIN } from '../../core/ports/audit.ts';
import { ControlError } from '../../core/ports/controls.ts';
import { CliError, UsageError } from '../errors.ts';
import type { CliIo } from '../io.ts';

/** Options of every command that works on the shared state. */
export interface PlaceFlags {
  readonly config?: string;
  readonly redis?: string;
  readonly redisPrefix?: string;
}

/** Names of what the environment can say; a flag of the same meaning wins. */
const ENVIRONMENT = { config: 'BREAKWATER_CONFIG', redisUrl: 'BREAKWATER_REDIS_URL' } as const;

export function withPlace(command: Command): Command {
  return command
    .option('-c, --config <file>', `the daemon's config (${ENVIRONMENT.config})`)
    .option('--redis <url>', `its Redis, if not as the config says (${ENVIRONMENT.redisUrl})`)
    .option('--redis-prefix <text>', 'in front of the keys there, if not as the config says');
}

/** The config named by flag or environment. @throws UsageError */
export function configOf(flags: PlaceFlags, io: Pick<CliIo, 'env'>): string {
  const file = flags.config ?? given(io.env[ENVIRONMENT.config]);
  if (file !== undefined) return file;
  throw new UsageError('no config is named.', `Add --config FILE or set ${ENVIRONMENT.config}.`);
}

function placeOf(flags: PlaceFlags, { env }: Pick<CliIo, 'env'>): OperationsPlace {
  const redisUrl = flags.redis;
  // Whoever names a server does not mean what the environment says of configs.
  const config = flags.config ?? (redisUrl === undefined ? given(env[ENVIRONMENT.config]) : undefined);
  const url = redisUrl ?? (config === undefined ? given(env[ENVIRONMENT.redisUrl]) : undefined);
  if (config === undefined && url === undefined) {
    throw new UsageError(
      'neither a config nor a Redis server is named.',
      `Add --config FILE or --redis URL, or set ${ENVIRONMENT.config}.`,
    );
  }
  if (url !== undefined && !(URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol))) {
    throw new UsageError('--redis: expected an address such as redis://127.0.0.1:6379/0.');
  }
  return {
    env,
    ...(config === undefined ? {} : { config }),
    ...(url === undefined ? {} : { redisUrl: url }),
    ...(flags.redisPrefix === undefined ? {} : { redisPrefix: flags.redisPrefix }),
  };
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** Runs with the shared state open, and closes it whatever happens. */
export async function withOperations<T>(
  io: CliIo,
  flags: PlaceFlags,
  work: (operations: Operations) => Promise<T>,
): Promise<T> {
  const place = placeOf(flags, io);
  const { openOperations } = await import('../../app.ts');
  try {
    const operations = await openOperations(place);
    try {
      return await work(operations);
    } finally {
      await operations.close();
    }
  } catch (error) {
    throw explained(error);
  }
}

const CURES: Readonly<Record<string, string>> = {
  'redis-unreachable': 'Start it, or name the right one with --redis.',
  STORE_LOST: 'Nobody knows whether it was done: look with status, then repeat it.',
};

function explained(error: unknown): unknown {
  if (error instanceof CliError || !(error instanceof Error) || !('code' in error)) return error;
  const { code, message } = error;
  if (typeof code !== 'string') return error;
  if (error instanceof ControlError) {
    return new CliError(code.toLowerCase().replaceAll('_', '-'), `not done: ${message}.`, { cause: error });
  }
  const own = 'cure' in error && typeof error.cure === 'string' ? error.cure : undefined;
  const cure = own ?? CURES[code];
  if (cure === undefined) return error;
  return new CliError(code.toLowerCase().replaceAll('_', '-'), `${message}.`, { cause: error, cure });
}

/**
 * An account that exists: of the config, else one that was ever watched.
 * @throws UsageError naming what was probably meant
 */
export async function requireAccount(operations: Operations, accountId: string): Promise<void> {
  const { accounts, store } = operations;
  if (accountId === OPERATOR_CHAIN || accounts?.some(({ id }) => id === accountId) === true) return;
  const { load } = await store.read(accountId);
  if (load.kind === 'refused' || load.account.version > 0) return;
  if (accounts === undefined) {
    throw new UsageError(`no account ${JSON.stringify(accountId)} was ever watched with this Redis.`);
  }
  const { suggest } = await import('../../app.ts');
  const ids = accounts.map(({ id }) => id);
  const meant = suggest(accountId, ids);
  const cure = meant === undefined ? `Accounts: ${ids.join(', ')}.` : `Did you mean ${meant}?`;
  throw new UsageError(`there is no account ${JSON.stringify(accountId)}.`, cure);
}

import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type Desk, type Operations, type OperationsPlace, readRedisAddress } from '../../app.ts';
import { OPERATOR_CHAIN } from '../../core/audit/audit-record.ts';
import { CliError, UsageError } from '../errors.ts';
import { type CliIo, printWarning } from '../io.ts';
import { DEFAULT_CONFIG } from '../option-values.ts';

/** Options of every command that works on the shared state; each also offers `--json`. */
export interface PlaceFlags {
  readonly json?: boolean;
  readonly config?: string;
  readonly redis?: string;
  readonly redisPrefix?: string;
}

export function withPlace(command: Command): Command {
  return command
    .option(
      '-c, --config <file>',
      `the daemon's config (default: ${DEFAULT_CONFIG}, unless --redis is given)`,
    )
    .option(
      '--redis <url>',
      'its Redis, instead of what the config says; suffices without a config. With a password: env:NAME or file:PATH',
    )
    .option('--redis-prefix <text>', 'in front of the keys there, instead of what the config says');
}

/**
 * The address that `--redis` gives: directly, in a variable (`env:NAME`) or in a file (`file:PATH`). It may hold a
 * password, so it is never shown. @throws UsageError also if a password is on the command line
 */
export function redisAddress(written: string, env: CliIo['env']): string {
  const named = namedValue('--redis', written, env);
  const url = named === undefined ? written : named.value;
  const reading = readRedisAddress(url ?? '');
  if (reading.kind === 'none') {
    const where = named === undefined ? '' : ` ${named.where}`;
    throw new UsageError(
      `--redis: expected an address such as redis://127.0.0.1:6379/0${where}, ${named?.lacking ?? `got ${reading.got}`}.`,
    );
  }
  if (named === undefined && reading.address.password !== undefined) {
    throw new UsageError(
      '--redis: every user of this machine can read a password on a command line.',
      'Replace that password, put the address into a variable or a file, and say --redis env:NAME or file:PATH.',
    );
  }
  return url ?? '';
}

/**
 * What `env:NAME` or `file:PATH` names; undefined: the text is the value itself. `where`: such as `in its file`. `lacking`:
 * such as `which is empty`; undefined if there is a value. @throws UsageError
 */
export function namedValue(option: string, written: string, env: CliIo['env']) {
  const [, kind, name = ''] = /^(env|file):(.+)$/.exec(written) ?? [];
  if (kind === undefined) return undefined;
  const where = kind === 'env' ? `in the variable ${name}` : 'in its file';
  const value = kind === 'env' ? variable(env, name) : textIn(option, name);
  if (value !== undefined && value !== '') return { where, value, lacking: undefined };
  return { where, value, lacking: `which is ${value === undefined ? 'not set' : 'empty'}` };
}

/** `__proto__` is not a variable. */
function variable(env: CliIo['env'], name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
}

function textIn(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new UsageError(`${option}: cannot read the file that it names (${code}).`);
  }
}

function placeOf(flags: PlaceFlags, { env }: Pick<CliIo, 'env'>): OperationsPlace {
  const redisUrl = flags.redis === undefined ? undefined : redisAddress(flags.redis, env);
  const config = flags.config ?? (redisUrl === undefined ? DEFAULT_CONFIG : undefined);
  return {
    env,
    ...(config === undefined ? {} : { config }),
    ...(redisUrl === undefined ? {} : { redisUrl }),
    ...(flags.redisPrefix === undefined ? {} : { redisPrefix: flags.redisPrefix }),
  };
}

/** Opens the shared state, runs `work`, and always closes it. */
export async function withOperations<T>(
  io: CliIo,
  flags: PlaceFlags,
  work: (operations: Operations) => Promise<T>,
): Promise<T> {
  const { openOperations } = await import('../../app.ts');
  try {
    const operations = await openOperations(placeOf(flags, io));
    try {
      if (operations.fault !== undefined) printWarning(io, operations.fault);
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

/** Turns an expected error into one of the command line, with its cure. */
export function explained(error: unknown): unknown {
  if (error instanceof CliError || !(error instanceof Error) || !('code' in error)) return error;
  const { code, message } = error;
  if (typeof code !== 'string') return error;
  const own = 'cure' in error && typeof error.cure === 'string' ? error.cure : undefined;
  const cure = own ?? CURES[code];
  if (cure === undefined) return error;
  if (code === 'account-unknown') return new UsageError(`${message}.`, cure);
  return new CliError(code.toLowerCase().replaceAll('_', '-'), `${message}.`, { cause: error, cure });
}

/** Accepts an account of the config, or one that was ever watched. @throws UsageError naming the likely one */
export async function requireAccount(desk: Desk, accountId: string): Promise<void> {
  const { accountIds: ids } = desk;
  if (accountId === OPERATOR_CHAIN || ids?.includes(accountId) === true) return;
  if (await desk.wasWatched(accountId)) return;
  if (ids === undefined) {
    throw new UsageError(`no account ${JSON.stringify(accountId)} was ever watched with this Redis.`);
  }
  const { meantOr } = await import('../../app.ts');
  const cure = meantOr(accountId, ids, `Accounts: ${ids.join(', ')}.`);
  throw new UsageError(`there is no account ${JSON.stringify(accountId)}.`, cure);
}

/** The named accounts, each once, or all of the config. @throws UsageError */
export async function accountsOf(
  desk: Desk,
  named: readonly string[] | undefined,
): Promise<readonly string[]> {
  for (const id of named ?? []) await requireAccount(desk, id);
  const ids = named ?? desk.accountIds;
  if (ids !== undefined) return [...new Set(ids)];
  const cure = 'Add --account ID or --config FILE.';
  throw new UsageError('without a config nobody knows which accounts there are.', cure);
}

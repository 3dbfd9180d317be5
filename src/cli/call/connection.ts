import {
  accountAccess,
  type ConfiguredAccess,
  connectExchange,
  type Dialect,
  type ExchangeConnectionOptions,
  isWebAddress,
} from '../../app.ts';
import { CliError, UsageError } from '../errors.ts';
import { type CliIo, paint, printNote, printWarning } from '../io.ts';
import { DEFAULT_CONFIG, explained, redisAddress } from '../operate/place.ts';
import { readText } from '../option-values.ts';
import { printable } from '../table.ts';
import type { CallEndpoint } from './endpoints.ts';

/** Names of what the environment can say; a flag of the same meaning wins. */
export const ENVIRONMENT = {
  baseUrls: 'BREAKWATER_BASE_URL',
  apiKey: 'BREAKWATER_API_KEY',
  apiSecret: 'BREAKWATER_API_SECRET',
  redisUrl: 'BREAKWATER_REDIS_URL',
} as const;

export interface ConnectionFlags {
  readonly account?: string;
  readonly config?: string;
  readonly baseUrl?: readonly string[];
  readonly apiKeyFile?: string;
  readonly apiSecretFile?: string;
  readonly nonce: ExchangeConnectionOptions['nonceMode'];
  readonly dialect: Dialect;
  readonly timeoutMs: number;
  readonly redis?: string;
  readonly redisPrefix: string;
}

/** One attempt of a read; it is repeated within `--timeout-ms`. */
const READ_ATTEMPT_MS = 5000;

/** A client as flags and environment ask for it; nothing is sent yet. @throws UsageError, CliError */
export async function connect(
  io: CliIo,
  { id, kind }: CallEndpoint,
  flags: ConnectionFlags,
  access?: ConfiguredAccess,
) {
  const { nonce: nonceMode, dialect, timeoutMs, redisPrefix: prefix } = flags;
  const baseUrls = access?.baseUrls ?? baseUrlsOf(flags, io.env);
  const inEnvironment = (io.env[ENVIRONMENT.redisUrl] ?? '') !== '';
  const redis = flags.redis ?? (inEnvironment ? `env:${ENVIRONMENT.redisUrl}` : undefined);
  const own = redis === undefined ? undefined : { redisUrl: redisAddress(redis, io.env), prefix };
  const shared = access?.redis ?? own;
  const credentials =
    id === 'ping' ? undefined : (access?.credentials ?? (await credentialsOf(flags, io.env)));
  if (credentials !== undefined && shared === undefined) {
    const alone =
      'Nonces are counted in this process alone: if a daemon uses this key, add --redis with its Redis.';
    printNote(io, paint(io, 'stderr', 'dim', alone));
  }
  // A command is sent once: the longer it waits for the reply, the rarer is an outcome that nobody knows.
  const attemptMs = kind === 'read' ? Math.min(READ_ATTEMPT_MS, timeoutMs) : timeoutMs;
  const connection = await connectExchange({
    baseUrls,
    nonceMode,
    dialect,
    timeouts: { callMs: timeoutMs, attemptMs },
    observer: {
      onDrift({ kind, path, expected, got }) {
        // Records that were set aside are told with their list.
        if (kind === 'record') return;
        printWarning(io, `Not as documented: ${printable(path)}: expected ${expected}, got ${got}.`);
      },
      onStore({ store, available }) {
        if (available) return;
        printWarning(io, `Redis does not answer: the ${store} goes on in this process alone.`);
      },
    },
    ...(credentials === undefined ? {} : { credentials }),
    ...(shared === undefined ? {} : { shared }),
    ...(access === undefined ? {} : { way: access }),
  }).catch((error: Error & { readonly code?: unknown }) => {
    const { code, message } = error;
    if (code === 'EXCHANGE_OPTIONS') throw new UsageError(`${message}.`);
    if (code !== 'redis-unreachable') throw error;
    const cure =
      access === undefined
        ? 'Start it, or leave out --redis if no daemon uses this key.'
        : 'Start it: the nonces of this key are counted there.';
    throw new CliError(code, `${message}; nothing was sent.`, { cure });
  });
  return { ...connection, baseUrls };
}

/** What the config says of an account, where one is named. @throws CliError */
export async function accessOf(io: CliIo, flags: ConnectionFlags): Promise<ConfiguredAccess | undefined> {
  const { account, config = DEFAULT_CONFIG } = flags;
  if (account === undefined) {
    if (flags.config === undefined) return undefined;
    throw new UsageError('--config alone names no account.', 'Add --account ID.');
  }
  try {
    return await accountAccess(config, account, io.env);
  } catch (error) {
    const { code, message, cure } = error as Error & { readonly code?: unknown; readonly cure?: string };
    if (code === 'account-unknown') throw new UsageError(`${message}.`, cure);
    throw explained(error);
  }
}

/** Addresses from flags, else from the environment, separated by commas or spaces. */
function baseUrlsOf({ baseUrl }: ConnectionFlags, env: CliIo['env']): readonly string[] {
  const given = baseUrl ?? (env[ENVIRONMENT.baseUrls] ?? '').split(/[\s,]+/).filter((text) => text !== '');
  if (given.length === 0) {
    const cure = `Add --base-url URL or set ${ENVIRONMENT.baseUrls}; a simulated one: breakwater simulate.`;
    throw new UsageError('no exchange is named.', cure);
  }
  // Said without the text, which may hold a password, and before it could be shown.
  if (!given.every(isWebAddress)) {
    throw new UsageError('--base-url: expected an http or https address without user, query or fragment.');
  }
  return given.map((url) => url.replace(/(?<!\/)\/+$/, ''));
}

async function credentialsOf({ apiKeyFile, apiSecretFile }: ConnectionFlags, env: CliIo['env']) {
  const read = async (flag: string, file: string | undefined, otherwise = '') =>
    (file === undefined ? otherwise : await readText(flag, file)).trim();
  const apiKey = await read('--api-key-file', apiKeyFile, env[ENVIRONMENT.apiKey]);
  const apiSecret = await read('--api-secret-file', apiSecretFile, env[ENVIRONMENT.apiSecret]);
  const missing = [
    ...(apiKey === '' ? [`the API key (${ENVIRONMENT.apiKey} or --api-key-file)`] : []),
    ...(apiSecret === '' ? [`the API secret (${ENVIRONMENT.apiSecret} or --api-secret-file)`] : []),
  ];
  if (missing.length === 0) return { apiKey, apiSecret };
  throw new UsageError(`missing: ${missing.join(' and ')}.`, 'Secrets are never taken from a flag.');
}

/** Customer data of specification 4.1, which the client checks. No error quotes the text, as the parser's own would. */
export async function customerOf(file: string): Promise<unknown> {
  const written = await readText('--customer-file', file);
  try {
    return JSON.parse(written);
  } catch {
    throw new UsageError('--customer-file: the file is not JSON.');
  }
}

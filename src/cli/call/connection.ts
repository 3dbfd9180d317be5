import { type Command, Option } from 'commander';
import { accountAccess, type ConfiguredAccess, connectExchange, type ExchangeObserver } from '../../app.ts';
import { CliError, UsageError } from '../errors.ts';
import { faultWords } from '../exchange-errors.ts';
import { type CliIo, paint, printNote, printWarning } from '../io.ts';
import { explained, redisAddress } from '../operate/place.ts';
import {
  collect,
  DEFAULT_CONFIG,
  nonceOption,
  readText,
  refusedSecret,
  webAddress,
  whole,
} from '../option-values.ts';
import type { CallEndpoint } from './endpoints.ts';

export interface ConnectionFlags {
  readonly account?: string;
  readonly config?: string;
  readonly baseUrl?: readonly string[];
  readonly apiKeyFile?: string;
  readonly apiSecretFile?: string;
  readonly nonce: ConfiguredAccess['nonceMode'];
  readonly dialect: ConfiguredAccess['dialect'];
  readonly timeoutMs: number;
  readonly redis?: string;
  readonly redisPrefix: string;
}

/** Options that conflict with --account: its config has these settings. */
const OF_CONFIG = ['apiKeyFile', 'apiSecretFile', 'baseUrl', 'dialect', 'nonce', 'redis', 'redisPrefix'];

/** Environment variables; a flag with the same meaning wins. */
const BASE_URLS = 'BREAKWATER_BASE_URL';
const API_KEY = 'BREAKWATER_API_KEY';
const API_SECRET = 'BREAKWATER_API_SECRET';
const REDIS_URL = 'BREAKWATER_REDIS_URL';

export function withConnection(command: Command): Command {
  const instead = `Set ${API_KEY} and ${API_SECRET}, or use --api-key-file and --api-secret-file.`;
  const account = 'an account of the config: its key, addresses, dialect, nonces and Redis';
  const redis = `nonces and limits shared with daemons (${REDIS_URL}); with a password: env:NAME or file:PATH`;
  const dialect = new Option('--dialect <name>', 'spelling of request fields');
  return command
    .addOption(new Option('-a, --account <id>', account).conflicts(OF_CONFIG))
    .option('-c, --config <file>', `where it is (default: ${DEFAULT_CONFIG})`)
    .option('--base-url <url>', `the exchange (repeatable: first healthy one; ${BASE_URLS})`, collect)
    .option('--api-key-file <file>', `file with the API key (else ${API_KEY})`)
    .option('--api-secret-file <file>', `file with the API secret (else ${API_SECRET})`)
    .addOption(refusedSecret('--api-key [value]', instead))
    .addOption(refusedSecret('--api-secret [value]', instead))
    .addOption(nonceOption())
    .addOption(dialect.choices(['spec', 'camel']).default('spec'))
    .option('--timeout-ms <ms>', 'bound on the whole call', whole(1, 600_000), 15_000)
    .option('--redis <url>', redis)
    .option('--redis-prefix <text>', 'in front of the keys there', 'breakwater');
}

/** How to speak to the exchange; the other fields are known if an account of the config was named. */
type Access = Pick<ConfiguredAccess, 'dialect' | 'nonceMode' | 'cardProviders'> & Partial<ConfiguredAccess>;

/** From the config if an account is named, else from flags. @throws CliError */
export async function accessOf({ env }: CliIo, flags: ConnectionFlags): Promise<Access> {
  const { account, config, dialect, nonce: nonceMode } = flags;
  if (account === undefined) {
    if (config === undefined) return { dialect, nonceMode, cardProviders: [] };
    throw new UsageError('--config alone names no account.', 'Add --account ID.');
  }
  return await accountAccess(config ?? DEFAULT_CONFIG, account, env).catch((error: unknown) => {
    throw explained(error);
  });
}

/** Opens a client with this access, completed by flags and environment; sends nothing. @throws UsageError, CliError */
export async function connect(io: CliIo, { id, kind }: CallEndpoint, flags: ConnectionFlags, access: Access) {
  const { account, timeoutMs: callMs } = flags;
  const baseUrls = access.baseUrls ?? baseUrlsOf(flags, io.env);
  const redis = access.redis ?? redisOf(flags, io.env);
  const credentials =
    id === 'ping' ? undefined : (access.credentials ?? (await credentialsOf(flags, io.env)));
  if (credentials !== undefined && redis === undefined && account === undefined) {
    const alone =
      'Nonces are counted in this process alone: if a daemon uses this key, add --redis with its Redis.';
    printNote(io, paint(io, 'stderr', 'dim', alone));
  }
  // A command is sent once: the longer it waits for the reply, the less often its outcome stays unknown.
  const timeouts = kind === 'read' ? { callMs } : { callMs, attemptMs: callMs };
  const options = { ...access, baseUrls, redis, credentials, timeouts, observer: observerFor(io) };
  const connection = await connectExchange(options).catch((error: Error & { readonly code?: unknown }) => {
    const { code, message } = error;
    if (code === 'EXCHANGE_OPTIONS') throw new UsageError(`${message}.`);
    if (code !== 'redis-unreachable') throw error;
    const cure =
      account === undefined
        ? 'Start it, or leave out --redis if no daemon uses this key.'
        : 'Start it: the nonces of this key are counted there.';
    throw new CliError(code, `${message}; nothing was sent.`, { cure });
  });
  return { ...connection, baseUrls };
}

/** Skips records that were set aside: they are shown with their list. */
const observerFor = (io: CliIo): ExchangeObserver => ({
  onDrift(fault) {
    if (fault.kind !== 'record') printWarning(io, `Not as documented: ${faultWords(fault)}.`);
  },
  onStore({ store, available }) {
    if (!available) printWarning(io, `Redis does not answer: the ${store} goes on in this process alone.`);
  },
});

/** Addresses from flags, else from the environment, separated by commas or spaces. */
function baseUrlsOf({ baseUrl }: ConnectionFlags, env: CliIo['env']): readonly string[] {
  const given = baseUrl ?? (env[BASE_URLS] ?? '').split(/[\s,]+/).filter((text) => text !== '');
  if (given.length > 0) return given.map((url) => webAddress('--base-url', url));
  const cure = `Add --base-url URL or set ${BASE_URLS}; a simulated one: breakwater simulate.`;
  throw new UsageError('no exchange is named.', cure);
}

function redisOf({ redis, redisPrefix: prefix }: ConnectionFlags, env: CliIo['env']) {
  const written = redis ?? ((env[REDIS_URL] ?? '') === '' ? undefined : `env:${REDIS_URL}`);
  return written === undefined ? undefined : { redisUrl: redisAddress(written, env), prefix };
}

async function credentialsOf({ apiKeyFile, apiSecretFile }: ConnectionFlags, env: CliIo['env']) {
  const read = async (flag: string, file: string | undefined, otherwise = '') =>
    (file === undefined ? otherwise : await readText(flag, file)).trim();
  const apiKey = await read('--api-key-file', apiKeyFile, env[API_KEY]);
  const apiSecret = await read('--api-secret-file', apiSecretFile, env[API_SECRET]);
  const missing = [
    ...(apiKey === '' ? [`the API key (${API_KEY} or --api-key-file)`] : []),
    ...(apiSecret === '' ? [`the API secret (${API_SECRET} or --api-secret-file)`] : []),
  ];
  if (missing.length === 0) return { apiKey, apiSecret };
  throw new UsageError(`missing: ${missing.join(' and ')}.`, 'Secrets are never taken from a flag.');
}

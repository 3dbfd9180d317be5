import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import {
  connectExchange,
  type Dialect,
  ENDPOINTS,
  type ExchangeConnection,
  type ExchangeConnectionOptions,
  type ExchangeObserver,
  exchangeRequests,
} from '../app.ts';
import { CALL_ENDPOINTS, type CallEndpoint, findEndpoint } from './call/endpoints.ts';
import { endpointSummary, listEndpoints } from './call/listing.ts';
import { readParameters, type Values } from './call/parameters.ts';
import { report } from './call/report.ts';
import { baseUrlsOf, credentialsOf, customerOf, ENVIRONMENT, redisUrlOf } from './call/settings.ts';
import { CliError, UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, confirm, paint, printNote } from './io.ts';
import { collect, whole } from './option-values.ts';
import { fieldLines, printable } from './table.ts';

interface Flags {
  readonly param?: readonly string[];
  readonly customerFile?: string;
  readonly baseUrl?: readonly string[];
  readonly apiKeyFile?: string;
  readonly apiSecretFile?: string;
  readonly apiKey?: string;
  readonly apiSecret?: string;
  readonly nonce: ExchangeConnectionOptions['nonceMode'];
  readonly dialect: Dialect;
  readonly timeoutMs: number;
  readonly redis?: string;
  readonly redisPrefix: string;
  readonly yes?: boolean;
  readonly allowExposure?: boolean;
  readonly list?: boolean;
  readonly json?: boolean;
}

/** One attempt of a read; it is repeated within `--timeout-ms`. */
const READ_ATTEMPT_MS = 5000;

const ALONE =
  'Nonces are counted in this process alone: if a daemon uses this key, add --redis with its Redis.';

/** `breakwater call`: one signed call of any endpoint, by hand. */
export function registerCall(program: Command, io: CliIo): void {
  const command = program
    .command('call')
    .summary('make one signed call of the exchange')
    .description(
      'Makes one signed call of the exchange. What changes something shows what it will send and asks first; ' +
        'what could open exposure needs --allow-exposure besides: an order without reduceOnly=true, and any ' +
        'change of the hedge mode, which changes what later orders do.',
    )
    .argument('[endpoint]', 'its name, or its path in the API');
  addOptions(command);
  withJson(command);
  withExamples(command, {
    'open positions in one market': 'call positions --param market=BTC_PERP',
    'for a script': 'call transfers --param method=withdrawal --param since=2026-01-31 --json',
    'a stop that can only reduce a long position':
      'call stop-limit --param market=BTC_PERP --param side=sell --param amount=0.1\n' +
      '        --param activationPrice=57000 --param price=56900',
    'parameters of one endpoint': 'call stop-limit --list',
  });
  command.addHelpText(
    'after',
    `\nEndpoints (* changes something):\n${endpointSummary(CALL_ENDPOINTS)}\n\n` +
      'Ends with 0 when the exchange answered or accepted, 1 when it refused or could not be asked,\n' +
      '2 when nothing was sent because the command line is not complete or not allowed, and 3 when\n' +
      'something was sent and nobody knows whether it took effect: read before you repeat it.\n' +
      'With --json whatever came of a call is one line on standard output, with "outcome".',
  );
  command.action(async (name: string | undefined, flags: Flags) => {
    refuseSecretFlags(flags);
    if (flags.list === true) {
      const wanted = name === undefined ? CALL_ENDPOINTS : [findEndpoint(name)];
      listEndpoints(io, wanted, flags.json === true);
      return;
    }
    if (name === undefined) throw new UsageError('name an endpoint.', 'See: call --list');
    await call(io, findEndpoint(name), flags);
  });
}

function addOptions(command: Command): void {
  const secret = (flags: string) => new Option(flags).hideHelp();
  const oneOf = (flags: string, text: string, choices: readonly [string, ...string[]]) =>
    new Option(flags, text).choices(choices).default(choices[0]);
  const { baseUrls, apiKey, apiSecret, redisUrl } = ENVIRONMENT;
  command
    .option('-p, --param <name=value>', 'a parameter (repeatable; see --list)', collect)
    .option('--customer-file <file>', 'customer data for a fiat deposit link, as JSON')
    .option('--yes', 'do not ask before changing something')
    .option('--allow-exposure', 'allow what could open exposure')
    .option('--list', 'print the endpoints with their parameters, and end')
    .option('--base-url <url>', `the exchange (repeatable: first healthy one; ${baseUrls})`, collect)
    .option('--api-key-file <file>', `file with the API key (else ${apiKey})`)
    .option('--api-secret-file <file>', `file with the API secret (else ${apiSecret})`)
    .addOption(secret('--api-key [value]'))
    .addOption(secret('--api-secret [value]'))
    .addOption(oneOf('--nonce <mode>', 'nonce mode of the key', ['unique', 'increasing', 'window']))
    .addOption(oneOf('--dialect <name>', 'spelling of request fields', ['spec', 'camel']))
    .option('--timeout-ms <ms>', 'bound on the whole call', whole(1, 600_000), 15_000)
    .option(
      '--redis <url>',
      `nonces and limits shared with daemons (${redisUrl}); with a password: env:NAME or file:PATH`,
    )
    .option('--redis-prefix <text>', 'in front of the keys there', 'breakwater');
}

/** Known only to be refused, so that what follows is not repeated in an error about an unknown option. */
function refuseSecretFlags({ apiKey, apiSecret }: Flags): void {
  if (apiKey === undefined && apiSecret === undefined) return;
  throw new UsageError(
    'key and secret are not taken from flags, which other users and the history of the shell can see.',
    `Set ${ENVIRONMENT.apiKey} and ${ENVIRONMENT.apiSecret}, or use --api-key-file and --api-secret-file.`,
  );
}

async function call(io: CliIo, endpoint: CallEndpoint, flags: Flags): Promise<void> {
  const values = await valuesOf(endpoint, flags);
  const body = await bodyOf(endpoint, values, flags.dialect);
  const risk = endpoint.exposure?.(body);
  if (risk !== undefined && flags.allowExposure !== true) {
    throw new UsageError(`${endpoint.name}: not sent: ${risk}.`, 'If you want that, add --allow-exposure.');
  }
  const options = await connectionOf(io, endpoint, flags);
  if (endpoint.changes !== undefined) {
    showRequest(io, endpoint, body, options);
    const caution = endpoint.caution?.(values);
    if (caution !== undefined) printNote(io, paint(io, 'stderr', 'yellow', caution));
    if (flags.yes !== true) await agree(io);
  }
  if (options.credentials !== undefined && options.shared === undefined) {
    printNote(io, paint(io, 'stderr', 'dim', ALONE));
  }
  const connection = await connect(options);
  try {
    const outcome = await endpoint.send(connection.exchange, values, { signal: io.signal });
    report(io, { endpoint, values, asJson: flags.json === true }, outcome);
  } finally {
    await connection.close();
  }
}

async function valuesOf(endpoint: CallEndpoint, { param = [], customerFile }: Flags): Promise<Values> {
  const values = readParameters(endpoint, param, randomUUID());
  if (customerFile === undefined) return values;
  if (endpoint.takesCustomer !== true) {
    throw new UsageError(`${endpoint.name}: takes no customer data.`, 'Leave out --customer-file.');
  }
  return { ...values, customer: await customerOf(customerFile) };
}

/** The body but for nonce and path, checked by the client's own rules. @throws UsageError */
async function bodyOf(endpoint: CallEndpoint, values: Values, dialect: Dialect): Promise<Values> {
  const prepared = endpoint.prepare?.(await exchangeRequests(), values, dialect) ?? { ok: true, params: {} };
  if (prepared.ok) return prepared.params;
  const { name } = endpoint;
  const faults = Object.entries(prepared.error.fields ?? {}).map(
    ([field, rules]) => `${field} ${rules.join(', ')}`,
  );
  throw new UsageError(`${name}: not sent: ${faults.join('; ')}.`, `See: call ${name} --list`);
}

async function connectionOf(
  io: CliIo,
  endpoint: CallEndpoint,
  flags: Flags,
): Promise<ExchangeConnectionOptions> {
  const { nonce: nonceMode, dialect, timeoutMs } = flags;
  const baseUrls = baseUrlsOf(flags.baseUrl, io.env);
  const redisUrl = redisUrlOf(flags.redis, io.env);
  const isRead = endpoint.changes === undefined;
  return {
    baseUrls,
    nonceMode,
    dialect,
    // A command is sent once: the longer it waits for the reply, the rarer is an outcome that nobody knows.
    timeouts: { callMs: timeoutMs, attemptMs: isRead ? Math.min(READ_ATTEMPT_MS, timeoutMs) : timeoutMs },
    observer: observerOf(io),
    ...(endpoint.id === 'ping' ? {} : { credentials: await credentialsOf(flags, io.env) }),
    ...(redisUrl === undefined ? {} : { shared: { redisUrl, prefix: flags.redisPrefix } }),
  };
}

function observerOf(io: CliIo): ExchangeObserver {
  const warn = (text: string) => printNote(io, paint(io, 'stderr', 'yellow', text));
  return {
    onDrift: ({ kind, path, expected, got }) => {
      // Records that were set aside are told with their list.
      if (kind !== 'record') warn(`Not as documented: ${printable(path)}: expected ${expected}, got ${got}.`);
    },
    onStore: ({ store, available }) => {
      if (!available) warn(`Redis does not answer: the ${store} goes on in this process alone.`);
    },
  };
}

/** Shows what will be sent, but for the values that each sending adds. */
function showRequest(
  io: CliIo,
  { id }: CallEndpoint,
  body: Values,
  { baseUrls, nonceMode }: ExchangeConnectionOptions,
): void {
  const { method, path } = ENDPOINTS[id];
  const hidden = '(from --customer-file, not shown)';
  const fields = Object.entries(body).map(
    ([name, value]) => [`  ${name}`, name === 'customer' ? hidden : JSON.stringify(value)] as const,
  );
  printNote(io, `${method} ${baseUrls.join(' or ')}${path}`);
  for (const line of fieldLines(io, 'stderr', fields)) printNote(io, line);
  const added = nonceMode === 'window' ? 'request, nonce, nonceWindow' : 'request, nonce';
  printNote(io, paint(io, 'stderr', 'dim', `  and ${added} and the signature`));
}

/** @throws CliError when the answer is no, UsageError when nobody can answer */
async function agree(io: CliIo): Promise<void> {
  if (await confirm(io, 'Send it?')) return;
  io.signal.throwIfAborted();
  throw new CliError('not-confirmed', 'not confirmed: nothing was sent.');
}

async function connect(options: ExchangeConnectionOptions): Promise<ExchangeConnection> {
  try {
    return await connectExchange(options);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EXCHANGE_OPTIONS') throw new UsageError(`${(error as Error).message}.`);
    if (code === 'redis-unreachable') {
      throw new CliError(code, `${(error as Error).message}; nothing was sent.`, {
        cure: 'Start it, or leave out --redis if no daemon uses this key.',
      });
    }
    throw error;
  }
}

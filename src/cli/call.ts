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
    `\nEndpoints (* changes something):\n${endpointSummary()}\n\n` +
      'Ends with 0 when the exchange answered or accepted, 1 when it refused or could not be asked,\n' +
      '2 when nothing was sent because the command line is not complete or not allowed, and 3 when\n' +
      'something was sent and nobody knows whether it took effect: read before you repeat it.\n' +
      'With --json whatever came of a call is one line on standard output, with "outcome".',
  );
  command.action(async (name: string | undefined, flags: Flags) => {
    if (flags.list === true) {
      listEndpoints(io, name === undefined ? CALL_ENDPOINTS : [findEndpoint(name)], flags.json === true);
    } else if (name === undefined) {
      throw new UsageError('name an endpoint.', 'See: call --list');
    } else {
      await call(io, findEndpoint(name), flags);
    }
  });
}

function addOptions(command: Command): void {
  const { baseUrls, apiKey, apiSecret, redisUrl } = ENVIRONMENT;
  // Known only to be refused, so that what follows is not repeated in an error about an unknown option.
  const secret = (flags: string) => new Option(flags).hideHelp().preset('').argParser(refuseSecret);
  const oneOf = (flags: string, text: string, choices: readonly [string, ...string[]]) =>
    new Option(flags, text).choices(choices).default(choices[0]);
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

function refuseSecret(): never {
  throw new UsageError(
    'key and secret are not taken from flags, which other users and the history of the shell can see.',
    `Set ${ENVIRONMENT.apiKey} and ${ENVIRONMENT.apiSecret}, or use --api-key-file and --api-secret-file.`,
  );
}

async function call(io: CliIo, endpoint: CallEndpoint, flags: Flags): Promise<void> {
  const request = await requestOf(endpoint, flags);
  const body = await bodyOf(endpoint, request, flags.dialect);
  const risk = endpoint.exposure?.(body);
  if (risk !== undefined && flags.allowExposure !== true) {
    throw new UsageError(`${endpoint.name}: not sent: ${risk}.`, 'If you want that, add --allow-exposure.');
  }
  const options = await connectionOf(io, endpoint, flags);
  if (endpoint.changes !== undefined) {
    showRequest(io, endpoint, body, options);
    const caution = endpoint.caution?.(request) ?? (risk === undefined ? undefined : `Beware: ${risk}.`);
    if (caution !== undefined) printNote(io, paint(io, 'stderr', 'yellow', caution));
    if (flags.yes !== true) await agree(io);
  }
  const connection = await connect(io, options);
  try {
    const outcome = await endpoint.send(connection.exchange, request, { signal: io.signal });
    report(io, endpoint, { request, asJson: flags.json === true }, outcome);
  } finally {
    await connection.close();
  }
}

async function requestOf(endpoint: CallEndpoint, { param = [], customerFile }: Flags): Promise<Values> {
  const { name, parameters, takesCustomer, defaults } = endpoint;
  const given = readParameters(name, parameters, param);
  const request = { ...defaults?.(given), ...given };
  if (customerFile === undefined) return request;
  if (takesCustomer === true) return { ...request, customer: await customerOf(customerFile) };
  throw new UsageError(`${name}: takes no customer data.`, 'Leave out --customer-file.');
}

/** The body but for nonce and path, checked by the client's own rules. @throws UsageError */
async function bodyOf({ name, prepare }: CallEndpoint, request: Values, dialect: Dialect): Promise<Values> {
  const prepared = prepare?.(await exchangeRequests())(request, { dialect, cardProviders: [] });
  if (prepared === undefined) return {};
  if (prepared.ok) return prepared.params;
  throw new UsageError(`${name}: ${prepared.error.message}.`, `See: call ${name} --list`);
}

async function connectionOf(
  io: CliIo,
  endpoint: CallEndpoint,
  flags: Flags,
): Promise<ExchangeConnectionOptions> {
  const { nonce: nonceMode, dialect, timeoutMs } = flags;
  const redisUrl = redisUrlOf(flags.redis, io.env);
  const isRead = endpoint.changes === undefined;
  const connection = {
    baseUrls: baseUrlsOf(flags.baseUrl, io.env),
    nonceMode,
    dialect,
    // A command is sent once: the longer it waits for the reply, the rarer is an outcome that nobody knows.
    timeouts: { callMs: timeoutMs, attemptMs: isRead ? Math.min(READ_ATTEMPT_MS, timeoutMs) : timeoutMs },
    observer: observerOf(io),
    ...(redisUrl === undefined ? {} : { shared: { redisUrl, prefix: flags.redisPrefix } }),
  };
  return endpoint.id === 'ping'
    ? connection
    : { ...connection, credentials: await credentialsOf(flags, io.env) };
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
  const added = nonceMode === 'window' ? 'request, nonce, nonceWindow' : 'request, nonce';
  printNote(io, `${method} ${baseUrls.join(' or ')}${path}`);
  for (const line of fieldLines(io, 'stderr', fields)) printNote(io, line);
  printNote(io, paint(io, 'stderr', 'dim', `  and ${added} and the signature`));
}

/** @throws CliError when the answer is no, UsageError when nobody can answer */
async function agree(io: CliIo): Promise<void> {
  if (await confirm(io, 'Send it?')) return;
  io.signal.throwIfAborted();
  throw new CliError('not-confirmed', 'not confirmed: nothing was sent.');
}

async function connect(io: CliIo, options: ExchangeConnectionOptions): Promise<ExchangeConnection> {
  if (options.credentials !== undefined && options.shared === undefined) {
    const alone =
      'Nonces are counted in this process alone: if a daemon uses this key, add --redis with its Redis.';
    printNote(io, paint(io, 'stderr', 'dim', alone));
  }
  return await connectExchange(options).catch((error: Error & { readonly code?: unknown }) => {
    const { code, message } = error;
    if (code === 'EXCHANGE_OPTIONS') throw new UsageError(`${message}.`);
    if (code !== 'redis-unreachable') throw error;
    const cure = 'Start it, or leave out --redis if no daemon uses this key.';
    throw new CliError(code, `${message}; nothing was sent.`, { cure });
  });
}

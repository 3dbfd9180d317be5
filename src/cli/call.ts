import type { Command } from 'commander';
import { exchangeRequests, type Prepared, type RequestSettings } from '../app.ts';
import { accessOf, type ConnectionFlags, connect, withConnection } from './call/connection.ts';
import { type AnyOutcome, CALL_ENDPOINTS, type CallEndpoint, findEndpoint } from './call/endpoints.ts';
import { readParameters, type Values } from './call/parameters.ts';
import { CliError, UsageError } from './errors.ts';
import { errorWords, exchangeCures } from './exchange-errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import {
  type CliIo,
  confirm,
  paint,
  printExactJson,
  printJson,
  printLine,
  printNote,
  printWarning,
} from './io.ts';
import { collect, readText } from './option-values.ts';
import { columnsOf, fieldLines, tableLines } from './table.ts';

interface Flags extends ConnectionFlags {
  readonly param?: readonly string[];
  readonly customerFile?: string;
  readonly yes?: boolean;
  readonly allowExposure?: boolean;
  readonly list?: boolean;
  readonly json?: boolean;
}

type Prepare = (request: Values, settings: RequestSettings) => Prepared;

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
    .argument('[endpoint]', 'its name, or its path in the API')
    .option('-p, --param <name=value>', 'a parameter (repeatable; see --list)', collect)
    .option('--customer-file <file>', 'customer data for a fiat deposit link, as JSON')
    .option('--yes', 'do not ask before changing something')
    .option('--allow-exposure', 'allow what could open exposure')
    .option('--list', 'print the endpoints with their parameters, and end');
  withJson(withConnection(command));
  withExamples(command, {
    'open positions in one market': 'call positions --param market=BTC_PERP',
    'as an account of the config': 'call positions --account desk-1',
    'for a script': 'call transfers --param method=withdrawal --param since=2026-01-31 --json',
    'a stop that can only reduce a long position':
      'call stop-limit --param market=BTC_PERP --param side=sell --param amount=0.1\n' +
      '        --param activationPrice=57000 --param price=56900',
    'parameters of one endpoint': 'call stop-limit --list',
  });
  withRemarks(
    command,
    `\nEndpoints (* changes something):\n${endpointSummary()}\n\n` +
      'Ends with 0 when the exchange answered or accepted, 1 when it refused or could not be asked,\n' +
      '2 when nothing was sent because the command line is not complete or not allowed, and 3 when\n' +
      'something was sent and nobody knows whether it took effect: read before you repeat it.\n' +
      'With --json whatever came of a call is one line on standard output, with "outcome".',
  );
  command.action(async (name: string | undefined, flags: Flags) => {
    if (flags.list === true) return listEndpoints(io, name, flags);
    if (name === undefined) throw new UsageError('name an endpoint.', 'See: call --list');
    await call(io, findEndpoint(name), flags);
  });
}

async function call(io: CliIo, endpoint: CallEndpoint, flags: Flags): Promise<void> {
  const { id, name, changes, exposure, caution, send } = endpoint;
  const access = await accessOf(io, flags);
  const request = await requestOf(endpoint, flags);
  // The body without nonce and path, checked by the client's own rules.
  const prepare = (await exchangeRequests()) as object as Readonly<Record<string, Prepare>>;
  const prepared = prepare[id]?.(request, access) ?? { ok: true, params: {} };
  if (!prepared.ok) throw new UsageError(`${name}: ${prepared.error.message}.`, `See: call ${name} --list`);
  const risk = exposure?.(prepared.params);
  if (risk !== undefined && flags.allowExposure !== true) {
    throw new UsageError(`${name}: not sent: ${risk}.`, 'If you want that, add --allow-exposure.');
  }
  const connection = await connect(io, endpoint, flags, access);
  try {
    if (changes !== undefined) {
      printNote(io, `${endpoint.method} ${connection.baseUrls.join(' or ')}${endpoint.path}`);
      showBody(io, prepared.params, access.nonceMode === 'window' ? 'nonce, nonceWindow' : 'nonce');
      printWarning(io, caution?.(request) ?? `Beware: ${risk}.`);
      if (flags.yes !== true) await confirm(io, 'Send it?', 'nothing was sent');
    }
    const outcome = await send(connection.exchange, request, { signal: io.signal });
    report(io, endpoint, outcome, { request, json: flags.json });
  } finally {
    await connection.close();
  }
}

/** The client checks customer data (specification 4.1). Errors must not quote them, as the JSON parser's would. */
async function requestOf(endpoint: CallEndpoint, { param = [], customerFile }: Flags): Promise<Values> {
  const { name, parameters, takesCustomer, defaults } = endpoint;
  const given = readParameters(name, parameters, param);
  const request = { ...defaults?.(given), ...given };
  if (customerFile === undefined) return request;
  if (takesCustomer !== true)
    throw new UsageError(`${name}: takes no customer data.`, 'Leave out --customer-file.');
  const written = await readText('--customer-file', customerFile);
  try {
    return { ...request, customer: JSON.parse(written) };
  } catch {
    throw new UsageError('--customer-file: the file is not JSON.');
  }
}

/** Shows what will be sent; each sending adds more. */
function showBody(io: CliIo, body: Values, added: string): void {
  const hidden = '(from --customer-file, not shown)';
  const fields = Object.entries(body).map(
    ([name, value]) => [`  ${name}`, name === 'customer' ? hidden : JSON.stringify(value)] as const,
  );
  for (const line of fieldLines(io, 'stderr', fields)) printNote(io, line);
  printNote(io, paint(io, 'stderr', 'dim', `  and request, ${added} and the signature`));
}

const PREFIX = { failed: '', rejected: 'rejected: ', unknown: 'it is NOT KNOWN whether it took effect: ' };

/**
 * Reports the outcome of a call and sets the exit code. With `--json` every outcome is a line on standard output.
 * @throws CliError for a failure, or the signal's reason when Ctrl-C ended a call that had no effect.
 */
function report(
  io: CliIo,
  { name, view, afterUnknown }: CallEndpoint,
  outcome: AnyOutcome<unknown>,
  { request, json }: { readonly request: Values; readonly json: boolean | undefined },
): void {
  const { kind } = outcome;
  if (kind === 'ok' || kind === 'accepted') {
    const shown = view(outcome.value);
    io.setExitCode(EXIT.ok);
    if (json === true) return printExactJson(io, { endpoint: name, outcome: kind, ...shown.json });
    for (const line of shown.lines(io)) printLine(io, line);
    for (const note of shown.notes ?? []) printWarning(io, note);
    return;
  }
  const { error } = outcome;
  const isUnknown = kind === 'unknown';
  if (error.name === 'aborted' && io.signal.aborted && !isUnknown) throw io.signal.reason;
  const advice = isUnknown ? afterUnknown?.(request) : CURES[error.name];
  const exitCode = isUnknown ? EXIT.unknownOutcome : EXIT.failed;
  if (json !== true) {
    const message = `${name}: ${PREFIX[kind]}${errorWords(error)}.`;
    throw new CliError(error.name, message, { exitCode, cure: advice });
  }
  io.setExitCode(exitCode);
  printJson(io, { endpoint: name, outcome: kind, error, advice });
}

/** What to do about errors that the request did not cause. */
const CURES: Readonly<Record<string, string>> = {
  ...exchangeCures('--base-url'),
  permissionDenied: 'The exchange enables this per key: in its settings or through its support.',
  nonceRefused: 'Use the --nonce mode of the key, and --redis if others use the key too.',
  timeout: 'Try again, or raise --timeout-ms.',
  cancelledPartlyFilled: 'It was filled in part: read the positions.',
};

const COLUMNS = columnsOf('parameter', 'type', 'needed', 'meaning');

/** Prints `call --list`: each endpoint with its path, what it changes, and its parameters. */
function listEndpoints(io: CliIo, name: string | undefined, { json }: Flags): void {
  const endpoints = name === undefined ? CALL_ENDPOINTS : [findEndpoint(name)];
  if (json !== true)
    return printLine(io, endpoints.map((endpoint) => linesOf(io, endpoint).join('\n')).join('\n\n'));
  for (const { name, method, path, section, summary, changes = null, exposure, parameters } of endpoints) {
    const canOpenExposure = exposure !== undefined;
    printJson(io, { name, method, path, section, summary, changes, canOpenExposure, parameters });
  }
}

function linesOf(io: CliIo, { name, method, path, section, summary, changes, ...endpoint }: CallEndpoint) {
  const customer = endpoint.takesCustomer === true ? '; customer data from --customer-file' : '';
  const rows = endpoint.parameters.map(({ name, type, required, repeatable, note, aliases }) => [
    name,
    repeatable ? `${type}, repeatable` : type,
    required ? 'required' : '',
    [note, ...aliases.map((alias) => `also ${alias}`)].join('; '),
  ]);
  return [
    `${paint(io, 'stdout', 'bold', name)}  ${summary}`,
    `  ${method} ${path} (specification ${section})`,
    changes === undefined
      ? '  read: changes nothing'
      : `  ${paint(io, 'stdout', 'yellow', `${changes}: asks first, or --yes${customer}`)}`,
    ...(rows.length === 0 ? [] : tableLines(io, { columns: COLUMNS, rows }).map((line) => `    ${line}`)),
  ];
}

function endpointSummary(): string {
  const lines = CALL_ENDPOINTS.map(
    ({ name, summary, changes }) => `  ${name.padEnd(18)} ${changes === undefined ? ' ' : '*'} ${summary}`,
  );
  return lines.join('\n');
}

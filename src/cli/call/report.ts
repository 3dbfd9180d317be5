import type { ExchangeError } from '../../core/ports/exchange.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, paint, printJson, printLine, printNote } from '../io.ts';
import { fieldLines, printable, tableLines } from '../table.ts';
import type { CallEndpoint, CallResult, View } from './endpoint.ts';
import type { Values } from './parameters.ts';

type Failure = Extract<CallResult, { readonly error: ExchangeError }>;

/**
 * Shows what came of a call and sets the exit code. With `--json` every outcome is one line on standard
 * output, as the outcome is what was asked for; for people a failure is an error.
 * @throws CliError for a failure, or the signal's reason when Ctrl-C ended a call that had no effect.
 */
export function report(
  io: CliIo,
  endpoint: CallEndpoint,
  values: Values,
  result: CallResult,
  asJson: boolean,
): void {
  const { name } = endpoint;
  if (!('error' in result)) {
    if (asJson) printJson(io, { endpoint: name, outcome: result.kind, ...result.json });
    else showView(io, result.view);
    io.setExitCode(EXIT.ok);
    return;
  }
  const harmless = result.kind === 'failed' || result.error.effect === 'none';
  if (result.error.name === 'aborted' && io.signal.aborted && harmless) throw io.signal.reason;
  const advice = adviceFor(endpoint, values, result);
  const exitCode = result.kind === 'unknown' ? EXIT.unknownOutcome : EXIT.failed;
  if (!asJson) {
    const options = { exitCode, ...(advice === undefined ? {} : { cure: advice }) };
    throw new CliError(
      result.error.name,
      `${name}: ${PREFIX[result.kind]}${described(result.error)}.`,
      options,
    );
  }
  const shown = { endpoint: name, outcome: result.kind, error: result.error };
  printJson(io, advice === undefined ? shown : { ...shown, advice });
  io.setExitCode(exitCode);
}

const PREFIX: Readonly<Record<Failure['kind'], string>> = {
  failed: '',
  rejected: 'rejected: ',
  unknown: 'it is NOT KNOWN whether it took effect: ',
};

function showView(io: CliIo, { table, fields, text, notes = [] }: View): void {
  const lines = [
    ...(table === undefined ? [] : tableLines(io, table)),
    ...(fields === undefined ? [] : fieldLines(io, 'stdout', fields)),
    ...(text === undefined ? [] : [text]),
  ];
  for (const line of lines) printLine(io, line);
  for (const note of notes) printNote(io, paint(io, 'stderr', 'yellow', note));
}

/** The error's name, status, code, message and fields in one line. */
function described({
  name,
  message,
  httpStatus,
  code,
  fields = {},
  params = [],
  retryAfterMs,
}: ExchangeError): string {
  const details = [
    name,
    ...(httpStatus === undefined ? [] : [`HTTP ${httpStatus}`]),
    ...(code === undefined ? [] : [`code ${code}`]),
    ...(retryAfterMs === undefined ? [] : [`retry after ${Math.ceil(retryAfterMs / 1000)} s`]),
  ].join(', ');
  const named = Object.entries(fields).map(([field, texts]) => `${field}: ${texts.join(' ')}`);
  const said = [message.replace(/\.$/, ''), ...named, ...params].join('; ').replace(/\.$/, '');
  return printable(`${said} (${details})`);
}

/** What to do about errors that are not the request's fault. */
const CURES: Readonly<Record<string, string>> = {
  unauthenticated: 'Check that key and secret belong together and to this exchange.',
  permissionDenied: 'The exchange enables this per key: in its settings or through its support.',
  nonceRefused: 'Use the --nonce mode of the key, and --redis if others use the key too.',
  rateLimited: 'Wait a few seconds.',
  addressNotAllowed: 'Allow the address of this host in the settings of the key, its IPv6 address too.',
  gatewayRefused: 'Something in front of the exchange refused: try its other address.',
  nameNotResolved: 'Check --base-url, and the name servers of this host.',
  certificateRefused: 'Check --base-url, and whether something intercepts the connection.',
  connectionRefused: 'Check --base-url, and whether the exchange is running.',
  connectTimeout: 'Check --base-url, the network and the firewall.',
  connectFailed: 'Check --base-url, and whether the exchange is running.',
  timeout: 'Try again, or raise --timeout-ms.',
  cancelledPartlyFilled: 'It was filled in part: read the positions.',
};

function adviceFor(endpoint: CallEndpoint, values: Values, { kind, error }: Failure): string | undefined {
  if (kind === 'unknown') return endpoint.afterUnknown?.(values);
  return Object.hasOwn(CURES, error.name) ? CURES[error.name] : undefined;
}

import type { CommandOutcome, ReadOutcome } from '../../core/ports/exchange.ts';
import { CliError } from '../errors.ts';
import { errorWords, exchangeCures } from '../exchange-errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, printJson, printLine, printWarning } from '../io.ts';
import type { CallEndpoint } from './endpoints.ts';
import type { Values } from './parameters.ts';

const PREFIX = { failed: '', rejected: 'rejected: ', unknown: 'it is NOT KNOWN whether it took effect: ' };

/**
 * Shows what came of a call and sets the exit code. With `--json` every outcome is a line on standard output.
 * @throws CliError for a failure, or the signal's reason when Ctrl-C ended a call that had no effect.
 */
export function report(
  io: CliIo,
  { name, view, afterUnknown }: CallEndpoint,
  outcome: ReadOutcome<unknown> | CommandOutcome<unknown>,
  { request, json }: { readonly request: Values; readonly json: boolean | undefined },
): void {
  const { kind } = outcome;
  if (kind === 'ok' || kind === 'accepted') {
    const shown = view(outcome.value);
    io.setExitCode(EXIT.ok);
    if (json === true) return printJson(io, { endpoint: name, outcome: kind, ...shown.json });
    for (const line of shown.lines(io)) printLine(io, line);
    for (const note of shown.notes ?? []) printWarning(io, note);
    return;
  }
  const { error } = outcome;
  const isHarmless = kind === 'failed' || error.effect === 'none';
  if (error.name === 'aborted' && io.signal.aborted && isHarmless) throw io.signal.reason;
  const advice = kind === 'unknown' ? afterUnknown?.(request) : CURES[error.name];
  const exitCode = kind === 'unknown' ? EXIT.unknownOutcome : EXIT.failed;
  if (json !== true) {
    const message = `${name}: ${PREFIX[kind]}${errorWords(error)}.`;
    throw new CliError(error.name, message, { exitCode, cure: advice });
  }
  io.setExitCode(exitCode);
  printJson(io, { endpoint: name, outcome: kind, error, advice });
}

/** What to do about errors that are not the request's fault. */
const CURES: Readonly<Record<string, string>> = {
  ...exchangeCures('--base-url'),
  permissionDenied: 'The exchange enables this per key: in its settings or through its support.',
  nonceRefused: 'Use the --nonce mode of the key, and --redis if others use the key too.',
  timeout: 'Try again, or raise --timeout-ms.',
  cancelledPartlyFilled: 'It was filled in part: read the positions.',
};

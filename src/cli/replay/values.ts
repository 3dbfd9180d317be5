import { writeFile } from 'node:fs/promises';
import type { ReplayOptions } from '../../app.ts';
import { CliError, UsageError } from '../errors.ts';
import { type CliIo, printNote } from '../io.ts';
import { explainSimulatorError } from '../simulator-errors.ts';

/** What `replay` and `stress` read and write alike. */

/** @throws UsageError */
export function holdingsOf(
  io: CliIo,
  { positions, live }: { readonly positions?: readonly string[]; readonly live?: boolean },
): ReplayOptions['holdings'] {
  if (positions === undefined && live !== true) {
    throw new UsageError('say what the accounts hold: --positions FILE, --live, or both.');
  }
  return {
    files: (positions ?? []).map(positionsOf),
    ...(live === true ? { live: { signal: io.signal } } : {}),
  };
}

/** `ACCOUNT=FILE` where what stands before it can be an account. */
function positionsOf(text: string): { readonly file: string; readonly accountId?: string } {
  const [, accountId, file] = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,47})=(.+)$/.exec(text) ?? [];
  return accountId === undefined || file === undefined ? { file: text } : { accountId, file };
}

/** `NAME=VALUE`. @throws UsageError */
export function pair(option: string, text: string, example: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(`${option} ${text}: expected NAME=VALUE, such as ${example}.`);
}

/** Unix milliseconds. @throws UsageError */
export function momentOf(
  parse: (text: string) => number | undefined,
  option: string,
  text: string | undefined,
): number | undefined {
  if (text === undefined) return undefined;
  const atMs = parse(text);
  if (atMs !== undefined) return atMs;
  throw new UsageError(
    `${option} ${text}: expected a time such as 2020-03-12, 2020-03-12T10:00 or 1584006300000.`,
  );
}

export async function writeReport(io: CliIo, file: string, html: string): Promise<void> {
  await writeFile(file, html).catch((error: NodeJS.ErrnoException) => {
    throw new CliError('file-unwritable', `cannot write ${file}: ${error.message}.`, { cause: error });
  });
  printNote(io, `Report: ${file}`);
}

export function explainReplayError(error: unknown): unknown {
  const isInput = error instanceof Error && error.name === 'ReplayInputError';
  if (!isInput) return explainSimulatorError(error);
  return new CliError('input-refused', `nothing was played:\n${error.message}`, { cause: error });
}

import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ReplayOptions } from '../../app.ts';
import { CliError, UsageError } from '../errors.ts';
import { type CliIo, printNote } from '../io.ts';
import { refuseToSimulate } from '../simulator-errors.ts';

/** Flags of the commands that play something. */
export interface PlayFlags {
  readonly config: string;
  readonly positions?: readonly string[];
  readonly live?: boolean;
  readonly seed: number;
  readonly out?: string;
  readonly json?: boolean;
}

/** @throws UsageError */
export function holdingsOf(io: CliIo, { positions, live }: PlayFlags): ReplayOptions['holdings'] {
  if (positions === undefined && live !== true) {
    throw new UsageError('say what the accounts hold: --positions FILE, --live, or both.');
  }
  return {
    files: (positions ?? []).map(positionsOf),
    ...(live === true ? { live: { signal: io.signal } } : {}),
  };
}

/** `ACCOUNT=FILE` if the part before `=` can be an account. */
function positionsOf(text: string): { readonly file: string; readonly accountId?: string } {
  const [, accountId, file] = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,47})=(.+)$/.exec(text) ?? [];
  return accountId === undefined || file === undefined ? { file: text } : { accountId, file };
}

/** Several `NAME=VALUE`, each name once. @throws UsageError */
export function pairs(option: string, texts: readonly string[], example: string) {
  const found = texts.map((text) => {
    const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, value] as const;
    throw new UsageError(`${option} ${text}: expected NAME=VALUE, such as ${example}.`);
  });
  const names = found.map(([name]) => name);
  requireOnce(option, names);
  return found;
}

/** @throws UsageError for a repeated value: one of the two would be ignored */
export function requireOnce(option: string, values: readonly string[]): void {
  const twice = values.find((value, index) => values.indexOf(value) < index);
  if (twice !== undefined) throw new UsageError(`${option} ${twice}: expected it once, got it again.`);
}

/** In Unix milliseconds. @throws UsageError */
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

/** Checked before a long run, not after it. @throws CliError */
export async function requireFolderOf(file: string | undefined): Promise<void> {
  if (file === undefined) return;
  const folder = path.dirname(path.resolve(file));
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true)
    throw new CliError('file-unwritable', `cannot write ${file}: there is no folder ${folder}.`);
}

export async function writeReport(io: CliIo, file: string, html: string): Promise<void> {
  await writeFile(file, html).catch((error: NodeJS.ErrnoException) => {
    throw new CliError('file-unwritable', `cannot write ${file}: ${error.message}.`, { cause: error });
  });
  printNote(io, `Report: ${file}`);
}

/** Turns an error into the reason why nothing was played. */
export function refuseToPlay(error: unknown): never {
  const isInput = error instanceof Error && error.name === 'ReplayInputError';
  if (!isInput) refuseToSimulate(error);
  throw new CliError('input-refused', `nothing was played:\n${error.message}`, { cause: error });
}

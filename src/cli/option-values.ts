import { readFile } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { CliError } from './errors.ts';

/** Readers of option values, for several commands. */

export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** For an option that may be given several times. */
export function collect(text: string, previous: readonly string[] = []): string[] {
  return [...previous, text];
}

/** As names are in the config. */
export function isConfigName(text: string): boolean {
  return /^(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$/.test(text);
}

export function configName(text: string): string {
  if (isConfigName(text)) return text;
  throw new InvalidArgumentError(
    'A name has letters, digits, dots, dashes and underscores, at most 48, at least one letter.',
  );
}

/** The text of the file that an option names; its path is not shown, as it may be a secret by mistake. */
export async function readText(flag: string, file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(({ code = 'unknown' }: NodeJS.ErrnoException) => {
    const cure = 'Give it a readable file.';
    throw new CliError('file-unreadable', `cannot read the file of ${flag} (${code}).`, { cure });
  });
}

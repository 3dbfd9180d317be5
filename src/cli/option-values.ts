import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, Option } from 'commander';
import { isWebAddress } from '../app.ts';
import { CliError, UsageError } from './errors.ts';

/** Readers of option values, for several commands. */

/** Where `--config` names no file. */
export const DEFAULT_CONFIG = 'breakwater.yaml';

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

/** Several known words, separated by commas. `what`: their kind, for errors. */
export function someOf<T extends string>(known: readonly T[], what: string): (text: string) => readonly T[] {
  const read = (word: string): T => {
    const found = known.find((one) => one === word);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`${JSON.stringify(word)} is no ${what}; there are ${known.join(', ')}.`);
  };
  return (text) => text.split(',').map((word) => read(word.trim()));
}

/** For `--readings`, where `live` alone is all of the live service. */
export function collectReading(text: string, previous: readonly string[] = []): string[] {
  return collect(text === 'live' ? 'profile=live' : text, previous);
}

/** An open reading of the specification; those in milliseconds are numbers. */
export function reading([name, value]: readonly [string, string]): readonly [string, unknown] {
  return [name, name.endsWith('Ms') && /^\d+$/.test(value) ? Number(value) : value];
}

/** An option that is always refused, so that its value is not repeated in an error about an unknown option. */
export function refusedSecret(flags: string, cure: string): Option {
  const refuse = (): never => {
    throw new UsageError(
      'key and secret are not taken from flags, which other users and the history of the shell can see.',
      cure,
    );
  };
  return new Option(flags).hideHelp().preset('').argParser(refuse);
}

/** The nonce mode that the exchange requires of a key. */
export function nonceOption(): Option {
  const modes = ['unique', 'increasing', 'window'];
  return new Option('--nonce <mode>', 'nonce mode of the key').choices(modes).default('unique');
}

export const WEB_ADDRESS = 'an http or https address without user, query or fragment';

/** Removes trailing slashes. The error omits the text, which may hold a password. @throws UsageError */
export function webAddress(flag: string, text: string): string {
  if (isWebAddress(text)) return text.replace(/(?<!\/)\/+$/, '');
  throw new UsageError(`${flag}: expected ${WEB_ADDRESS}.`);
}

/** The daemon gets a token: never in the clear to another machine. */
export function daemonUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHere = url !== undefined && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  const isFit = url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere);
  if (url === undefined || !isFit || url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('Expected http://127.0.0.1:PORT, or https:// elsewhere.');
  return url.origin;
}

/** The config's syntax of names. */
export function isConfigName(text: string): boolean {
  return /^(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$/.test(text);
}

export function configName(text: string): string {
  if (isConfigName(text)) return text;
  throw new InvalidArgumentError(
    'A name has letters, digits, dots, dashes and underscores, at most 48, at least one letter.',
  );
}

/** Reads the file that an option names. Its path is not shown, as it may be a secret by mistake. */
export async function readText(flag: string, file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(({ code = 'unknown' }: NodeJS.ErrnoException) => {
    const cure = 'Give it a readable file.';
    throw new CliError('file-unreadable', `cannot read the file of ${flag} (${code}).`, { cure });
  });
}

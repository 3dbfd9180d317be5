import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { CliError, UsageError } from '../errors.ts';
import type { CliIo } from '../io.ts';
import { readText } from '../option-values.ts';
import type { Prompter } from './prompter.ts';

/** Where a secret is, as a config writes it. */
export type WrittenReference = { readonly file: string } | { readonly env: string };

export interface SecretSource {
  readonly written: WrittenReference;
  /** Empty: it is not available here. */
  readonly value: string;
  /** The file to create for a secret that was typed or generated. */
  readonly newFile?: string;
}

/** A secret that is needed, and the ways to give it. */
export interface WantedSecret {
  /** For people: `API key`. */
  readonly name: string;
  /** The two options that name it, for errors. */
  readonly fileFlag: string;
  readonly envFlag: string;
  readonly file?: string | undefined;
  readonly env?: string | undefined;
  /** File beside the config for a typed secret. */
  readonly newFile: string;
}

export interface SecretPlace {
  readonly io: CliIo;
  /** The config file; paths in it are relative to its folder. */
  readonly configFile: string;
  /** Whether an unavailable secret is an error. */
  readonly isNeeded: boolean;
}

/** From a file, a variable, or a hidden answer. @throws CliError, UsageError; no error repeats a value */
export async function secretSource(
  wanted: WantedSecret,
  place: SecretPlace,
  prompter: Prompter | undefined,
): Promise<SecretSource> {
  const { name, fileFlag, envFlag, file, env } = wanted;
  if (file !== undefined && env !== undefined) {
    throw new UsageError(`${fileFlag} and ${envFlag}: expected one of them, got both.`);
  }
  if (file !== undefined) return await fromFile(file, fileFlag, place);
  if (env !== undefined) return fromVariable(env, envFlag, place);
  if (prompter === undefined) throw new UsageError(`missing: ${fileFlag} FILE or ${envFlag} NAME.`);
  const newFile = path.join(path.dirname(place.configFile), wanted.newFile);
  await requireAbsent(newFile, `Move it away, or name it with ${fileFlag}.`);
  const value = await prompter.askHidden(name);
  return { written: { file: wanted.newFile }, value, newFile };
}

/** Generates a secret beside the config, or uses the existing one: a daemon and all its commands share it. */
export async function madeUpSecret(configFile: string, file: string): Promise<SecretSource> {
  const newFile = path.join(path.dirname(configFile), file);
  const written = { file };
  if ((await stat(newFile).catch(() => undefined)) !== undefined) return { written, value: '' };
  return { written, value: randomBytes(32).toString('hex'), newFile };
}

async function fromFile(
  file: string,
  flag: string,
  { configFile, isNeeded }: SecretPlace,
): Promise<SecretSource> {
  const text = await readText(flag, file).catch((error: CliError) => {
    if (isNeeded) throw error;
    return '';
  });
  const value = text.trim();
  if (value === '' && isNeeded) throw new CliError('secret-missing', `the file of ${flag} is empty.`);
  return { written: { file: pathFrom(configFile, file) }, value };
}

/** A path as the config must write it: relative to its folder. */
export function pathFrom(configFile: string, file: string): string {
  if (path.isAbsolute(file)) return file;
  return path.relative(path.dirname(path.resolve(configFile)), path.resolve(file));
}

function fromVariable(name: string, flag: string, { io, isNeeded }: SecretPlace): SecretSource {
  if (!/^[A-Za-z_]\w{0,99}$/.test(name)) {
    // The text given as a name may be the secret itself.
    throw new UsageError(`${flag}: expected the name of a variable such as DESK1_API_KEY.`);
  }
  const value = Object.hasOwn(io.env, name) ? (io.env[name] ?? '').trim() : '';
  if (value !== '' || !isNeeded) return { written: { env: name }, value };
  const cure = 'Set it, or write the config without asking the exchange: --offline.';
  throw new CliError('secret-missing', `the variable that ${flag} names is not set here.`, { cure });
}

/** @throws CliError if the file exists */
export async function requireAbsent(file: string, cure: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  throw new CliError('file-exists', `${file} is there already, and init overwrites nothing.`, { cure });
}

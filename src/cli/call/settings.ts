import { readFile } from 'node:fs/promises';
import { isWebAddress } from '../../app.ts';
import { CliError, UsageError } from '../errors.ts';
import type { CliIo } from '../io.ts';
import { redisAddress } from '../operate/place.ts';

/** Names of what the environment can say; a flag of the same meaning wins. */
export const ENVIRONMENT = {
  baseUrls: 'BREAKWATER_BASE_URL',
  apiKey: 'BREAKWATER_API_KEY',
  apiSecret: 'BREAKWATER_API_SECRET',
  redisUrl: 'BREAKWATER_REDIS_URL',
} as const;

type Env = CliIo['env'];

/** Addresses from flags, else from the environment, separated by commas or spaces. @throws UsageError */
export function baseUrlsOf(flags: readonly string[] | undefined, env: Env): readonly string[] {
  const given = flags ?? (env[ENVIRONMENT.baseUrls] ?? '').split(/[\s,]+/).filter((text) => text !== '');
  if (given.length === 0) {
    const cure = `Add --base-url URL or set ${ENVIRONMENT.baseUrls}; a simulated one: breakwater simulate.`;
    throw new UsageError('no exchange is named.', cure);
  }
  // Said without the text, which may hold a password, and before it could be shown.
  if (!given.every(isWebAddress)) {
    throw new UsageError('--base-url: expected an http or https address without user, query or fragment.');
  }
  return given.map((url) => url.replace(/(?<!\/)\/+$/, ''));
}

/** A key pair from files, else from the environment. @throws UsageError naming what is missing */
export async function credentialsOf(
  { apiKeyFile, apiSecretFile }: { readonly apiKeyFile?: string; readonly apiSecretFile?: string },
  env: Env,
): Promise<{ readonly apiKey: string; readonly apiSecret: string }> {
  const missing: string[] = [];
  const read = async (what: 'key' | 'secret', variable: string, file: string | undefined) => {
    const flag = `--api-${what}-file`;
    const text = file === undefined ? (env[variable] ?? '') : await readText(file, flag);
    if (text.trim() === '') missing.push(`the API ${what} (${variable} or ${flag})`);
    return text.trim();
  };
  const apiKey = await read('key', ENVIRONMENT.apiKey, apiKeyFile);
  const apiSecret = await read('secret', ENVIRONMENT.apiSecret, apiSecretFile);
  if (missing.length === 0) return { apiKey, apiSecret };
  throw new UsageError(`missing: ${missing.join(' and ')}.`, 'Secrets are never taken from a flag.');
}

/** A Redis address from the flag, else from the environment. @throws UsageError */
export function redisUrlOf(flag: string | undefined, env: Env): string | undefined {
  const inEnvironment = (env[ENVIRONMENT.redisUrl] ?? '') === '' ? undefined : `env:${ENVIRONMENT.redisUrl}`;
  const written = flag ?? inEnvironment;
  return written === undefined ? undefined : redisAddress(written, env);
}

const CUSTOMER = ['firstName', 'lastName', 'email', 'birthDate', 'address'];
const ADDRESS = ['line1', 'line2', 'city', 'zipCode', 'countryCode'];

/** Customer data of specification 4.1: neither its values nor, as the file may be another one, its names are shown. */
export async function customerOf(file: string): Promise<object> {
  const text = await readText(file, '--customer-file');
  let customer: unknown;
  try {
    customer = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw new UsageError('--customer-file: the file is not JSON.');
  }
  if (hasOnly(customer, CUSTOMER) && hasOnly(customer['address'], ADDRESS)) {
    if (Object.values(customer['address']).every((value) => typeof value === 'string')) return customer;
  }
  throw new UsageError(
    `--customer-file: expected a JSON object with ${CUSTOMER.join(', ')} and nothing else; ` +
      `address is an object with ${ADDRESS.join(', ')} (line2 may be missing); all of them texts.`,
  );
}

function hasOnly(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.keys(value).every((name) => names.includes(name));
}

async function readText(file: string, flag: string): Promise<string> {
  return await readFile(file, 'utf8').catch(({ code = 'unknown' }: NodeJS.ErrnoException) => {
    const cure = 'Give it a readable file.';
    throw new CliError('file-unreadable', `cannot read the file of ${flag} (${code}).`, { cure });
  });
}

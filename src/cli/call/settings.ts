import { readFile } from 'node:fs/promises';
import { CliError, UsageError } from '../errors.ts';
import type { CliIo } from '../io.ts';

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
    throw new UsageError(
      'no exchange is named.',
      `Add --base-url URL or set ${ENVIRONMENT.baseUrls}; a simulated one: breakwater simulate.`,
    );
  }
  // Said without the text, which may hold a password, and before it could be shown.
  if (!given.every(isWebAddress)) {
    throw new UsageError('--base-url: expected an http or https address without user, query or fragment.');
  }
  return given.map((url) => url.replace(/\/+$/, ''));
}

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === '';
}

/** A key pair from files, else from the environment. @throws UsageError naming what is missing */
export async function credentialsOf(
  files: { readonly apiKeyFile?: string; readonly apiSecretFile?: string },
  env: Env,
): Promise<{ readonly apiKey: string; readonly apiSecret: string }> {
  const apiKey = await secretOf(files.apiKeyFile, '--api-key-file', env[ENVIRONMENT.apiKey]);
  const apiSecret = await secretOf(files.apiSecretFile, '--api-secret-file', env[ENVIRONMENT.apiSecret]);
  const missing = [
    ...(apiKey === '' ? [`the API key (${ENVIRONMENT.apiKey} or --api-key-file)`] : []),
    ...(apiSecret === '' ? [`the API secret (${ENVIRONMENT.apiSecret} or --api-secret-file)`] : []),
  ];
  if (missing.length > 0) {
    throw new UsageError(`missing: ${missing.join(' and ')}.`, 'Secrets are never taken from a flag.');
  }
  return { apiKey, apiSecret };
}

async function secretOf(file: string | undefined, flag: string, fromEnv: string | undefined) {
  return (file === undefined ? (fromEnv ?? '') : await readText(file, flag)).trim();
}

/** A Redis address from the flag, else from the environment; it may hold a password and is never shown. */
export function redisUrlOf(flag: string | undefined, env: Env): string | undefined {
  const url = flag ?? env[ENVIRONMENT.redisUrl];
  if (url === undefined || url === '') return undefined;
  if (URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol)) return url;
  throw new UsageError('--redis: expected an address such as redis://127.0.0.1:6379/0.');
}

const CUSTOMER = ['firstName', 'lastName', 'email', 'birthDate', 'address'];
const ADDRESS = ['line1', 'line2', 'city', 'zipCode', 'countryCode'];

/**
 * Customer data of specification 4.1. What is in the file appears in no message: neither its values nor,
 * as the file may be another one than was meant, its names.
 */
export async function customerOf(file: string): Promise<Readonly<Record<string, unknown>>> {
  const customer = parsed(await readText(file, '--customer-file'));
  const address = isObject(customer) ? customer['address'] : undefined;
  if (isObject(customer) && isObject(address) && within(customer, CUSTOMER) && within(address, ADDRESS)) {
    if (Object.values(address).every((value) => typeof value === 'string')) return customer;
  }
  throw new UsageError(
    `--customer-file: expected a JSON object with ${CUSTOMER.join(', ')} and nothing else; ` +
      `address is an object with ${ADDRESS.join(', ')} (line2 may be missing); all of them texts.`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw new UsageError('--customer-file: the file is not JSON.');
  }
}

function within(value: Readonly<Record<string, unknown>>, known: readonly string[]): boolean {
  return Object.keys(value).every((name) => known.includes(name));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function readText(file: string, flag: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CliError('file-unreadable', `cannot read the file of ${flag} (${code}).`, {
      cure: 'Give it a readable file.',
    });
  }
}

import { isWebAddress } from '../../app.ts';
import { concealer } from '../../core/redaction/conceal.ts';
import { UsageError } from '../errors.ts';
import type { CliIo } from '../io.ts';
import { redisAddress } from '../operate/place.ts';
import { isConfigName, WEB_ADDRESS, webAddress } from '../option-values.ts';
import type { InitFlags } from './flags.ts';
import type { Prompter } from './prompter.ts';
import {
  pathFrom,
  type SecretSource,
  secretSource,
  type WantedSecret,
  type WrittenReference,
} from './secret-sources.ts';

export type ChosenAccess = Awaited<ReturnType<typeof chooseAccess>>;

/** @throws UsageError naming everything that is missing, if nobody can be asked */
export async function chooseAccess(io: CliIo, flags: InitFlags, prompter: Prompter | undefined) {
  const redis = redisOf(io, flags);
  const urls = flags.exchange?.map(readUrl);
  if (prompter === undefined) requireComplete(flags);
  const baseUrls = urls ?? [await askUrl(prompter)];
  const account = flags.account ?? (await askAccount(prompter));
  const place = { io, configFile: flags.out, isNeeded: flags.offline !== true };
  const wanted = wantedKeys(account, flags);
  const apiKey = await secretSource(wanted.apiKey, place, prompter);
  const apiSecret = await secretSource(wanted.apiSecret, place, prompter);
  io.hide?.(concealer([apiKey.value, apiSecret.value]));
  return { baseUrls, nonce: flags.nonce, account, apiKey, apiSecret, redis };
}

/** Asks again for secrets that were typed; those from a file or a variable stay. */
export async function retypedKeys(
  io: CliIo,
  { account, apiKey, apiSecret }: ChosenAccess,
  prompter: Prompter,
): Promise<Pick<ChosenAccess, 'apiKey' | 'apiSecret'>> {
  const names = wantedKeys(account, {});
  const again = async (source: SecretSource, { name }: WantedSecret): Promise<SecretSource> =>
    source.newFile === undefined ? source : { ...source, value: await prompter.askHidden(name) };
  const key = await again(apiKey, names.apiKey);
  const secret = await again(apiSecret, names.apiSecret);
  io.hide?.(concealer([key.value, secret.value]));
  return { apiKey: key, apiSecret: secret };
}

type KeyFlags = Pick<InitFlags, 'keyFile' | 'keyEnv' | 'secretFile' | 'secretEnv'>;

function wantedKeys(account: string, { keyFile, keyEnv, secretFile, secretEnv }: KeyFlags) {
  const wanted = (word: 'key' | 'secret', file?: string, env?: string): WantedSecret => ({
    name: `API ${word}`,
    fileFlag: `--${word}-file`,
    envFlag: `--${word}-env`,
    file,
    env,
    newFile: `${account}.${word}`,
  });
  return { apiKey: wanted('key', keyFile, keyEnv), apiSecret: wanted('secret', secretFile, secretEnv) };
}

/** Names all missing flags at once, so that a script is corrected once. @throws UsageError */
function requireComplete(flags: InitFlags): void {
  const { exchange, account, keyFile, keyEnv, secretFile, secretEnv, leverage } = flags;
  const missing = [
    ...(exchange === undefined ? ['--exchange URL'] : []),
    ...(account === undefined ? ['--account ID'] : []),
    ...(keyFile === undefined && keyEnv === undefined ? ['--key-file FILE or --key-env NAME'] : []),
    ...(secretFile === undefined && secretEnv === undefined
      ? ['--secret-file FILE or --secret-env NAME']
      : []),
    ...(leverage === undefined ? ['--leverage NUMBER'] : []),
  ];
  if (missing.length === 0) return;
  const cure = 'Standard input is not a terminal, so nothing can be asked.';
  throw new UsageError(`missing: ${missing.join(', ')}.`, cure);
}

const readUrl = (text: string) => webAddress('--exchange', text);

async function askUrl(prompter: Prompter | undefined): Promise<string> {
  return await asking(prompter).ask({
    text: 'Address of the exchange',
    expected: WEB_ADDRESS,
    read: (text) => (isWebAddress(text) ? readUrl(text) : undefined),
  });
}

async function askAccount(prompter: Prompter | undefined): Promise<string> {
  return await asking(prompter).ask({
    text: 'Name of the account, for you to choose',
    fallback: 'desk-1',
    expected: 'letters, digits, dots, dashes and underscores, at most 48, at least one letter',
    read: (text) => (isConfigName(text) ? text : undefined),
  });
}

/** Without a prompter, everything needed was required before. */
function asking(prompter: Prompter | undefined): Prompter {
  if (prompter === undefined) throw new TypeError('nobody can be asked');
  return prompter;
}

/** @throws UsageError */
function redisOf(io: CliIo, { redis, out }: InitFlags): string | WrittenReference | undefined {
  if (redis === undefined) return undefined;
  const [, kind, name = ''] = /^(env|file):(.+)$/.exec(redis) ?? [];
  if (kind === 'env') return { env: name };
  return kind === 'file' ? { file: pathFrom(out, name) } : redisAddress(redis, io.env);
}

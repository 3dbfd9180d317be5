import { type ChannelKey, type ChannelType, channelKeys } from '../../app.ts';
import { UsageError } from '../errors.ts';
import type { Prompter } from './prompter.ts';
import { type SecretPlace, type SecretSource, secretSource } from './secret-sources.ts';

/** Description of each channel type, for a question. */
const ABOUT: Readonly<Record<ChannelType, string>> = {
  slack: 'Slack, Mattermost',
  telegram: 'a bot of Telegram',
  ntfy: 'phones',
  email: 'e-mail',
  discord: 'a webhook of Discord',
  teams: 'a workflow of Microsoft Teams',
  pagerduty: 'on-call',
  opsgenie: 'on-call',
  webhook: 'an address of your own',
  alertmanager: "Prometheus' Alertmanager",
};

const LOG = 'log';
export const CHANNEL_TYPES: readonly string[] = [LOG, ...Object.keys(ABOUT)];

function isChannelType(text: string): text is ChannelType {
  return Object.hasOwn(ABOUT, text);
}

/** A channel other than `log`, which always exists. Its keys are in the order of the config. */
export type ChosenChannel = NonNullable<Awaited<ReturnType<typeof chooseChannel>>>;

/** The channel that `--channel` gives, with missing keys asked for; undefined: only the log. @throws UsageError */
export async function chooseChannel(
  written: string | undefined,
  place: SecretPlace,
  prompter: Prompter | undefined,
) {
  const [type = LOG, ...settings] = written === undefined ? [await askType(prompter)] : written.split(',');
  if (type === LOG && settings.length === 0) return undefined;
  if (!isChannelType(type)) {
    throw new UsageError(`--channel ${type}: expected one of ${CHANNEL_TYPES.join(', ')}.`);
  }
  const known = await channelKeys(type);
  const given = new Map(settings.map((text) => readSetting(type, known, text)));
  const keys: [string, string | number | SecretSource][] = [];
  for (const [key, { isNeeded, kind }] of Object.entries(known)) {
    const value = given.get(key);
    if ((value === undefined && !isNeeded) || kind === 'list') continue;
    keys.push([key, await valueOf({ type, key, kind, value }, place, prompter)]);
  }
  return { type, keys };
}

async function askType(prompter: Prompter | undefined): Promise<string> {
  if (prompter === undefined) return LOG;
  const kinds = Object.entries(ABOUT).map(([type, about]) => `${type} (${about})`);
  return await prompter.ask({
    text: `Where to tell people: ${kinds.join(', ')}, or only the log`,
    fallback: LOG,
    expected: `one of ${CHANNEL_TYPES.join(', ')}`,
    read: (text) => CHANNEL_TYPES.find((type) => type === text),
  });
}

/** Errors repeat no value, which may be a secret. @throws UsageError */
function readSetting(
  type: string,
  known: Readonly<Record<string, ChannelKey>>,
  text: string,
): readonly [string, string] {
  const equals = text.indexOf('=');
  const key = equals < 1 ? '' : text.slice(0, equals);
  const kind = Object.hasOwn(known, key) ? known[key]?.kind : undefined;
  if (kind === 'list') {
    const cure = 'Leave it out here, and write it into the config afterwards: docs/notifications.md.';
    throw new UsageError(`--channel ${type}: ${key} is a list, which init does not write.`, cure);
  }
  if (kind !== undefined) return [key, text.slice(equals + 1)];
  const names = Object.keys(known).filter((name) => known[name]?.kind !== 'list');
  throw new UsageError(`--channel ${type}: expected KEY=VALUE, with one of ${names.join(', ')}.`);
}

type WrittenKind = Exclude<ChannelKey['kind'], 'list'>;

interface WantedValue {
  readonly type: string;
  readonly key: string;
  readonly kind: WrittenKind;
  readonly value: string | undefined;
}

async function valueOf(
  { type, key, kind, value }: WantedValue,
  place: SecretPlace,
  prompter: Prompter | undefined,
): Promise<string | number | SecretSource> {
  const flag = `--channel ${type},${key}=`;
  const [, from, name = ''] = /^(env|file):(.+)$/.exec(value ?? '') ?? [];
  if (value !== undefined && from === undefined) {
    if (kind !== 'secret') return written(kind, value);
    const cure = `Say ${key}=env:NAME or ${key}=file:PATH.`;
    throw new UsageError(`${flag}: a secret is not taken from the command line.`, cure);
  }
  if ((kind === 'text' || kind === 'number') && value === undefined && prompter !== undefined) {
    const read = (text: string) => text || undefined;
    return written(kind, await prompter.ask({ text: `${type}: ${key}`, expected: 'a text', read }));
  }
  if (value === undefined && prompter === undefined) {
    const cure = `Say --channel ${type},${key}=${EXAMPLES[kind]}`;
    throw new UsageError(`--channel ${type}: missing ${key}.`, cure);
  }
  return await secretSource(
    {
      name: `${type}: ${key}`,
      fileFlag: `${flag}file:`,
      envFlag: `${flag}env:`,
      file: from === 'file' ? name : undefined,
      env: from === 'env' ? name : undefined,
      newFile: `${type}-${key}`,
    },
    place,
    prompter,
  );
}

/** A text that is not a number is left to the config's check. */
function written(kind: WrittenKind, value: string): string | number {
  return kind === 'number' && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

const EXAMPLES: Readonly<Record<WrittenKind, string>> = {
  secret: 'file:PATH, or env:NAME instead',
  address: 'https://...',
  number: '...',
  text: '...',
};

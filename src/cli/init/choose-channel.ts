import { UsageError } from '../errors.ts';
import type { ChosenChannel, SecretSource } from './decisions.ts';
import type { Prompter } from './prompter.ts';
import { type SecretPlace, secretSource } from './secret-sources.ts';

/** `secret`: only as a reference. `address`: also in place. `text`: only in place. */
type KeyKind = 'secret' | 'address' | 'text';

interface ChannelKind {
  readonly needs: Readonly<Record<string, KeyKind>>;
  readonly takes?: Readonly<Record<string, KeyKind>>;
  /** The kind in words, for a question. */
  readonly about: string;
}

/** What each type of channel has to be told; the config knows more keys. */
export const CHANNEL_KINDS: Readonly<Record<string, ChannelKind>> = {
  slack: { about: 'Slack, Mattermost', needs: { url: 'secret' } },
  telegram: { about: 'a bot of Telegram', needs: { token: 'secret', chat: 'text' } },
  ntfy: { about: 'phones', needs: { topic: 'secret' }, takes: { token: 'secret', server: 'text' } },
  email: {
    about: 'e-mail',
    needs: { server: 'text', from: 'text', to: 'text' },
    takes: { user: 'text', password: 'secret' },
  },
  discord: { about: 'a webhook of Discord', needs: { url: 'secret' } },
  teams: { about: 'a workflow of Microsoft Teams', needs: { url: 'secret' } },
  pagerduty: { about: 'on-call', needs: { routingKey: 'secret' }, takes: { api: 'text' } },
  opsgenie: { about: 'on-call', needs: { apiKey: 'secret' }, takes: { api: 'text' } },
  webhook: { about: 'an address of your own', needs: { url: 'address' }, takes: { secret: 'secret' } },
  alertmanager: { about: "Prometheus' Alertmanager", needs: { urls: 'text' } },
};

const LOG = 'log';
export const CHANNEL_TYPES: readonly string[] = [LOG, ...Object.keys(CHANNEL_KINDS)];

/** As `--channel` says it, completed and else asked for; undefined: only the log. @throws UsageError */
export async function chooseChannel(
  written: string | undefined,
  place: SecretPlace,
  prompter: Prompter | undefined,
): Promise<ChosenChannel | undefined> {
  const [type = LOG, ...settings] = written === undefined ? [await askType(prompter)] : written.split(',');
  if (type === LOG && settings.length === 0) return undefined;
  const kind = Object.hasOwn(CHANNEL_KINDS, type) ? CHANNEL_KINDS[type] : undefined;
  if (kind === undefined) {
    throw new UsageError(`--channel ${type}: expected one of ${CHANNEL_TYPES.join(', ')}.`);
  }
  const given = new Map(settings.map((text) => readSetting(type, kind, text)));
  const keys: [string, string | SecretSource][] = [];
  const wanted = { ...kind.needs, ...kind.takes };
  for (const [key, keyKind] of Object.entries(wanted)) {
    const value = given.get(key);
    if (value === undefined && !(key in kind.needs)) continue;
    keys.push([key, await valueOf({ type, key, kind: keyKind, value }, place, prompter)]);
  }
  return { type, keys };
}

async function askType(prompter: Prompter | undefined): Promise<string> {
  if (prompter === undefined) return LOG;
  const kinds = Object.entries(CHANNEL_KINDS).map(([type, { about }]) => `${type} (${about})`);
  return await prompter.ask({
    text: `Where to tell people: ${kinds.join(', ')}, or only the log`,
    fallback: LOG,
    read: (text) =>
      CHANNEL_TYPES.includes(text)
        ? { ok: true, value: text }
        : { ok: false, expected: `one of ${CHANNEL_TYPES.join(', ')}` },
  });
}

/** No error repeats a value, which may be a secret. @throws UsageError */
function readSetting(type: string, { needs, takes }: ChannelKind, text: string): readonly [string, string] {
  const equals = text.indexOf('=');
  const key = equals < 1 ? '' : text.slice(0, equals);
  const known = Object.keys({ ...needs, ...takes });
  if (known.includes(key)) return [key, text.slice(equals + 1)];
  throw new UsageError(`--channel ${type}: expected KEY=VALUE, with one of ${known.join(', ')}.`);
}

interface WantedValue {
  readonly type: string;
  readonly key: string;
  readonly kind: KeyKind;
  readonly value: string | undefined;
}

async function valueOf(
  { type, key, kind, value }: WantedValue,
  place: SecretPlace,
  prompter: Prompter | undefined,
): Promise<string | SecretSource> {
  const flag = `--channel ${type},${key}=`;
  const [, from, name = ''] = /^(env|file):(.+)$/.exec(value ?? '') ?? [];
  if (value !== undefined && from === undefined) {
    if (kind !== 'secret') return value;
    throw new UsageError(
      `${flag}: a secret is not taken from the command line.`,
      `Say ${key}=env:NAME or ${key}=file:PATH.`,
    );
  }
  if (kind === 'text' && value === undefined && prompter !== undefined) {
    const read = (text: string) =>
      text === '' ? ({ ok: false, expected: 'a text' } as const) : ({ ok: true, value: text } as const);
    return await prompter.ask({ text: `${type}: ${key}`, read });
  }
  if (value === undefined && prompter === undefined) {
    throw new UsageError(
      `--channel ${type}: missing ${key}.`,
      `Say --channel ${type},${key}=${EXAMPLES[kind]}`,
    );
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

const EXAMPLES: Readonly<Record<KeyKind, string>> = {
  secret: 'file:PATH, or env:NAME instead',
  address: 'https://...',
  text: '...',
};

import { z } from 'zod';
import { LOG_CHANNEL } from '../core/ports/delivery.ts';
import { suggest } from '../core/text/suggest.ts';
import type { Path } from './problem.ts';
import { type Resolved, resolved, type SecretContext } from './secrets.ts';
import { type ByKind, readByKind } from './shape/by-kind.ts';
import { complain, didYouMean, problemAt, type Reporting, readShape } from './shape/read.ts';
import { secretRef, urlOrRef } from './shape/references.ts';
import { baseUrl, duration, NAME_PATTERN, name, number, oneOf, text } from './shape/scalars.ts';
import { list, oneOrMany, renamed, section } from './shape/shape.ts';
import { isMapping, nodeAt } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

/** The settings of each kind of channel. `src/notify` has a sender for each. */
export const CHANNELS = {
  webhook: channel('webhook', {}, 'Signed JSON to an address of your own.', {
    url: urlOrRef('https:', 'http:').describe('Where to; as a reference when the address is a secret.'),
    secret: secretRef()
      .exactOptional()
      .describe('Key of the signature (HMAC-SHA-256); without one messages are not signed.'),
  }),
  slack: channel('slack', {}, 'An incoming webhook of Slack, or of what takes the same (Mattermost).', {
    url: secretRef().describe('Its address; whoever has it can write to the channel.'),
  }),
  telegram: channel('telegram', { api: 'apiUrl' }, 'A bot of Telegram.', {
    token: secretRef().describe('Token of the bot.'),
    chat: text({
      expected: 'the number of a chat in quotes such as "-1001234567890", or "@name" of a public channel',
      pattern: /^(-?\d{1,20}|@[A-Za-z0-9_]{4,32})$/,
      maxLength: 40,
    }).describe('Where the bot writes to.'),
    topic: number({ min: 1, integer: true, expected: 'the number of a topic' })
      .exactOptional()
      .describe('Topic, in a group that has topics.'),
    commands: list(
      section(
        {
          chat: text({
            expected: 'the number of a chat in quotes such as "-1001234567890"',
            pattern: /^-?\d{1,16}$/,
            maxLength: 20,
          }).describe('Of a group, or of one person: everybody in it may say what its scopes allow.'),
          name: name('a name of a person')
            .exactOptional()
            .describe(
              'Who that is, for the audit; without it "telegram:" and the numbers of chat and person.',
            ),
          scopes: list(oneOf('read', 'control'), 1).describe(
            '`read`: /status. `control`: also /pause, /ack and the buttons of messages.',
          ),
        },
        { scopes: ['read'] },
      ),
      1,
    )
      .exactOptional()
      .describe(
        'Chats whose commands are obeyed (/status, /pause, /ack); needs operators.key. Without it the bot does not listen.',
      ),
    api: baseUrl('https:', 'http:')
      .prefault('https://api.telegram.org')
      .describe('Address of the Bot API, for a server of your own.'),
  }),
  ntfy: channel('ntfy', { server: 'serverUrl' }, 'A topic of ntfy, for phones.', {
    topic: secretRef().describe('Its name; who knows it can read and write there.'),
    token: secretRef().exactOptional().describe('Access token, where the topic is protected.'),
    server: baseUrl('https:', 'http:')
      .prefault('https://ntfy.sh')
      .describe('Address of the server, for one of your own.'),
  }),
  alertmanager: channel('alertmanager', {}, "Prometheus' Alertmanager, API v2.", {
    urls: oneOrMany(baseUrl('https:', 'http:')).describe(
      'Addresses without /api/v2; all instances of a cluster, which each must be told.',
    ),
    authorization: secretRef()
      .exactOptional()
      .describe('Value of the Authorization header, such as "Bearer ..."; none by default.'),
  }),
  discord: channel('discord', {}, 'A webhook of a Discord channel.', {
    url: secretRef('https:', 'http:').describe(
      'Its address, with ?thread_id= for a thread; whoever has it can write to the channel.',
    ),
  }),
  teams: channel('teams', {}, 'A workflow of Microsoft Teams that posts what it gets by webhook.', {
    url: secretRef('https:', 'http:').describe(
      'Address of the workflow; whoever has it can write to the channel.',
    ),
  }),
  pagerduty: channel('pagerduty', { api: 'apiUrl' }, 'A service of PagerDuty, through its Events API v2.', {
    routingKey: secretRef().describe('Integration key of the service.'),
    api: baseUrl('https:', 'http:')
      .prefault('https://events.pagerduty.com')
      .describe(
        'Address of the Events API without /v2; of accounts in the EU https://events.eu.pagerduty.com.',
      ),
  }),
  opsgenie: channel(
    'opsgenie',
    { api: 'apiUrl' },
    'The Alert API of Opsgenie, and of Jira Service Management.',
    {
      apiKey: secretRef().describe('Key of an API integration.'),
      api: baseUrl('https:', 'http:')
        .prefault('https://api.opsgenie.com')
        .describe(
          'Address of the API without /v2: in the EU https://api.eu.opsgenie.com, of Jira Service Management https://api.atlassian.com/jsm/ops/integration.',
        ),
    },
  ),
  email: channel('email', { server: 'serverUrl' }, 'E-mail, through an SMTP server.', {
    server: baseUrl('smtps:', 'smtp:').describe(
      'smtps://HOST:465 (TLS from the start) or smtp://HOST:587 (STARTTLS, demanded of other machines).',
    ),
    user: text({ expected: 'the name of a user of the mail server', maxLength: 320 })
      .exactOptional()
      .describe('Who logs in there; without one nobody does.'),
    password: secretRef().exactOptional().describe('With the user.'),
    from: mailAddress().describe('Sender.'),
    to: oneOrMany(mailAddress()).describe('Receivers.'),
  }),
} as const;

export type ChannelType = keyof typeof CHANNELS;
type WrittenChannel = { [T in ChannelType]: z.output<(typeof CHANNELS)[T]> }[ChannelType];

export type CompiledChannel = Resolved<WrittenChannel> & { readonly name: string };

/** Defines a kind of channel. `names` renames keys in the parsed value. */
function channel<
  const T extends string,
  K extends Readonly<Record<string, z.ZodType>>,
  const N extends { readonly [P in keyof K]?: string },
>(type: T, names: N, description: string, keys: K) {
  const schema = z.strictObject({
    type: oneOf(type).describe(description),
    ...keys,
    timeout: duration({ minMs: 100, maxMs: 60_000, bounds: 'from 100ms to 1m' })
      .prefault('10s')
      .describe('Bound on one attempt.'),
    giveUpAfter: duration({ minMs: 1000, maxMs: 3_600_000, bounds: 'from 1s to 1h' })
      .prefault('2m')
      .describe(
        'A message that could not be delivered within this counts as failed and goes to the next channel instead.',
      ),
    proxy: urlOrRef('http:', 'https:').exactOptional().describe('HTTP proxy on the way to it.'),
  });
  return renamed(schema, { timeout: 'timeoutMs', giveUpAfter: 'giveUpAfterMs', ...names });
}

function mailAddress(): z.ZodType<string> {
  return text({
    expected: 'an address such as desk@example.com',
    pattern: /^[^\s@<>,;:"()]+@[^\s@<>,;:"()]+$/,
    maxLength: 254,
  });
}

export const channelsSchema = z.record(name('a channel name'), z.union(Object.values(CHANNELS)));

const BY_TYPE: ByKind<ChannelType, WrittenChannel> = {
  key: 'type',
  kinds: Object.keys(CHANNELS) as ChannelType[],
  schema: (type): z.ZodType<WrittenChannel> => CHANNELS[type],
};

/** A channel of the file; `written` is undefined if it has mistakes, which were reported. */
export interface ReadChannel {
  readonly name: string;
  readonly written: WrittenChannel | undefined;
}

/** Reads channels one by one, because their keys depend on the type; undefined if there is no mapping. */
export function readChannels({ document, report }: SecretContext): readonly ReadChannel[] | undefined {
  const section = nodeAt(document.root, ['channels']);
  if (section === undefined) return [];
  if (!isMapping(section)) {
    readShape(channelsSchema, document, ['channels'], report);
    return undefined;
  }
  return [...section.children.keys()].map((key): ReadChannel => {
    const path = ['channels', key];
    const named = String(key);
    if (!hasValidName({ name: named }) || named === LOG_CHANNEL) {
      const expected = 'a channel name: letters, digits, dots, dashes and underscores, at most 48, not "log"';
      const message = `expected ${expected}, got ${describeText(named)}`;
      report(problemAt(document, path, { code: 'wrong-value', message, at: 'key' }));
      return { name: named, written: undefined };
    }
    return { name: named, written: readByKind(BY_TYPE, document, path, report).data };
  });
}

export function hasValidName(read: Pick<ReadChannel, 'name'>): boolean {
  return NAME_PATTERN.test(read.name);
}

/** Returns the names that rules can use, with the log as the last. */
export function channelNames(channels: readonly ReadChannel[]): readonly string[] {
  return [...channels.map(({ name: named }) => named).filter((named) => named !== LOG_CHANNEL), LOG_CHANNEL];
}

/** Reports an unknown channel name. `names`: all known names; undefined if they could not be read. */
export function complainOfChannel(
  place: Reporting,
  at: Path,
  channel: string,
  names: readonly string[] | undefined,
): void {
  if (names === undefined || names.includes(channel)) return;
  const message = `expected a channel (${names.join(', ')}), got ${describeText(channel)}${didYouMean(suggest(channel, names))}`;
  complain(place, at, 'unknown-reference', message);
}

/** Reports unknown channel names. `names`: see `complainOfChannel`. */
export function checkChannels(
  path: Path,
  named: readonly string[],
  names: readonly string[] | undefined,
  context: SecretContext,
): void {
  const isList = (nodeAt(context.document.root, path)?.children.size ?? 0) > 0;
  for (const [index, channel] of named.entries())
    complainOfChannel(context, isList ? [...path, index] : path, channel, names);
}

export function withEachOnce<T extends { readonly channels: readonly string[] }>(section: T): T {
  return { ...section, channels: [...new Set(section.channels)] };
}

export function compileChannels(
  channels: readonly ReadChannel[],
  context: SecretContext,
): readonly CompiledChannel[] {
  const hasKey = nodeAt(context.document.root, ['operators', 'key']) !== undefined;
  for (const { name: named, written } of channels) {
    if (hasKey || written?.type !== 'telegram' || written.commands === undefined) continue;
    const message =
      'expected operators.key for the commands of a chat, got none: set it, or leave out commands';
    complain(context, ['channels', named, 'commands'], 'wrong-value', message);
  }
  return channels.flatMap(({ name: named, written }) =>
    written === undefined ? [] : [{ name: named, ...resolved(written, ['channels', named], context) }],
  );
}

import { z } from 'zod';
import { secretRef, urlOrRef } from './shape/references.ts';
import { duration, name, number, oneOf, text, url } from './shape/scalars.ts';
import { oneOrMany, section } from './shape/shape.ts';

/** Ways to reach people. The log is always there and is not written down. */
export const LOG_CHANNEL = 'log';

const COMMON = {
  timeout: duration({ minMs: 100, maxMs: 60_000, bounds: 'from 100ms to 1m' })
    .prefault('10s')
    .describe('Bound on one attempt.'),
  giveUpAfter: duration({ minMs: 1000, maxMs: 3_600_000, bounds: 'from 1s to 1h' })
    .prefault('2m')
    .describe(
      'A message that could not be delivered within this counts as failed and goes to the next channel instead.',
    ),
  proxy: urlOrRef('http:', 'https:').optional().describe('HTTP proxy on the way to it.'),
} as const;

const CHANNELS = {
  webhook: z.strictObject({
    type: oneOf('webhook').describe('Signed JSON to an address of your own.'),
    url: urlOrRef('https:', 'http:').describe('Where to; as a reference when the address is a secret.'),
    secret: secretRef()
      .optional()
      .describe('Key of the signature (HMAC-SHA-256); without one messages are not signed.'),
    ...COMMON,
  }),
  slack: z.strictObject({
    type: oneOf('slack').describe('An incoming webhook of Slack, or of what takes the same (Mattermost).'),
    url: secretRef().describe('Its address; whoever has it can write to the channel.'),
    ...COMMON,
  }),
  telegram: z.strictObject({
    type: oneOf('telegram').describe('A bot of Telegram.'),
    token: secretRef().describe('Token of the bot.'),
    chat: text({
      expected: 'the number of a chat in quotes such as "-1001234567890", or "@name" of a public channel',
      pattern: /^(-?\d{1,20}|@[A-Za-z0-9_]{4,32})$/,
      maxLength: 40,
    }).describe('Where the bot writes to.'),
    topic: number({ min: 1, integer: true, expected: 'the number of a topic' })
      .optional()
      .describe('Topic, in a group that has topics.'),
    api: url('https:', 'http:')
      .prefault('https://api.telegram.org')
      .describe('Address of the Bot API, for a server of your own.'),
    ...COMMON,
  }),
  alertmanager: z.strictObject({
    type: oneOf('alertmanager').describe("Prometheus' Alertmanager, API v2."),
    urls: oneOrMany(url('https:', 'http:')).describe(
      'Addresses without /api/v2; all instances of a cluster, which each must be told.',
    ),
    authorization: secretRef()
      .optional()
      .describe('Value of the Authorization header, such as "Bearer ..."; none by default.'),
    ...COMMON,
  }),
} as const;

export type ChannelType = keyof typeof CHANNELS;
export const CHANNEL_TYPES = Object.keys(CHANNELS) as readonly ChannelType[];

export type WrittenChannel = { [T in ChannelType]: z.output<(typeof CHANNELS)[T]> }[ChannelType];

export function channelSchema(type: ChannelType): z.ZodType<WrittenChannel> {
  return CHANNELS[type];
}

export const channelsSchema = z.record(
  name('a channel name'),
  z.union([CHANNELS.webhook, CHANNELS.slack, CHANNELS.telegram, CHANNELS.alertmanager]),
);

const linkTitle = text({ expected: 'a title such as Runbook', maxLength: 40 });

export const notifySchema = section(
  {
    remindEvery: duration({ minMs: 1000, maxMs: 7 * 86_400_000, bounds: 'from 1s to 1w' }).describe(
      'How often a rule that fires on is told again. Alertmanager ends an alert that is not told for three times this.',
    ),
    links: z
      .record(linkTitle, url('https:', 'http:'))
      .describe(
        'Links in every message, by title; {account}, {rule}, {subject}, {market}, {episode}, {severity}, {key} and {page} (the path of what it is about on the status page, after an address without a slash at its end) are filled in.',
      ),
  },
  { remindEvery: '30m', links: {} },
);

import type { Message } from '../core/ports/delivery.ts';
import type { Channel, DeliveryAttempt } from './channel.ts';
import { cutToSize, wholeParts } from './fitting.ts';
import { httpChannel, judgeBy, type SecretAddress } from './http-channel.ts';
import {
  type ChannelParts,
  type HttpReply,
  httpFailure,
  type JsonObject,
  secretsOfUrl,
} from './http-sender.ts';
import { colourOf, isCalm, type Wording } from './message-layout.ts';

/** A Discord webhook (discord.com/developers/docs/resources/webhook#execute-webhook): a text and one embed. */
export function createDiscord({ url = '' }: SecretAddress, parts: ChannelParts): Channel {
  return httpChannel(parts, {
    type: 'discord',
    audience: 'people',
    post: ({ message }, wording) => ({
      url: confirmed(url),
      body: JSON.stringify(discordPayload(message, wording)),
    }),
    judge: judgeBy({ lacks, words, secrets: () => secretsOfUrl(url), refusal }),
  });
}

/** Adds `wait`: without it, Discord confirms messages that it then drops. */
function confirmed(url: string): string {
  if (!URL.canParse(url)) return url;
  const asked = new URL(url);
  asked.searchParams.set('wait', 'true');
  return asked.href;
}

/** Discord's limits: 2,000 characters of content, 1,024 of a field, and 6,000 of all texts of an embed. */
const MAX_CONTENT = 2000;
const MAX_LINE = 800;
const MAX_TEXT = 2500;
const MAX_LINKS = 1500;
const MAX_FIELD = 480;
/** Longer fields take a whole row. */
const SHORT_FIELD = 30;
/** `SUPPRESS_NOTIFICATIONS`: no sound. */
const SILENT = 4096;

function discordPayload(message: Message, { title, lines, facts, links }: Wording): JsonObject {
  const shownLinks = links.map((link) => `[${escapeDiscord(link.title)}](<${discordUrl(link.url)}>)`);
  const shownLines = lines.map((line) => within(line, MAX_LINE));
  const text = [
    ...wholeParts(shownLines, MAX_TEXT, spaceOf),
    wholeParts(shownLinks, MAX_LINKS, spaceOf).join(' \u00b7 '),
  ];
  return {
    content: within(title, MAX_CONTENT),
    embeds: [
      {
        description: text.filter((line) => line !== '').join('\n'),
        color: Number.parseInt(colourOf(message).slice(1), 16),
        fields: facts.map((fact) => ({
          name: fact.name,
          value: within(fact.text, MAX_FIELD),
          inline: fact.text.length <= SHORT_FIELD,
        })),
        footer: { text: 'Breakwater' },
        timestamp: new Date(message.atMs).toISOString(),
      },
    ],
    // Text from outside must not mention anybody.
    allowed_mentions: { parse: [] },
    ...(isCalm(message) ? { flags: SILENT } : {}),
  };
}

/** Escapes Discord's Markdown: marks within a line; headings, quotes and lists at its beginning. */
export function escapeDiscord(text: string): string {
  return text
    .replaceAll(/[\\`*_~|<[\]]/g, '\\$&')
    .replace(/^(\s*)([#>+-])/, '$1\\$2')
    .replace(/^(\s*\d+)\./, '$1\\.');
}

/** Cuts before it escapes, so that no escape is cut in half. */
function within(text: string, max: number): string {
  return escapeDiscord(cutToSize(text, max, (shown) => escapeDiscord(shown).length));
}

const SEPARATOR = 3;

function spaceOf(part: string): number {
  return part.length + SEPARATOR;
}

function discordUrl(url: string): string {
  return url.replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll(/\s/g, '%20');
}

/** Replies: 200 with the message (`wait`); errors `{ code, message }`, 429 with `retry_after` in seconds. */
function lacks({ status }: HttpReply, body: JsonObject | undefined): string | undefined {
  const isConfirmed = status === 204 || (status === 200 && typeof body?.['id'] === 'string');
  return isConfirmed ? undefined : 'without the message that was sent';
}

function words({ code, message }: JsonObject): string | undefined {
  const number = typeof code === 'number' && code !== 0 ? ` (${code})` : '';
  return typeof message === 'string' ? `${message}${number}` : undefined;
}

function refusal(reply: HttpReply, said: string, { retry_after: seconds }: JsonObject): DeliveryAttempt {
  const waitMs = typeof seconds === 'number' && seconds >= 0 ? Math.ceil(seconds * 1000) : reply.retryAfterMs;
  return httpFailure({ ...reply, retryAfterMs: waitMs }, said);
}

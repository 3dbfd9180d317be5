import type { Channel, DeliveryAttempt, Outgoing } from './channel.ts';
import {
  type ChannelParts,
  failed,
  type HttpReply,
  httpFailure,
  jsonObject,
  safeWords,
  secretsOfUrl,
} from './http-sender.ts';
import { colourOf, cut, isCalm, type LinkTemplate, wordingOf } from './message-layout.ts';

export interface DiscordOptions {
  /** A secret: it is all that is needed to write to the channel. */
  readonly url?: string;
}

/** A webhook of Discord (discord.com/developers/docs/resources/webhook#execute-webhook): a text and one embed. */
export function createDiscord({ url = '' }: DiscordOptions, { name, links, http }: ChannelParts): Channel {
  return {
    name,
    type: 'discord',
    audience: 'people',
    async send(outgoing, signal): Promise<DeliveryAttempt> {
      const body = JSON.stringify(discordPayload(outgoing, links));
      const result = await http.post({ url: confirmed(url), headers: {}, body }, signal);
      return result.kind === 'failed' ? result : judge(result.reply, url);
    },
    close: () => http.close(),
  };
}

/** Without `wait` Discord says that it took what it then does not keep. */
function confirmed(url: string): string {
  if (!URL.canParse(url)) return url;
  const asked = new URL(url);
  asked.searchParams.set('wait', 'true');
  return asked.href;
}

/** Discord's own bounds: 2,000 characters of content, 1,024 of a field, and 6,000 of all texts of an embed. */
const MAX_CONTENT = 2000;
const MAX_LINE = 800;
const MAX_TEXT = 2500;
const MAX_LINKS = 1500;
const MAX_FIELD = 480;
/** Longer fields take a whole row. */
const SHORT_FIELD = 30;
/** `SUPPRESS_NOTIFICATIONS`: no sound. */
const SILENT = 4096;

export function discordPayload(
  outgoing: Outgoing,
  templates: readonly LinkTemplate[],
): Readonly<Record<string, unknown>> {
  const { message } = outgoing;
  const { title, lines, facts, links } = wordingOf(outgoing, templates);
  const shownLinks = links.map((link) => `[${escapeDiscord(link.title)}](<${discordUrl(link.url)}>)`);
  const text = [
    ...whole(
      lines.map((line) => within(line, MAX_LINE)),
      MAX_TEXT,
    ),
    whole(shownLinks, MAX_LINKS).join(' \u00b7 '),
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
    // Nobody is called by what comes from outside.
    allowed_mentions: { parse: [] },
    ...(isCalm(message) ? { flags: SILENT } : {}),
  };
}

/** Discord's Markdown: marks within a line, and headings, quotes and lists at its beginning. */
export function escapeDiscord(text: string): string {
  return text
    .replaceAll(/[\\`*_~|<[\]]/g, '\\$&')
    .replace(/^(\s*)([#>+-])/, '$1\\$2')
    .replace(/^(\s*\d+)\./, '$1\\.');
}

/** Escaped, and cut before that: no mark is cut in half. */
function within(text: string, max: number): string {
  const escaped = escapeDiscord(text);
  if (escaped.length <= max) return escaped;
  return within(cut(text, Math.floor((text.length * max) / escaped.length) - 1), max);
}

/** As many from the beginning as fit, with a character between them. */
function whole(parts: readonly string[], max: number): readonly string[] {
  let length = 0;
  return parts.filter((part) => {
    length += part.length + SEPARATOR;
    return length <= max;
  });
}

const SEPARATOR = 3;

function discordUrl(url: string): string {
  return url.replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll(/\s/g, '%20');
}

/** 200 with the message, as `wait` asks for; else `{ code, message }`, and with 429 `retry_after` in seconds. */
function judge(reply: HttpReply, url: string): DeliveryAttempt {
  const body = jsonObject(reply.body);
  const { id, code, message, retry_after: seconds } = body ?? {};
  if (reply.status === 204 || (reply.status === 200 && typeof id === 'string')) return { kind: 'delivered' };
  if (reply.status >= 200 && reply.status < 300) {
    return failed('badReply', `HTTP ${reply.status} without the message that was sent`, false);
  }
  const number = typeof code === 'number' && code !== 0 ? ` (${code})` : '';
  const words = typeof message === 'string' ? `${message}${number}` : reply.body;
  const said = safeWords(words, secretsOfUrl(url));
  const waitMs = typeof seconds === 'number' && seconds >= 0 ? Math.ceil(seconds * 1000) : reply.retryAfterMs;
  return httpFailure({ ...reply, retryAfterMs: waitMs }, said);
}

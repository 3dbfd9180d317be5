import type { Message } from '../core/ports/delivery.ts';
import type { Channel } from './channel.ts';
import { wholeParts } from './fitting.ts';
import { httpChannel, judgeBy, type SecretAddress } from './http-channel.ts';
import { type ChannelParts, type HttpReply, type JsonObject, secretsOfUrl } from './http-sender.ts';
import { cut, type Wording, withoutTags } from './message-layout.ts';

/** A Microsoft Teams workflow with a webhook trigger: a message with one Adaptive Card. */
export function createTeams({ url = '' }: SecretAddress, parts: ChannelParts): Channel {
  return httpChannel(parts, {
    type: 'teams',
    audience: 'people',
    post: ({ message }, wording) => ({ url, body: JSON.stringify(teamsPayload(message, wording)) }),
    judge: judgeBy({ lacks, words, secrets: () => secretsOfUrl(url) }),
  });
}

/** The workflow fails above 28 KB, and it may encode non-ASCII text in twice as many bytes. */
const MAX_TEXT_BYTES = 10_000;
const MAX_LINK_BYTES = 3000;
const MAX_LINE = 600;
/** Teams shows no more buttons. */
const MAX_LINKS = 6;

function teamsPayload(message: Message, { title, lines, facts, links }: Wording): JsonObject {
  const heading = { weight: 'Bolder', size: 'Medium', color: colourOf(message) };
  const body = [
    textBlock([textRun(title, heading)]),
    ...lines.map((line) => textBlock([textRun(line)])),
    ...facts.map((fact, index) =>
      textBlock([textRun(`${fact.name}: `, { isSubtle: true }), textRun(fact.text)], index > 0),
    ),
  ];
  const actions = links.slice(0, MAX_LINKS).map((link) => ({
    type: 'Action.OpenUrl',
    title: link.title,
    url: link.url,
  }));
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.2',
          msteams: { width: 'Full' },
          body: wholeParts(body, MAX_TEXT_BYTES, bytesOf),
          actions: wholeParts(actions, MAX_LINK_BYTES, bytesOf),
        },
      },
    ],
  };
}

function colourOf({ kind, severity }: Message): string {
  if (kind === 'resolved') return 'Good';
  return { critical: 'Attention', warning: 'Warning', info: 'Default' }[severity];
}

/** Uses text runs, which are plain: other texts of a card are Markdown, which Teams clients escape differently. */
function textBlock(inlines: readonly object[], isClose = false): object {
  return { type: 'RichTextBlock', inlines, ...(isClose ? { spacing: 'None' } : {}) };
}

function textRun(text: string, look: object = {}): object {
  return { type: 'TextRun', text: cut(literal(text), MAX_LINE), ...look };
}

/** Defuses `{{DATE(...)}}` and `${...}`, which cards would expand. */
function literal(text: string): string {
  return withoutTags(text).replaceAll(/(?<=[{$])\{/g, '\u200b{');
}

function bytesOf(part: object): number {
  return Buffer.byteLength(JSON.stringify(part)) + 1;
}

/** Replies: 202 without a body; errors are `{ error: { code, message } }`. */
function lacks({ body }: HttpReply): string | undefined {
  return /^\s*</.test(body) ? 'with a page, where a workflow answers nothing' : undefined;
}

function words({ error }: JsonObject): string | undefined {
  const isObject = typeof error === 'object' && error !== null;
  return isObject && 'message' in error && typeof error.message === 'string' ? error.message : undefined;
}

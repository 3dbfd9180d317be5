import type { Message } from '../core/ports/delivery.ts';
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
import { cut, type LinkTemplate, withoutTags, wordingOf } from './message-layout.ts';

export interface TeamsOptions {
  /** A secret: it is all that is needed to write to the channel. */
  readonly url?: string;
}

/** A workflow of Microsoft Teams that is started by a webhook: a message with one Adaptive Card. */
export function createTeams({ url = '' }: TeamsOptions, { name, links, http }: ChannelParts): Channel {
  return {
    name,
    type: 'teams',
    audience: 'people',
    async send(outgoing, signal): Promise<DeliveryAttempt> {
      const body = JSON.stringify(teamsPayload(outgoing, links));
      const result = await http.post({ url, headers: {}, body }, signal);
      return result.kind === 'failed' ? result : judge(result.reply, url);
    },
    close: () => http.close(),
  };
}

/** The workflow fails with more than 28 KB, and it may write what is not ASCII in twice as many bytes. */
const MAX_TEXT_BYTES = 10_000;
const MAX_LINK_BYTES = 3000;
const MAX_LINE = 600;
/** Teams shows no more buttons. */
const MAX_LINKS = 6;

function teamsPayload(
  outgoing: Outgoing,
  templates: readonly LinkTemplate[],
): Readonly<Record<string, unknown>> {
  const { title, lines, facts, links } = wordingOf(outgoing, templates);
  const heading = { weight: 'Bolder', size: 'Medium', color: colourOf(outgoing.message) };
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
          body: withinBytes(body, MAX_TEXT_BYTES),
          actions: withinBytes(actions, MAX_LINK_BYTES),
        },
      },
    ],
  };
}

function colourOf({ kind, severity }: Message): string {
  if (kind === 'resolved') return 'Good';
  return { critical: 'Attention', warning: 'Warning', info: 'Default' }[severity];
}

/** Other texts of a card are Markdown, which the clients of Teams escape differently; text runs are none. */
function textBlock(inlines: readonly object[], isClose = false): object {
  return { type: 'RichTextBlock', inlines, ...(isClose ? { spacing: 'None' } : {}) };
}

function textRun(text: string, look: object = {}): object {
  return { type: 'TextRun', text: cut(literal(text), MAX_LINE), ...look };
}

/** Cards fill in `{{DATE(...)}}` and `${...}`. */
function literal(text: string): string {
  return withoutTags(text).replaceAll(/(?<=[{$])\{/g, '\u200b{');
}

/** As many from the beginning as fit. */
function withinBytes(parts: readonly object[], max: number): readonly object[] {
  let bytes = 0;
  return parts.filter((part) => {
    bytes += Buffer.byteLength(JSON.stringify(part)) + 1;
    return bytes <= max;
  });
}

/** 202 without a body; else `{ error: { code, message } }`. */
function judge(reply: HttpReply, url: string): DeliveryAttempt {
  if (reply.status >= 200 && reply.status < 300) {
    return /^\s*</.test(reply.body)
      ? failed('badReply', `HTTP ${reply.status} with a page, where a workflow answers nothing`, false)
      : { kind: 'delivered' };
  }
  const error = jsonObject(reply.body)?.['error'];
  const words =
    typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'
      ? error.message
      : reply.body;
  return httpFailure(reply, safeWords(words, secretsOfUrl(url)));
}

import type { Message } from '../core/ports/delivery.ts';
import type { Channel, DeliveryAttempt } from './channel.ts';
import { httpChannel, judgeBy, type SecretAddress } from './http-channel.ts';
import { type ChannelParts, failed, type HttpReply, type JsonObject, secretsOfUrl } from './http-sender.ts';
import { colourOf, cut, type Wording } from './message-layout.ts';

/**
 * Slack's incoming webhooks, and receivers of the same payload (Mattermost, Rocket.Chat). A message is a text and one
 * attachment, because only Slack knows blocks.
 */
export function createSlack({ url = '' }: SecretAddress, parts: ChannelParts): Channel {
  return httpChannel(parts, {
    type: 'slack',
    audience: 'people',
    post: ({ message }, wording) => ({ url, body: JSON.stringify(slackPayload(message, wording)) }),
    judge: judgeBy({ secrets: () => secretsOfUrl(url), refusal }),
  });
}

const MAX_TITLE = 300;
const MAX_TEXT = 3000;
const MIN_TEXT = 1000;
/** Longer fields take a whole row. */
const SHORT_FIELD = 30;

function slackPayload(message: Message, wording: Wording): JsonObject {
  const title = escapeSlack(cut(wording.title, MAX_TITLE));
  const shownLinks = wording.links.map((link) => `<${slackUrl(link.url)}|${escapeSlack(link.title)}>`);
  const links = shownLinks.join(' · ');
  // Only text is cut: half of a link leads nowhere.
  const text = [
    cut(wording.lines.map(escapeSlack).join('\n'), Math.max(MIN_TEXT, MAX_TEXT - links.length - 1)),
    links,
  ];
  return {
    text: title,
    attachments: [
      {
        fallback: escapeSlack(cut(`${wording.title}: ${wording.lines.join(' ')}`, MAX_TEXT)),
        color: colourOf(message),
        text: text.filter((part) => part !== '').join('\n'),
        fields: wording.facts.map((fact) => ({
          title: fact.name,
          value: escapeSlack(fact.text),
          short: fact.text.length <= SHORT_FIELD,
        })),
        // No Markdown: names with underscores and asterisks are shown verbatim.
        mrkdwn_in: [],
        footer: 'Breakwater',
        ts: Math.floor(message.atMs / 1000),
      },
    ],
  };
}

/** Escapes the three characters that Slack interprets, and defuses `@`, which mentions people in Mattermost. */
export function escapeSlack(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/@(?!\u200b)/g, '@\u200b');
}

function slackUrl(url: string): string {
  return url.replaceAll('&', '&amp;').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('|', '%7C');
}

/** Replies: Slack sends `ok`, others send anything with a 2xx. Errors are plain words such as `no_service`. */
function refusal({ status, body }: HttpReply, said: string): DeliveryAttempt | undefined {
  if (status !== 403) return undefined;
  const isOfToken = /^(invalid_token|token_)/.test(body);
  return failed(isOfToken ? 'unauthorized' : 'rejected', `HTTP 403: ${said}`, true);
}

import type { Message } from '../core/ports/delivery.ts';
import type { Channel } from './channel.ts';
import { modeOf } from './figure-words.ts';
import { httpChannel, judgeBy } from './http-channel.ts';
import type { ChannelParts, HttpReply, JsonObject } from './http-sender.ts';
import { cut, isOver, subjectWords, type Wording, withoutTags } from './message-layout.ts';
import { shortId } from './short-id.ts';

export interface OpsgenieOptions {
  /** Without a trailing slash. */
  readonly apiUrl: string;
  /** A secret: the key of an API integration, which may create and close alerts. */
  readonly apiKey?: string;
}

/** Opsgenie's Alert API, also offered by Jira Service Management. An episode is one alert, by its `alias`. */
export function createOpsgenie({ apiUrl, apiKey = '' }: OpsgenieOptions, parts: ChannelParts): Channel {
  const headers = { authorization: `GenieKey ${apiKey}` };
  return httpChannel(parts, {
    type: 'opsgenie',
    audience: 'pager',
    post({ message }, wording) {
      const alias = shortId(message.key);
      const closes = isOver(message);
      const path = closes ? `/v2/alerts/${alias}/close?identifierType=alias` : '/v2/alerts';
      const payload = closes
        ? { user: SOURCE, source: SOURCE, note: textOf(wording) }
        : { alias, ...alertOf(message, wording) };
      return { url: `${apiUrl}${path}`, headers, body: JSON.stringify(payload) };
    },
    judge: judgeBy({ lacks, words, secrets: () => [apiKey] }),
  });
}

const PRIORITIES = { critical: 'P1', warning: 'P3', info: 'P5' } as const;
const SOURCE = 'Breakwater';
/** Opsgenie's limits, in characters; all details together may have 8,000. */
const MAX_MESSAGE = 130;
const MAX_TEXT = 15_000;
const MAX_ENTITY = 512;
const MAX_DETAIL = 500;

/** If an alert with this alias is open, Opsgenie only raises its count and notifies nobody; otherwise it opens one. */
function alertOf(message: Message, wording: Wording): JsonObject {
  const { title, facts } = wording;
  const mode = modeOf(message);
  const details = facts.map((fact): [string, string] => [fact.name, shown(fact.text, MAX_DETAIL)]);
  return {
    message: shown(title, MAX_MESSAGE),
    description: textOf(wording),
    priority: PRIORITIES[message.severity],
    entity: shown(subjectWords(message), MAX_ENTITY),
    tags: ['breakwater', message.severity, ...(mode === null ? [] : [mode])],
    details: Object.fromEntries(details),
    source: SOURCE,
  };
}

/** Repeats the whole title, because `message` is cut at 130 characters. Links are kept however long the rest is. */
function textOf({ title, lines, links }: Wording): string {
  const shownLinks = cut(links.map((link) => `${link.title}: ${link.url}`).join('\n'), MAX_TEXT / 2);
  return [shown([title, ...lines].join('\n'), MAX_TEXT - shownLinks.length - 1), shownLinks]
    .filter((text) => text !== '')
    .join('\n');
}

/** Opsgenie reads message and description as HTML. */
function shown(text: string, max: number): string {
  return cut(withoutTags(text), max);
}

/** Replies: 202 with `{ result, took, requestId }`; errors are `{ message, errors }` with a text for each field. */
function lacks(_reply: HttpReply, body: JsonObject | undefined): string | undefined {
  return typeof body?.['requestId'] === 'string' ? undefined : 'without the JSON of the Alert API';
}

function words({ message, errors }: JsonObject): string {
  const all: readonly unknown[] = [
    message,
    ...(typeof errors === 'object' ? Object.values(errors ?? {}) : []),
  ];
  return all.filter((text) => typeof text === 'string').join(' ');
}

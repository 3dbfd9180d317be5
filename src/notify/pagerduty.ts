import type { Channel, DeliveryAttempt, Outgoing } from './channel.ts';
import { attempt, judgeBy } from './http-channel.ts';
import { type ChannelParts, failed, type HttpReply, type JsonObject } from './http-sender.ts';
import { cut, isOver, type LinkTemplate, subjectWords, wordingOf } from './message-layout.ts';
import { shortId } from './short-id.ts';

export interface PagerdutyOptions {
  /** Without a trailing slash. */
  readonly apiUrl: string;
  /** A secret: anybody who knows it can trigger and resolve alerts. */
  readonly routingKey?: string;
}

/** PagerDuty's Events API v2, `POST /v2/enqueue`. An episode is one alert, by its `dedup_key`. */
export function createPagerduty(
  { apiUrl, routingKey = '' }: PagerdutyOptions,
  { name, links, http }: ChannelParts,
): Channel {
  const judge = judgeBy({ lacks, words, secrets: () => [routingKey], refusal });
  const enqueue = async (event: PagerdutyEvent, signal?: AbortSignal): Promise<DeliveryAttempt> => {
    const body = JSON.stringify({ routing_key: routingKey, ...event });
    return await attempt(http, { url: `${apiUrl}/v2/enqueue`, body }, judge, signal);
  };
  return {
    name,
    type: 'pagerduty',
    audience: 'pager',
    async send(outgoing, signal) {
      const event = pagerdutyEvent(outgoing, links);
      const result = await enqueue(event, signal);
      if (result.kind === 'failed' || outgoing.message.kind !== 'test') return result;
      // Acknowledged at once, so that a test does not escalate.
      return await enqueue({ event_action: 'acknowledge', dedup_key: event.dedup_key }, signal);
    },
    close: () => http.close(),
  };
}

interface PagerdutyEvent {
  readonly event_action: 'trigger' | 'acknowledge' | 'resolve';
  readonly dedup_key: string;
  readonly [more: string]: unknown;
}

const CLIENT = 'Breakwater';
const MAX_SUMMARY = 1024;
/** PagerDuty's limit is 512 KB for the whole event. */
const MAX_TEXT = 10_000;
const MAX_DETAIL = 2000;

/**
 * A reminder triggers again: it is added to the log of an open alert, notifies nobody if that was acknowledged, and
 * opens another alert if a person resolved it too early.
 */
function pagerdutyEvent(outgoing: Outgoing, templates: readonly LinkTemplate[]): PagerdutyEvent {
  const { message } = outgoing;
  const { title, lines, facts, links } = wordingOf(outgoing, templates);
  const [first] = links;
  const details = facts.map((fact): [string, string] => [fact.name, cut(fact.text, MAX_DETAIL)]);
  return {
    event_action: isOver(message) ? 'resolve' : 'trigger',
    // Limited to 255 characters; a key may be longer.
    dedup_key: shortId(message.key),
    payload: {
      summary: cut(title, MAX_SUMMARY),
      // Required; a notice about the daemon itself belongs to no account.
      source: message.accountId === '' ? CLIENT : message.accountId,
      severity: message.severity,
      timestamp: new Date(message.atMs).toISOString(),
      component: subjectWords(message),
      class: message.ruleId === '' ? message.kind : message.ruleId,
      custom_details: { text: cut(lines.join('\n'), MAX_TEXT), ...Object.fromEntries(details) },
    },
    client: CLIENT,
    ...(first === undefined ? {} : { client_url: first.url }),
    links: links.map((link) => ({ href: link.url, text: link.title })),
  };
}

/** Replies: 202 with `{ status: 'success' }`; errors are `{ status, message, errors }`. */
function lacks(_reply: HttpReply, body: JsonObject | undefined): string | undefined {
  return body?.['status'] === 'success' ? undefined : 'without the JSON of the Events API';
}

function refusal({ status }: HttpReply, said: string): DeliveryAttempt | undefined {
  if (status !== 400 || !/routing.?key/i.test(said)) return undefined;
  return failed('unauthorized', `HTTP 400: ${said}`, true);
}

function words({ message, errors }: JsonObject): string {
  const all: readonly unknown[] = Array.isArray(errors) ? [message, ...errors] : [message];
  return all.filter((text) => typeof text === 'string').join(': ');
}

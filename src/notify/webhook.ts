import { createHmac } from 'node:crypto';
import { timeWords } from '../core/text/time-words.ts';
import type { Channel, Outgoing } from './channel.ts';
import { commandsOf, modeOf } from './figure-words.ts';
import { httpChannel, isSuccess } from './http-channel.ts';
import { type ChannelParts, httpFailure, type JsonObject } from './http-sender.ts';
import { plainText, subjectWords, type Wording } from './message-layout.ts';
import { shortId } from './short-id.ts';

export interface WebhookOptions {
  readonly url?: string;
  /** Key of the signature; without one messages are not signed. */
  readonly secret?: string;
}

/** Posts signed JSON to an address of the user (docs/notifications.md has the fields and how to verify). */
export function createWebhook({ url = '', secret }: WebhookOptions, parts: ChannelParts): Channel {
  return httpChannel(parts, {
    type: 'webhook',
    audience: 'machine',
    post(outgoing, wording) {
      const body = JSON.stringify(webhookPayload(parts.name, outgoing, wording));
      const seconds = Math.floor(parts.nowMs() / 1000);
      const headers = {
        // The same for every retry of a message.
        'breakwater-delivery': shortId(outgoing.message.id),
        'breakwater-event': outgoing.message.kind,
        ...(secret === undefined ? {} : { 'breakwater-signature': signature(secret, seconds, body) }),
      };
      return { url, headers, body };
    },
    judge: (reply) => (isSuccess(reply) ? { kind: 'delivered' } : httpFailure(reply)),
  });
}

/** Returns `t=<Unix seconds>,v1=<hex>`: HMAC-SHA-256 over the seconds, a dot and the body, keyed by the secret. */
export function signature(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Times are in Unix milliseconds and as text, LTVs fractions, amounts decimal strings. */
function webhookPayload(channel: string, { message, insteadOf }: Outgoing, wording: Wording): JsonObject {
  return {
    version: 1,
    id: shortId(message.id),
    key: message.key,
    kind: message.kind,
    channel,
    title: wording.title,
    text: plainText(wording),
    words: message.words,
    account: message.accountId,
    rule: message.ruleId,
    subject: message.subject,
    subjectWords: subjectWords(message),
    market: message.market ?? null,
    episode: message.episode,
    stage: message.stage,
    severity: message.severity,
    mode: modeOf(message),
    labels: message.labels,
    sinceMs: message.sinceMs,
    since: timeWords(message.sinceMs),
    atMs: message.atMs,
    at: timeWords(message.atMs),
    cures: message.cures,
    figures: message.figures ?? null,
    doing: message.doing ?? null,
    ending: message.ending ?? null,
    lines: message.lines ?? [],
    commands: commandsOf(message) ?? null,
    links: wording.links,
    insteadOf: insteadOf.map((failed) => failed.channel),
  };
}

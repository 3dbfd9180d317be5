import type { Message } from '../core/ports/delivery.ts';
import type { Channel } from './channel.ts';
import { cutToSize } from './fitting.ts';
import { httpChannel, judgeBy } from './http-channel.ts';
import type { ChannelParts, JsonObject } from './http-sender.ts';
import { cut, type Wording } from './message-layout.ts';

export interface NtfyOptions {
  /** ntfy.sh or your own server, without a trailing slash. */
  readonly serverUrl: string;
  /** A secret: anybody who knows it can read and write there. */
  readonly topic?: string;
  readonly token?: string;
}

/** ntfy, publishing as JSON (docs.ntfy.sh/publish). */
export function createNtfy({ serverUrl, topic = '', token }: NtfyOptions, parts: ChannelParts): Channel {
  const to = {
    url: `${serverUrl}/`,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  };
  return httpChannel(parts, {
    type: 'ntfy',
    audience: 'people',
    post: ({ message }, wording) => ({
      ...to,
      body: JSON.stringify({ topic, ...ntfyPayload(message, wording) }),
    }),
    judge: judgeBy({ secrets: () => [topic, token ?? ''] }),
  });
}

/** 5 is the most urgent. */
const PRIORITIES = { critical: 5, warning: 4, info: 3 } as const;
const SIGNS = { critical: 'rotating_light', warning: 'warning', info: 'information_source' } as const;
const RESOLVED = { priority: 3, tags: ['white_check_mark'] } as const;
const MAX_TITLE = 250;
/** ntfy turns a message over 4,096 bytes into an attached file. */
const MAX_BYTES = 4000;
const MAX_ACTIONS = 3;

function ntfyPayload({ kind, severity }: Message, { title, lines, facts, links }: Wording): JsonObject {
  const text = [...lines, ...facts.map((fact) => `${fact.name}: ${fact.text}`)].join('\n');
  const [first] = links;
  return {
    title: cut(title, MAX_TITLE),
    message: cutToSize(text, MAX_BYTES, (shown) => Buffer.byteLength(shown)),
    ...(kind === 'resolved' ? RESOLVED : { priority: PRIORITIES[severity], tags: [SIGNS[severity]] }),
    ...(first === undefined ? {} : { click: first.url }),
    actions: links
      .slice(0, MAX_ACTIONS)
      .map((link) => ({ action: 'view', label: link.title, url: link.url })),
  };
}

import type { Channel, DeliveryAttempt, Outgoing } from './channel.ts';
import {
  type ChannelParts,
  failed,
  type HttpPost,
  type HttpReply,
  type HttpSender,
  httpFailure,
  type JsonObject,
  jsonObject,
  safeWords,
} from './http-sender.ts';
import { type Wording, wordingOf } from './message-layout.ts';

/** The address is a secret: anybody who knows it can write to the channel. */
export interface SecretAddress {
  readonly url?: string;
}

type Judge = (reply: HttpReply) => DeliveryAttempt;

/** Creates a channel that sends each message by one POST. */
export function httpChannel(
  { name, http, links }: ChannelParts,
  kind: Pick<Channel, 'type' | 'audience'> & {
    readonly post: (outgoing: Outgoing, wording: Wording) => HttpPost;
    readonly judge: Judge;
  },
): Channel {
  const { type, audience, post, judge } = kind;
  return {
    name,
    type,
    audience,
    send: async (outgoing, signal) =>
      await attempt(http, post(outgoing, wordingOf(outgoing, links)), judge, signal),
    close: () => http.close(),
  };
}

export async function attempt(
  http: HttpSender,
  post: HttpPost,
  judge: Judge,
  signal: AbortSignal | undefined,
): Promise<DeliveryAttempt> {
  const result = await http.post(post, signal);
  return result.kind === 'failed' ? result : judge(result.reply);
}

export function isSuccess({ status }: HttpReply): boolean {
  return status >= 200 && status < 300;
}

/** How to read a receiver's replies beyond the HTTP status. */
interface Answers {
  /** Returns what a 2xx reply lacks of the documented one; undefined: nothing. */
  readonly lacks?: (reply: HttpReply, body: JsonObject | undefined) => string | undefined;
  /** Returns the error text of a refusal; undefined: its whole body. */
  readonly words?: (body: JsonObject) => string | undefined;
  /** Secrets that its error texts may repeat. */
  readonly secrets: () => readonly string[];
  /** Overrides the meaning of the HTTP status; undefined: keep it. */
  readonly refusal?: (reply: HttpReply, said: string, body: JsonObject) => DeliveryAttempt | undefined;
}

export function judgeBy({ lacks, words, secrets, refusal }: Answers): Judge {
  return (reply) => {
    const body = jsonObject(reply.body);
    if (isSuccess(reply)) {
      const lacking = lacks?.(reply, body);
      if (lacking === undefined) return { kind: 'delivered' };
      return failed('badReply', `HTTP ${reply.status} ${lacking}`, false);
    }
    const said = safeWords((body && words?.(body)) ?? reply.body, secrets());
    return refusal?.(reply, said, body ?? {}) ?? httpFailure(reply, said);
  };
}

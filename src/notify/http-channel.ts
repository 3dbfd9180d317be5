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

/** The address is a secret: it is all that is needed to write to the channel. */
export interface SecretAddress {
  readonly url?: string;
}

type Judge = (reply: HttpReply) => DeliveryAttempt;

/** A channel that tells each message by one POST. */
export function httpChannel(
  { name, http }: ChannelParts,
  kind: Pick<Channel, 'type' | 'audience'> & {
    readonly post: (outgoing: Outgoing) => HttpPost;
    readonly judge: Judge;
  },
): Channel {
  const { type, audience, post, judge } = kind;
  return {
    name,
    type,
    audience,
    send: async (outgoing, signal) => await attempt(http, post(outgoing), judge, signal),
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

/** How a receiver answers, beside what HTTP says. */
interface Answers {
  /** What a success lacks of what is documented; undefined: nothing. */
  readonly lacks?: (reply: HttpReply, body: JsonObject | undefined) => string | undefined;
  /** The words of a refusal; undefined: its whole text. */
  readonly words?: (body: JsonObject) => string | undefined;
  /** Which its words may repeat. */
  readonly secrets: () => readonly string[];
  /** Undefined: it means what HTTP says. */
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

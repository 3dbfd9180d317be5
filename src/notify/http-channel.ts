import type { Channel, DeliveryAttempt, Outgoing } from './channel.ts';
import { type ChannelParts, failed, type HttpPost, type HttpReply, type HttpSender } from './http-sender.ts';

/** Of a channel whose address is all that is needed to write to it: a secret. */
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

/** A success that says what the receiver documents, or one that `lacks` it. */
export function successOf(reply: HttpReply, isDocumented: boolean, lacks: string): DeliveryAttempt {
  return isDocumented ? { kind: 'delivered' } : failed('badReply', `HTTP ${reply.status} ${lacks}`, false);
}

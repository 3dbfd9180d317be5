import type { Redis } from 'ioredis';
import type { RedisTarget } from '../queues/connection.ts';
import { inTime } from '../web/in-time.ts';

const ANSWER_MS = 3_000;

/** Connects a lazy connection; resolves to why that failed, with no password in it. A failed one is disconnected. */
export async function makeContact(redis: Redis, target: RedisTarget): Promise<string | undefined> {
  let first: NodeJS.ErrnoException | undefined;
  const note = (error: NodeJS.ErrnoException): void => {
    first = error;
  };
  const ofSentinels = new Set<string>();
  const noteSentinel = ({ message }: Error): void => void ofSentinels.add(message);
  redis.on('error', note);
  redis.on('sentinelError', noteSentinel);
  try {
    await redis.connect();
    // A server that accepts connections and says nothing is as good as none.
    await inTime(redis.ping(), ANSWER_MS);
    return undefined;
  } catch (error) {
    redis.disconnect();
    return (
      noSentinel(error as Error, target, [...ofSentinels]) ?? reasonOf(first ?? (error as Error), target)
    );
  } finally {
    redis.off('error', note);
    redis.off('sentinelError', noteSentinel);
    // What a connection that is given up says later is for nobody.
    redis.on('error', () => undefined);
  }
}

/** `undefined`: one of them has named a server. */
function noSentinel({ message }: Error, target: RedisTarget, said: readonly string[]): string | undefined {
  if (target.sentinels === undefined || !message.startsWith('All sentinels are unreachable'))
    return undefined;
  const isUnknown = said.some((words) => words.endsWith('got an invalid reply: null'));
  const name = isUnknown
    ? `no Sentinel knows a primary named ${target.name}`
    : 'no Sentinel names the primary';
  const others = said.filter((words) => !words.endsWith('got an invalid reply: null'));
  return [name, ...others].join('; ');
}

function reasonOf({ code, message }: NodeJS.ErrnoException, { tls }: RedisTarget): string {
  if (code === undefined) return message;
  if (code === 'ECONNRESET' && tls === undefined) return `${code} (does it speak TLS only? then rediss://)`;
  if (/ECONNRESET|ALERT/.test(code) && tls?.cert === undefined) {
    return `${code} (does it want a certificate? then redis.cert)`;
  }
  if (/CERT|SIGNATURE|SSL/.test(code)) return `${message} (redis.ca names an authority of your own)`;
  return code;
}

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
  redis.on('error', note);
  try {
    await redis.connect();
    // A server that accepts connections and says nothing is as good as none.
    await inTime(redis.ping(), ANSWER_MS);
    return undefined;
  } catch (error) {
    redis.disconnect();
    return `the Redis server cannot be used: ${reasonOf(first ?? (error as Error), target)}`;
  } finally {
    redis.off('error', note);
    // What a connection that is given up says later is for nobody.
    redis.on('error', () => undefined);
  }
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

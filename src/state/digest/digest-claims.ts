import type { StorePlace } from '../redis-scripts.ts';

/** Settles which of several processes sends a digest. Rejects when the store is lost. */
export interface DigestClaims {
  /** `mine`: nobody else sends it for some minutes. `busy`: somebody else is at it. `sent`: nothing is left to do. */
  claim(name: string, owner: string): Promise<'mine' | 'busy' | 'sent'>;
  /** It was handed over: nobody sends it again. */
  finish(name: string): Promise<void>;
  /** It was not sent, and somebody may try again. */
  release(name: string): Promise<void>;
}

/** As long as nobody takes for gathering; a process that dies meanwhile is replaced after it. */
const CLAIM_MS = 5 * 60_000;
/** Long after every process has asked, whatever its clock says. */
const SENT_MS = 48 * 3_600_000;
const SENT = 'sent';

/** Shared by all processes with the same prefix. `name` has the day in it. */
export function createRedisDigestClaims({ redis, prefix }: StorePlace): DigestClaims {
  const keyOf = (name: string): string => `${prefix}:{digest}:${name}`;
  return {
    async claim(name, owner) {
      const key = keyOf(name);
      if ((await redis.set(key, owner, 'PX', CLAIM_MS, 'NX')) === 'OK') return 'mine';
      return (await redis.get(key)) === SENT ? 'sent' : 'busy';
    },
    async finish(name) {
      await redis.set(keyOf(name), SENT, 'PX', SENT_MS);
    },
    async release(name) {
      await redis.del(keyOf(name));
    },
  };
}

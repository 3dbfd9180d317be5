import type { StorePlace } from '../redis-scripts.ts';

/** Settles which of several processes sends a digest. Rejects when the store is lost. */
export interface DigestClaims {
  /** `mine`: no other process sends it for some minutes. `busy`: another one is sending it. `sent`: nothing to do. */
  claim(name: string, owner: string): Promise<'mine' | 'busy' | 'sent'>;
  /** The digest was handed over: nobody sends it again. */
  finish(name: string): Promise<void>;
  /** The digest was not sent, and another process may try. */
  release(name: string): Promise<void>;
}

/** Longer than gathering takes. If a process dies meanwhile, another one can claim after this. */
const CLAIM_MS = 5 * 60_000;
/** Long after every process has asked, even by a wrong clock. */
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

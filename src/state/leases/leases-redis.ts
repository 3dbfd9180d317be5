import type { Redis } from 'ioredis';
import { bucketOf, type LaneLeases, type LeaseRenewal } from '../../core/ports/state-store.ts';
import type { BucketKeys } from '../account/keys.ts';
import { prepareScripts, toNumbers } from '../redis-scripts.ts';
import { ACQUIRE, RELEASE, RENEW } from './lease-scripts.ts';

/**
 * The hash outlives its leases by this, so that tokens keep rising; losing it is harmless, as tokens begin at the
 * clock, which is ahead of every token given out before.
 */
const KEEP_MS = 3_600_000;

const RENEWALS: readonly LeaseRenewal[] = ['lost', 'held', 'wanted'];

/** Rejects with a StoreLostError that says what was being done. */
export type Within = <T>(doing: string, call: () => Promise<T>) => Promise<T>;

/** Leases in Redis; time is the Redis server's. */
export function createRedisLeases(
  redis: Redis,
  keysOf: (bucket: number) => BucketKeys,
  within: Within,
): LaneLeases {
  const run = prepareScripts(redis, [ACQUIRE, RENEW, RELEASE]);
  const keyOf = (accountId: string): string => keysOf(bucketOf(accountId)).leases(accountId);
  return {
    acquire(accountId, market, owner, leaseMs) {
      return within('taking a lane', async () => {
        const reply = await run(ACQUIRE, keyOf(accountId), leaseField(market), owner, leaseMs, KEEP_MS);
        const [code, value, wait] = reply as [number, string, number | undefined];
        if (code === 0) return { kind: 'busy', by: value, retryInMs: Math.max(1, wait ?? 1) };
        return { kind: 'held', lease: { accountId, market, owner, token: Number(value) } };
      });
    },
    renew({ accountId, market, owner, token }, leaseMs) {
      return within('keeping a lane', async () => {
        const reply = await run(RENEW, keyOf(accountId), leaseField(market), token, leaseMs, owner, KEEP_MS);
        return RENEWALS[toNumbers([reply])[0] ?? 0] ?? 'lost';
      });
    },
    async release({ accountId, market, owner }) {
      await within('leaving a lane', () => run(RELEASE, keyOf(accountId), leaseField(market), owner));
    },
  };
}

export function leaseField(market: string | null): string {
  return market === null ? 'all' : `m:${market}`;
}

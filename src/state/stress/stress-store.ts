import { type StoredStress, storedStressSchema } from '../../core/view/stress-result.ts';
import { readJson } from '../read-json.ts';
import type { StorePlace } from '../redis-scripts.ts';

/** Long after every process has asked, even by a wrong clock. */
const CLAIM_MS = 3_600_000;

/**
 * Keeps the outcome of stress tests, and settles which process runs one. Rejects when Redis is lost. Shared by all
 * processes with the same prefix.
 */
export function createRedisStressStore({ redis, prefix }: StorePlace) {
  const key = `${prefix}:{stress}:latest`;
  const claimKey = (run: string): string => `${prefix}:{stress}:run:${run}`;
  return {
    /** `undefined`: nothing is kept yet, or another version wrote it. */
    async read() {
      const text = await redis.get(key);
      // Decides nothing: an unreadable result counts as absent until the next run.
      return text === null ? undefined : readJson(storedStressSchema, text);
    },
    async write(stored: StoredStress) {
      await redis.set(key, JSON.stringify(stored));
    },
    /** Whether this process may run it: true for exactly one of all that ask. */
    async claim(run: string, owner: string) {
      return (await redis.set(claimKey(run), owner, 'PX', CLAIM_MS, 'NX')) === 'OK';
    },
    /** Gives up a run that did not finish; it may be claimed again. */
    async release(run: string) {
      await redis.del(claimKey(run));
    },
  };
}

export type StressStore = ReturnType<typeof createRedisStressStore>;

import { type StoredStress, storedStressSchema } from '../../core/view/stress-result.ts';
import { readJson } from '../read-json.ts';
import type { StorePlace } from '../redis-scripts.ts';

/** Keeps the outcome of stress tests, and settles which process runs one. Rejects when Redis is lost. */
export interface StressStore {
  /** `undefined`: nothing is kept yet, or another version wrote it. */
  read(): Promise<StoredStress | undefined>;
  write(stored: StoredStress): Promise<void>;
  /** Whether this process may run it: true for exactly one of all that ask. */
  claim(run: string, owner: string): Promise<boolean>;
  /** Gives up a run that did not finish; it may be claimed again. */
  release(run: string): Promise<void>;
}

/** Long after every process has asked, even by a wrong clock. */
const CLAIM_MS = 3_600_000;

/** Shared by all processes with the same prefix. */
export function createRedisStressStore({ redis, prefix }: StorePlace): StressStore {
  const key = `${prefix}:{stress}:latest`;
  const claimKey = (run: string): string => `${prefix}:{stress}:run:${run}`;
  return {
    async read() {
      const text = await redis.get(key);
      // Decides nothing: an unreadable result counts as absent until the next run.
      return text === null ? undefined : readJson(storedStressSchema, text);
    },
    async write(stored) {
      await redis.set(key, JSON.stringify(stored));
    },
    async claim(run, owner) {
      return (await redis.set(claimKey(run), owner, 'PX', CLAIM_MS, 'NX')) === 'OK';
    },
    async release(run) {
      await redis.del(claimKey(run));
    },
  };
}

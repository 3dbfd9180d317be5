import { z } from 'zod';
import type { StoredStress } from '../../core/view/stress-result.ts';
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
      return text === null ? undefined : readJson(storedSchema, text);
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

/** The range of a `Date`. */
const moment = z.number().min(0).max(8.64e15);

const run = {
  atMs: moment,
  durationMs: z.number(),
  outcome: z.enum(['complete', 'partial', 'failed']),
  words: z.string(),
};
const effect = { keptWithout: z.number(), keptWith: z.number() };

/** Decides nothing: an unreadable result counts as absent until the next run. */
const storedSchema = z.object({
  version: z.literal(1),
  result: z
    .object({
      ...run,
      accounts: z.number(),
      leftOut: z.array(z.string()),
      leftOutCount: z.number(),
      cases: z.array(
        z.object({
          scenario: z.string(),
          title: z.string(),
          about: z.string(),
          conditions: z.string(),
          liquidatedWithout: z.number(),
          liquidatedWith: z.number(),
          ...effect,
        }),
      ),
      accountCases: z.array(
        z.object({
          accountId: z.string(),
          scenario: z.string(),
          conditions: z.string(),
          liquidatedWithout: z.boolean(),
          liquidatedWith: z.boolean(),
          ...effect,
        }),
      ),
    })
    .nullable(),
  lastRun: z.object(run),
  nextAtMs: moment,
}) satisfies z.ZodType<StoredStress>;

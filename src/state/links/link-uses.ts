import { z } from 'zod';
import type { FoundUse, LinkUses } from '../../core/controls/signed-link.ts';
import { readJson } from '../read-json.ts';
import type { StorePlace } from '../redis-scripts.ts';

/** Longer than the action of a link takes. If a process dies meanwhile, others may try after this. */
const TAKEN_MS = 30_000;

const stored = z.object({
  author: z.string().min(1).max(2_000),
  atMs: z.number().min(0).max(8.64e15),
  isDone: z.boolean(),
});

/** Shared by all processes with the same prefix. */
export function createRedisLinkUses({
  redis,
  prefix,
  nowMs,
}: StorePlace & { readonly nowMs: () => number }): LinkUses {
  const keyOf = (id: string): string => `${prefix}:{link}:${id}`;
  const find = async (id: string): Promise<FoundUse | undefined> => {
    const text = await redis.get(keyOf(id));
    return text === null ? undefined : (readJson(stored, text) ?? UNKNOWN);
  };
  return {
    find,
    async take(id, use) {
      const taken = JSON.stringify({ ...use, isDone: false });
      if ((await redis.set(keyOf(id), taken, 'PX', TAKEN_MS, 'NX')) === 'OK') return undefined;
      return (await find(id)) ?? UNKNOWN;
    },
    async finish(id, use, untilMs) {
      const keptMs = Math.max(TAKEN_MS, Math.ceil(untilMs - nowMs()));
      await redis.set(keyOf(id), JSON.stringify({ ...use, isDone: true }), 'PX', keptMs);
    },
    async release(id) {
      await redis.del(keyOf(id));
    },
  };
}

/** The use ended between two reads, or was written by others. */
const UNKNOWN: FoundUse = { author: 'somebody', atMs: 0, isDone: false };

/** Uses within one process: for tests, and while Redis is lost. */
export function createMemoryLinkUses(): LinkUses {
  const uses = new Map<string, FoundUse>();
  return {
    find: async (id) => uses.get(id),
    async take(id, use) {
      const before = uses.get(id);
      if (before === undefined) uses.set(id, { ...use, isDone: false });
      return before;
    },
    async finish(id, use) {
      const [oldest] = uses.keys();
      if (uses.size >= MOST && oldest !== undefined) uses.delete(oldest);
      uses.set(id, { ...use, isDone: true });
    },
    async release(id) {
      uses.delete(id);
    },
  };
}

/** Beyond this number the oldest are forgotten: repeating what a link has done has no effect. */
const MOST = 1_000;

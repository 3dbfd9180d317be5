import { prepareScripts, type RedisScript, type StorePlace, wholeNumber } from '../redis-scripts.ts';

/** A text that waits under a name. Of each name only the newest text is kept, with the number of texts so far. */
export interface WaitingText {
  readonly name: string;
  /** Whole milliseconds. */
  readonly atMs: number;
  readonly count: number;
  readonly text: string;
}

/** Rejects when the store is lost. */
export interface HeldStore {
  /** Whether the text is kept, or a newer one of its name is. False: there is no room. */
  put(name: string, atMs: number, text: string): Promise<boolean>;
  all(): Promise<readonly WaitingText[]>;
  names(): Promise<readonly string[]>;
  /** Removes texts; one that was replaced by a newer one meanwhile stays. */
  drop(waiting: readonly Pick<WaitingText, 'name' | 'atMs'>[]): Promise<void>;
}

/** Most names that wait at a time. */
export const MOST_HELD = 1_000;
/** Counted from the last text; by then every window is over. */
const KEEP_MS = 30 * 86_400_000;

/** A hash: name to `atMs|count|text`. ARGV: name, atMs, text, most, keep. */
const PUT: RedisScript = {
  name: 'bwHeldPut',
  numberOfKeys: 1,
  lua: `
local old = redis.call('HGET', KEYS[1], ARGV[1])
if not old and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
local at, count = string.match(old or '', '^(%d+)|(%d+)|')
if at and tonumber(at) >= tonumber(ARGV[2]) then return 1 end
local next = math.min((tonumber(count or '0') or 0) + 1, 999999)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s|%.0f|%s', ARGV[2], next, ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1`,
};

/** ARGV: name, atMs. */
const DROP: RedisScript = {
  name: 'bwHeldDrop',
  numberOfKeys: 1,
  lua: `
local at = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+)|')
if at == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1`,
};

/** Shared by all processes with the same prefix; outlives them. */
export function createRedisHeldStore({ redis, prefix }: StorePlace): HeldStore {
  const run = prepareScripts(redis, [PUT, DROP]);
  const key = `${prefix}:{held}`;
  return {
    async put(name, atMs, text) {
      return wholeNumber(await run(PUT, key, name, atMs, text, MOST_HELD, KEEP_MS), 0, 1) === 1;
    },
    async all() {
      return Object.entries(await redis.hgetall(key)).flatMap(([name, value]) => waitingOf(name, value));
    },
    names: () => redis.hkeys(key),
    async drop(waiting) {
      for (const { name, atMs } of waiting) await run(DROP, key, name, atMs);
    },
  };
}

/** Values of another form were written by others, and are left alone. */
function waitingOf(name: string, value: string): readonly WaitingText[] {
  const [, at, count, text] = /^(\d{1,15})\|(\d{1,6})\|(.*)$/s.exec(value) ?? [];
  return text === undefined ? [] : [{ name, atMs: Number(at), count: Number(count), text }];
}

/** In the memory of one process. */
export function createMemoryHeldStore(): HeldStore {
  const held = new Map<string, WaitingText>();
  return {
    async put(name, atMs, text) {
      const old = held.get(name);
      if (old === undefined && held.size >= MOST_HELD) return false;
      if (old === undefined || old.atMs < atMs)
        held.set(name, { name, atMs, count: (old?.count ?? 0) + 1, text });
      return true;
    },
    all: async () => [...held.values()],
    names: async () => [...held.keys()],
    async drop(waiting) {
      for (const { name, atMs } of waiting) if (held.get(name)?.atMs === atMs) held.delete(name);
    },
  };
}

/**
 * The shared texts. A process that goes on alone takes no new ones, as they would be lost with it. It also remembers
 * what it put there before, in case the shared texts are lost.
 */
export function createStandbyHeldStore(shared: HeldStore, isAlone: () => boolean): HeldStore {
  const own = createMemoryHeldStore();
  return {
    async put(name, atMs, text) {
      if (isAlone() || !(await shared.put(name, atMs, text))) return false;
      await own.put(name, atMs, text);
      return true;
    },
    async all() {
      const mine = await own.all();
      if (isAlone()) return mine;
      const all = new Map(mine.map((one) => [one.name, one]));
      for (const one of await shared.all()) {
        if ((all.get(one.name)?.atMs ?? -1) <= one.atMs) all.set(one.name, one);
      }
      return [...all.values()];
    },
    async names() {
      const mine = await own.names();
      return isAlone() ? mine : [...new Set([...mine, ...(await shared.names())])];
    },
    async drop(waiting) {
      await own.drop(waiting);
      if (!isAlone()) await shared.drop(waiting);
    },
  };
}

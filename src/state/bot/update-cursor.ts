import { prepareScripts, type RedisScript, type StorePlace } from '../redis-scripts.ts';

/** How far the messages of people to a bot have been carried out. */
export interface Cursor {
  /** Updates below this are done, or have begun, and are not repeated. 0: the other side has none left from before. */
  readonly offset: number;
  /** When nothing was left to do for the last time, Unix milliseconds; 0: never. */
  readonly caughtUpMs: number;
  /** Chat of the update that has begun and is not known to have ended. */
  readonly underWay?: string;
}

/** Settles which of several processes listens, and stores how far it came. Rejects when the store is lost. */
export interface UpdateCursors {
  /** Takes or keeps the turn for `leaseMs`; undefined: another process has it. */
  take(bot: string, owner: string, leaseMs: number): Promise<Cursor | undefined>;
  /** Stores the cursor of the process that has the turn; false: the turn was lost. */
  advance(bot: string, owner: string, cursor: Cursor): Promise<boolean>;
  /** Gives up the turn. */
  leave(bot: string, owner: string): Promise<void>;
}

/** Longer than the other side keeps updates. */
const KEEP_MS = 7 * 86_400_000;

/** KEYS: the turn, the cursor `offset|caughtUpMs`, or `offset|caughtUpMs|underWay`. ARGV: owner, lease. */
const TAKE: RedisScript = {
  name: 'bwBotTake',
  numberOfKeys: 2,
  lua: `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return { 0 } end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return { 1, redis.call('GET', KEYS[2]) or '' }`,
};

/** ARGV: owner, cursor, how long it is kept. */
const ADVANCE: RedisScript = {
  name: 'bwBotAdvance',
  numberOfKeys: 2,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1`,
};

const LEAVE: RedisScript = {
  name: 'bwBotLeave',
  numberOfKeys: 1,
  lua: `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`,
};

/** Shared by all processes with the same prefix. */
export function createRedisUpdateCursors({ redis, prefix }: StorePlace): UpdateCursors {
  const run = prepareScripts(redis, [TAKE, ADVANCE, LEAVE]);
  const keysOf = (bot: string) => [`${prefix}:{bot/${bot}}:turn`, `${prefix}:{bot/${bot}}:cursor`] as const;
  return {
    async take(bot, owner, leaseMs) {
      const [code, text] = (await run(TAKE, ...keysOf(bot), owner, leaseMs)) as [number, unknown];
      return code === 1 ? readCursor(String(text)) : undefined;
    },
    async advance(bot, owner, cursor) {
      return (await run(ADVANCE, ...keysOf(bot), owner, writeCursor(cursor), KEEP_MS)) === 1;
    },
    async leave(bot, owner) {
      await run(LEAVE, keysOf(bot)[0], owner);
    },
  };
}

const NOTHING_DONE: Cursor = { offset: 0, caughtUpMs: 0 };

export function writeCursor({ offset, caughtUpMs, underWay }: Cursor): string {
  return [offset, Math.floor(caughtUpMs), ...(underWay === undefined ? [] : [underWay])].join('|');
}

/** A malformed text counts as absent: what is repeated then is too old, or harmless. */
export function readCursor(text: string): Cursor {
  const [, offset, caughtUpMs, underWay] = /^(\d{1,15})\|(\d{1,15})(?:\|(-?\d{1,16}))?$/.exec(text) ?? [];
  if (offset === undefined) return NOTHING_DONE;
  const cursor = { offset: Number(offset), caughtUpMs: Number(caughtUpMs) };
  return underWay === undefined ? cursor : { ...cursor, underWay };
}

/** The cursors of a process that goes on alone. */
export function createMemoryUpdateCursors(): UpdateCursors {
  const cursors = new Map<string, Cursor>();
  return {
    take: async (bot) => cursors.get(bot) ?? NOTHING_DONE,
    async advance(bot, _owner, cursor) {
      cursors.set(bot, cursor);
      return true;
    },
    leave: async () => undefined,
  };
}

/** The shared cursors. While they are lost only the first process (`ordinal` 0) listens, from where it was. */
export function createStandbyUpdateCursors(
  shared: UpdateCursors,
  isAlone: () => boolean,
  ordinal: number,
): UpdateCursors {
  const own = createMemoryUpdateCursors();
  return {
    async take(bot, owner, leaseMs) {
      if (isAlone() && ordinal !== 0) return undefined;
      const mine = await own.take(bot, owner, leaseMs);
      if (isAlone()) return mine;
      const theirs = await shared.take(bot, owner, leaseMs);
      return mine === undefined || theirs === undefined ? undefined : newerOf(mine, theirs);
    },
    async advance(bot, owner, cursor) {
      // What has ended is known here even if others do not hear of it.
      if (cursor.underWay === undefined) await own.advance(bot, owner, cursor);
      const isKept = isAlone() || (await shared.advance(bot, owner, cursor));
      if (isKept) await own.advance(bot, owner, cursor);
      return isKept;
    },
    async leave(bot, owner) {
      if (!isAlone()) await shared.leave(bot, owner);
    },
  };
}

/** If the two differ only in what is under way, the own one wins: it knows that the update has ended. */
function newerOf(mine: Cursor, theirs: Cursor): Cursor {
  const byTime = theirs.caughtUpMs - Math.floor(mine.caughtUpMs);
  return (byTime === 0 ? theirs.offset - mine.offset : byTime) > 0 ? theirs : mine;
}

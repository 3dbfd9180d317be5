import type { Redis } from 'ioredis';
import { sha256Hex } from '../../core/orders/sha256.ts';
import type { Receipt, ReceiptStore, Receipts, ThreadHold } from '../../core/ports/delivery.ts';
import { LUA_NOW, pairsOf, prepareScripts, type RedisScript } from '../redis-scripts.ts';
import { KEEP_RECEIPTS_MS } from './receipts-memory.ts';

/** One hash per thread: `m:<message id>` to the receipt as JSON, and who holds the thread until when. */
const OWNER = `${LUA_NOW}
local owner = redis.call('HGET', KEYS[1], 'owner')
local till = tonumber(redis.call('HGET', KEYS[1], 'until') or '0')`;

const HOLD: RedisScript = {
  name: 'bwReceiptHold',
  numberOfKeys: 1,
  lua: `${OWNER}
if owner and owner ~= ARGV[1] and till > now then return { 0, till - now } end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { 1, redis.call('HGETALL', KEYS[1]) }`,
};

const SETTLE: RedisScript = {
  name: 'bwReceiptSettle',
  numberOfKeys: 1,
  lua: `${OWNER}
for index = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1]) end
if owner == ARGV[1] then redis.call('HDEL', KEYS[1], 'owner', 'until') end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if owner == ARGV[1] and till > now then return 1 end
return 0`,
};

const FIELD = 'm:';

export interface RedisReceiptOptions {
  /** Stays the caller's. */
  readonly redis: Redis;
  readonly prefix: string;
  /** How long a thread is remembered after it was last used, milliseconds. */
  readonly keepMs?: number;
}

/** Receipts that all processes share and that outlive them. */
export function createRedisReceiptStore(options: RedisReceiptOptions): ReceiptStore {
  const { redis, prefix, keepMs = KEEP_RECEIPTS_MS } = options;
  const run = prepareScripts(redis, [HOLD, SETTLE]);
  const keyOf = (thread: string): string => `${prefix}:receipts:{${sha256Hex(thread)}}`;
  return {
    async peek(threads) {
      const found = await Promise.all(threads.map((thread) => redis.hgetall(keyOf(thread))));
      return found.map((fields) => receiptsOf(Object.entries(fields)));
    },
    async hold(thread, owner, leaseMs): Promise<ThreadHold> {
      const reply = await run(HOLD, keyOf(thread), owner, Math.ceil(leaseMs), keepMs);
      const [held, rest] = reply as [number, number | string[]];
      if (held === 0) return { kind: 'busy', retryInMs: Number(rest) };
      return { kind: 'held', receipts: receiptsOf(pairsOf(rest as string[])) };
    },
    async settle(thread, owner, receipts) {
      const fields = Object.entries(receipts).flatMap(([id, receipt]) => [
        FIELD + id,
        JSON.stringify(receipt),
      ]);
      return (await run(SETTLE, keyOf(thread), owner, keepMs, ...fields)) === 1;
    },
  };
}

function receiptsOf(fields: readonly (readonly [string, string])[]): Receipts {
  const receipts = fields.filter(([field]) => field.startsWith(FIELD));
  return Object.fromEntries(
    receipts.map(([field, text]) => [field.slice(FIELD.length), JSON.parse(text) as Receipt]),
  );
}

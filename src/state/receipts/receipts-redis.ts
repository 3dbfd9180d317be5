import { sha256Hex } from '../../core/audit/sha256.ts';
import { type Receipt, type ReceiptStore, type Receipts, receiptSchema } from '../../core/ports/delivery.ts';
import { readJson } from '../read-json.ts';
import {
  LUA_NOW,
  pairsOf,
  prepareScripts,
  type RedisScript,
  type StorePlace,
  wholeNumber,
} from '../redis-scripts.ts';
import { KEEP_RECEIPTS_MS } from './receipts-memory.ts';

/** Longest hold: one that ends later was written by others, and would silence its thread. */
const LONGEST_HOLD_MS = 600_000;

/** A hash per thread: `m:<message id>` to the receipt as JSON, and the owner that holds the thread with its end. */
const OWNER = `${LUA_NOW}
local owner = redis.call('HGET', KEYS[1], 'owner')
local till = tonumber(redis.call('HGET', KEYS[1], 'until') or '0') or 0
if not (till <= now + ${LONGEST_HOLD_MS}) then till = 0 end`;

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

export interface RedisReceiptOptions extends StorePlace {
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
    async hold(thread, owner, leaseMs) {
      const reply = await run(HOLD, keyOf(thread), owner, Math.ceil(leaseMs), keepMs);
      const [held, rest] = reply as [number, number | string[]];
      if (held !== 1) return { kind: 'busy', retryInMs: wholeNumber(rest, 0, LONGEST_HOLD_MS) };
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

/** Leaves out malformed receipts: their messages are sent again, at worst for a second time. */
function receiptsOf(fields: readonly (readonly [string, string])[]): Receipts {
  const found = fields.flatMap(([field, text]): readonly [string, Receipt][] => {
    const receipt = field.startsWith(FIELD) ? readJson(receiptSchema, text) : undefined;
    return receipt === undefined ? [] : [[field.slice(FIELD.length), receipt]];
  });
  return Object.fromEntries(found);
}
